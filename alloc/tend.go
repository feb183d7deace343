package alloc

import (
	"cmp"
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// tendRounds bounds how often one run sweeps a pool that has work left after each sweep.
const tendRounds = 10

// What a run does with its time. A Store may refuse to begin what it cannot end before the deadline, so a run ends a little
// earlier by itself; infra/dynamo begins nothing in the last 300 ms.
const (
	tendMargin = 500 * time.Millisecond
	jobsShare  = 5 // the part of the time that is left to jobs: one in five
)

// TendReport says what one run of the schedule did.
type TendReport struct {
	Swept  []SweepReport      // in the order of their names; of a pool that was swept more than once, all together
	Failed map[PoolName]error // a pool whose first sweep went well and a later one failed is in Swept too
	Left   int                // pools that were not swept when the run's time was over
	Jobs   []JobReport        // of the jobs that had not ended before, in the order of their IDs

	Refills   []RefillReport     // of the pools with a generator, in the order of their names
	Pools     []PoolStanding     // of the pools that are not deleted, in the order of their names
	Sequences []SequenceStanding // of the sequences that are not deleted, in the order of their names
	Open      int                // jobs that have not ended
	Oldest    time.Time          // when the one of these that has stood still longest was last changed; zero for none
	Sent      int                // jobs that stood still, and were sent to the queue again
}

// Tend is one run of the schedule. First it sweeps every pool, and again those that have work left after that, so that a pool
// that is used faster than the bound of one sweep catches up. Deleted pools come after the others: what was on its way
// when they were deleted is still to be finished, above all a batch given up under a key, which answers CodeKeyBusy
// until then. Then it carries on the jobs, within bounds; where there are any, sweeps leave them a fifth of the time.
//
// A pool that fails does not stop the others, nor does a job. The run begins nothing more tendMargin before the context's
// deadline, and that its time is over is no error, nor is what fails for that alone: the next run goes on; each run has an order
// of its own, so that the same pools are not left out for ever. Needs ActionTend on all.
func (s *Service) Tend(ctx context.Context) (TendReport, error) {
	if _, err := s.permit(ctx, ActionTend, everything); err != nil {
		return TendReport{Failed: map[PoolName]error{}}, err
	}
	whole, cancel := endingBefore(ctx, tendMargin)
	defer cancel()
	over := func() bool { return whole.Err() != nil }
	jobs, jobsErr := s.dueJobs(ctx, over)
	names, err := s.tendOrder(ctx)

	run := tending{store: s.store, over: over, enough: over, swept: map[PoolName]SweepReport{}, failed: map[PoolName]error{}}
	if len(jobs.due) > 0 {
		share, cancel := endingBefore(whole, timeOf(whole)/jobsShare)
		defer cancel()
		run.enough = func() bool { return share.Err() != nil }
	}
	due := names
	for range tendRounds {
		due = run.sweep(ctx, due)
	}
	report := run.report(len(names))
	report.Jobs = s.work(ctx, jobs.due, over)
	report.Open, report.Oldest, report.Sent = jobs.open, jobs.oldest, jobs.sent
	switch {
	case over():
		return report, nil
	case err != nil:
		return report, err
	}
	return report, jobsErr
}

// endingBefore returns a context that ends so much before the deadline of ctx, if it has one.
func endingBefore(ctx context.Context, early time.Duration) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline.Add(-early))
}

// timeOf is how much time is left until the deadline of ctx; 0 without one.
func timeOf(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return max(0, time.Until(deadline))
}

// tending is a run on its way.
type tending struct {
	store  Store
	over   func() bool // the run's time is
	enough func() bool // the time for sweeps is over
	swept  map[PoolName]SweepReport
	failed map[PoolName]error
}

// sweep sweeps the pools in turn, until the time for it is over, and returns those that have work left.
func (t *tending) sweep(ctx context.Context, pools []PoolName) (more []PoolName) {
	for _, name := range pools {
		if t.enough() {
			return nil
		}
		switch r, err := t.store.Sweep(ctx, name); {
		case err == nil:
			t.swept[name] = t.swept[name].plus(r)
			if r.More {
				more = append(more, name)
			}
		case !t.over():
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
			if p.Name <= after {
				return append(live, deleted...), goesNotOn("pools")
			}
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

// goesNotOn is the error for a list of a Store that would never end.
func goesNotOn(list string) error {
	return Errorf(CodeInternal, "the store's list of %s does not go on", list)
}
