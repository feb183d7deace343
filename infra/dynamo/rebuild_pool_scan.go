package dynamo

import (
	"context"
	"slices"
	"strings"
	"time"

	"idpool/alloc"
)

const (
	// scanSegments is in how many parts the table is scanned side by side, and scanItems how many items of each are read at once.
	scanSegments = 8
	scanItems    = 500

	// pageBytes is how much a step lists before it ends, unless it is as much as one round can bring; pageMost is how much it
	// may list at most, within an item's bound of 400 KB.
	pageBytes = 200 << 10
	pageMost  = 300 << 10

	// voidsMost is how many IDs the key records that are given up name of which a segment's round reads the items: once there are more, the
	// next round goes on behind them.
	voidsMost = 1000

	// stepRounds and stepTime bound a step that meets little of the pool.
	stepRounds = 20
	stepTime   = 5 * time.Second
)

// stretchOf is a step's look at the table.
type stretchOf struct {
	*rebuilding
	s       *Store
	forgets bool
	page    *rebuiltPage
	bytes   int
	batches map[string]ofBatch // by job and tag
}

// scanStretch scans on from where the rebuild is, and says what is to be listed of it. Beside that it does what a pool needs that
// has lost more than its queue: return items of what is held or on its way back, those of keys given up, and the items of
// IDs that chunks of the old series list. All of it may be done again.
func (s *Store) scanStretch(ctx context.Context, r *rebuilding) (*rebuiltPage, error) {
	c := &stretchOf{
		rebuilding: r, s: s, forgets: r.forgets(), batches: map[string]ofBatch{},
		page: &rebuiltPage{positions: slices.Clone(r.positions), scan: max(1, r.scan)},
	}
	begun := s.now()
	for range stepRounds {
		full, err := c.round(ctx)
		if err != nil {
			return nil, err
		}
		if full || done(c.page.positions) || int64(len(c.page.entries)) >= scanSegments*r.scan || c.bytes >= pageBytes || s.now().Sub(begun) > stepTime {
			break
		}
	}
	c.page.size = max(r.size, r.met+int64(len(c.page.entries)))
	if c.page.left = r.toScan(int64(len(c.page.entries))); done(c.page.positions) {
		c.page.left = 0
	}
	return c.page, nil
}

// round reads on in every segment, and takes what has room. full says that something had none: the next step reads that again.
func (c *stretchOf) round(ctx context.Context) (full bool, err error) {
	n := len(c.page.positions)
	met, errs := make([]*metStretch, n), make([]error, n)
	each(n, n, func(i int) {
		if c.page.positions[i] != scanEnd {
			met[i], errs[i] = c.read(ctx, i, int(c.page.scan))
		}
	})
	if err := firstOf(errs); err != nil {
		return false, err
	}
	for i, m := range met {
		if m == nil || full {
			continue
		}
		entries, counts, err := c.judge(ctx, m)
		if err != nil {
			return false, err
		}
		size := 0
		for _, e := range entries {
			size += len(e.String()) + 1
		}
		if c.bytes+size > pageMost {
			if c.bytes == 0 { // not even alone: by a smaller stretch then
				c.page.scan = max(1, c.page.scan/4)
				return false, nil
			}
			full = true
			continue
		}
		c.bytes += size
		c.page.entries, c.page.counts = append(c.page.entries, entries...), c.page.counts.plus(counts)
		c.page.positions[i] = m.next
	}
	return full, nil
}

// metStretch is what a segment has shown of the pool.
type metStretch struct {
	ids    []Item
	chunks []Item // of series that are replaced
	voids  []Item // key records given up
	next   position
}

func (c *stretchOf) read(ctx context.Context, segment, limit int) (*metStretch, error) {
	ids, chunks := idKey(c.pool, "").PK, headKey(c.pool).PK+"#"
	var items []Item
	var next Key
	err := c.s.insist(ctx, func() (err error) {
		items, next, err = c.s.table.Scan(ctx, Scan{
			Segment: segment, Total: len(c.page.positions), From: c.page.positions[segment].key(), Limit: limit, Prefixes: []string{ids, chunks, "K#"},
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	m, named := &metStretch{next: positionOf(next)}, 0
	for _, it := range items {
		pk, sk := it.Str(AttrPK), it.Str(AttrSK)
		switch {
		case sk == skID && strings.HasPrefix(pk, ids):
			m.ids = append(m.ids, it)
		case sk == skChunk && strings.HasPrefix(pk, chunks):
			m.chunks = append(m.chunks, it)
		case sk == skKeyRecord && it.Str(AttrState) == RecordVoid:
			m.voids = append(m.voids, it)
			if named += len(it.List(AttrListings)); named >= voidsMost {
				m.next = positionOf(it.Key())
				return m, nil
			}
		}
	}
	return m, nil
}

// judge says what is to be listed of a stretch.
func (c *stretchOf) judge(ctx context.Context, m *metStretch) (entries []entry, counts tally, err error) {
	if err := c.knowBatches(ctx, m.ids); err != nil {
		return nil, tally{}, err
	}
	free := m.ids[:0:0]
	var coming []comingBack
	for _, it := range m.ids {
		id := alloc.ID(strings.TrimPrefix(it.Str(AttrPK), idKey(c.pool, "").PK))
		if isFree(it) && it.isOf(AttrGeneration) {
			free = append(free, it)
			continue
		}
		if strings.HasPrefix(it.Str(AttrSource), c.source()+"#") {
			continue // listed where the chunk is met that has listed it
		}
		e, kind := c.standing(id, it)
		if e.back = it.Str(AttrSource) == c.backSource(); e.back {
			counts[tallyLost]++
		}
		if entries = append(entries, e); kind == tallyNone {
			continue
		}
		counts[kind]++
		if kind == tallyHeld || kind == tallyReturning {
			coming = append(coming, comingBack{listing{id, it.Int(AttrGeneration)}, it})
		}
	}
	some, n, err := c.free(ctx, free)
	if err != nil {
		return nil, tally{}, err
	}
	entries, counts[tallyFree] = append(entries, some...), n
	if err := c.mindReturns(ctx, coming); err != nil {
		return nil, tally{}, err
	}
	if err := c.mindVoids(ctx, m.voids); err != nil {
		return nil, tally{}, err
	}
	lost, gone, err := c.lost(ctx, m.chunks)
	if err != nil {
		return nil, tally{}, err
	}
	entries = append(entries, lost...)
	counts[tallyRetired] += gone
	counts[tallyLost] += gone
	return entries, counts, nil
}

// isOf reports whether the item has the attribute as a number.
func (it Item) isOf(name string) bool {
	_, ok := it[name].(int64)
	return ok
}

// standing says how an ID is listed that is not free, and as what it counts. One that the pool has forgotten counts as nothing, and yet it may
// come back as long as its item is there: the batch that took it may be giving it back. One whose item cannot be read may be
// taken: it counts as claimed, and nobody gets it.
func (c *stretchOf) standing(id alloc.ID, it Item) (e entry, kind int) {
	tag, _ := batchOf(it)
	l := listing{id, it.Int(AttrGeneration)}
	e = entry{listing: l, tag: tag, kept: c.batches[batchName(it)].kept}
	state := it.Str(AttrState)
	switch {
	case c.forgets && (state == StateForgotten || expired(it, c.s.now())):
		return e, tallyNone
	case state == StateReturning && it.isOf(AttrGeneration):
		e.gen, e.open = l.gen+1, true
		return e, tallyReturning
	case state == StateHeld:
		return e, tallyHeld
	case state == StateRetired:
		return e, tallyRetired
	}
	return e, tallyClaimed
}

// free lists free IDs, but for those that are loose: these are left to their batch. What a batch might still let go is pinned
// first: an ID that is listed must not become loose.
func (c *stretchOf) free(ctx context.Context, items []Item) (entries []entry, n int64, err error) {
	entries = make([]entry, len(items))
	listed, errs := make([]bool, len(items)), make([]error, len(items))
	each(len(items), claimWidth, func(i int) {
		it := items[i]
		id := alloc.ID(strings.TrimPrefix(it.Str(AttrPK), idKey(c.pool, "").PK))
		tag, _ := batchOf(it)
		entries[i] = entry{listing: listing{id, it.Int(AttrGeneration)}, tag: tag, open: true, kept: c.batches[batchName(it)].kept}
		listed[i] = !loose(it)
		if listed[i] && it.Str(AttrPut) == "" && c.batches[batchName(it)].fills {
			listed[i], errs[i] = c.pin(ctx, entries[i].listing, it)
		}
	})
	kept := entries[:0]
	for i, e := range entries {
		if listed[i] {
			kept = append(kept, e)
		}
	}
	return kept, int64(len(kept)), firstOf(errs)
}
