package alloc

import (
	"cmp"
	"context"
	"maps"
	"math/rand/v2"
	"slices"
)

// tendRounds bounds how often one run sweeps a pool that has work left after each sweep.
const tendRounds = 10

// TendReport says what one run of the schedule did.
type TendReport struct {
	Swept  []SweepReport      // in the order of their names; of a pool that was swept more than once, all together
	Failed map[PoolName]error // a pool whose first sweep went well and a later one failed is in Swept too
	Left   int                // pools that were not swept when the run's time was over
	Jobs   []JobReport        // of the jobs that had not ended before, in the order of their IDs
}

// Tend is one run of the schedule. First it sweeps every pool, and again those that have work left after that, so that a pool
// that is used faster than the bound of one sweep catches up. Deleted pools come after the others: what was on its way
// when they were deleted is still to be finished, above all a batch given up under a key, which answers CodeKeyBusy
// until then. Then it carries on the jobs, within bounds.
//
// A pool that fails does not stop the others, nor does a job. The run ends early, without error, when the context does: the next run
// goes on; each run has an order of its own, so that the same pools are not left out for ever. Needs ActionTend on all.
func (s *Service) Tend(ctx context.Context) (TendReport, error) {
	if _, err := s.permit(ctx, ActionTend, everything); err != nil {
		return TendReport{Failed: map[PoolName]error{}}, err
	}
	names, err := s.tendOrder(ctx)
	run := tending{store: s.store, swept: map[PoolName]SweepReport{}, failed: map[PoolName]error{}}
	due := names
	for range tendRounds {
		due = run.sweep(ctx, due)
	}
	report := run.report(len(names))
	jobs, jobsErr := s.work(ctx)
	report.Jobs = jobs
	switch {
	case ctx.Err() != nil:
		return report, nil
	case err != nil:
		return report, err
	}
	return report, jobsErr
}

// tending is a run on its way.
type tending struct {
	store  Store
	swept  map[PoolName]SweepReport
	failed map[PoolName]error
}

// sweep sweeps the pools in turn, until the context ends, and returns those that have work left.
func (t *tending) sweep(ctx context.Context, pools []PoolName) (more []PoolName) {
	for _, name := range pools {
		if ctx.Err() != nil {
			return nil
		}
		switch r, err := t.store.Sweep(ctx, name); {
		case err == nil:
			t.swept[name] = t.swept[name].plus(r)
			if r.More {
				more = append(more, name)
			}
		case ctx.Err() == nil:
			t.failed[name] = err
		}
	}
	return more
}

// report says what became of the pools that there are.
func (t *tending) report(pools int) TendReport {
	r := TendReport{Failed: t.failed, Left: pools - len(t.swept)}
	for name := range t.failed {
		if _, before := t.swept[name]; !before {
			r.Left--
		}
	}
	byName := func(a, b SweepReport) int { return cmp.Compare(a.Pool, b.Pool) }
	r.Swept = slices.SortedFunc(maps.Values(t.swept), byName)
	return r
}

// tendOrder lists the pools as a run comes to them; beside an error, those that were found before it.
func (s *Service) tendOrder(ctx context.Context) ([]PoolName, error) {
	const page = 100
	var live, deleted []PoolName
	var err error
	for after, more := PoolName(""), true; more; {
		var pools []Pool
		if pools, err = s.store.ListPools(ctx, after, page); err != nil {
			break
		}
		for _, p := range pools {
			after = p.Name
			if p.State == PoolDeleted {
				deleted = append(deleted, p.Name)
			} else {
				live = append(live, p.Name)
			}
		}
		more = len(pools) == page
	}
	for _, names := range [][]PoolName{live, deleted} {
		rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	}
	return append(live, deleted...), err
}
