package dynamo

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"idpool/alloc"
)

// PoolEvidence implements alloc.Repairs. It looks at the head, the copy, the settings, and the chunks of which something is still to come.
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

const (
	// glanceWindow is how many of the leased chunks that are not all settled a glance looks at, from the oldest, and glanceNext how many of those
	// that are leased next. glanceNames is how many of them it names.
	glanceWindow = 1000
	glanceNext   = 100
	glanceNames  = 5
)

// glance looks at the chunks of which something is still to come, as far as that stays a glance, and at the ends of the queue. Claims go
// on past one that is lost, with others; a sweep stops at it, once it is leased.
func (s *Store) glance(ctx context.Context, h *head, say func(string, ...any)) error {
	look := map[int64]bool{}
	for n := h.lo; n < min(h.nx, h.lo+glanceWindow); n++ {
		look[n] = true
	}
	for n := h.nx; n < min(h.tl, h.nx+glanceNext); n++ {
		look[n] = true
	}
	for _, n := range []int64{-h.base, h.nx - 1, h.tl - 1} {
		if n >= -h.base && n < h.tl {
			look[n] = true
		}
	}
	at := slices.Sorted(maps.Keys(look))
	keys := make([]Key, len(at))
	for i, n := range at {
		keys[i] = chunkKey(h.pool.Name, h.series, n)
	}
	items, err := s.readAll(ctx, keys)
	if err != nil {
		return err
	}
	bad := 0
	for i, it := range items {
		fault := ""
		switch {
		case it == nil:
			fault = "lost"
		case torn(it):
			fault = "damaged"
		default:
			continue
		}
		if bad++; bad <= glanceNames {
			say("chunk %d of its queue is %s", at[i], fault)
		}
	}
	if bad > glanceNames {
		say("%d more chunks of its queue are lost or damaged, of %d that were looked at", bad-glanceNames, len(at))
	}
	return nil
}
