package dynamo

import (
	"context"
	"fmt"

	"idpool/alloc"
)

// PoolEvidence implements alloc.Repairs. It looks at the head, the copy, the settings, and the chunks at the marks of the queue.
func (s *Store) PoolEvidence(ctx context.Context, pool alloc.PoolName) (alloc.PoolEvidence, error) {
	c, err := s.poolCondition(ctx, pool)
	if err != nil && !alloc.Is(err, alloc.CodePoolDeleted) {
		return alloc.PoolEvidence{}, err
	}
	e := alloc.PoolEvidence{Pool: alloc.Pool{Name: pool}}
	if c.rebuild.on() {
		e.Rebuilding = alloc.JobID(c.rebuild.job)
	}
	h := c.configured()
	e.Configured = h != nil
	say := func(format string, args ...any) { e.Damage = append(e.Damage, fmt.Sprintf(format, args...)) }
	switch {
	case c.head == nil, c.item.Bool(AttrMade):
		say("its head is lost")
	case !c.head.whole():
		say("its head is damaged: its marks contradict each other, or something of it is missing")
	default:
		e.Head, e.Published = true, alloc.Count(c.head.tl)
		if err := s.glance(ctx, c.head, say); err != nil {
			return alloc.PoolEvidence{}, err
		}
	}
	if c.head != nil && c.head.rebuild != "" && e.Rebuilding == "" {
		say("it is closed by the rebuild %s, of which nothing is left", c.head.rebuild)
	}
	switch {
	case c.entry.Str(AttrState) != catalogueLive:
		say("its catalogue item is lost; the schedule makes it anew as long as the head is there")
	case c.copied() == nil:
		say("the copy of its configuration is lost; the schedule makes it anew as long as the head is there")
	}
	if h == nil {
		return e, nil
	}
	pools, lost, err := s.wholePools(ctx, []*head{h})
	if err != nil {
		return alloc.PoolEvidence{}, err
	}
	if e.Pool = pools[0]; len(lost) > 0 {
		say("its generator and its marks are lost")
	}
	return e, nil
}

// glance looks for the chunks at the marks of the queue.
func (s *Store) glance(ctx context.Context, h *head, say func(string, ...any)) error {
	seen := map[int64]bool{}
	var keys []Key
	var at []int64
	for _, n := range []int64{-h.base, h.lo, h.nx - 1, h.nx, h.tl - 1} {
		if n >= -h.base && n < h.tl && !seen[n] {
			seen[n] = true
			keys, at = append(keys, chunkKey(h.pool.Name, h.series, n)), append(at, n)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	items, err := s.getAll(ctx, keys)
	if err != nil {
		return err
	}
	for i, it := range items {
		switch {
		case it == nil:
			say("chunk %d of its queue is lost", at[i])
		case len(it.List(AttrListings)) != len(decodeChunk(at[i], it).listings), !it.isOf(AttrBefore):
			say("chunk %d of its queue is damaged", at[i])
		}
	}
	return nil
}
