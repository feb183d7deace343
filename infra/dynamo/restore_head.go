package dynamo

import (
	"context"
	"slices"

	"idpool/alloc"
)

// outdate makes all key records of the pool count as such from before a restore: see keyedClaim.outlived.
func (c *carrying) outdate(ctx context.Context) error {
	point := c.point.UnixMilli()
	for range publishTries {
		h := c.head
		if h.restored >= point {
			return nil
		}
		if h.rebuilding {
			return poolRebuilding(c.pool)
		}
		now, _, err := c.s.updateHead(ctx, h, Update{Set: map[string]any{AttrRestored: point}}, countIs(AttrRestored, h.restored))
		if err != nil {
			return err
		}
		c.head = now
	}
	return poolContended(c.pool)
}

// soil makes all that is to be leased of the queue count as such that may list what is of no use, before IDs are taken that nobody has
// leased: so sweeps look for them.
func (c *carrying) soil(ctx context.Context) error {
	takes := func(r alloc.IDRecord) bool {
		it := c.states[r.ID]
		_, o := c.judge(r, it)
		return !c.unknown(it) && it.Str(AttrState) == StateFree && o == alloc.CarryDone
	}
	if !slices.ContainsFunc(c.records, takes) {
		return nil
	}
	for range publishTries {
		h := c.head
		if h.rebuilding {
			return poolRebuilding(c.pool)
		}
		if h.nx == h.tl || h.dirtyFrom <= h.nx && h.dirtyTo >= h.tl {
			return nil
		}
		u := Update{Set: map[string]any{AttrDirtyFrom: h.nx, AttrDirtyTo: h.tl}}
		now, _, err := c.s.updateHead(ctx, h, u, countIs(AttrDirtyFrom, h.dirtyFrom), countIs(AttrDirtyTo, h.dirtyTo))
		if err != nil {
			return err
		}
		c.head = now
	}
	return poolContended(c.pool)
}
