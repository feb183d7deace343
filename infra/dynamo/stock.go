package dynamo

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"idpool/alloc"
)

const (
	// configAge is how old a head may be by which a claim is admitted: a pause holds everywhere after that time.
	configAge = 30 * time.Second

	// stockAge is how old stock may be: a sweep has published it again long before.
	stockAge = 10 * time.Minute
)

// poolMemories is what a Store remembers of pools. Only pools that exist are in it.
type poolMemories struct {
	mu sync.Mutex
	by map[alloc.PoolName]*poolMemory
}

// poolMemory is what a Store remembers of one pool: configuration and state as of its head, and warm stock. Nothing in
// it decides who gets an ID. Its lock is held for moments only, never across a call of the table.
type poolMemory struct {
	name    alloc.PoolName
	refresh slot // who reads the head because it has grown old
	restock slot // who leases stock, or searches

	claiming atomic.Int64 // claims under way
	waiting  atomic.Int64 // listings that claims wait for
	losing   atomic.Int64 // listings in a row that were of no use, tried or only looked at
	streak   atomic.Int64 // of them, those tried
	fills    atomic.Int64 // number of the last attempt to bring in stock

	mu     sync.Mutex
	head   *head
	asOf   time.Time // the head was read after this
	stock  []stocked
	unread []leasedChunk
	burst  int64     // chunks that the last lease took
	leased time.Time // when that was
	left   *left     // what the last search of a whole window has shown
}

// stocked is a listing in memory. Each is with one request at a time.
type stocked struct {
	listing
	since time.Time
}

// leasedChunk is a chunk that is leased and could not be read yet.
type leasedChunk struct {
	series, n int64
	since     time.Time
}

// left says how many IDs of the window were free. For as long as the head has not moved there are no more of them: an ID
// that comes back is listed, and with that the head moved, before it becomes free; one that was listed so already counts
// as free here. So it refuses a claim of more, and says nothing of a claim of fewer.
type left struct {
	series, nx, tl int64
	free           int
	fill           int64 // number of the attempt that has seen so last
}

func (p *poolMemories) get(name alloc.PoolName) *poolMemory {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.by[name]
}

// keep returns the pool's memory, which it makes if this is the first head of the pool.
func (p *poolMemories) keep(h *head, asOf time.Time) *poolMemory {
	p.mu.Lock()
	m := p.by[h.pool.Name]
	if m == nil {
		if p.by == nil {
			p.by = map[alloc.PoolName]*poolMemory{}
		}
		m = &poolMemory{name: h.pool.Name, refresh: newSlot(), restock: newSlot()}
		p.by[h.pool.Name] = m
	}
	p.mu.Unlock()
	m.know(h, asOf)
	return m
}

// known tells the memory of a pool, if there is one, of a newer head.
func (p *poolMemories) known(h *head, asOf time.Time) {
	if m := p.get(h.pool.Name); m != nil {
		m.know(h, asOf)
	}
}

// know keeps the head. An older one may come later than a newer one; it is as old as it says, so nothing is lost by it
// but a read.
func (m *poolMemory) know(h *head, asOf time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.head, m.asOf = h, asOf
}

// last returns the newest head known, and whether it is young enough to admit a claim.
func (m *poolMemory) last(now time.Time) (h *head, fresh bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	age := now.Sub(m.asOf)
	return m.head, age >= 0 && age < configAge
}

// poolOf returns the pool's memory with a head that is young enough. With warm memory it makes no call.
func (s *Store) poolOf(ctx context.Context, name alloc.PoolName) (*poolMemory, *head, error) {
	m := s.pools.get(name)
	if m == nil {
		return s.readPool(ctx, name)
	}
	if h, fresh := m.last(s.now()); fresh {
		return m, h, nil
	}
	if err := m.refresh.enter(ctx); err != nil {
		return nil, nil, err
	}
	defer m.refresh.leave()
	if h, fresh := m.last(s.now()); fresh {
		return m, h, nil // somebody else has read it
	}
	return s.readPool(ctx, name)
}

func (s *Store) readPool(ctx context.Context, name alloc.PoolName) (*poolMemory, *head, error) {
	asOf := s.now()
	h, err := s.poolHead(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	return s.pools.keep(h, asOf), h, nil
}

// add puts listings into the stock.
func (m *poolMemory) add(ls []listing, since time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range ls {
		m.stock = append(m.stock, stocked{l, since})
	}
}

// putBack returns listings that were not tried: they are the first to be handed out again.
func (m *poolMemory) putBack(ls []stocked) {
	if len(ls) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stock = slices.Concat(ls, m.stock)
}

// take hands out n listings of different IDs, none of which is among the others; all or none. Stock that has grown old
// is forgotten on the way.
func (m *poolMemory) take(n int, others map[alloc.ID]bool, now time.Time) ([]stocked, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stock = slices.DeleteFunc(m.stock, func(l stocked) bool {
		age := now.Sub(l.since)
		return age < 0 || age >= stockAge
	})
	if len(m.stock) < n {
		return nil, false
	}
	if n == 1 && len(others) == 0 {
		l := m.stock[0]
		m.stock = m.stock[1:]
		return []stocked{l}, true
	}
	got, rest := pick(m.stock, n, others)
	if len(got) < n {
		return nil, false
	}
	m.stock = rest
	return got, true
}

// pick splits listings into n of different IDs, none of which is among the others, and the rest.
func pick(stock []stocked, n int, others map[alloc.ID]bool) (got, rest []stocked) {
	got, rest = make([]stocked, 0, n), make([]stocked, 0, max(0, len(stock)-n))
	seen := make(map[alloc.ID]bool, n)
	for _, l := range stock {
		if len(got) == n || others[l.id] || seen[l.id] {
			rest = append(rest, l)
			continue
		}
		seen[l.id] = true
		got = append(got, l)
	}
	return got, rest
}

// size is how many listings are in stock.
func (m *poolMemory) size() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.stock)
}

// suffices reports whether the stock has n listings to take.
func (m *poolMemory) suffices(n int, others map[alloc.ID]bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	got, _ := pick(m.stock, n, others)
	return len(got) == n
}

// learn takes notice of what trying listings has shown: where one after the other is lost, the stock is forgotten.
func (m *poolMemory) learn(h haul) {
	for _, o := range h.outcomes {
		switch o {
		case won:
			m.losing.Store(0)
			m.streak.Store(0)
		case lost:
			m.losing.Add(1)
			if m.streak.Add(1)%maxLosses == 0 {
				m.forget()
			}
		}
	}
}

// forget empties the stock.
func (m *poolMemory) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stock = nil
}

// slot lets one caller in at a time. Unlike a mutex it may be held across a call of the table: whoever waits for it
// waits no longer than its context.
type slot chan struct{}

func newSlot() slot { return make(slot, 1) }

func (s slot) enter(ctx context.Context) error {
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return outOfTime(ctx)
	}
}

// tryEnter enters if nobody is in.
func (s slot) tryEnter() bool {
	select {
	case s <- struct{}{}:
		return true
	default:
		return false
	}
}

func (s slot) leave() { <-s }

// each calls f for 0 to n−1, at most width at a time, and returns when all have returned.
func each(n, width int, f func(i int)) {
	if n == 1 {
		f(0)
		return
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, width) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				f(int(i))
			}
		})
	}
	all.Wait()
}
