package alloc_test

import (
	"context"
	"fmt"
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
	after  func(sweeps int) // called at the end of each sweep
	list   func(after alloc.PoolName) error
}

func (s *sweeping) Sweep(ctx context.Context, name alloc.PoolName) (alloc.SweepReport, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.swept[name]++
	if s.after != nil {
		s.after(len(s.swept))
	}
	if err := s.broken[name]; err != nil {
		return alloc.SweepReport{}, err
	}
	if err := ctx.Err(); err != nil {
		return alloc.SweepReport{}, alloc.Errorf(alloc.CodeUnavailable, "no time").Because(err)
	}
	return s.Store.Sweep(ctx, name)
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
	store := &sweeping{Store: alloctest.NewModel(nil), swept: map[alloc.PoolName]int{}, broken: map[alloc.PoolName]error{}}
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
	store.broken["p-121"] = alloc.Errorf(alloc.CodePoolDeleted, "just now")
	r, err := s.Tend(asAdmin(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Swept) != 246 || len(r.Failed) != 2 || r.Failed["p-000"] == nil || r.Failed["p-120"] == nil || r.Left != 0 {
		t.Errorf("swept %d, failed %v, left %d; want 246, p-000 and p-120, none", len(r.Swept), r.Failed, r.Left)
	}
	for i := 1; i < len(r.Swept); i++ {
		if r.Swept[i-1].Pool >= r.Swept[i].Pool {
			t.Fatalf("the report is not in the order of the names: %s before %s", r.Swept[i-1].Pool, r.Swept[i].Pool)
		}
	}
	if len(store.swept) != 249 || store.swept["p-007"] != 0 || store.swept["p-008"] != 1 {
		t.Errorf("%d pools were swept, the deleted one %d times, the paused one %d times", len(store.swept), store.swept["p-007"], store.swept["p-008"])
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
	if err != nil || len(r.Swept) != 9 || len(r.Failed) != 0 || r.Left != 240 {
		t.Errorf("swept %d, failed %v, left %d, %v; want 9, none, 240 and no error", len(r.Swept), r.Failed, r.Left, err)
	}

	// Runs that are always cut short come to every pool all the same.
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
	if len(store.swept) != 249 {
		t.Errorf("after 400 short runs %d pools were swept, want all 249", len(store.swept))
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
	if len(r.Swept) != 99 {
		t.Errorf("swept %d pools, want the 99 of the first page", len(r.Swept))
	}
}
