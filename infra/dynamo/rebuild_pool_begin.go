package dynamo

import (
	"cmp"
	"context"
	"maps"

	"idpool/alloc"
)

// condition is what there is of a pool.
type condition struct {
	pool    alloc.PoolName
	head    *head // nil where there is none
	item    Item  // of the head
	entry   Item  // of the catalogue
	rebuild *rebuilding
	sample  Item // the newest
}

// poolCondition reads, strongly, the head first. CodePoolNotFound where the pool was never made, as far as anything tells,
// CodePoolDeleted.
func (s *Store) poolCondition(ctx context.Context, pool alloc.PoolName) (*condition, error) {
	c := &condition{pool: pool}
	it, err := s.table.Get(ctx, headKey(pool))
	if err != nil {
		return nil, err
	}
	if it != nil {
		c.item, c.head = it, decodeHead(pool, it)
	}
	items, err := s.table.GetMany(ctx, []Key{catalogueKey(pool), rebuildKey(pool)})
	if err != nil {
		return nil, err
	}
	c.entry, c.rebuild = items[0], decodeRebuilding(pool, items[1])
	page, err := s.table.Query(ctx, Query{PK: samplesPK(pool), Descending: true, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(page.Items) > 0 {
		c.sample = page.Items[0]
	}
	if c.head == nil {
		if made, err := s.wasMade(ctx, pool, c.entry); err != nil || !made {
			return nil, cmp.Or(err, error(notFound(alloc.CodePoolNotFound, "pool", string(pool))))
		}
	}
	if c.state() == alloc.PoolDeleted {
		return c, alloc.Errorf(alloc.CodePoolDeleted, "the pool %q is deleted", pool)
	}
	return c, nil
}

// copied is the head of the catalogue's copy; nil where there is none.
func (c *condition) copied() *head {
	if c.entry.Int(attrCopy) == 0 {
		return nil
	}
	if h := decodeHead(c.pool, c.entry); h.whole() {
		return h
	}
	return nil
}

// state is the pool's state by the head or, where it does not say, by the copy.
func (c *condition) state() alloc.PoolState {
	if c.head != nil && c.head.whole() {
		return c.head.pool.State
	}
	if h := c.copied(); h != nil {
		return h.pool.State
	}
	if c.head != nil {
		return c.head.pool.State
	}
	return ""
}

// configured is the head that says what the pool is: the one there is or the copy, whichever is newer; nil where neither does.
// Of one that is there all is taken but its place in the queue.
func (c *condition) configured() *head {
	kept := c.copied()
	if c.head == nil {
		return kept
	}
	h := *c.head
	h.series, h.lo, h.nx, h.tl, h.published, h.seeded, h.base = 1, 0, 0, 0, 0, 0, 0
	if !h.whole() || kept != nil && kept.pool.Version > h.pool.Version {
		return kept
	}
	return &h
}

// newestSeries is the highest series of chunks that anything tells of; 0 for none.
func (c *condition) newestSeries() int64 {
	newest := max(c.entry.Int(AttrSeries), c.sample.Int(AttrSeries), c.rebuild.series)
	if c.head != nil {
		newest = max(newest, c.head.series)
	}
	return newest
}

// beginRebuild writes the state of a rebuild in the place of what was read, and begins nothing else. Where another was faster that is no error.
func (s *Store) beginRebuild(ctx context.Context, c *condition, o alloc.PoolRebuildOrder) error {
	if err := s.mayBegin(ctx, c, o.Job); err != nil {
		return err
	}
	h := c.configured()
	if h == nil {
		if o.Policy != alloc.PolicyKeep && o.Policy != alloc.PolicyForget {
			return alloc.Errorf(alloc.CodeInvalidConfig,
				"the pool %q has lost its configuration, and no copy is left: say which policy it has, and whether it folds case", o.Pool)
		}
		h = &head{pool: alloc.Pool{
			State: alloc.PoolActive, Version: 1, Created: s.now(),
			Config: alloc.PoolConfig{Policy: o.Policy, FoldCase: o.FoldCase}.WithDefaults(),
		}, token: string(alloc.NewToken())}
	}
	known, err := s.whatItIs(ctx, c, h)
	if err != nil {
		return err
	}
	it := item(rebuildKey(o.Pool), Item{
		AttrJob: string(o.Job), AttrState: rebuildOn, attrOld: c.oldSeries(), AttrSeries: 0, attrStep: int64(0), attrChange: c.rebuild.it.Int(attrChange) + 1,
		AttrTail: int64(0), AttrBase: int64(0), AttrPublished: int64(0), AttrSeeded: int64(0), attrScan: int64(scanItems), AttrDue: s.now().UnixMilli(),
		attrSize: c.size(), attrExpect: c.expected(), attrPositions: make([]string, scanSegments),
	})
	maps.Copy(it, tally{}.in(map[string]any{}))
	maps.Copy(it, known)
	it[AttrSeries] = max(c.newestSeries()+1, s.now().Unix())
	if given := c.rebuild.it.Str(attrGiven); given != "" {
		it[attrGiven] = given
	}
	cond := Absent(AttrPK)
	if c.rebuild.it != nil {
		cond = countIs(attrChange, c.rebuild.it.Int(attrChange))
	}
	err = s.insist(ctx, func() error { return s.table.Put(ctx, it, cond) })
	if _, met := refusedBy(err); met {
		return nil // by another, or by this very call
	}
	return err
}

// oldSeries is the series that is replaced; 0 where nothing tells for sure.
func (c *condition) oldSeries() int64 {
	if c.head != nil && c.head.whole() {
		return c.head.series
	}
	return 0
}

// size is how many IDs the pool has had, as far as is known. A sample may be from before a rebuild that found some gone: where the pool keeps
// its IDs, a head of its own says it better.
func (c *condition) size() int64 {
	if h := c.head; h != nil && h.whole() && !c.item.Bool(AttrMade) && h.pool.Config.Policy == alloc.PolicyKeep {
		return h.seeded
	}
	n := c.sample.Int(AttrSeeded)
	if c.head != nil {
		n = max(n, c.head.seeded)
	}
	return max(0, n)
}

// expected is how many of them have an item, as far as is known.
func (c *condition) expected() int64 {
	h := c.configured()
	switch {
	case h == nil || h.pool.Config.Policy != alloc.PolicyForget:
		return c.size()
	case c.head != nil && c.head.whole():
		return max(0, c.size()-int64(c.head.level(0).Forgotten))
	}
	return max(0, c.sample.Int(AttrAvail))
}

// mayBegin refuses a rebuild while another is on, unless nobody carries that on any more, and one whose job has ended: who was at work on that
// may have been frozen since. A job that ends meanwhile has ended its rebuild first, so the state is not as it was read.
func (s *Store) mayBegin(ctx context.Context, c *condition, job alloc.JobID) error {
	if own, err := s.Job(ctx, job); err == nil && own.State.Ended() {
		return rebuildGiven(c.pool)
	} else if err != nil && !alloc.Is(err, alloc.CodeJobNotFound) {
		return err
	}
	other := c.rebuild.job
	if !c.rebuild.on() || other == string(job) {
		if c.head == nil || c.head.rebuild == "" || c.head.rebuild == other || c.head.rebuild == string(job) {
			return nil
		}
		other = c.head.rebuild // its state is lost
	}
	j, err := s.Job(ctx, alloc.JobID(other))
	switch {
	case alloc.Is(err, alloc.CodeJobNotFound):
		if c.rebuild.on() && s.now().Sub(c.rebuild.at) < desertedAfter {
			return poolRebuilding(c.pool)
		}
		return nil
	case err != nil:
		return err
	case !j.State.Ended():
		return poolRebuilding(c.pool)
	}
	return nil
}

// whatItIs is what a head says the pool is, for the rebuild's state.
func (s *Store) whatItIs(ctx context.Context, c *condition, h *head) (Item, error) {
	settings, err := s.mendSettings(ctx, c, h)
	it := copyOf(h)
	it[AttrSettings] = settings
	delete(it, AttrSeries)
	return it, err
}

// mendSettings puts the settings that the configuration names where they are lost and the copy has them, and returns
// their name; "" where they are gone for good.
func (s *Store) mendSettings(ctx context.Context, c *condition, h *head) (string, error) {
	if h.settings == "" {
		return "", nil
	}
	key := settingsKey(c.pool, h.settings)
	there, err := s.table.Get(ctx, key)
	if err != nil || there != nil {
		return h.settings, err
	}
	st, err := decodeSettings(c.entry)
	if err != nil || st.name() != h.settings {
		return "", nil //nolint:nilerr // what the copy has is not what is lost
	}
	return h.settings, s.keepSettings(ctx, c.pool, st)
}

// markHead marks the head, or makes it where it is lost. Where it finds it marked, it says in the rebuild's state that this is done, and what the
// pool is: nobody changes that from now on.
func (s *Store) markHead(ctx context.Context, c *condition) error {
	r := c.rebuild
	if c.head == nil || c.head.rebuild != r.job {
		return s.setMark(ctx, c)
	}
	set := beginBack(c)
	set[attrStep] = int64(1)
	if h := c.configured(); h != nil {
		known, err := s.whatItIs(ctx, c, h)
		if err != nil {
			return err
		}
		maps.Copy(set, known)
	}
	return s.advance(ctx, r, set)
}

// setMark does nothing where the head, or the rebuild before it, is not any more as it was read.
func (s *Store) setMark(ctx context.Context, c *condition) error {
	r := c.rebuild
	err := s.insist(ctx, func() error {
		if c.item == nil {
			return s.table.Put(ctx, r.madeHead(), Absent(AttrPK))
		}
		_, err := s.table.Update(ctx, headKey(r.pool), Update{Set: map[string]any{AttrRebuild: r.job}, Quiet: true},
			All(Exists(AttrPK), c.item.is(AttrSeries), c.item.is(AttrRebuild), c.item.is(AttrAbandons), c.item.is(AttrPoolState)))
		return err
	})
	if _, met := refusedBy(err); met {
		return nil
	}
	return err
}

// madeHead is the head of a pool that had lost it, while it is rebuilt: it says what the pool is and has no queue.
func (r *rebuilding) madeHead() Item {
	it := r.headItem()
	it[AttrRebuild], it[AttrMade] = r.job, true
	it[AttrSeries], it[AttrTail], it[AttrPublished], it[AttrSeeded], it[AttrRetired] = int64(0), int64(0), int64(0), int64(0), int64(0)
	it[AttrLow], it[AttrNext] = int64(0), int64(0)
	return it
}

// headItem begins a head with what the pool is.
func (r *rebuilding) headItem() Item {
	it := item(headKey(r.pool), Item{})
	for _, name := range headAttrs {
		if v, ok := r.it[name]; ok {
			it[name] = v
		}
	}
	if it[AttrSettings] == "" {
		delete(it, AttrSettings)
	}
	return it
}

// headAttrs are the attributes of a head that say what the pool is.
var headAttrs = []string{
	AttrPoolState, AttrVersion, AttrBorn, AttrToken, AttrPolicy, AttrFold, AttrMaxBatch, AttrDescription, AttrOnRelease, AttrRequireKey, AttrSettings,
}

// is is the condition that an attribute is as it is in this item, there or not.
func (it Item) is(name string) Cond {
	if v, ok := it[name]; ok {
		return Eq(name, v)
	}
	return Absent(name)
}
