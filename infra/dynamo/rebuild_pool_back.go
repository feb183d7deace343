package dynamo

import (
	"context"
	"maps"
	"slices"

	"idpool/alloc"
)

// Before it scans the IDs, a rebuild looks back at the chunks below the low mark of the series that it replaces. What one of these lists, and none
// after it, was taken in that generation, or the low mark would not have passed it. So where such an ID is free in that very generation it was set
// back past the Store, by a restore of a part of the table or by hand, and somebody may have it: it is retired, and not listed again as what can be
// claimed. Below a chunk that cannot be read as a whole, and in a pool whose head is lost, nothing tells that.
//
// The chunks are read from the low mark down, with the IDs that they list; those that are free so are suspects. When there are as many as a page has room
// for, or the chunks have come to their end, the suspects are struck off by the chunks from the low mark to the tail, where a sweep has listed most of them
// again, and what is left is retired. The head is marked meanwhile: neither mark moves, and no chunk is added.
//
// Of a pool with I IDs that the queue has passed it costs a read of each of them, one of each of their chunks, and one of each chunk after the low mark for
// some thousands of suspects. What is written is a page a step, and each ID that is retired.
const (
	backChunks = 2000 // chunks that a step reads at most
	backSlice  = 40   // of which so many at once, with the IDs that they list
)

// Attributes of the rebuild's state.
const (
	attrBack     = "bk" // the chunks below this one are still to be looked at,
	attrBackEnd  = "be" // down to this one
	attrBackLow  = "bl" // the low mark, and
	attrBackTail = "bt" // the tail of the series that is looked at
	attrStrike   = "bs" // the chunk by which suspects are struck off next; -1 while they are gathered
	attrSuspects = "bn" // how many there are after the last step; of a page: which
	attrBackPage = "bp" // the step whose page has them
	attrBackEach = "bv" // about how many IDs a chunk of the series lists
)

// lookedBack is how far a rebuild has looked back.
type lookedBack struct{ at, end, low, tail, strike, suspects, page, each int64 }

func decodeBack(it Item) lookedBack {
	return lookedBack{
		it.Int(attrBack), it.Int(attrBackEnd), it.Int(attrBackLow), it.Int(attrBackTail), it.Int(attrStrike), it.Int(attrSuspects), it.Int(attrBackPage), it.Int(attrBackEach),
	}
}

func (b lookedBack) set() map[string]any {
	return map[string]any{
		attrBack: b.at, attrBackEnd: b.end, attrBackLow: b.low, attrBackTail: b.tail, attrStrike: b.strike, attrSuspects: b.suspects,
		attrBackPage: b.page, attrBackEach: b.each,
	}
}

// left is how many IDs are still to be looked at, as far as is known: those that the chunks still list that are to be looked back at, and once what lies in the
// queue, by which suspects are struck off.
func (b lookedBack) left() int64 {
	switch {
	case b.strike >= 0:
		return b.each * (b.at - b.end + b.tail - b.strike)
	case b.at > b.end:
		return b.each * (b.at - b.end + b.tail - b.low)
	}
	return 0
}

// beginBack is where a rebuild begins to, when its mark is on the head that was read.
func beginBack(c *condition) map[string]any {
	b := lookedBack{strike: -1}
	if h := c.head; c.rebuild.old > 0 && h.whole() && h.series == c.rebuild.old {
		b.at, b.end, b.low, b.tail = h.lo, -h.base, h.lo, h.tl
		b.each = max(1, h.published/max(1, h.tl))
	}
	return b.set()
}

func (r *rebuilding) looksBack() bool { return r.back.at > r.back.end || r.back.suspects > 0 }

// backSource marks what was set back, and is retired for that by this rebuild.
func (r *rebuilding) backSource() string { return r.source() + "+" }

// backStep does a step of that. What it has found is put into its page, if there is none: the first one stands.
func (s *Store) backStep(ctx context.Context, r *rebuilding) (alloc.PoolRebuilt, error) {
	page, err := s.table.Get(ctx, backPageKey(r.pool, r.series, r.step))
	if err != nil {
		return alloc.PoolRebuilt{}, err
	}
	if page == nil {
		if page, err = s.backPage(ctx, r); err != nil {
			return alloc.PoolRebuilt{}, err
		}
	}
	to := decodeBack(page)
	to.suspects, to.page = int64(len(page.List(attrSuspects))), r.step
	set := to.set()
	set[attrStep] = r.step + 1
	if err := s.advance(ctx, r, set); err != nil {
		return alloc.PoolRebuilt{}, err
	}
	return r.backDone(page, r.step), nil
}

// backDone is what a step has done that has left this page.
func (r *rebuilding) backDone(page Item, step int64) alloc.PoolRebuilt {
	return alloc.PoolRebuilt{
		Next: stepMark(r.series, step+1), Total: r.total(0), Looked: alloc.Count(page.Int(attrLooked)), Left: alloc.Count(page.Int(attrLeft)),
	}
}

func (s *Store) backPage(ctx context.Context, r *rebuilding) (Item, error) {
	b := &backing{rebuilding: r, s: s, suspects: map[string]bool{}, to: r.back}
	if err := b.knowSuspects(ctx); err != nil {
		return nil, err
	}
	look := b.gather
	if b.to.strike >= 0 {
		look = b.strike
	}
	if err := look(ctx); err != nil {
		return nil, err
	}
	it := item(backPageKey(r.pool, r.series, r.step), Item{
		AttrExpires: s.now().Add(pageAge).Unix(), attrLooked: b.looked, attrLeft: b.to.left() + r.toScan(0),
	})
	maps.Copy(it, b.to.set())
	it[attrSuspects] = slices.Sorted(maps.Keys(b.suspects))
	err := s.insist(ctx, func() error { return s.table.Put(ctx, it, Absent(AttrPK)) })
	if there, met := refusedBy(err); met && there != nil {
		return there, nil
	}
	return it, err
}

// backing is a step that looks back.
type backing struct {
	*rebuilding
	s        *Store
	suspects map[string]bool // by their listings
	to       lookedBack      // where the next step goes on
	looked   int64           // IDs that the step has looked at
}

// knowSuspects reads which there are after the steps before. Where that is lost it begins at the low mark again.
func (b *backing) knowSuspects(ctx context.Context) error {
	if b.back.suspects == 0 {
		return nil
	}
	page, err := b.s.table.Get(ctx, backPageKey(b.pool, b.series, b.back.page))
	if err != nil {
		return err
	}
	if page == nil {
		b.to.at, b.to.strike = b.to.low, -1
	}
	for _, l := range page.List(attrSuspects) {
		b.suspects[l] = true
	}
	return nil
}

// gather reads on down from the low mark, and gathers suspects.
func (b *backing) gather(ctx context.Context) error {
	size, begun, least := 0, b.s.now(), max(b.to.end, b.to.at-backChunks)
	for l := range b.suspects {
		size += len(l) + 1
	}
	for b.to.at > least && size < pageBytes && b.s.now().Sub(begun) <= stepTime {
		from := max(least, b.to.at-backSlice)
		items, err := b.s.chunksOf(ctx, b.pool, b.old, from, b.to.at)
		if err != nil {
			return err
		}
		b.to.at = from
		var listed []entry
		for _, it := range slices.Backward(items) {
			if torn(it) {
				b.to.at, least = b.to.end, b.to.end // what is below it may have been listed there
				break
			}
			for _, l := range decodeChunk(0, it).listings {
				listed = append(listed, entry{listing: l})
			}
		}
		b.looked += int64(len(listed))
		states, err := b.s.itemsOf(ctx, b.pool, listed)
		if err != nil {
			return err
		}
		for _, e := range listed {
			if l := e.listing.String(); wasSetBack(states[e.id], e.listing) && !b.suspects[l] {
				b.suspects[l] = true
				size += len(l) + 1
			}
		}
	}
	if len(b.suspects) > 0 && (size >= pageBytes || b.to.at <= b.to.end) {
		b.to.strike = b.to.low
	}
	return nil
}

// wasSetBack reports whether an ID is free, as it was listed by what the queue has passed.
func wasSetBack(it Item, l listing) bool {
	return isFree(it) && it.isOf(AttrGeneration) && it.Int(AttrGeneration) == l.gen && !loose(it)
}

// strike strikes off what chunks list that the queue has not passed. What is left when all of them were read is retired.
func (b *backing) strike(ctx context.Context) error {
	end := min(b.to.tail, b.to.strike+backChunks)
	items, err := b.s.chunksOf(ctx, b.pool, b.old, b.to.strike, end)
	if err != nil {
		return err
	}
	for _, it := range items {
		if torn(it) {
			b.to.at, b.to.strike, b.suspects = b.to.end, -1, nil
			return nil
		}
		listed := it.List(AttrListings)
		b.looked += int64(len(listed))
		for _, l := range listed {
			delete(b.suspects, l)
		}
	}
	b.to.strike = end
	if end < b.to.tail && len(b.suspects) > 0 {
		return nil
	}
	b.to.strike = -1
	left := slices.Sorted(maps.Keys(b.suspects))
	errs := make([]error, len(left))
	each(len(left), seedWidth, func(i int) { errs[i] = b.retire(ctx, left[i]) })
	b.suspects = nil
	return firstOf(errs)
}

// retire retires what was set back, unless somebody has claimed it again out of an old memory.
func (b *backing) retire(ctx context.Context, text string) error {
	l, ok := parseListing(text)
	if !ok {
		return nil
	}
	err := b.s.insist(ctx, func() error {
		_, err := b.s.table.Update(ctx, idKey(b.pool, l.id), Update{Set: map[string]any{AttrState: StateRetired, AttrSource: b.backSource()}, Quiet: true},
			All(Eq(AttrState, StateFree), Eq(AttrGeneration, l.gen), Absent(AttrToken), Ne(AttrPut, putLoose)))
		return err
	})
	if _, met := refusedBy(err); met {
		return nil
	}
	return err
}
