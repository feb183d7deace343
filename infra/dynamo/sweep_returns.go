package dynamo

import (
	"context"
	"math"
	"time"

	"idpool/alloc"
)

const (
	// returnsPage is how many return items are read at once, and returnPages how many times in one run.
	returnsPage = 500
	returnPages = 20

	// sweepLockTime is how long a sweep keeps others waiting at most, and sweepPatience how long one waits.
	sweepLockTime = 20 * time.Second
	sweepPatience = time.Second
	sweepPoll     = 50 * time.Millisecond
)

// heldUnknown is the count of what is held when something of it could not be read, whatever is added to it.
const heldUnknown = math.MinInt64 / 2

// returns does what is due of what the return items say, from a sort key on, and counts the rest. Where there are more
// than it meets at once, keys given up come first: their clients wait. The next run goes on where this one stops, behind
// what has failed too: so all have their turn.
func (w *sweep) returns(ctx context.Context, from string) error {
	cost := w.share(returnsShare)
	w.more = from
	var errs []error
	for n := 0; n < returnPages && !cost.spent() && firstOf(errs) == nil; n++ {
		page, err := w.s.table.Query(ctx, Query{PK: returnsPK(w.pool), From: w.more, Limit: returnsPage})
		if err != nil {
			w.held = heldUnknown
			return err
		}
		if n == 0 && (page.More || from != "") {
			errs = append(errs, w.givenUp(ctx))
		}
		if err := w.someReturns(ctx, page.Items); err != nil {
			w.held = heldUnknown
			errs = append(errs, err)
		}
		if !page.More || len(page.Items) == 0 {
			w.whole, w.all, w.more = true, from == "", ""
			w.verifyAnew()
			break
		}
		w.more = page.Items[len(page.Items)-1].Str(AttrSK) + "\x00"
	}
	return firstOf(errs)
}

// givenUp settles keys that were given up, a page of them. Their items stand behind those of all IDs.
func (w *sweep) givenUp(ctx context.Context) error {
	page, err := w.s.table.Query(ctx, Query{PK: returnsPK(w.pool), From: voidsFrom, Limit: returnsPage})
	if err != nil {
		return err
	}
	return w.someReturns(ctx, page.Items)
}

// someReturns does what is due of some return items. One that cannot be done now does not keep the others waiting.
func (w *sweep) someReturns(ctx context.Context, items []Item) error {
	now := w.s.now().UnixMilli()
	var due, waiting []Item
	var errs []error
	for _, it := range items {
		w.holds[it.Str(AttrSK)] = true
		switch {
		case it.Str(AttrReason) == ReasonVoid:
			if w.voids >= voidsShare {
				w.left = true
				continue
			}
			before := w.meter.calls.Load()
			settled, err := w.s.settleVoid(ctx, w.pool, it)
			w.voids += w.meter.calls.Load() - before
			errs = append(errs, err)
			if settled {
				w.report.Voided++
			}
		case it.Str(AttrReason) == ReasonHold && it.Int(AttrDue) > now:
			if !w.deleted {
				waiting = append(waiting, it)
			}
		default:
			due = append(due, it)
		}
	}
	early, err := w.waiting(ctx, waiting)
	return firstOf(append(errs, err, w.bringBack(ctx, append(due, early...))))
}

// bringBack does steps 2 to 6 for return items that are due.
func (w *sweep) bringBack(ctx context.Context, due []Item) error {
	homes := make([]*homecoming, len(due))
	errs := make([]error, len(due))
	each(len(due), claimWidth, func(i int) {
		home, moved, err := w.s.turnBack(ctx, w.pool, due[i])
		if err == nil && moved {
			err = w.s.giveWay(ctx, w.pool, due[i])
		}
		homes[i], errs[i] = home, err
	})
	for _, home := range homes {
		if home != nil {
			w.report.Returned++
		}
	}
	return firstOf(append(errs, w.s.bringBack(ctx, w.pool, homes)))
}

// mindHolds puts the return items of held IDs of the view that lack them: their holder was cut off before it was put. Of
// IDs whose items this run has not met, as there are too many, it looks first.
func (w *sweep) mindHolds(ctx context.Context, v *view) error {
	var held []listing
	var keys []Key
	for _, c := range v.chunks {
		for _, l := range c.listings {
			if key := returnKey(w.pool, l); v.standing(l) == listingHeld && !w.holds[key.SK] {
				held, keys = append(held, l), append(keys, key)
				w.holds[key.SK] = true // an ID may be listed twice
			}
		}
	}
	there := make([]Item, len(held))
	if !w.all && len(held) > 0 {
		var err error
		if there, err = w.s.getAll(ctx, keys); err != nil {
			return err
		}
	}
	put, errs := make([]bool, len(held)), make([]error, len(held))
	each(len(held), claimWidth, func(i int) {
		if there[i] == nil {
			it := v.states[held[i].id]
			put[i], errs[i] = w.s.keepHold(ctx, w.pool, held[i], it.Str(AttrToken), it.Int(AttrHoldEnd))
		}
	})
	for i, key := range keys {
		if put[i] && (w.more == "" || key.SK < w.more) {
			w.held++ // behind that the next run meets it
		}
	}
	return firstOf(errs)
}

// stop is where a sweep stopped with the return items, "" for their end, how many of those up to there are held, from
// where on the IDs of holds are to be verified, and what is known of chunks that are not leased yet.
type stop struct {
	sk     string
	held   int64
	verify string

	series  int64
	useless useless
	turn    int64
}

// attrVerify is where the last sweep stopped verifying holds, of a lock.
const attrVerify = "vf"

// sweepLock keeps two sweeps of a pool apart, so that they do not do the same work twice, and returns where the last
// one stopped. It is not trusted: whoever has waited a while goes on without it, as it does when the lock cannot be had at
// all.
func (s *Store) sweepLock(ctx context.Context, pool alloc.PoolName) (unlock func(stop), from stop) {
	token := string(alloc.NewToken())
	for waited := time.Duration(0); waited < sweepPatience; waited += sweepPoll {
		var free bool
		if free, from = s.tryLock(ctx, pool, token); free {
			return func(at stop) { s.unlock(ctx, pool, token, at) }, from
		}
		if s.wait(ctx, sweepPoll) != nil {
			break
		}
	}
	return func(stop) {}, stop{series: from.series, useless: from.useless, turn: from.turn}
}

// tryLock takes the lock, unless another sweep has it.
func (s *Store) tryLock(ctx context.Context, pool alloc.PoolName, token string) (free bool, last stop) {
	now := s.now()
	mine := map[string]any{AttrToken: token, AttrDue: now.Add(sweepLockTime).UnixMilli()}
	it, err := s.table.Update(ctx, sweepLockKey(pool), Update{Set: mine}, Le(AttrDue, now.UnixMilli()))
	old, met := refusedBy(err)
	if met && old == nil {
		err = s.table.Put(ctx, item(sweepLockKey(pool), mine), Absent(AttrPK))
		old, met = refusedBy(err)
	}
	if met {
		it = old
	}
	last = stop{verify: it.Str(attrVerify), series: it.Int(AttrSeries), useless: parseUseless(it.Str(attrUseless)), turn: it.Int(attrTurn)}
	if sk := it.Str(AttrFrom); sk != "" {
		last.sk, last.held = sk, it.Int(AttrHeld)
	}
	return !met || old.Str(AttrToken) == token, last
}

func (s *Store) unlock(ctx context.Context, pool alloc.PoolName, token string, at stop) {
	set := map[string]any{
		AttrDue: int64(0), AttrFrom: at.sk, AttrHeld: at.held, attrVerify: at.verify,
		AttrSeries: at.series, attrUseless: at.useless.String(), attrTurn: at.turn,
	}
	_, _ = s.table.Update(ctx, sweepLockKey(pool), Update{Set: set}, Eq(AttrToken, token)) //nolint:errcheck // it ends by itself
}
