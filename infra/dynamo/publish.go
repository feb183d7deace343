package dynamo

import (
	"context"
	"maps"
	"time"

	"idpool/alloc"
)

const (
	// maxListings is how many IDs a chunk lists at most.
	maxListings = 20

	// unitBytes is the size up to which an item costs one write unit.
	unitBytes = 1024

	// chunkOverhead is the size of a chunk but for pool name and listings, with every number at its longest.
	chunkOverhead = 110

	// publishTries bounds how often chunks are placed anew because others were faster.
	publishTries = 100

	// publishPause is the longest wait after the first attempt that met another publisher.
	publishPause = 4 * time.Millisecond
)

// draft is a chunk to be published. One without listings only takes its place.
type draft struct {
	listings []listing
	added    int    // IDs that count as added to the pool with it
	relisted bool   // it may list what another chunk lists too
	batch    string // tag of the batch whose IDs it publishes
	doubt    string // tag of another batch, which has put its IDs and may not have listed them: see Store.WalkIDs
	upTo     int64  // it is to count only while that leaves the level at or below this; 0 for always
}

// drafts packs listings into chunks: so many that a few environments cannot sit on a whole pool of that size, and never
// more than fit one write unit.
func drafts(pool alloc.PoolName, ls []listing, poolSize int64) []draft {
	most := int(min(maxListings, max(1, poolSize/50)))
	var list []draft
	room := 0
	for _, l := range ls {
		need := 1 + len(l.String())
		last := len(list) - 1
		if last < 0 || len(list[last].listings) == most || need > room {
			list = append(list, draft{})
			last++
			room = unitBytes - chunkOverhead - len(pool)
		}
		list[last].listings = append(list[last].listings, l)
		room -= need
	}
	return list
}

// move is what a sweep changes in the same head update that raises the tail over what it listed again.
type move struct {
	from, to int64 // the low mark
	set      map[string]any
	wanted   bool  // a sweep was asked for: this is it
	dirtyTo  int64 // as it was found to be
}

// publish puts the drafts at the tail and raises it over them: with that they can be leased. h is the head as it was
// read or as an update returned it. guard, if there is one, is asked before each attempt to place a chunk, after the
// tail is known; its error ends the publication. The head after it is returned.
//
// A crash leaves at most a chunk at the tail that the tail does not count yet: whoever finds it raises the tail for it
// first. So no place is filled twice, and a late put, which goes for a place at or below the tail, finds it taken.
func (s *Store) publish(ctx context.Context, h *head, list []draft, guard func(context.Context) error, m *move) (*head, error) {
	p := publication{s: s, h: h, guard: guard, id: string(alloc.NewToken()), move: m}
	for try := range publishTries {
		if p.h.rebuilding {
			return nil, poolRebuilding(h.pool.Name)
		}
		done, err := p.attempt(ctx, list)
		if err != nil {
			return nil, err
		}
		if list = list[done:]; len(list) == 0 {
			return p.h, nil
		}
		// Others publish at the same time: spread out, or all of them try for every place.
		if err := s.wait(ctx, s.spread(try)); err != nil {
			return nil, unsettled(err)
		}
	}
	return nil, unsettled(poolContended(h.pool.Name))
}

type publication struct {
	s     *Store
	h     *head
	guard func(context.Context) error
	id    string // of this publication: by it a repeated put knows itself
	move  *move  // goes with the last chunk

	disputed bool // the tail was raised over chunks of the last attempt by another, or one of them was voided
}

// placed is a chunk at or above the tail, as far as raising the tail needs it.
type placed struct {
	size, before, added int64
	relisted            bool
	source              string
	upTo                int64
}

func (c *chunk) placed() placed {
	return placed{
		size: int64(len(c.listings)), before: c.before, added: c.added, relisted: c.relisted, source: c.source, upTo: c.upTo,
	}
}

// attempt puts as many chunks as find a free place, one after the other so that there is no gap and each knows what
// stands before it, and raises the tail over them and over what took the next place.
func (p *publication) attempt(ctx context.Context, list []draft) (done int, err error) {
	if p.guard != nil {
		if err := p.guard(ctx); err != nil {
			return 0, err
		}
	}
	var row []placed
	start, before := p.h.tl, p.h.published
	for _, d := range list {
		c, own, err := p.place(ctx, d, start+int64(len(row)), before)
		if err != nil {
			return 0, err
		}
		row = append(row, c)
		if !own {
			break
		}
		done++
		before += c.size
	}
	m := p.move
	if done < len(list) {
		m = nil
	}
	if err := p.raise(ctx, row, m); err != nil {
		return 0, err
	}
	if done < len(list) {
		p.h, err = p.s.settleTail(ctx, p.h) // there may be more of what a crash has left
	}
	if p.disputed && done > 0 && list[0].upTo > 0 && err == nil {
		return p.counting(ctx, start, done)
	}
	return done, err
}

// place puts a chunk at a place, or returns the one that is there.
func (p *publication) place(ctx context.Context, d draft, n, before int64) (c placed, own bool, err error) {
	it := item(chunkKey(p.h.pool.Name, p.h.series, n), Item{
		AttrBefore: before, AttrSeeded: int64(d.added), AttrSource: p.id,
	})
	if len(d.listings) > 0 {
		it[AttrListings] = listingTexts(d.listings)
	}
	if d.relisted {
		it[AttrRelisted] = true
	}
	if d.batch != "" {
		it[AttrBatch] = d.batch
	}
	if d.doubt != "" {
		it[AttrDoubt] = d.doubt
	}
	if d.upTo > 0 {
		it[AttrUpTo] = d.upTo
	}
	err = p.s.insist(ctx, func() error { return p.s.table.Put(ctx, it, Absent(AttrPK)) })
	old, met := refusedBy(err)
	switch {
	case err == nil:
		return decodeChunk(n, it).placed(), true, nil
	case !met:
		return placed{}, false, err
	case old == nil:
		return placed{}, false, poolContended(p.h.pool.Name)
	}
	there := decodeChunk(n, old)
	return there.placed(), there.source == p.id, nil
}

// raise raises the tail over a row of chunks that begins at it, and makes the move with it. Of chunks that are to count up to
// a level only it voids those that do not fit.
func (p *publication) raise(ctx context.Context, row []placed, m *move) error {
	start := p.h.tl
	p.disputed = false
	for range publishTries {
		series := p.h.series
		rest := row[min(len(row), int(p.h.tl-start)):]
		if m != nil && p.h.lo >= m.to && p.h.lo != m.from {
			m = nil // made by this very update, whose answer was lost, or by another sweep that has come as far
		}
		var whole, moved bool
		var err error
		switch {
		case p.h.voiding != "":
			err = p.finishVoid(ctx)
		case len(rest) == 0 && m == nil:
			return nil
		default:
			whole, moved, err = p.raiseOver(ctx, rest, m)
		}
		if err != nil {
			return err
		}
		if whole {
			return nil
		}
		now := p.h
		p.disputed = p.disputed || moved
		if now.rebuilding || now.series != series || now.tl < start {
			return poolRebuilding(now.pool.Name)
		}
		if m != nil && now.lo < m.to {
			// Another sweep has moved the mark less far. What stands below m.to is settled or listed again all the same.
			m = &move{from: now.lo, to: m.to, set: m.set, wanted: m.wanted, dirtyTo: m.dirtyTo}
		}
	}
	return poolContended(p.h.pool.Name)
}

// raiseOver raises the tail over as many chunks of the row as may count together, and makes the move if that is all of
// them. whole says that it is done. Where not even the first may count, it begins to void it.
func (p *publication) raiseOver(ctx context.Context, row []placed, m *move) (whole, moved bool, err error) {
	n, fit, err := p.fitting(ctx, row)
	if err != nil {
		return false, false, err
	}
	if n == 0 && len(row) > 0 {
		return false, false, p.beginVoid(ctx, row[0])
	}
	whole = n == len(row)
	if !whole {
		m = nil
	}
	u, cond := p.raising(row[:n], m)
	moved, err = p.update(ctx, fit.in(u), append(cond, fit.cond()...)...)
	return whole && !moved, moved, err
}

// update changes the head, insisting, and keeps it as it is then.
func (p *publication) update(ctx context.Context, u Update, cond ...Cond) (moved bool, err error) {
	var now *head
	err = p.s.insist(ctx, func() (err error) {
		now, moved, err = p.s.updateHead(ctx, p.h, u, cond...)
		return err
	})
	if err == nil {
		p.h = now
	}
	return moved, err
}

// raising is the head update that raises the tail over the chunks.
func (p *publication) raising(row []placed, m *move) (Update, []Cond) {
	u := Update{Set: map[string]any{}, Add: map[string]int64{}}
	cond := []Cond{Eq(AttrTail, p.h.tl)}
	var size, added int64
	relisted := false
	for _, c := range row {
		size, added, relisted = size+c.size, added+c.added, relisted || c.relisted
	}
	if len(row) > 0 {
		cond = append(cond, Absent(AttrVoiding))
		u.Set[AttrTail] = p.h.tl + int64(len(row))
		u.Add[AttrPublished], u.Add[AttrSeeded] = size, added
	}
	dirtyTo := p.h.dirtyTo
	if relisted {
		dirtyTo = p.h.tl + int64(len(row))
		if p.h.dirtyTo <= p.h.nx {
			u.Set[AttrDirtyFrom] = p.h.tl
		}
	}
	if m != nil {
		dirtyTo = max(dirtyTo, m.dirtyTo)
		cond = append(cond, Eq(AttrLow, m.from))
		u.Set[AttrLow] = m.to
		maps.Copy(u.Set, m.set)
		if m.wanted {
			u.Remove = []string{AttrWanted}
		}
	}
	if dirtyTo > p.h.dirtyTo {
		u.Set[AttrDirtyTo] = dirtyTo
	}
	return u, cond
}

// settleTail raises the tail over chunks that a crash left at it.
func (s *Store) settleTail(ctx context.Context, h *head) (*head, error) {
	p := publication{s: s, h: h}
	for ahead := 1; ; ahead = maxBatchGet {
		keys := make([]Key, ahead)
		for i := range keys {
			keys[i] = chunkKey(h.pool.Name, p.h.series, p.h.tl+int64(i))
		}
		items, err := s.getAll(ctx, keys)
		if err != nil {
			return nil, err
		}
		var row []placed
		for i, it := range items {
			if it == nil {
				break
			}
			row = append(row, decodeChunk(p.h.tl+int64(i), it).placed())
		}
		if len(row) == 0 {
			return p.h, nil
		}
		if err := p.raise(ctx, row, nil); err != nil {
			return nil, err
		}
	}
}
