package dynamo

import (
	"context"

	"idpool/alloc"
)

// Attributes of a head that came later than others: where they are absent, the default holds.
const (
	AttrOnRelease  = "or" // what becomes of a released ID
	AttrRequireKey = "rk" // a claim must have a key
)

func poolConfigOf(head Item) alloc.PoolConfig {
	return alloc.PoolConfig{
		Description: head.Str(AttrDescription), Policy: alloc.Policy(head.Str(AttrPolicy)), FoldCase: head.Bool(AttrFold),
		MaxBatch: alloc.Count(head.Int(AttrMaxBatch)), OnRelease: alloc.OnRelease(head.Str(AttrOnRelease)), RequireKey: head.Bool(AttrRequireKey),
	}.WithDefaults()
}

// CreatePool implements alloc.Pools. The catalogue item comes first, marked as creating, then the settings and the head,
// then the mark becomes live: so a head that is missing tells what it means.
func (s *Store) CreatePool(ctx context.Context, name alloc.PoolName, config alloc.PoolConfig) (alloc.Pool, bool, error) {
	now := s.now()
	if err := s.checkNew(ctx, name); err != nil {
		return alloc.Pool{}, false, err
	}
	entry := item(catalogueKey(name), Item{AttrState: catalogueCreating, AttrBorn: now.UnixMilli()})
	err := s.table.Put(ctx, entry, Absent(AttrPK))
	old, met := refusedBy(err)
	if err != nil && !met {
		return alloc.Pool{}, false, err
	}
	if met && old.Str(AttrState) != catalogueCreating {
		h, err := s.poolHead(ctx, name)
		if err != nil {
			return alloc.Pool{}, false, err
		}
		return poolAsCreated(h, config)
	}
	if err := s.keepSettings(ctx, name, settingsOf(config)); err != nil {
		return alloc.Pool{}, false, err
	}
	return s.createPoolHead(ctx, newPoolItem(name, config, now, string(alloc.NewToken())), name, config)
}

// createPoolHead makes the head, or finds that somebody else has: of several creators at once the first head decides.
func (s *Store) createPoolHead(ctx context.Context, it Item, name alloc.PoolName, config alloc.PoolConfig) (alloc.Pool, bool, error) {
	err := s.table.Put(ctx, it, Absent(AttrPK))
	own := err == nil
	if old, met := refusedBy(err); met {
		if old == nil {
			return alloc.Pool{}, false, poolContended(name)
		}
		own = old.Str(AttrToken) == it.Str(AttrToken)
		it = old
	} else if err != nil {
		return alloc.Pool{}, false, err
	}
	h := decodeHead(name, it)
	if err := s.keepCopy(ctx, h); err != nil {
		return alloc.Pool{}, false, unsettled(err)
	}
	if own {
		return h.poolWith(config), true, nil
	}
	return poolAsCreated(h, config)
}

// poolAsCreated answers a creation that met the pool.
func poolAsCreated(h *head, config alloc.PoolConfig) (alloc.Pool, bool, error) {
	if err := h.pool.CheckThere(); err != nil {
		return alloc.Pool{}, false, err
	}
	if !h.hasConfig(config) {
		return alloc.Pool{}, false, alloc.Errorf(alloc.CodePoolExists,
			"the pool %q exists with another configuration; read it and change it, or choose another name", h.pool.Name)
	}
	return h.poolWith(config), false, nil
}

// Pool implements alloc.Pools.
func (s *Store) Pool(ctx context.Context, name alloc.PoolName) (alloc.Pool, error) {
	h, err := s.poolHead(ctx, name)
	if err != nil {
		return alloc.Pool{}, err
	}
	return s.wholePool(ctx, h)
}

// ChangePool implements alloc.Pools.
func (s *Store) ChangePool(ctx context.Context, name alloc.PoolName, from alloc.Version, config alloc.PoolConfig) (alloc.Pool, error) {
	h, err := s.poolHead(ctx, name)
	for try := range changeTries {
		if err != nil {
			return alloc.Pool{}, err
		}
		if err := h.pool.CheckThere(); err != nil {
			return alloc.Pool{}, err
		}
		if h.pool.Version == from+1 && h.hasConfig(config) {
			s.copyAfter(ctx, h)
			return h.poolWith(config), nil // a repeat, or our own write whose answer was lost
		}
		if h.pool.Version != from {
			return alloc.Pool{}, alloc.VersionMismatch("pool", string(name), h.pool.Version)
		}
		if err := s.checkChange(ctx, h, config); err != nil {
			return alloc.Pool{}, err
		}
		if h.rebuilding {
			return alloc.Pool{}, poolRebuilding(name)
		}
		if try == 0 {
			if err := s.keepSettings(ctx, name, settingsOf(config)); err != nil {
				return alloc.Pool{}, err
			}
		}
		u := Update{Set: changeable(config)}
		u.Set[AttrVersion] = int64(from) + 1
		if settingsOf(config).name() == "" {
			u.Remove = []string{AttrSettings}
		}
		h, err = s.change(ctx, h, u, Eq(AttrVersion, int64(from)), Ne(AttrPoolState, string(alloc.PoolDeleted)))
	}
	return alloc.Pool{}, orContended(err, name)
}

// checkChange holds the whole configuration of the head against the one that is to be.
func (s *Store) checkChange(ctx context.Context, h *head, to alloc.PoolConfig) error {
	p, err := s.wholePool(ctx, h)
	if err != nil {
		return err
	}
	return p.Config.CheckChange(to)
}

// SetPoolState implements alloc.Pools.
func (s *Store) SetPoolState(ctx context.Context, name alloc.PoolName, from alloc.Version, to alloc.PoolState) (alloc.Pool, error) {
	h, err := s.poolHead(ctx, name)
	for range changeTries {
		if err != nil {
			return alloc.Pool{}, err
		}
		if err := h.pool.CheckTo(to); err != nil {
			return alloc.Pool{}, err
		}
		if from != 0 && h.pool.Version != from {
			return alloc.Pool{}, alloc.VersionMismatch("pool", string(name), h.pool.Version)
		}
		if h.pool.State == to {
			return s.wholePool(ctx, h)
		}
		if h.rebuilding {
			return alloc.Pool{}, poolRebuilding(name)
		}
		h, err = s.change(ctx, h, Update{Set: map[string]any{AttrPoolState: string(to)}},
			Eq(AttrPoolState, string(h.pool.State)), Eq(AttrVersion, int64(h.pool.Version)))
		if err == nil && h.pool.State == to {
			s.copyAfter(ctx, h)
			return s.wholePool(ctx, h) // by this call, by its repeat, or by another that wanted the same
		}
	}
	return alloc.Pool{}, orContended(err, name)
}

func orContended(err error, name alloc.PoolName) error {
	if err != nil {
		return err
	}
	return poolContended(name)
}

// change updates the head and returns it as it is then, changed by this call or by another.
func (s *Store) change(ctx context.Context, h *head, u Update, c ...Cond) (*head, error) {
	asOf := s.now()
	now, _, err := s.updateHead(ctx, h, u, c...)
	if err != nil {
		return nil, err
	}
	s.pools.known(now, asOf)
	return now, nil
}

// ListPools implements alloc.Pools. A pool whose head is lost is listed with its name alone; one whose creation was cut
// off before its head is not there yet.
func (s *Store) ListPools(ctx context.Context, after alloc.PoolName, limit int) ([]alloc.Pool, error) {
	pools := make([]alloc.Pool, 0, min(limit, maxBatchGet))
	q := Query{PK: pkPoolCatalogue, From: string(after)}
	for {
		q.Limit = min(limit-len(pools)+1, maxBatchGet) // one more for the name given, which the bound includes
		page, err := s.table.Query(ctx, q)
		if err != nil {
			return nil, err
		}
		found, err := s.headsOf(ctx, page.Items, q.From)
		if err != nil {
			return nil, err
		}
		pools = append(pools, found...)
		if len(pools) >= limit {
			return pools[:limit], nil
		}
		if !page.More || len(page.Items) == 0 {
			return pools, nil
		}
		q.From = page.Items[len(page.Items)-1].Str(AttrSK)
	}
}

// headsOf reads the pools of catalogue items, but for the name given.
func (s *Store) headsOf(ctx context.Context, entries []Item, but string) ([]alloc.Pool, error) {
	keys := make([]Key, 0, len(entries))
	listed := make([]Item, 0, len(entries))
	for _, entry := range entries {
		if name := entry.Str(AttrSK); name != but {
			keys = append(keys, headKey(alloc.PoolName(name)))
			listed = append(listed, entry)
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	heads, err := s.table.GetMany(ctx, keys)
	if err != nil {
		return nil, err
	}
	var found []*head
	for i, entry := range listed {
		name := alloc.PoolName(entry.Str(AttrSK))
		switch {
		case heads[i] != nil:
			h := decodeHead(name, heads[i])
			if !h.whole() && !h.rebuilding {
				h.pool.State = alloc.PoolDamaged
			}
			found = append(found, h)
		case entry.Str(AttrState) == catalogueLive:
			found = append(found, &head{pool: alloc.Pool{Name: name, State: alloc.PoolDamaged}})
		}
	}
	pools, _, err := s.wholePools(ctx, found) // one that has lost something does not hide the others
	return pools, err
}

// Level implements alloc.Pools. It reads the head and the first chunk that is not leased: what is published after it is
// available, and so is what the last sweep found free among the leased listings.
func (s *Store) Level(ctx context.Context, name alloc.PoolName) (alloc.Level, error) {
	h, err := s.poolHead(ctx, name)
	if err != nil {
		return alloc.Level{}, err
	}
	available, err := s.available(ctx, h)
	if err != nil {
		return alloc.Level{}, err
	}
	return h.level(available), nil
}

// level is how the pool stands by this head, where so many are available.
func (h *head) level(available int64) alloc.Level {
	c := h.counted
	l := alloc.Level{
		Available: alloc.Count(available),
		Seeded:    alloc.Count(h.seeded), Held: alloc.Count(c.held),
		Retired: alloc.Count(h.retired), CountedAt: c.at,
	}
	gone := alloc.Count(max(0, c.gone-h.retired))
	if h.pool.Config.Policy == alloc.PolicyForget {
		l.Forgotten = gone
	} else {
		l.Claimed = gone
	}
	return l
}

// available is how many IDs are available by this very head: the one formula of it.
func (s *Store) available(ctx context.Context, h *head) (int64, error) {
	unleased, err := s.unleased(ctx, h)
	return h.available(unleased), err
}

func (h *head) available(unleased int64) int64 {
	return max(0, unleased+h.counted.windowFree-h.counted.dead)
}

// unleased is the number of listings that are published and not leased. Two reads that do not fit together, as a lease
// came between them, make it a little too low.
func (s *Store) unleased(ctx context.Context, h *head) (int64, error) {
	if h.nx >= h.tl {
		return 0, nil
	}
	it, err := s.table.Get(ctx, h.nextChunk())
	if err != nil {
		return 0, err
	}
	return h.unleasedFrom(it)
}

// nextChunk is the key of the first chunk that is not leased.
func (h *head) nextChunk() Key { return chunkKey(h.pool.Name, h.series, h.nx) }

// unleasedFrom is the number of listings from that chunk on.
func (h *head) unleasedFrom(next Item) (int64, error) {
	if next == nil {
		return 0, poolDamaged(h.pool.Name)
	}
	return h.published - next.Int(AttrBefore), nil
}
