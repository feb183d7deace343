package alloc

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"time"
)

// What a run does with its time. A Store may refuse to begin what it cannot end before the deadline, so a run ends a little
// earlier by itself; infra/dynamo begins nothing in the last 300 ms.
const (
	tendMargin     = 500 * time.Millisecond
	jobsShare      = 5  // the part of the time that is left to jobs, where there are any: one in five
	sequencesShare = 10 // the part that is left to sequences, where there are any: one in ten
)

// TendReport says what one run of the schedule did.
type TendReport struct {
	Swept  []SweepReport      // in the order of their names; of a pool that was swept more than once, all together
	Failed map[PoolName]error // pools that could not be swept, or whose level could not be read; what went well before is told all the same
	Left   int                // pools that were not swept when the run's time was over
	Jobs   []JobReport        // of the jobs that this run was to carry on, and of those whose record cannot be read, in the order of their IDs

	Refills   []RefillReport     // of the pools with a generator, in the order of their names
	Pools     []PoolStanding     // of the pools that are not deleted, in the order of their names
	Sequences []SequenceStanding // of the sequences that are not deleted, in the order of their names
	Open      int                // jobs that have not ended
	Foreign   int                // of these, those of a kind that this version does not know, left to one that does
	Oldest    time.Time          // when the one of these that has stood still longest was made, or a step of it last went well; those that wait for their file do not count. Zero for none
	Sent      int                // jobs that stood still, and were sent to the queue again
	Rebuilds  []Rebuild          // that this run began or carried on, as it left them
	Unheard   int                // administrative steps whose process ended before it could say how they ended: recorded as ResultUnknown by this run
	Unsent    int                // those that were not, as the queue did not take one of them, or the time was over
}

// Tend is one run of the schedule. First it comes to every pool: it sweeps it, fills it by a batch if it is to be filled, and
// looks how it stands. Then it comes again to those that have work left after that, so that a pool that is used faster
// than the bound of one sweep, or of one batch, catches up and none waits for it. Deleted pools come after the others, but for one, which is
// first, so that it has its turn also where the others need all of the time: what was on its way
// when they were deleted is still to be finished, above all a batch given up under a key, which answers CodeKeyBusy
// until then. Then it watches the sequences, carries on their rebuilds and keeps samples of them, writes the board of how all stands, and carries on the jobs, within bounds, or sends word of those that stand still;
// where there are any, pools leave them their share of the time, and a queue that does not answer takes no more than that.
//
// A pool that fails does not stop the others, nor does a sequence or a job. The run begins nothing more tendMargin before the context's
// deadline, and that its time is over is no error, nor is what fails for that alone: the next run goes on; each run has an order
// of its own, so that the same pools are not left out for ever. Needs ActionTend on all.
func (s *Service) Tend(ctx context.Context) (TendReport, error) {
	caller, err := s.permit(ctx, ActionTend, everything)
	if err != nil {
		return TendReport{Failed: map[PoolName]error{}}, err
	}
	whole, cancel := endingBefore(ctx, tendMargin)
	defer cancel()
	over := func() bool { return whole.Err() != nil }
	jobs, jobsErr := s.findJobs(ctx, over)
	pools, poolsErr := s.tendOrder(ctx)
	sequences, sequencesErr := s.liveSequences(ctx)

	forJobs, forSequences := time.Duration(0), time.Duration(0)
	if jobs.any() {
		forJobs = timeOf(whole) / jobsShare
	}
	if len(sequences) > 0 {
		forSequences = timeOf(whole) / sequencesShare
	}
	beforeJobs, cancel := endingBefore(whole, forJobs)
	defer cancel()
	beforeSequences, cancel := endingBefore(beforeJobs, forSequences)
	defer cancel()

	run := tending{
		Service: s, caller: caller, over: over, time: beforeSequences, enough: func() bool { return beforeSequences.Err() != nil }, sequences: map[SequenceName]Sequence{},
	}
	for _, q := range sequences {
		run.sequences[q.Name] = q
	}
	report := run.pools(ctx, pools)
	numbers := s.tendSequences(ctx, sequences, func() bool { return beforeJobs.Err() != nil })
	report.Sequences, report.Rebuilds = numbers.standings, numbers.rebuilds
	boardErr := cmp.Or(poolsErr, sequencesErr)
	if boardErr == nil {
		boardErr = run.keepBoard(ctx, numbers)
	}
	report.Jobs = s.work(ctx, jobs.due, over)
	remindErr := s.remind(whole, &jobs, over)
	freeErr := s.freeRebuilds(whole, &report, over)
	unheard, unheardErr := s.endUnheard(whole, over)
	report.Unheard = unheard
	jobs.tell(&report)
	if over() {
		return report, nil
	}
	return report, cmp.Or(poolsErr, sequencesErr, numbers.failed, jobsErr, remindErr, freeErr, unheardErr, boardErr)
}

// endingBefore returns a context that ends so much before the deadline of ctx, if it has one.
func endingBefore(ctx context.Context, early time.Duration) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline.Add(-early))
}

// until returns ctx with the deadline of the other context, if that has one.
func until(ctx, other context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := other.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline)
}

// timeOf is how much time is left until the deadline of ctx; 0 without one.
func timeOf(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return max(0, time.Until(deadline))
}

// tendOrder lists the pools as a run comes to them: one of the deleted ones, those that are not, and the other deleted ones.
// Beside an error, those that were found before it.
func (s *Service) tendOrder(ctx context.Context) ([]Pool, error) {
	var live, deleted []Pool
	err := every(ctx, "pools", s.store.ListPools, func(p Pool) PoolName { return p.Name }, func(p Pool) {
		if p.State == PoolDeleted {
			deleted = append(deleted, p)
		} else {
			live = append(live, p)
		}
	})
	shuffle(live)
	shuffle(deleted)
	first := min(1, len(deleted))
	return slices.Concat(deleted[:first], live, deleted[first:]), err
}

// liveSequences lists the sequences that are not deleted as a run comes to them; beside an error, as tendOrder.
func (s *Service) liveSequences(ctx context.Context) (live []Sequence, err error) {
	err = every(ctx, "sequences", s.store.ListSequences, func(q Sequence) SequenceName { return q.Name }, func(q Sequence) {
		if q.State != SequenceDeleted {
			live = append(live, q)
		}
	})
	shuffle(live)
	return live, err
}

func shuffle[T any](list []T) {
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// every gives one after the other of a Store's list to take.
func every[N ~string, T any](
	ctx context.Context, what string, list func(context.Context, N, int) ([]T, error), name func(T) N, take func(T),
) error {
	const page = 100
	for after, more := N(""), true; more; {
		found, err := list(ctx, after, page)
		if err != nil {
			return err
		}
		for _, t := range found {
			if name(t) <= after {
				return goesNotOn(what)
			}
			after = name(t)
			take(t)
		}
		more = len(found) == page
	}
	return nil
}

// goesNotOn is the error for a list of a Store that would never end.
func goesNotOn(list string) error {
	return Errorf(CodeInternal, "the store's list of %s does not go on", list)
}
