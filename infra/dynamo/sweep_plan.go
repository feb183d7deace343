package dynamo

import (
	"context"
	"time"
)

const (
	// staleAfter is how long a chunk has been leased before a sweep publishes again what nobody has claimed of it. Where
	// plenty is left to lease and few chunks are leased, a sweep waits until whoever leased it has forgotten it as well:
	// what he claims of it after it was listed again would count as available until somebody leases it in vain.
	staleAfter    = 2 * time.Minute
	patientAfter  = stockAge + staleAfter
	patientWindow = 400

	// sweepSlice is how many chunks are judged at once, and sweepWindow how many in one run.
	sweepSlice  = 100
	sweepWindow = 4000

	// nearlyEmpty is how many chunks are left to lease when stock is taken back at once.
	nearlyEmpty = 2
)

// plan is what a look at the queue has shown and what is to be done about it.
type plan struct {
	cost    share
	low     int64     // the low mark may rise to here
	relist  []listing // free IDs of stale stock, to be published again
	from    []int64   // the chunks that they stand in
	passed  int64     // listings found settled
	free    int64     // free IDs among the leased listings that stay
	dead    int64     // listings of no use among those not leased yet
	dirtyTo int64     // there are such before this chunk
	left    bool      // there is more to be judged or listed, and nothing to be waited for

	listed map[listing]bool // free IDs that are listed where they can be leased, or will be
}

// judge goes through the window from its low end. A chunk with nothing unsettled is passed, so is one that was leased so
// long ago that what is free in it is listed again. The first other chunk ends that.
func (w *sweep) judge(ctx context.Context, h *head, p *plan) error {
	stale, err := w.staleBefore(ctx, h)
	if err != nil {
		return err
	}
	end := min(h.nx, h.lo+sweepWindow)
	counted := map[listing]bool{}
	passing := true
	from := h.lo
	for ; from < end && !p.cost.spent(); from += sweepSlice {
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
			passing = passing && (len(open) == 0 || c.n < stale && p.room(len(open)))
			if passing {
				p.low = c.n + 1
			}
			for _, l := range open {
				switch {
				case passing:
					p.listed[l] = true
					p.relist, p.from = append(p.relist, l), append(p.from, c.n)
				case !counted[l]:
					counted[l] = true
					p.free++
				}
			}
		}
	}
	p.left = p.left || passing && from < h.nx
	return nil
}

// room reports whether so many more listings may be published again by this run, of a stale chunk.
func (p *plan) room(n int) bool {
	ok := len(p.relist)+n <= relistMost
	p.left = p.left || !ok
	return ok
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
	age := staleAfter
	if h.tl-h.nx > checkNear && h.nx-h.lo <= patientWindow {
		age = patientAfter
	}
	limit := w.s.now().Add(-age)
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
