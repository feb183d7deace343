package dynamo

import (
	"context"
	"errors"
	"time"

	"idpool/alloc"
)

const (
	// staleAfter is how long a chunk has been leased before a sweep publishes again what nobody has claimed of it.
	staleAfter = 2 * time.Minute

	// sweepSlice is how many chunks are judged at once, and sweepWindow how many in one run.
	sweepSlice  = 200
	sweepWindow = 4000

	// sweepTries bounds how often a sweep begins anew because the tail moved under it.
	sweepTries = 5

	// nearlyEmpty is how many chunks are left to lease when stock is taken back at once.
	nearlyEmpty = 2

	// checkNear and checkFar are how many chunks that are not leased yet are checked for listings of no use: where few
	// are left, and where there are many.
	checkNear = 100
	checkFar  = 20

	sampleAge  = 35 * 24 * time.Hour
	sampleTime = "20060102T1504Z"
)

// errReplan says that the tail was moved by another after the sweep had looked.
var errReplan = errors.New("the tail was moved by another")

// Sweep implements alloc.Claims. It also works on a pool that is paused or draining. In a deleted one it finishes what
// is on its way back, so that no key waits for ever; where there is nothing of that, it costs two reads.
func (s *Store) Sweep(ctx context.Context, pool alloc.PoolName) (alloc.SweepReport, error) {
	h, err := s.poolHead(ctx, pool)
	if err != nil {
		return alloc.SweepReport{}, err
	}
	if h.pool.State == alloc.PoolDeleted {
		return s.sweepDeleted(ctx, pool)
	}
	unlock, from := s.sweepLock(ctx, pool)
	w := &sweep{s: s, pool: pool, report: alloc.SweepReport{Pool: pool}, held: from.held, holds: map[string]bool{}, every: 1 + h.counted.held/verifyHolds}
	defer func() { unlock(stop{w.more, w.held}) }()
	if err := s.mendCatalogue(ctx, pool); err != nil {
		return w.report, err
	}
	if err := w.returns(ctx, from.sk); err != nil {
		return w.report, err
	}
	for range sweepTries {
		h, err := s.poolHead(ctx, pool)
		if err != nil {
			return w.report, err
		}
		if h.rebuilding {
			return w.report, poolRebuilding(pool)
		}
		if err = w.tidy(ctx, h); !errors.Is(err, errReplan) {
			return w.report, err
		}
	}
	w.report.More = true
	return w.report, nil
}

// sweepDeleted begins with the return items at their beginning. Where there are more than one run meets, it also goes on
// from where the last such run stopped.
func (s *Store) sweepDeleted(ctx context.Context, pool alloc.PoolName) (alloc.SweepReport, error) {
	w := &sweep{s: s, pool: pool, report: alloc.SweepReport{Pool: pool}, deleted: true, holds: map[string]bool{}, every: 1}
	err := w.returns(ctx, "")
	if err == nil && w.more != "" {
		unlock, from := s.sweepLock(ctx, pool)
		defer func() { unlock(stop{sk: w.more}) }()
		err = w.returns(ctx, max(from.sk, w.more))
	}
	w.report.More = w.more != ""
	return w.report, err
}

// sweep is one run.
type sweep struct {
	s      *Store
	pool   alloc.PoolName
	report alloc.SweepReport

	deleted bool  // the pool is: nothing is counted
	every   int64 // of so many holds that are not due one is verified

	held  int64           // as the return items say that were met, in this run and those before it that it goes on from
	holds map[string]bool // sort keys of the return items that were met or put
	whole bool            // the last return item was met, by this run
	all   bool            // so was every other
	more  string          // where the next run goes on with the return items; "" at the beginning
}

// mendCatalogue marks the pool as made, where its creation was cut off after the head.
func (s *Store) mendCatalogue(ctx context.Context, pool alloc.PoolName) error {
	entry, err := s.table.Get(ctx, catalogueKey(pool))
	if err != nil || entry.Str(AttrState) != catalogueCreating {
		return err
	}
	return s.catalogueIsLive(ctx, pool)
}

// plan is what a look at the queue has shown and what is to be done about it.
type plan struct {
	low     int64     // the low mark may rise to here
	relist  []listing // free IDs of stale stock, to be published again
	passed  int64     // listings found settled
	free    int64     // free IDs among the leased listings that stay
	dead    int64     // listings of no use among those not leased yet
	dirtyTo int64     // there are such before this chunk
	bounded bool      // the window goes on beyond what was judged

	listed map[listing]bool // free IDs that are listed where they can be leased, or will be
}

// tidy judges the queue, publishes again what is stale, raises the low mark and counts. h was read just now.
func (w *sweep) tidy(ctx context.Context, h *head) error {
	h, err := w.s.settleTail(ctx, h)
	if err != nil {
		return err
	}
	p := &plan{low: h.lo, listed: map[listing]bool{}}
	if err := w.check(ctx, h, p); err != nil {
		return err
	}
	if err := w.judge(ctx, h, p); err != nil {
		return err
	}
	unleased, err := w.s.unleased(ctx, h)
	if err != nil {
		return err
	}
	held := w.held
	if !w.whole {
		held = h.counted.held
	}
	now := w.s.now()
	available := max(0, unleased+int64(len(p.relist))+p.free-p.dead)
	m := &move{from: h.lo, to: p.low, wanted: h.wanted, dirtyTo: p.dirtyTo, set: map[string]any{
		AttrWindowFree: p.free, AttrDead: p.dead, AttrHeld: held, AttrCountedAt: now.UnixMilli(),
		AttrGone: max(0, h.seeded-available-held),
	}}
	if h, err = w.s.publish(ctx, h, relisted(drafts(w.pool, p.relist, h.seeded)), once(), m); err != nil {
		return err
	}
	w.report.Passed += alloc.Count(p.passed)
	w.report.Relisted += alloc.Count(len(p.relist))
	w.report.More = w.report.More || p.bounded || w.more != ""
	w.s.pools.known(h, now)
	return w.sample(ctx, h, available, now)
}

// relisted marks drafts whose listings may stand elsewhere too.
func relisted(list []draft) []draft {
	for i := range list {
		list[i].relisted = true
	}
	return list
}

// once is a guard that lets one attempt through: before the next the sweep must look again, or what another has just
// listed would be listed twice.
func once() func(context.Context) error {
	tried := false
	return func(context.Context) error {
		if tried {
			return errReplan
		}
		tried = true
		return nil
	}
}

// check looks at chunks that are not leased yet and may list what others list too: what they list of free IDs need not
// be listed again, and the rest is of no use. Where many chunks are left, it looks at the last ones alone.
func (w *sweep) check(ctx context.Context, h *head, p *plan) error {
	from, to := h.nx, h.tl
	switch {
	case h.dirtyTo <= h.nx:
		return nil
	case h.tl-h.nx > checkNear:
		from, to = max(h.nx, h.dirtyFrom, h.dirtyTo-checkFar), h.dirtyTo
	}
	v, err := w.s.window(ctx, h, from, to)
	if err != nil {
		return err
	}
	if err := w.mindHolds(ctx, v); err != nil {
		return err
	}
	for _, c := range v.chunks {
		for _, l := range c.listings {
			standing := v.standing(l)
			if standing == listingHeld || standing == listingSettled || p.listed[l] {
				p.dead++
				p.dirtyTo = c.n + 1
				continue
			}
			p.listed[l] = true
		}
	}
	return nil
}

// judge goes through the window from its low end. A chunk with nothing unsettled is passed, so is one that was leased so
// long ago that what is free in it is listed again. The first other chunk ends that.
func (w *sweep) judge(ctx context.Context, h *head, p *plan) error {
	stale, err := w.staleBefore(ctx, h)
	if err != nil {
		return err
	}
	end := min(h.nx, h.lo+sweepWindow)
	p.bounded = end < h.nx
	counted := map[listing]bool{}
	passing := true
	for from := h.lo; from < end; from += sweepSlice {
		v, err := w.s.window(ctx, h, from, min(end, from+sweepSlice))
		if err != nil {
			return err
		}
		if err := w.mindHolds(ctx, v); err != nil {
			return err
		}
		for _, c := range v.chunks {
			open, err := w.unsettled(ctx, v, c, p.listed)
			if err != nil {
				return err
			}
			p.passed += int64(len(c.listings) - len(open))
			passing = passing && (len(open) == 0 || c.n < stale)
			if passing {
				p.low = c.n + 1
			}
			for _, l := range open {
				switch {
				case passing:
					p.listed[l] = true
					p.relist = append(p.relist, l)
				case !counted[l]:
					counted[l] = true
					p.free++
				}
			}
		}
	}
	return nil
}

// unsettled returns the chunk's listings of which something is still to come: those of free IDs that are not listed
// elsewhere. On the way it finishes returns that are listed.
func (w *sweep) unsettled(ctx context.Context, v *view, c *chunk, listed map[listing]bool) ([]listing, error) {
	var open []listing
	for _, l := range c.listings {
		switch v.standing(l) {
		case listingReturning:
			if err := w.s.finishReturn(ctx, w.pool, l.id, v.states[l.id]); err != nil {
				return nil, err
			}
		case listingHeld, listingSettled:
			continue
		case listingFree:
		}
		if !listed[l] {
			open = append(open, l)
		}
	}
	return open, nil
}

// staleBefore is the first chunk that was leased too lately to be taken back.
func (w *sweep) staleBefore(ctx context.Context, h *head) (int64, error) {
	limit := w.s.now().Add(-staleAfter)
	if h.lo == h.nx || h.wanted || h.tl-h.nx <= nearlyEmpty || !h.leasedAt.After(limit) {
		return h.nx, nil
	}
	page, err := w.s.table.Query(ctx, Query{PK: samplesPK(w.pool), To: limit.UTC().Format(sampleTime), Descending: true, Limit: 3})
	if err != nil {
		return 0, err
	}
	for _, it := range page.Items {
		if !fromMilli(it.Int(AttrTaken)).After(limit) && it.Int(AttrSeries) == h.series {
			return it.Int(AttrNext), nil
		}
	}
	return h.lo, nil
}

// sample records the level once a minute, for the next sweeps and for forecasts.
func (w *sweep) sample(ctx context.Context, h *head, available int64, now time.Time) error {
	it := Item{
		AttrPK: samplesPK(w.pool), AttrSK: now.UTC().Format(sampleTime), AttrTaken: now.UnixMilli(), AttrSeries: h.series,
		AttrLow: h.lo, AttrNext: h.nx, AttrTail: h.tl, AttrAvail: available, AttrExpires: now.Add(sampleAge).Unix(),
	}
	err := w.s.table.Put(ctx, it, Absent(AttrPK))
	if _, met := refusedBy(err); met {
		return nil
	}
	return err
}
