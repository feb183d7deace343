package alloctest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"idpool/alloc"
)

// book records what Stores have answered, so that the end of a case can hold it against the data. It is safe for
// concurrent use. It reads the clock under its lock: by a time read before, a hold that is over could seem to last when
// who has the ID since is booked already.
type book struct {
	now   func() time.Time
	mu    sync.Mutex
	pools map[alloc.PoolName]*account
}

// account is the book of one pool.
type account struct {
	unbooked  bool                   // see world.unbooked
	known     map[alloc.ID]bool      // added by some Seed
	offered   map[alloc.ID]bool      // named by some Seed that has begun: it may be claimed before Seed returns
	added     alloc.Count            // how often an ID was added
	terms     map[alloc.ID][]*term   // who was told to have it, one after the other
	forgotten alloc.Count            // IDs that the pool has forgotten and the book with it
	lost      alloc.Count            // IDs that nobody had and that a rebuild has retired, as their records were gone
	keys      map[string]answered    // what a key was answered last
	unheard   map[string]alloc.Count // IDs that failed calls may have taken, by key; "" for all without
}

// answered is the answer that a key has had, and whether one of its answers was the first rather than a repeat.
type answered struct {
	claim alloc.Claim
	first bool
}

func newBook(now func() time.Time) book {
	return book{now: now, pools: map[alloc.PoolName]*account{}}
}

// of returns the pool's account. The caller holds the lock.
func (b *book) of(pool alloc.PoolName) *account {
	a := b.pools[pool]
	if a == nil {
		a = &account{
			known: map[alloc.ID]bool{}, offered: map[alloc.ID]bool{}, terms: map[alloc.ID][]*term{},
			keys: map[string]answered{}, unheard: map[string]alloc.Count{},
		}
		b.pools[pool] = a
	}
	return a
}

// offer books that a seeding begins.
func (b *book) offer(pool alloc.PoolName, ids []alloc.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		b.of(pool).offered[id] = true
	}
}

// seeded books the outcomes of a seeding. An ID that is added again by a repeat of its job was added once.
func (b *book) seeded(pool alloc.PoolName, ids []alloc.ID, outcomes []alloc.SeedOutcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.of(pool)
	for i, o := range outcomes {
		if o == alloc.SeedAdded && !a.known[ids[i]] {
			a.known[ids[i]] = true
			a.added++
		}
	}
}

// forgot books that the pool no longer knows the IDs, so that they can be added and claimed again.
func (b *book) forgot(pool alloc.PoolName, ids []alloc.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.of(pool)
	for _, id := range ids {
		delete(a.known, id)
		delete(a.offered, id)
		if len(a.terms[id]) > 0 {
			a.forgotten++
		}
		delete(a.terms, id)
	}
}

// lose books that free IDs were gone and are retired.
func (b *book) lose(pool alloc.PoolName, ids []alloc.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.of(pool).lost += alloc.Count(len(ids))
}

// vanish books that IDs which nobody had are gone, with all that listed them.
func (b *book) vanish(pool alloc.PoolName, ids []alloc.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.of(pool)
	for _, id := range ids {
		delete(a.known, id)
		delete(a.offered, id)
		a.added--
	}
}

// claimed books an answer, and returns what is wrong with it.
func (b *book) claimed(o alloc.ClaimOrder, c alloc.Claim) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	a, now := b.of(o.Pool), b.now()
	if err := wellFormed(o, c); err != nil {
		return err
	}
	if o.Key != nil {
		if err := a.answeredKey(o.Key.Hash, c); err != nil {
			return err
		}
	}
	for _, id := range c.IDs {
		if !a.known[id] && !a.offered[id] {
			return fmt.Errorf("the pool %q handed out %q, which nobody seeded", o.Pool, id)
		}
		switch before := a.term(id, c.Token); {
		case before != nil && o.Key == nil:
			return fmt.Errorf("the pool %q handed out %q twice, with one token", o.Pool, id)
		case before == nil:
			a.terms[id] = append(a.terms[id], &term{token: c.Token, until: c.HeldUntil})
		}
		if n := a.occupants(id, now); n > 1 {
			return fmt.Errorf("the pool %q handed out %q twice: %d have it", o.Pool, id, n)
		}
	}
	for _, e := range c.Ended {
		if err := a.mayHaveEnded(e, c.Token, now); err != nil {
			return err
		}
	}
	return nil
}

// answeredKey books an answer to a key: within the retention it must be the one that the key had before, and of all
// equal answers at most one may say that it is no repeat.
func (a *account) answeredKey(hash string, c alloc.Claim) error {
	delete(a.unheard, hash)
	before, known := a.keys[hash]
	if known && before.claim.Token != c.Token {
		if c.At.Before(before.claim.At.Add(alloc.KeyRetention)) {
			return fmt.Errorf("one key was answered %v and then %v", before.claim, c)
		}
		known = false
	}
	switch {
	case known && !slices.Equal(before.claim.IDs, c.IDs):
		return fmt.Errorf("one key was answered %v and then %v", before.claim.IDs, c.IDs)
	case known && before.first && !c.Replayed:
		return fmt.Errorf("two answers to one key both say that they are the first")
	}
	a.keys[hash] = answered{claim: c, first: known && before.first || !c.Replayed}
	return nil
}

// wellFormed checks what every answer of a claim must look like.
func wellFormed(o alloc.ClaimOrder, c alloc.Claim) error {
	seen := map[alloc.ID]bool{}
	for _, id := range c.IDs {
		if seen[id] {
			return fmt.Errorf("one answer names %q twice", id)
		}
		seen[id] = true
	}
	state, until := alloc.StateClaimed, time.Time{}
	if o.Hold > 0 {
		state, until = alloc.StateHeld, c.At.Add(o.Hold)
	}
	switch {
	case alloc.Count(len(c.IDs)) != o.Count:
		return fmt.Errorf("got %d IDs, want exactly %d", len(c.IDs), o.Count)
	case c.Pool != o.Pool || c.State != state || len(c.Token) != len(alloc.NewToken()) || c.At.IsZero():
		return fmt.Errorf("got the answer %+v, want it with its pool, the state %s, a token and a time", c, state)
	case !sameTime(c.HeldUntil, until):
		return fmt.Errorf("got the end of the hold %v, want %v", c.HeldUntil, until)
	case o.Key == nil && c.Replayed:
		return fmt.Errorf("a claim without a key was answered as replayed")
	}
	return wellFormedEnd(c)
}

// wellFormedEnd checks that what an answer says of IDs that ended is said of some of its IDs, in their order, in a repeat.
func wellFormedEnd(c alloc.Claim) error {
	rest := c.IDs
	for _, e := range c.Ended {
		i := slices.Index(rest, e.ID)
		if i < 0 || e.State != alloc.StateReturning && e.State != alloc.StateRetired {
			return fmt.Errorf("got %v as ended of %v, want some of them in their order, returning or retired", c.Ended, c.IDs)
		}
		rest = rest[i+1:]
	}
	if len(c.Ended) > 0 && (!c.Replayed || len(c.Ended) == len(c.IDs)) {
		return fmt.Errorf("got an answer of which %d of %d IDs have ended and Replayed %t, want that in repeats only, and not of all", len(c.Ended), len(c.IDs), c.Replayed)
	}
	return nil
}

// failed books a call that may have taken IDs although it failed.
func (b *book) failed(o alloc.ClaimOrder) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.of(o.Pool)
	if o.Key == nil {
		a.unheard[""] += o.Count
		return
	}
	a.unheard[o.Key.Hash] = o.Count
}
