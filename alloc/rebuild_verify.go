package alloc

import (
	"context"
)

// verify leases the test numbers of a counter that was put where the plan says, and reads the whole ledger against them, as far
// as there is time. The counter is right if all that others ever leased lies below it, what came into the ledger since the plan was
// made included, and if the ledger has what was just leased.
func (b rebuilding) verify(ctx context.Context, r Rebuild, q Sequence) (Rebuild, error) {
	if len(r.Tested) == 0 {
		tested, wrong, err := b.test(ctx, r, q)
		switch {
		case err != nil:
			return Rebuild{}, err
		case wrong != "":
			return b.replan(ctx, r, r.base(), wrong)
		case len(tested) > 0:
			to := r
			to.Tested, to.Check = tested, LedgerSum{}
			if r, err = b.change(ctx, r, to); err != nil {
				return Rebuild{}, err
			}
		}
	}
	for !r.Check.Whole {
		if b.over() {
			return r, nil
		}
		to, wrong := r, ""
		var err error
		to.Check, err = b.walk(ctx, r.Sequence, r.Check, func(e LeaseRecord) { wrong = r.against(e, wrong) })
		switch {
		case err != nil:
			return Rebuild{}, err
		case wrong != "":
			return b.replan(ctx, r, r.base(), wrong)
		}
		if r, err = b.change(ctx, r, to); err != nil {
			return Rebuild{}, err
		}
	}
	if n := len(r.Tested); n > 0 && (r.Check.Entries == 0 || r.Check.Highest < r.Tested[n-1]) {
		return b.replan(ctx, r, r.base(), "the ledger has not kept the numbers that were leased for the test")
	}
	to := r
	to.Step = RebuildVerified
	against := several(r.Check.Entries, "entry of the ledger", "entries of the ledger")
	if len(r.Tested) == 0 {
		against += ", " + notTested
	}
	return b.change(ctx, r, to.noting(b.second(), "verified against %s", against))
}

// test leases the test numbers, as many of them as the sequence has left, and returns the first and the last; none where it has none
// left. wrong says why the counter cannot be right.
func (b rebuilding) test(ctx context.Context, r Rebuild, q Sequence) (tested []Number, wrong string, err error) {
	n := min(TestNumbers, q.Remaining(), q.Config.MaxLease)
	if n < 1 {
		return nil, "", nil
	}
	got, err := b.store.Lease(ctx, LeaseOrder{Sequence: r.Sequence, Count: n, By: b.by, Segment: true, Rebuild: r.ID})
	switch {
	case Is(err, CodeSequenceStopped):
		return nil, "the numbers that it would give out next are used already", nil
	case Is(err, CodeRebuildStep):
		return nil, "the sequence is not in its hand any more", nil
	case err != nil:
		return nil, "", err
	case got.Start < r.Plan.Next || got.End < got.Start || got.Epoch != r.Plan.Epoch:
		return nil, inWords("the counter gave out %d to %d in epoch %d", got.Start, got.End, got.Epoch), nil
	}
	return []Number{got.Start, got.End}, "", nil
}

// against says why the counter cannot be right, beside the entry of the ledger; wrong is why it cannot already. What the test itself has leased, more than
// once where an answer was lost, is in the epoch of the plan, in which nobody else has leased anything yet.
func (r Rebuild) against(e LeaseRecord, wrong string) string {
	switch {
	case wrong != "":
		return wrong
	case e.isDamaged() && e.Start >= r.Plan.Next:
		return inWords("the entry of the ledger at %d, which cannot be read, is not below it", e.Start)
	case e.isDamaged(), e.End < r.Plan.Next, e.Epoch == r.Plan.Epoch && e.Start >= r.Plan.Next:
		return ""
	}
	return inWords("the lease of %d to %d is not below it", e.Start, e.End)
}
