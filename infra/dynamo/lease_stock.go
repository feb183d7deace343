package dynamo

import (
	"context"
	"slices"
	"time"

	"idpool/alloc"
)

const (
	// maxBurst bounds how many chunks an environment takes at once beyond what its callers wait for.
	maxBurst = 8

	// burstPause is how soon stock must be used up for the next lease to take more.
	burstPause = 5 * time.Second

	// aheadFrom is how many claims are under way at once before stock is leased ahead of need, and aheadTime how long
	// that may take.
	aheadFrom = 4
	aheadTime = 3 * time.Second

	// aheadRounds is how often each of them can still be served from stock when more is leased: a lease takes as long as
	// two claims, and in that time nobody is to wait.
	aheadRounds = 3

	// reserveRounds bounds how often a claim goes for stock that others are faster to take.
	reserveRounds = 40
)

// reserve takes n listings of different IDs from the stock, none of which is among the others; it leases stock, or
// searches, where there is not enough. All or none. CodePoolExhausted is proven.
func (s *Store) reserve(ctx context.Context, m *poolMemory, n int, others map[alloc.ID]bool) ([]stocked, error) {
	m.waiting.Add(int64(n))
	defer m.waiting.Add(-int64(n))
	for range reserveRounds {
		if got, ok := m.take(n, others, s.now()); ok {
			s.leaseAhead(ctx, m)
			return got, nil
		}
		if err := s.fill(ctx, m, n, others); err != nil {
			return nil, err
		}
	}
	return nil, poolBusy(m.name)
}

// fill brings stock into memory: one caller at a time, for all who wait.
func (s *Store) fill(ctx context.Context, m *poolMemory, n int, others map[alloc.ID]bool) error {
	arrived := m.fills.Load()
	if err := m.restock.enter(ctx); err != nil {
		return err
	}
	defer m.restock.leave()
	if m.suffices(n, others) {
		return nil // somebody else has brought enough while we waited
	}
	if m.fewerSince(arrived, n) {
		return poolExhausted(m.name, n) // somebody else has looked, and began to when we were here
	}
	m.fills.Add(1)
	if ok, err := s.readLeased(ctx, m); ok || err != nil {
		return err
	}
	h, _ := m.last(s.now())
	if h.rebuilding { // it may be over
		var err error
		if h, err = s.lookAgain(ctx, m); err != nil {
			return err
		}
	}
	for range changeTries {
		if h.rebuilding {
			return poolRebuilding(m.name)
		}
		if h.nx >= h.tl {
			// What is remembered may be old; only a strong read shows the pool empty.
			var err error
			if h, err = s.lookAgain(ctx, m); err != nil {
				return err
			}
			if h.nx >= h.tl && !h.rebuilding {
				return s.search(ctx, m, h, n, others)
			}
			continue
		}
		now, taken, err := s.lease(ctx, m, h)
		if err != nil {
			return err
		}
		if taken {
			_, err := s.readLeased(ctx, m)
			return err
		}
		h = now
	}
	return poolBusy(m.name)
}

// leaseAhead leases stock beside the claims, where many are under way and what is in stock would not last for all of
// them: so they need not stop for it together. A function that serves one request at a time never does: it may be
// frozen as soon as it has answered. One at a time, for a bounded time, and what goes wrong the next claim meets itself.
func (s *Store) leaseAhead(ctx context.Context, m *poolMemory) {
	under := m.claiming.Load()
	if under < aheadFrom || int64(m.size()) >= aheadRounds*under {
		return
	}
	h, _ := m.last(s.now())
	if h.rebuilding || h.nx >= h.tl || !m.restock.tryEnter() {
		return
	}
	go func() {
		defer m.restock.leave()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), aheadTime)
		defer cancel()
		if _, taken, err := s.lease(ctx, m, h); err != nil || !taken {
			return
		}
		_, _ = s.readLeased(ctx, m) //nolint:errcheck // read by the next claim that finds no stock
	}()
}

// lookAgain reads the head, strongly.
func (s *Store) lookAgain(ctx context.Context, m *poolMemory) (*head, error) {
	asOf := s.now()
	h, err := s.poolHead(ctx, m.name)
	if err != nil {
		return nil, err
	}
	m.know(h, asOf)
	return h, nil
}

// lease takes the next chunks for this environment alone, which saves callers from each other and is all that it is
// for. h.tl stands in for the tail in the condition, as a condition cannot add: a tail only ever rises. A repeat after
// a lost answer skips chunks; the sweep brings them back.
func (s *Store) lease(ctx context.Context, m *poolMemory, h *head) (now *head, taken bool, err error) {
	since := s.now()
	k := m.appetite(h, since)
	now, moved, err := s.updateHead(ctx, h,
		Update{Set: map[string]any{AttrLeasedAt: since.UnixMilli()}, Add: map[string]int64{AttrNext: k}},
		Le(AttrNext, h.tl-k), Ge(AttrTail, h.tl))
	if err != nil {
		return nil, false, err
	}
	m.know(now, since)
	if moved {
		return now, false, nil
	}
	m.leasedChunks(now, k, since)
	return now, true, nil
}

// appetite is how many chunks to lease: enough for all who wait, and more where the last ones were of no use, or were
// used up at once and the pool has plenty.
func (m *poolMemory) appetite(h *head, now time.Time) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	size := max(1, h.published/h.tl)
	need := (m.waiting.Load() + m.losing.Load() - int64(len(m.stock)) + size - 1) / size
	burst := int64(1)
	if pause := now.Sub(m.leased); pause >= 0 && pause < burstPause {
		burst = min(2*m.burst, maxBurst)
	}
	burst = min(burst, (h.tl-h.nx)/50) // a few environments cannot sit on a whole pool
	return min(max(1, need, burst), h.tl-h.nx, maxBatchGet)
}

func (m *poolMemory) leasedChunks(h *head, k int64, since time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.burst, m.leased = k, since
	for n := h.nx - k; n < h.nx; n++ {
		m.unread = append(m.unread, leasedChunk{h.series, n, since})
	}
}

// readLeased reads chunks that are leased to us into the stock, and reports whether there were any. Those that cannot
// be read now are read the next time.
func (s *Store) readLeased(ctx context.Context, m *poolMemory) (bool, error) {
	m.mu.Lock()
	unread := m.unread[:min(len(m.unread), maxBatchGet)]
	m.mu.Unlock()
	if len(unread) == 0 {
		return false, nil
	}
	keys := make([]Key, len(unread))
	for i, c := range unread {
		keys[i] = chunkKey(m.name, c.series, c.n)
	}
	items, err := s.getAll(ctx, keys)
	if err != nil {
		return false, err
	}
	for i, it := range items {
		ls := decodeChunk(unread[i].n, it).listings
		if m.losing.Load() >= maxLosses {
			useful, err := s.useful(ctx, m.name, ls)
			if err != nil {
				return false, err
			}
			m.losing.Add(int64(len(ls) - len(useful))) // lease the more
			ls = useful
		}
		m.add(ls, unread[i].since)
	}
	m.mu.Lock()
	m.unread = m.unread[len(unread):]
	m.mu.Unlock()
	return true, nil
}

// useful drops the listings that are of no use any more: reading is cheaper than trying.
func (s *Store) useful(ctx context.Context, pool alloc.PoolName, ls []listing) ([]listing, error) {
	v := &view{states: map[alloc.ID]Item{}}
	ids := make([]alloc.ID, 0, len(ls))
	for _, l := range ls {
		if _, known := v.states[l.id]; !known {
			v.states[l.id] = nil
			ids = append(ids, l.id)
		}
	}
	if err := s.readIDs(ctx, pool, ids, v.states); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(ls), func(l listing) bool { return v.standing(l) == listingSettled }), nil
}

// getAll reads any number of items, strongly, in the order of the keys.
func (s *Store) getAll(ctx context.Context, keys []Key) ([]Item, error) {
	if len(keys) == 1 {
		it, err := s.table.Get(ctx, keys[0])
		return []Item{it}, err
	}
	items := make([]Item, len(keys))
	errs := make([]error, (len(keys)+maxBatchGet-1)/maxBatchGet)
	each(len(errs), readWidth, func(i int) {
		from, to := i*maxBatchGet, min((i+1)*maxBatchGet, len(keys))
		part, err := s.table.GetMany(ctx, keys[from:to])
		copy(items[from:to], part)
		errs[i] = err
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return items, nil
}

// readWidth is how many batches are read at once.
const readWidth = 4
