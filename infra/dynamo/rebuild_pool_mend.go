package dynamo

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"idpool/alloc"
)

// batchName names the batch that has put an ID.
func batchName(it Item) string {
	tag, _ := batchOf(it)
	return it.Str(AttrJob) + "#" + tag
}

// ofBatch is what is known of the batch that has put an ID. Of one that has no record, as that is lost, all is to be feared.
type ofBatch struct {
	fills bool // it may let go what it has put: it has UpTo, and was not carried to its end
	kept  bool // it may go on
}

// knowBatches reads of which batches, that have put IDs, something is still to come. It comes after the head was marked: so the record of a
// batch that may still let go of something says so. One that is done may be taken over after that, and then its record says so; see findListed.
func (c *stretchOf) knowBatches(ctx context.Context, items []Item) error {
	var ask []Item
	for _, it := range items {
		name := batchName(it)
		if _, known := c.batches[name]; !known {
			c.batches[name] = ofBatch{fills: true, kept: true}
			if it.Str(AttrJob) != "" {
				ask = append(ask, it)
			}
		}
	}
	found, errs := make([]ofBatch, len(ask)), make([]error, len(ask))
	each(len(ask), claimWidth, func(i int) { found[i], errs[i] = c.batchOf(ctx, ask[i]) })
	for i, it := range ask {
		c.batches[batchName(it)] = found[i]
	}
	return firstOf(errs)
}

// batchOf reads the records of the batch that has put the ID: there may be several of one tag.
func (c *stretchOf) batchOf(ctx context.Context, it Item) (b ofBatch, err error) {
	tag, _ := batchOf(it)
	first := batchKey(it.Str(AttrJob), c.pool, tag)
	var page Page
	err = c.s.insist(ctx, func() (err error) {
		page, err = c.s.table.Query(ctx, Query{PK: first.PK, From: first.SK, To: first.SK + "~"})
		return err
	})
	b.fills, b.kept = len(page.Items) == 0, len(page.Items) == 0
	for _, rec := range page.Items {
		b.fills = b.fills || rec.Str(AttrState) == batchOpen && rec.Int(AttrUpTo) > 0
		b.kept = b.kept || rec.Str(AttrState) != batchDone
	}
	return b, err
}

// pin pins a free ID, so that its batch does not let it go. It reports whether it is to be listed: it is not loose.
func (c *stretchOf) pin(ctx context.Context, l listing, it Item) (listed bool, err error) {
	err = c.s.insist(ctx, func() error {
		_, err := c.s.table.Update(ctx, it.Key(), Update{Set: map[string]any{AttrPut: putPinned}, Quiet: true},
			All(Eq(AttrState, StateFree), Eq(AttrGeneration, l.gen), Ne(AttrPut, putLoose)))
		return err
	})
	if old, met := refusedBy(err); met {
		return !loose(old), nil // taken meanwhile, or let go
	}
	return true, err
}

// comingBack is an ID that comes back by its return item.
type comingBack struct {
	listing
	item Item
}

// mindReturns puts the return items of what is held or on its way back that lacks them.
func (c *stretchOf) mindReturns(ctx context.Context, list []comingBack) error {
	keys := make([]Key, len(list))
	for i, b := range list {
		keys[i] = returnKey(c.pool, b.listing)
	}
	there, err := c.s.readAll(ctx, keys)
	if err != nil {
		return err
	}
	errs := make([]error, len(list))
	each(len(list), claimWidth, func(i int) {
		if there[i] != nil {
			return
		}
		reason, due := ReasonRelease, int64(0)
		if list[i].item.Str(AttrState) == StateHeld {
			reason, due = ReasonHold, list[i].item.Int(AttrHoldEnd)
		}
		errs[i] = c.s.putIfAbsent(ctx, returnItem(c.pool, list[i].listing, list[i].item.Str(AttrToken), reason, due))
	})
	return firstOf(errs)
}

// mindVoids puts the return items of keys that were given up and own something of the pool, where they are lost. A record does not say of
// which pool its IDs are: those that are this pool's, and have its token, do.
func (c *stretchOf) mindVoids(ctx context.Context, records []Item) error {
	states := map[alloc.ID]Item{}
	var ids []alloc.ID
	recs := make([]*record, len(records))
	for i, it := range records {
		recs[i] = decodeRecord(strings.TrimPrefix(it.Str(AttrPK), recordKey("").PK), it)
		for _, l := range recs[i].listings {
			if _, known := states[l.id]; !known {
				states[l.id] = nil
				ids = append(ids, l.id)
			}
		}
	}
	if err := c.s.insist(ctx, func() error { return c.s.readIDs(ctx, c.pool, ids, states) }); err != nil {
		return err
	}
	errs := make([]error, len(recs))
	each(len(recs), claimWidth, func(i int) {
		rec := recs[i]
		if slices.ContainsFunc(rec.listings, func(l listing) bool { return states[l.id].Str(AttrToken) == rec.token }) {
			errs[i] = c.s.putIfAbsent(ctx, item(voidKey(c.pool, rec.hash, rec.token), Item{
				AttrReason: ReasonVoid, AttrKey: rec.hash, AttrToken: rec.token, AttrVersion: rec.version, AttrDue: c.s.now().UnixMilli(),
			}))
		}
	})
	return firstOf(errs)
}

// lost looks for IDs that chunks list and that have no item. They are put as retired, by which they are known and never
// handed out; each names the chunk by which it was found, so that it is listed once. In a pool that forgets nothing tells them from what it has
// forgotten.
func (c *stretchOf) lost(ctx context.Context, items []Item) (entries []entry, n int64, err error) {
	if c.forgets {
		return nil, 0, nil
	}
	for _, it := range items {
		series, number, ok := chunkOf(c.pool, it.Key())
		if !ok || series == c.series || c.old > 0 && series != c.old {
			continue
		}
		var missed []entry
		for i, l := range decodeChunk(0, it).listings {
			if tag, first := firstListing(it, i); first {
				missed = append(missed, entry{listing: l, tag: tag})
			}
		}
		some, err := c.lostOf(ctx, missed, c.source()+"#"+strconv.FormatInt(series, 36)+"."+strconv.FormatInt(number, 36))
		if err != nil {
			return nil, 0, err
		}
		entries = append(entries, some...)
	}
	return entries, int64(len(entries)), nil
}

// firstListing reports whether listing i of a chunk is the first of an ID, and the tag of the batch that has put it.
func firstListing(it Item, i int) (tag string, first bool) {
	c := walkedOf(0, it)
	if len(c.tags) > 0 {
		return c.tags[min(i, len(c.tags)-1)], true
	}
	return c.tag, c.tag != ""
}

// lostOf is lost of one chunk.
func (c *stretchOf) lostOf(ctx context.Context, listed []entry, source string) (entries []entry, err error) {
	if len(listed) == 0 {
		return nil, nil
	}
	states, err := c.s.itemsOf(ctx, c.pool, listed)
	if err != nil {
		return nil, err
	}
	put := false
	for _, e := range listed {
		if states[e.id] != nil {
			continue
		}
		put = true
		if err := c.s.putIfAbsent(ctx, item(idKey(c.pool, e.id), Item{
			AttrState: StateRetired, AttrGeneration: e.gen, AttrBatch: e.tag, AttrSource: source,
		})); err != nil {
			return nil, err
		}
	}
	if put {
		if states, err = c.s.itemsOf(ctx, c.pool, listed); err != nil {
			return nil, err
		}
	}
	for _, e := range listed {
		if states[e.id].Str(AttrSource) == source {
			e.lost, e.kept = true, true
			entries = append(entries, e)
		}
	}
	return entries, nil
}

func (s *Store) itemsOf(ctx context.Context, pool alloc.PoolName, listed []entry) (map[alloc.ID]Item, error) {
	ids := make([]alloc.ID, 0, len(listed))
	states := map[alloc.ID]Item{}
	for _, e := range listed {
		if _, known := states[e.id]; !known {
			states[e.id] = nil
			ids = append(ids, e.id)
		}
	}
	return states, s.insist(ctx, func() error { return s.readIDs(ctx, pool, ids, states) })
}

// chunkOf is the series and the number of a chunk of the pool.
func chunkOf(pool alloc.PoolName, k Key) (series, n int64, ok bool) {
	a, b, _ := strings.Cut(strings.TrimPrefix(k.PK, headKey(pool).PK+"#"), "#")
	series, err1 := strconv.ParseInt(a, 10, 64)
	n, err2 := strconv.ParseInt(b, 10, 64)
	return series, n, err1 == nil && err2 == nil && k.SK == skChunk
}

// readAll is getAll, insisting.
func (s *Store) readAll(ctx context.Context, keys []Key) (items []Item, err error) {
	if len(keys) == 0 {
		return nil, nil
	}
	err = s.insist(ctx, func() (err error) {
		items, err = s.getAll(ctx, keys)
		return err
	})
	return items, err
}

// putIfAbsent puts an item where there is none. That there is one is no error.
func (s *Store) putIfAbsent(ctx context.Context, it Item) error {
	err := s.insist(ctx, func() error { return s.table.Put(ctx, it, Absent(AttrPK)) })
	if _, met := refusedBy(err); met {
		return nil
	}
	return err
}
