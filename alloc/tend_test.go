package alloc_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// sweeping counts the sweeps of each pool and lets some fail.
type sweeping struct {
	alloc.Store
	mu     sync.Mutex
	swept  map[alloc.PoolName]int
	broken map[alloc.PoolName]error
	order  []alloc.PoolName       // of the sweeps
	work   map[alloc.PoolName]int // sweeps that leave work behind
	after  func(sweeps int)       // called in each sweep with how many pools were swept
	list   func(after alloc.PoolName) error
}

func (s *sweeping) Sweep(ctx context.Context, name alloc.PoolName) (alloc.SweepReport, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.swept[name]++
	s.order = append(s.order, name)
	if s.after != nil {
		s.after(len(s.swept))
	}
	if err := s.broken[name]; err != nil {
		return alloc.SweepReport{}, err
	}
	if err := ctx.Err(); err != nil {
		return alloc.SweepReport{}, alloc.Errorf(alloc.CodeUnavailable, "no time").Because(err)
	}
	r, err := s.Store.Sweep(ctx, name)
	r.Passed++
	if s.work[name] > 0 {
		s.work[name]--
		r.More = true
	}
	return r, err
}

func (s *sweeping) ListPools(ctx context.Context, after alloc.PoolName, limit int) ([]alloc.Pool, error) {
	if s.list != nil {
		if err := s.list(after); err != nil {
			return nil, err
		}
	}
	return s.Store.ListPools(ctx, after, limit)
}

// newSweeping makes 250 pools, of which p-007 is deleted.
func newSweeping(t *testing.T) (*alloc.Service, *sweeping) {
	t.Helper()
	store := &sweeping{Store: alloctest.NewModel(nil), swept: map[alloc.PoolName]int{}, work: map[alloc.PoolName]int{}, broken: map[alloc.PoolName]error{}}
	for i := range 250 {
		if _, _, err := store.CreatePool(t.Context(), alloc.PoolName(fmt.Sprintf("p-%03d", i)), alloc.PoolConfig{}.WithDefaults()); err != nil {
			t.Fatal(err)
		}
	}
	must(t, store.SetPoolState, alloc.PoolName("p-007"), alloc.PoolDeleted)
	must(t, store.SetPoolState, alloc.PoolName("p-008"), alloc.PoolPaused)
	return newService(t, store), store
}

func TestTendSweepsEveryPoolThoughSomeFail(t *testing.T) {
	s, store := newSweeping(t)
	store.broken["p-000"] = alloc.Errorf(alloc.CodeUnavailable, "no answer")
	store.broken["p-120"] = alloc.Errorf(alloc.CodePoolRebuilding, "a rebuild is on")
	r, err := s.Tend(asAdmin(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Swept) != 248 || len(r.Failed) != 2 || r.Failed["p-000"] == nil || r.Failed["p-120"] == nil || r.Left != 0 {
		t.Errorf("swept %d, failed %v, left %d; want 248, p-000 and p-120, none", len(r.Swept), r.Failed, r.Left)
	}
	for i := 1; i < len(r.Swept); i++ {
		if r.Swept[i-1].Pool >= r.Swept[i].Pool {
			t.Fatalf("the report is not in the order of the names: %s before %s", r.Swept[i-1].Pool, r.Swept[i].Pool)
		}
	}
	if len(store.order) != 250 || store.swept["p-007"] != 1 || store.swept["p-008"] != 1 {
		t.Errorf("%d sweeps, of the deleted pool %d, of the paused one %d; want 250, 1, 1", len(store.order), store.swept["p-007"], store.swept["p-008"])
	}
	if first := store.order[0]; first != "p-007" {
		t.Errorf("%s was swept first, want the one deleted pool: it has its turn in every run", first)
	}
}

func TestTendComesBackToPoolsWithWorkLeft(t *testing.T) {
	s, store := newSweeping(t)
	store.work["p-003"], store.work["p-007"], store.work["p-004"], store.work["p-005"] = 3, 2, 1_000_000, 5
	fails := 2
	store.after = func(int) {
		if store.order[len(store.order)-1] == "p-005" {
			if fails--; fails == 0 {
				store.broken["p-005"] = alloc.Errorf(alloc.CodeUnavailable, "no answer")
			}
		}
	}
	r, err := s.Tend(asAdmin(t.Context()))
	if err != nil || len(r.Swept) != 250 || len(r.Failed) != 1 || r.Failed["p-005"] == nil || r.Left != 0 {
		t.Fatalf("swept %d, failed %v, left %d, %v; want all, p-005 at its second sweep, none", len(r.Swept), r.Failed, r.Left, err)
	}
	for pool, want := range map[alloc.PoolName]alloc.SweepReport{
		"p-002": {Passed: 1}, "p-003": {Passed: 4}, "p-007": {Passed: 3}, "p-004": {Passed: 10, More: true}, "p-005": {Passed: 1, More: true},
	} {
		want.Pool = pool
		got := r.Swept[slices.IndexFunc(r.Swept, func(r alloc.SweepReport) bool { return r.Pool == pool })]
		if got != want {
			t.Errorf("swept %+v, want %+v", got, want)
		}
	}
	if first := store.order[:250]; len(slices.Compact(slices.Sorted(slices.Values(first)))) != 250 {
		t.Error("a pool was swept again before all were swept once")
	}

	// Time that is over in a later round leaves nobody out.
	ctx, cancel := context.WithCancel(asAdmin(t.Context()))
	clear(store.broken)
	store.order = nil
	store.after = func(int) {
		if len(store.order) == 252 {
			cancel()
		}
	}
	r, err = s.Tend(ctx)
	if err != nil || len(r.Swept) != 250 || len(r.Failed) != 0 || r.Left != 0 || len(store.order) != 252 {
		t.Errorf("swept %d in %d sweeps, failed %v, left %d, %v; want 250 in 252, none, none", len(r.Swept), len(store.order), r.Failed, r.Left, err)
	}
}

func TestTendEndsEarlyWithTheContext(t *testing.T) {
	s, store := newSweeping(t)
	ctx, cancel := context.WithCancel(asAdmin(t.Context()))
	store.after = func(sweeps int) {
		if sweeps == 10 {
			cancel() // in the middle of the tenth
		}
	}
	r, err := s.Tend(ctx)
	if err != nil || len(r.Swept) != 9 || len(r.Failed) != 0 || r.Left != 241 {
		t.Errorf("swept %d, failed %v, left %d, %v; want 9, none, 241 and no error", len(r.Swept), r.Failed, r.Left, err)
	}

	// Runs that are always cut short come to every live pool all the same.
	store.after = nil
	for range 400 {
		ctx, cancel := context.WithCancel(asAdmin(t.Context()))
		sweeps := 0
		store.after = func(int) {
			if sweeps++; sweeps == 20 {
				cancel()
			}
		}
		if _, err := s.Tend(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if delete(store.swept, "p-007"); len(store.swept) != 249 {
		t.Errorf("after 400 short runs %d live pools were swept, want all 249", len(store.swept))
	}

	store.after = nil
	store.list = func(alloc.PoolName) error { return alloc.Errorf(alloc.CodeUnavailable, "no time") }
	if r, err := s.Tend(ctx); err != nil || len(r.Swept) != 0 {
		t.Errorf("with an ended context: %+v, %v; want nothing done and no error", r, err)
	}
}

func TestTendSweepsWhatItCouldList(t *testing.T) {
	s, store := newSweeping(t)
	store.list = func(after alloc.PoolName) error {
		if after != "" {
			return alloc.Errorf(alloc.CodeThrottled, "too many requests")
		}
		return nil
	}
	r, err := s.Tend(asAdmin(t.Context()))
	wantCode(t, err, alloc.CodeThrottled)
	if len(r.Swept) != 100 {
		t.Errorf("swept %d pools, want the 100 of the first page", len(r.Swept))
	}
}
