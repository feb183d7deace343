package dynamo

import (
	"context"
	"hash/fnv"

	"idpool/alloc"
)

// begin reads the head. One that is lost, or whose marks contradict each other, is a finding; all that goes by it is left out then.
func (a *auditing) begin(ctx context.Context) error {
	it, err := a.s.table.Get(ctx, headKey(a.pool))
	if err != nil {
		return err
	}
	if it == nil {
		return a.withoutHead(ctx)
	}
	h := decodeHead(a.pool, it)
	if h.rebuilding {
		return poolRebuilding(a.pool)
	}
	a.Latest = h.leasedAt.UnixMilli()
	a.Forgets, a.Deleted = h.pool.Config.Policy == alloc.PolicyForget, h.pool.State == alloc.PoolDeleted
	if !h.whole() {
		a.Headless = true
		a.find(alloc.FindHead, string(a.pool), alloc.RemedyRebuild, "the head of the pool is damaged: its marks contradict each other, or something of it is missing")
		a.scanFrom(auditIDs)
		return nil
	}
	_, lost, err := a.s.wholePools(ctx, []*head{h})
	if err != nil {
		return err
	}
	if len(lost) > 0 {
		a.find(alloc.FindHead, string(a.pool), alloc.RemedyNone, "the generator and the marks that the head of the pool names are lost; give the pool its configuration again")
	}
	a.Series, a.Base, a.Tail = h.series, h.base, h.tl
	a.Published, a.Seeded, a.Retired = h.published, h.seeded, h.retired
	a.Phase, a.At = auditQueue, -h.base
	return nil
}

func (a *auditing) withoutHead(ctx context.Context) error {
	entry, err := a.s.table.Get(ctx, catalogueKey(a.pool))
	if err != nil {
		return err
	}
	if _, err := a.s.poolHead(ctx, a.pool); err != nil && !alloc.Is(err, alloc.CodePoolDamaged) {
		return err
	}
	a.Headless, a.Forgets = true, entry.Str(AttrPolicy) != string(alloc.PolicyKeep)
	a.find(alloc.FindHead, string(a.pool), alloc.RemedyRebuild, "the head of the pool is lost")
	a.scanFrom(auditIDs)
	return nil
}

// sampled reports whether the audit looks at the ID.
func (a *auditing) sampled(id alloc.ID) bool {
	if a.Sample <= 0 || a.Sample >= 100 {
		return true
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // a hash never fails
	return h.Sum64()%100 < uint64(a.Sample)
}

// queue looks at some chunks.
func (a *auditing) queue(ctx context.Context) error {
	for end := min(a.At+auditChunks, a.Tail); a.At < end && !a.full(); {
		if err := a.slice(ctx, min(a.At+auditSlice, end)); err != nil {
			return err
		}
	}
	if a.At < a.Tail {
		return nil
	}
	a.sums()
	a.scanFrom(auditIDs)
	return nil
}

// slice looks at the chunks before one, and in a pool that keeps its IDs at all that they list.
func (a *auditing) slice(ctx context.Context, end int64) error {
	from, keys := a.At, []Key{}
	for n := a.At; n < end; n++ {
		keys = append(keys, chunkKey(a.pool, a.Series, n))
	}
	items, err := a.s.getAll(ctx, keys)
	if err != nil {
		return err
	}
	lost := false
	var chunks []*chunk
	for _, it := range items {
		c := a.chunk(it)
		lost = lost || it == nil
		if c != nil {
			chunks = append(chunks, c)
		}
		a.At++
	}
	if lost {
		if err := a.lostChunks(ctx, from, items); err != nil {
			return err
		}
	}
	if a.Forgets {
		return nil
	}
	return a.lostIDs(ctx, chunks)
}

// chunk checks one chunk, the next one; nil for one that is lost.
func (a *auditing) chunk(it Item) *chunk {
	c := decodeChunk(a.At, it)
	whole := len(c.listings) == len(it.List(AttrListings)) && it.isOf(AttrBefore) && it.isOf(AttrSeeded) && it.Str(AttrSource) != ""
	if _, tagged := it[AttrTags]; tagged {
		whole = whole && len(c.tags) == len(c.listings)
	}
	switch {
	case it == nil:
		a.Holes = true
		return nil
	case !whole:
		a.find(alloc.FindChunk, a.chunkName(a.At), alloc.RemedyRebuild, "it cannot be read as a whole: %d of its %d listings can", len(c.listings), len(it.List(AttrListings)))
	case a.At >= 0 && !a.Holes && c.before != a.Sum:
		a.find(alloc.FindChunk, a.chunkName(a.At), alloc.RemedyRebuild, "it says that the chunks before it list %d IDs, and they list %d", c.before, a.Sum)
		whole = false
	}
	a.Holes = a.Holes || !whole
	if a.At >= 0 {
		a.Sum, a.Added = a.Sum+int64(len(c.listings)), a.Added+c.added
	}
	return c
}

func (a *auditing) chunkName(n int64) string { return chunkKey(a.pool, a.Series, n).PK }

// lostChunks reports chunks that are not there, unless a rebuild has replaced the series since.
func (a *auditing) lostChunks(ctx context.Context, from int64, items []Item) error {
	now, err := a.s.table.Get(ctx, headKey(a.pool))
	if err != nil || now != nil && now.Int(AttrSeries) != a.Series {
		return err
	}
	for i, it := range items {
		if n := from + int64(i); it == nil {
			a.find(alloc.FindChunk, a.chunkName(n), alloc.RemedyRebuild, "chunk %d of the queue is lost", n)
		}
	}
	return nil
}

// lostIDs reports IDs that are listed and have no item: nothing removes one in a pool that keeps its IDs.
func (a *auditing) lostIDs(ctx context.Context, chunks []*chunk) error {
	states := map[alloc.ID]Item{}
	var ids []alloc.ID
	for _, c := range chunks {
		for _, l := range c.listings {
			if _, known := states[l.id]; !known && a.sampled(l.id) {
				states[l.id] = nil
				ids = append(ids, l.id)
			}
		}
	}
	if err := a.s.readIDs(ctx, a.pool, ids, states); err != nil {
		return err
	}
	for _, c := range chunks {
		for _, l := range c.listings {
			if it, asked := states[l.id]; !asked || it != nil {
				continue
			}
			delete(states, l.id) // in another chunk of these it is reported no more
			mark := Key{PK: jobKey(a.job).PK, SK: "Y#" + a.run + "#" + digestOf(string(l.id))}
			old, err := a.scratch(ctx, mark, Item{"at": c.n})
			if err != nil {
				return err
			}
			if old == nil || old.Int("at") == c.n {
				a.step.Tally.Lost++
				a.find(alloc.FindLostID, string(l.id), alloc.RemedyRebuild, "chunk %d lists it, and it has no item", c.n)
			}
		}
	}
	return nil
}

// sums holds the counts of the head against the chunks below its tail, which change no more than these together.
func (a *auditing) sums() {
	if a.Holes {
		return
	}
	if a.Sum != a.Published {
		a.Recounts = true
		a.find(alloc.FindCounts, string(a.pool), alloc.RemedyRebuild, "the head says that %d listings are published, and the chunks have %d", a.Published, a.Sum)
	}
	if a.Series == 1 && a.Added != a.Seeded { // what a rebuild has listed is counted by itself
		a.Recounts = true
		a.find(alloc.FindCounts, string(a.pool), alloc.RemedyRebuild, "the head says that %d IDs were ever added, and the chunks have added %d", a.Seeded, a.Added)
	}
}
