package alloc_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// slow is a Store whose calls take their time, and which begins nothing that it may not be able to end, as infra/dynamo does.
type slow struct {
	alloc.Store
	sweep, walk time.Duration
	sweeps      int
	broken      error // what comes of walks
}

const notWithin = 300 * time.Millisecond

func (s *slow) work(ctx context.Context, takes time.Duration) error {
	for range 4 { // round trips
		if end, ok := ctx.Deadline(); ok && time.Until(end) < notWithin {
			return alloc.Errorf(alloc.CodeUnavailable, "too little time is left to begin")
		}
		select {
		case <-time.After(takes / 4):
		case <-ctx.Done():
			return alloc.Errorf(alloc.CodeUnavailable, "the time is over").Because(ctx.Err())
		}
	}
	return nil
}

func (s *slow) Sweep(ctx context.Context, name alloc.PoolName) (alloc.SweepReport, error) {
	if err := s.work(ctx, s.sweep); err != nil {
		return alloc.SweepReport{}, err
	}
	s.sweeps++
	r, err := s.Store.Sweep(ctx, name)
	r.More = true // there is always more to do
	return r, err
}

func (s *slow) WalkIDs(ctx context.Context, pool alloc.PoolName, state alloc.State, mark string, limit int) ([]alloc.IDRecord, string, error) {
	if err := errors.Join(s.broken, s.work(ctx, s.walk)); err != nil {
		return nil, "", alloc.Errorf(alloc.CodeUnavailable, "no walk").Because(err)
	}
	return s.Store.WalkIDs(ctx, pool, state, mark, min(limit, 2))
}

// newSlow is a Service over such a Store with one pool.
func newSlow(t testing.TB, ids int, sweep, walk time.Duration) (*works, *slow) {
	t.Helper()
	w := newWorks(t, ids)
	w.narrow.page = 1000
	s := &slow{Store: w.narrow, sweep: sweep, walk: walk}
	w.store = alloctest.NewFaulty(s, nil)
	w.Service = w.another(t, 0)
	return w, s
}

// runFor is one run of the schedule that has so much time.
func (w *works) runFor(t testing.TB, d time.Duration) alloc.TendReport {
	t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, d)
	defer cancel()
	begin := time.Now()
	r, err := w.Tend(ctx)
	if err != nil || len(r.Failed) > 0 {
		t.Errorf("a run whose time is over tells of %v, %v", r.Failed, err)
	}
	for _, j := range r.Jobs {
		if j.Err != nil || j.Job.Tries != 0 {
			t.Errorf("a run whose time is over tells of %+v", j)
		}
	}
	if took := time.Since(begin); took > d {
		t.Errorf("the run took %s of %s", took, d)
	}
	return r
}

// That the time of a run is over is no error, wherever that meets it.
func TestARunThatUsesUpItsTimeIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for extra := range 20 {
			w, _ := newSlow(t, 200, 90*time.Millisecond, 70*time.Millisecond)
			j := w.export(t, "")
			r := w.runFor(t, 3*time.Second+time.Duration(extra)*17*time.Millisecond)
			if len(r.Swept) != 1 || len(r.Jobs) != 1 || r.Jobs[0].Steps == 0 {
				t.Errorf("it tells of %+v", r)
			}
			if now, err := w.Job(w.ctx, j.ID); err != nil || now.Tries != 0 || now.Failure != "" {
				t.Errorf("the job is %+v, %v", now, err)
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w, s := newSlow(t, 3, 3*time.Second, 0)
		if r := w.runFor(t, 2*time.Second); len(r.Swept) != 0 || r.Left != 1 || s.sweeps != 0 {
			t.Errorf("it tells of %+v, want the pool left", r)
		}
		if r := w.runFor(t, 400*time.Millisecond); len(r.Swept) != 0 || len(r.Jobs) != 0 {
			t.Errorf("without time it tells of %+v", r)
		}
	})
}

// What fails while there is time is told.
func TestARunTellsOfAJobThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := newSlow(t, 3, time.Millisecond, time.Millisecond)
		s.broken = errors.New("broken")
		w.export(t, "")
		ctx, cancel := context.WithTimeout(w.ctx, 10*time.Second)
		defer cancel()
		if r, err := w.Tend(ctx); err != nil || len(r.Jobs) != 1 || r.Jobs[0].Err == nil || r.Jobs[0].Job.Tries != 1 {
			t.Errorf("it tells of %+v, %v", r, err)
		}
	})
}

// However much there is to sweep, jobs have their share of the time; without jobs sweeps have all of it.
func TestJobsHaveTheirShareOfARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := newSlow(t, 400, 10*time.Second, 100*time.Millisecond)
		if r := w.runFor(t, 61*time.Second); len(r.Swept) != 1 || s.sweeps != 6 {
			t.Errorf("without jobs: %d sweeps, want 6", s.sweeps)
		}
		s.sweeps = 0
		w.export(t, "")
		r := w.runFor(t, 61*time.Second)
		if s.sweeps != 4 || len(r.Jobs) != 1 || r.Jobs[0].Steps < 8 {
			t.Errorf("with a job: %d sweeps, and %+v; want 4, and the rest of the time for the job", s.sweeps, r.Jobs)
		}
	})
}

// stuck is a Store whose lists begin anew wherever they are to go on.
type stuck struct{ alloc.Store }

func (s stuck) ListPools(ctx context.Context, _ alloc.PoolName, limit int) ([]alloc.Pool, error) {
	return s.Store.ListPools(ctx, "", limit)
}

func (s stuck) OpenJobs(ctx context.Context, _ alloc.JobID, limit int) ([]alloc.Job, error) {
	return s.Store.OpenJobs(ctx, "", limit)
}

// A list that does not go on ends a run with an error, and not the process with a full memory.
func TestARunOverAListThatDoesNotGoOn(t *testing.T) {
	w := newWorks(t, 3)
	for i := range 100 {
		if _, err := w.Export(as(t.Context(), alloc.ClientID(fmt.Sprint("client-", i%10)), alloc.AllScopes()...), anExport); err != nil {
			t.Fatal(err)
		}
	}
	_, err := newService(t, stuck{w.model}).Tend(w.ctx)
	wantCode(t, err, alloc.CodeInternal)

	_, pools := newSweeping(t)
	r, err := newService(t, stuck{pools}).Tend(asAdmin(t.Context()))
	if wantCode(t, err, alloc.CodeInternal); len(r.Swept) != 100 {
		t.Errorf("%d pools were swept, want those of the first page", len(r.Swept))
	}
}

// Where the pools that are not deleted need all of each run's time, a deleted one has its turn all the same.
func TestADeletedPoolHasItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := alloctest.NewModel(nil)
		for i := range 32 {
			name := alloc.PoolName(fmt.Sprintf("live-%02d", i))
			if i < 2 {
				name = alloc.PoolName(fmt.Sprintf("deleted-%d", i))
			}
			if _, _, err := m.CreatePool(t.Context(), name, alloc.PoolConfig{}.WithDefaults()); err != nil {
				t.Fatal(err)
			}
			if i < 2 {
				must(t, m.SetPoolState, name, alloc.PoolDeleted)
			}
		}
		slow := &slowSweeps{m, map[alloc.PoolName]int{}}
		s := newService(t, slow)
		for range 60 {
			ctx, cancel := context.WithTimeout(asAdmin(t.Context()), 2*time.Second)
			if _, err := s.Tend(ctx); err != nil {
				t.Fatal(err)
			}
			cancel()
		}
		if len(slow.swept) != 32 {
			t.Errorf("in 60 runs %d of 32 pools had a turn: %v", len(slow.swept), slow.swept)
		}
	})
}

// slowSweeps is a Store that takes its time to sweep.
type slowSweeps struct {
	alloc.Store
	swept map[alloc.PoolName]int
}

func (s *slowSweeps) Sweep(ctx context.Context, name alloc.PoolName) (alloc.SweepReport, error) {
	time.Sleep(100 * time.Millisecond)
	s.swept[name]++
	return s.Store.Sweep(ctx, name)
}

// However long one sweep takes, the pool is looked at and filled, and sequences have their share.
func TestALongSweepLeavesTimeForTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, filled(10, 20, plain))
		s := p.another(&slow{Store: p.model, sweep: 100 * time.Second})
		ctx, cancel := context.WithTimeout(p.ctx, 58*time.Second)
		defer cancel()
		r, err := s.Tend(ctx)
		if err != nil || len(r.Failed) > 0 || r.Left != 1 || len(r.Sequences) != 1 || len(r.Pools) != 1 || len(r.Refills) != 1 || r.Refills[0].Added != 20 {
			t.Errorf("it tells of %+v, %v", r, err)
		}
	})
}
