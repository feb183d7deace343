package dynamo

import (
	"context"
	"maps"
	"slices"
	"time"

	"idpool/alloc"
)

// A hold is answered only after its return item is put, which names its end: by that it comes back although nobody ever
// calls again, and although its listing may stand in a chunk that no sweep looks at. A sweep puts the item for a hold
// that was cut off before that, as soon as it meets the listing.

// holds reports whether the IDs are held only.
func (t *taker) holds() bool { return !t.until.IsZero() }

// holdEnd is when a hold ends that begins at a time; zero for no hold.
func holdEnd(at time.Time, hold time.Duration) time.Time {
	if hold == 0 {
		return time.Time{}
	}
	return at.Add(hold)
}

// keepHolds puts the return items of IDs that are held, side by side.
func (s *Store) keepHolds(ctx context.Context, t *taker, ls []listing) error {
	if !t.holds() {
		return nil
	}
	errs := make([]error, len(ls))
	each(len(ls), claimWidth, func(i int) {
		errs[i] = s.insist(ctx, func() error {
			_, err := s.keepHold(ctx, t.pool, ls[i], t.token, t.until.UnixMilli())
			return err
		})
	})
	return firstOf(errs)
}

// keepHold puts the return item of one held ID, unless there is one, and reports whether it did. One that comes too late,
// as the ID has come back since, is dropped by a sweep: an item is about one generation alone.
func (s *Store) keepHold(ctx context.Context, pool alloc.PoolName, l listing, token string, end int64) (put bool, err error) {
	err = s.table.Put(ctx, returnItem(pool, l, token, ReasonHold, end), Absent(AttrPK))
	if _, met := refusedBy(err); met {
		return false, nil
	}
	return err == nil, err
}

// returnItem is the item by which an ID of a generation comes back, not before it is due (in milliseconds; 0 for at once).
func returnItem(pool alloc.PoolName, l listing, token, reason string, due int64) Item {
	return item(returnKey(pool, l), Item{
		AttrID: string(l.id), AttrGeneration: l.gen, AttrToken: token, AttrReason: reason, AttrDue: due,
	})
}

// verifyHolds is of how many holds that are not due a sweep reads the ID: of those next in turn. The mark that says which
// these are goes from run to run, so whenever sweeps run, all have their turn. Whoever confirms or retires a hold removes
// its return item, so the rest are as the items say, but for a few whose owner was cut off.
const verifyHolds = 500

// verifies reports whether this run reads the ID of a return item. It is asked in the order of their sort keys.
func (w *sweep) verifies(ret Item) bool {
	sk := ret.Str(AttrSK)
	switch {
	case sk < w.verify || w.begun > w.verify: // before the mark, or the mark is before all that this run meets
		return false
	case w.verified == verifyHolds:
		w.skipped = true
		return false
	}
	w.verified++
	w.verify = sk + "\x00"
	return true
}

// verifyAnew begins at the first hold again, if the last one has had its turn.
func (w *sweep) verifyAnew() {
	if !w.skipped && w.begun <= w.verify {
		w.verify = ""
	}
}

// waiting looks at holds that are not due. It counts those that stand, drops the items of those that were confirmed,
// retired or are over, and returns those on their way back by a clock that is ahead of ours: whoever began that may have
// been cut off.
func (w *sweep) waiting(ctx context.Context, all []Item) (due []Item, err error) {
	var rets []Item
	states := make(map[alloc.ID]Item, len(all))
	for _, ret := range all {
		if !w.verifies(ret) {
			w.held++
			continue
		}
		rets = append(rets, ret)
		states[alloc.ID(ret.Str(AttrID))] = nil // an ID may be waited for in two of its generations
	}
	if err := w.s.readIDs(ctx, w.pool, slices.Sorted(maps.Keys(states)), states); err != nil {
		return nil, err
	}
	var over []Item
	for _, ret := range rets {
		l := listing{alloc.ID(ret.Str(AttrID)), ret.Int(AttrGeneration)}
		switch it := states[l.id]; (&taker{token: ret.Str(AttrToken)}).standing(it, l) {
		case ended:
			due = append(due, ret)
		case won:
			if it.Str(AttrState) == StateHeld {
				w.held++
				continue
			}
			over = append(over, ret)
		default:
			over = append(over, ret)
		}
	}
	errs := make([]error, len(over))
	each(len(over), claimWidth, func(i int) { errs[i] = w.s.giveWay(ctx, w.pool, over[i]) })
	return due, firstOf(errs)
}
