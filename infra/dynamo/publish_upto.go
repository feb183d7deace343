package dynamo

import (
	"context"
	"maps"
)

// A chunk of a batch with UpTo counts only if the level stays at or below that with it. What decides is the update of the
// head that raises the tail over it: it is conditional on the tail and on the counts by which the level was told, and of
// all else that makes the level, leases can only lower it. Whoever finds such a chunk at the tail, because it was left
// there by a crash, decides in the same way.
//
// A chunk that is not to count cannot be removed, or a late put would bring it back, nor be stepped over, or it could be
// leased. It is voided, in three writes, of which each may be repeated and come late:
//
//  1. The head names the chunk as the one that is being voided, on condition of the tail. From then on nobody raises the
//     tail over it as it is.
//  2. The chunk loses its listings, on condition of its source: the place stays taken.
//  3. The tail is raised over it, with no listings, on condition of the tail and of the name, which goes.
//
// Whoever wants to raise the tail and finds a chunk named does 2 and 3 first. Below the tail no chunk ever changes.

// fit is what an update of the head must say when it raises the tail over chunks that are to count up to a level.
type fit struct {
	h    *head // by which the level was told; nil where no chunk asked for it
	dead int64 // listings that are known to be of no use
}

// fitting is over how many chunks of the row the tail may be raised at once.
func (p *publication) fitting(ctx context.Context, row []placed) (n int, f fit, err error) {
	published, level := p.h.published, int64(0)
	for i, c := range row {
		if c.upTo > 0 {
			if f.h == nil {
				available, err := p.s.available(ctx, p.h)
				if err != nil {
					return 0, fit{}, err
				}
				f.h, level = p.h, level+available
			}
			// One that was placed behind another that was voided does not say what stands before it.
			if c.before != published || c.lift() > 0 && level+c.lift() > c.upTo {
				return i, f, nil
			}
			f.dead += c.size - c.lift()
		}
		level += c.lift()
		published += c.size
	}
	return len(row), f, nil
}

// lift is by how much the chunk lifts the level. One of a batch with UpTo that lists what is taken, so that it is counted
// once, does not: its listings count as of no use at once.
func (c placed) lift() int64 {
	if c.upTo > 0 && c.relisted && c.added > 0 {
		return 0
	}
	return c.size
}

func (f fit) in(u Update) Update {
	if f.dead > 0 {
		u.Set[AttrDead] = f.h.counted.dead + f.dead
	}
	return u
}

// cond is that the counts of the last sweep are those by which the level was told.
func (f fit) cond() []Cond {
	if f.h == nil {
		return nil
	}
	return []Cond{countIs(AttrWindowFree, f.h.counted.windowFree), countIs(AttrDead, f.h.counted.dead)}
}

// countIs holds if the count is as given; one that is missing is 0.
func countIs(attr string, n int64) Cond {
	if n == 0 {
		return Any(Absent(attr), Eq(attr, int64(0)))
	}
	return Eq(attr, n)
}

// beginVoid names the chunk at the tail as the one that is being voided.
func (p *publication) beginVoid(ctx context.Context, c placed) error {
	p.disputed = true
	_, err := p.update(ctx, Update{Set: map[string]any{AttrVoiding: c.source}}, Eq(AttrTail, p.h.tl), Absent(AttrVoiding))
	return err
}

// voided is what a chunk is that is not to count: it keeps its place and its source. Of a row that is voided, all but the first say
// that those before them list something, so what stands before it is set to what does: by that the level is told. It is the
// same for everybody who voids the chunk, as long as the tail has not passed it.
var voided = Update{
	Set: map[string]any{AttrVoid: true, AttrSeeded: int64(0)}, Remove: []string{AttrListings, AttrRelisted, AttrBatch, AttrDoubt, AttrUpTo}, Quiet: true,
}

// finishVoid voids the chunk at the tail that the head names, and raises the tail over it.
func (p *publication) finishVoid(ctx context.Context) error {
	p.disputed = true
	n, source := p.h.tl, p.h.voiding
	u := voided
	u.Set = maps.Clone(u.Set)
	u.Set[AttrBefore] = p.h.published
	err := p.s.insist(ctx, func() error {
		_, err := p.s.table.Update(ctx, chunkKey(p.h.pool.Name, p.h.series, n), u, Eq(AttrSource, source))
		return err
	})
	if _, met := refusedBy(err); met {
		return poolDamaged(p.h.pool.Name) // a place is never filled twice
	}
	if err != nil {
		return err
	}
	_, err = p.update(ctx, Update{Set: map[string]any{AttrTail: n + 1}, Remove: []string{AttrVoiding}}, Eq(AttrTail, n), Eq(AttrVoiding, source))
	return err
}

// counting is how many of the first chunks of an attempt count, after the tail has passed them: those behind one that was
// voided were voided too.
func (p *publication) counting(ctx context.Context, start int64, own int) (int, error) {
	keys := make([]Key, own)
	for i := range keys {
		keys[i] = chunkKey(p.h.pool.Name, p.h.series, start+int64(i))
	}
	var items []Item
	err := p.s.insist(ctx, func() (err error) {
		items, err = p.s.getAll(ctx, keys)
		return err
	})
	for i, it := range items {
		if err == nil && decodeChunk(start+int64(i), it).void {
			return i, nil
		}
	}
	return own, err
}
