package dynamo

import (
	"context"
	"slices"

	"idpool/alloc"
)

const (
	// maxWindow is how many leased chunks one search reads at most; where there are more, a sweep is due.
	maxWindow = 200

	// searchFirst is how many chunks a search reads at first; with every step it reads twice as many.
	searchFirst = 16

	// searchRounds bounds how often a search begins anew because the head moved under it.
	searchRounds = 4

	// searchSpare is how many listings a search brings home beyond what is waited for: about as many as a lease would.
	searchSpare = 19
)

// search looks for free IDs among the leased listings when there is nothing left to lease. h was read just now. It
// brings what it finds into the stock. Where it finds fewer than n, CodePoolExhausted says that each listing was seen
// taken and that the head had not moved meanwhile; of a window that is too long for that, a sweep is asked for.
func (s *Store) search(ctx context.Context, m *poolMemory, h *head, n int, others map[alloc.ID]bool) error {
	for range searchRounds {
		if h.rebuilding {
			return poolRebuilding(m.name)
		}
		if h.nx < h.tl || m.hasFewer(h, n) {
			break
		}
		free, whole, err := s.look(ctx, h, n, others)
		if err != nil {
			return err
		}
		met := len(free)
		found := slices.DeleteFunc(free, func(l listing) bool { return others[l.id] })
		if s.bringHome(m, found); len(found) >= n {
			return nil
		}
		if !whole {
			return s.wantSweep(ctx, h)
		}
		again, err := s.lookAgain(ctx, m)
		if err != nil {
			return err
		}
		if again.series == h.series && again.nx == h.nx && again.tl == h.tl && !again.rebuilding {
			m.searched(h, met)
			return poolExhausted(m.name, n)
		}
		h = again
	}
	switch {
	case h.nx < h.tl:
		return nil // something was published: lease it
	case m.hasFewer(h, n):
		return poolExhausted(m.name, n)
	}
	return poolBusy(m.name)
}

// look reads the window from a random place on, in growing steps, until it has met n free IDs that are not among the
// others. So environments that start together each read a part of their own, and finding an ID costs little while there
// are many. whole says that all of the window was read.
func (s *Store) look(ctx context.Context, h *head, n int, others map[alloc.ID]bool) (free []listing, whole bool, err error) {
	size := h.nx - h.lo
	limit := min(size, maxWindow)
	if size == 0 {
		return nil, true, nil
	}
	first := int64(s.intN(int(size)))
	met, found := map[listing]bool{}, 0
	for done, step := int64(0), int64(searchFirst); done < limit; step *= 2 {
		from := h.lo + (first+done)%size
		to := min(from+step, h.nx, from+limit-done)
		v, err := s.window(ctx, h, from, to)
		if err != nil {
			return nil, false, err
		}
		done += to - from
		for _, l := range v.free {
			if met[l] {
				continue
			}
			met[l] = true
			free = append(free, l)
			if !others[l.id] {
				found++
			}
		}
		if found >= n {
			return free, false, nil
		}
	}
	return free, limit == size, nil
}

// bringHome puts found listings into the stock, in random order, so that environments that search the same window do
// not run after the same ID. What they read they need not keep: it is there for whoever searches next.
func (s *Store) bringHome(m *poolMemory, found []listing) {
	for i := len(found) - 1; i > 0; i-- {
		j := s.intN(i + 1)
		found[i], found[j] = found[j], found[i]
	}
	m.forget() // whatever of it is free stands in the window
	m.add(found[:min(len(found), int(m.waiting.Load())+searchSpare)], s.now())
}

// hasFewer reports whether a search has shown that fewer than n IDs are free at this head, which was read just now: then
// that still holds.
func (m *poolMemory) hasFewer(h *head, n int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.left
	if l == nil || l.series != h.series || l.nx != h.nx || l.tl != h.tl || l.free >= n {
		return false
	}
	l.fill = m.fills.Load()
	return true
}

// fewerSince reports whether a fill that began after the one given has shown that fewer than n IDs are free.
func (m *poolMemory) fewerSince(fill int64, n int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.left != nil && m.left.fill > fill && m.left.free < n
}

// searched remembers how many free IDs a search of the whole window has met.
func (m *poolMemory) searched(h *head, free int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left = &left{h.series, h.nx, h.tl, free, m.fills.Load()}
}

// wantSweep asks the next sweep to tidy up at once, and sends the caller away until then.
func (s *Store) wantSweep(ctx context.Context, h *head) error {
	if !h.wanted {
		_, _, err := s.updateHead(ctx, h, Update{Set: map[string]any{AttrWanted: s.now().UnixMilli()}}, Absent(AttrWanted))
		if err != nil {
			return err
		}
	}
	return poolUnswept(h.pool.Name)
}

// view is what a look at the listings of some chunks has shown.
type view struct {
	chunks []*chunk
	states map[alloc.ID]Item // nil where there is no item
	free   []listing         // may be claimed, now or when their return is finished; each once
}

// window reads the chunks from one number to before another, and the items of all IDs that they list, strongly.
func (s *Store) window(ctx context.Context, h *head, from, to int64) (*view, error) {
	v := &view{states: map[alloc.ID]Item{}}
	if from >= to {
		return v, nil
	}
	var keys []Key
	for n := from; n < to; n++ {
		keys = append(keys, chunkKey(h.pool.Name, h.series, n))
	}
	items, err := s.getAll(ctx, keys)
	if err != nil {
		return nil, err
	}
	var ids []alloc.ID
	for i, it := range items {
		if it == nil {
			return nil, poolDamaged(h.pool.Name)
		}
		c := decodeChunk(from+int64(i), it)
		v.chunks = append(v.chunks, c)
		for _, l := range c.listings {
			if _, known := v.states[l.id]; !known {
				v.states[l.id] = nil
				ids = append(ids, l.id)
			}
		}
	}
	if err := s.readIDs(ctx, h.pool.Name, ids, v.states); err != nil {
		return nil, err
	}
	v.judge()
	return v, nil
}

func (s *Store) readIDs(ctx context.Context, pool alloc.PoolName, ids []alloc.ID, into map[alloc.ID]Item) error {
	if len(ids) == 0 {
		return nil
	}
	keys := make([]Key, len(ids))
	for i, id := range ids {
		keys[i] = idKey(pool, id)
	}
	items, err := s.getAll(ctx, keys)
	if err != nil {
		return err
	}
	for i, id := range ids {
		into[id] = items[i]
	}
	return nil
}

func (v *view) judge() {
	seen := map[listing]bool{}
	for _, c := range v.chunks {
		for _, l := range c.listings {
			if seen[l] {
				continue
			}
			seen[l] = true
			switch v.standing(l) {
			case listingFree, listingReturning:
				v.free = append(v.free, l)
			case listingHeld, listingSettled:
			}
		}
	}
}

// standing is what a listing is worth.
type standing int

const (
	listingSettled   standing = iota // of no use any more, for ever
	listingFree                      // its ID is free, of its generation
	listingReturning                 // its ID is returning, one generation behind: it was listed before it was freed
	listingHeld                      // its ID is held, of its generation
)

func (v *view) standing(l listing) standing {
	it := v.states[l.id]
	state, gen := it.Str(AttrState), it.Int(AttrGeneration)
	switch {
	case it == nil:
		return listingSettled
	case gen == l.gen && isFree(it):
		return listingFree
	case gen == l.gen && state == StateHeld:
		return listingHeld
	case gen == l.gen-1 && state == StateReturning:
		return listingReturning
	}
	return listingSettled
}
