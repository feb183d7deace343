package alloctest

import (
	"fmt"
	"sync"
	"time"

	"idpool/alloc"
)

// stock reads all free IDs in pages, each in another process than the last.
func (w *world) stock(pool alloc.PoolName, limit int) (all []alloc.IDRecord) {
	w.Helper()
	mark, stores := "", w.processes(2)
	for i := range 1000 {
		page, next, err := stores[i%2].Stock(w.Context(), pool, mark, limit)
		w.ok(err, "Stock")
		all = append(all, page...)
		if next == "" {
			return all
		}
		mark = next
	}
	w.Fatalf("the stock of %q has not ended after 1000 pages", pool)
	return nil
}

// carriedAs carries one ID, and stops the test unless the outcome is as wanted.
func (w *world) carriedAs(pool alloc.PoolName, r alloc.IDRecord, want alloc.CarryOutcome) {
	w.Helper()
	got, err := w.open().Carry(w.Context(), pool, w.point(), []alloc.IDRecord{r})
	w.ok(err, "Carry")
	equal(w, len(got), 1, "outcomes")
	equal(w, got[0], want, fmt.Sprintf("outcome of %q, which is said to be %s of generation %d", r.ID, r.State, r.Generation))
}

// carryPatiently carries beside others, and repeats as long as the answer allows it. It must not stop the test.
func (w *world) carryPatiently(s alloc.Store, pool alloc.PoolName, taken []alloc.IDRecord) {
	w.Helper()
	for range patience {
		_, err := s.Carry(w.Context(), pool, w.point(), taken)
		if err == nil {
			return
		}
		if !repeatable(err) {
			w.Errorf("Carry beside others: got %v, want no error", err)
			return
		}
	}
}

// settlesTo settles what was claimed in a life of the pool that the books do not know.
func (w *world) settlesTo(o alloc.SettleOrder, want alloc.State) {
	w.Helper()
	settled, err := w.open().Settle(w.Context(), o)
	w.ok(err, string(o.Event))
	equal(w, settled.State, want, "state that a "+string(o.Event)+" answers")
}

// unbooked leaves a pool out of the books, as what is carried into it was answered by nobody here.
func (w *world) unbooked(pool alloc.PoolName) {
	w.book.mu.Lock()
	defer w.book.mu.Unlock()
	for id := range w.book.of(pool).known {
		w.book.of(pool).offered[id] = true
	}
	w.book.of(pool).unbooked = true
}

// fits proves that a pool's level, after its stock was claimed or unchanged, and a sweep, counts what its data has.
func (w *world) fits(pool alloc.PoolName) alloc.Level {
	w.Helper()
	got, err := w.open().Level(w.Context(), pool)
	w.ok(err, "Level")
	census := w.fixture.Census(w.TB, pool)
	want := alloc.Level{
		Available: census[alloc.StateFree], Held: census[alloc.StateHeld], Claimed: census[alloc.StateClaimed],
		Returning: census[alloc.StateReturning], Retired: census[alloc.StateRetired], CountedAt: got.CountedAt,
	}
	want.Seeded = want.Available + want.Held + want.Claimed + want.Returning + want.Retired
	equal(w, got, want, "level of "+string(pool))
	return got
}

// claimedBy collects answers from many goroutines.
type claimedBy struct {
	mu     sync.Mutex
	tokens map[alloc.ID]alloc.Token
}

func (b *claimedBy) add(c alloc.Claim) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tokens == nil {
		b.tokens = map[alloc.ID]alloc.Token{}
	}
	for _, id := range c.IDs {
		b.tokens[id] = c.Token
	}
}

// stages is the order of the states of one generation.
var stages = []alloc.State{alloc.StateFree, alloc.StateHeld, alloc.StateClaimed, alloc.StateReturning, alloc.StateRetired}

// point is that of a backup from before all that the case does.
func (w *world) point() time.Time { return w.clock.Now().Add(-1000 * time.Hour) }

// carryCase is what a pool has of an ID, and what is said of it.
type carryCase struct {
	has, said  alloc.State
	generation int  // of what is said: one behind, the same, or one ahead
	own        bool // what is said has the token that the pool has
	since      bool // whoever has it took it after the point of the backup
}

// carries are all pairs of states, in all three relations of their generations, with the same token and another, taken before the point and after.
func carries() (all []carryCase) {
	for _, has := range stages {
		for _, said := range stages {
			for _, generation := range []int{-1, 0, 1} {
				for _, how := range []int{0, 1, 2, 3} {
					c := carryCase{has: has, said: said, generation: generation, own: how&1 > 0, since: how&2 > 0}
					if said == alloc.StateFree && how > 0 || has == alloc.StateFree && how > 0 { // nobody has it, so nothing is different
						continue
					}
					all = append(all, c)
				}
			}
		}
	}
	return all
}

// carriesAs does one, and then carries what another one is said to have: of the same generation and of the next. What is to become of it the one rule says.
func (w *world) carriesAs(c carryCase) {
	w.Helper()
	pool := alloc.PoolName(fmt.Sprintf("%s-%s-%d-%t-%t", c.has, c.said, c.generation, c.own, c.since))
	w.full(pool, 1)
	first := w.claim(w.open(), order(pool, 1)) // so that there is an earlier generation
	w.release(w.open(), first)
	w.settle(pool)
	token := w.bringTo(pool, c.has)
	w.unbooked(pool)
	has := alloc.Standing{IDRecord: w.inspect(pool, first.IDs[0])}
	equal(w, has.State, c.has, "state before")
	point := w.clock.Now()
	if c.since {
		point = point.Add(-time.Hour)
	}
	said := w.said(has.IDRecord, c.said, c.generation)
	if c.own && token != "" {
		said.Token = token
	}
	has = w.becomes(point, has, said)
	w.becomes(point, has, said)
	for generation := range 2 {
		said := w.said(has.IDRecord, alloc.StateClaimed, generation)
		has = w.becomes(point, has, said)
		w.becomes(point, has, said)
	}
}

// said is what may be said of an ID by one that the pool does not know.
func (w *world) said(has alloc.IDRecord, state alloc.State, ahead int) alloc.IDRecord {
	r := alloc.IDRecord{Pool: has.Pool, ID: has.ID, State: state, Generation: has.Generation + alloc.Generation(ahead), Job: has.Job}
	if state != alloc.StateFree {
		r.Token, r.By, r.Owner, r.At, r.HeldUntil = alloc.NewToken(), "other", "other", w.clock.Now(), heldUntil(w, state)
		r.Changed = w.clock.Now().Add(-time.Minute) // where it was; here it is when it is carried
	}
	return r
}

// becomes carries what is said, proves that the ID became what the one rule says, and returns it.
func (w *world) becomes(point time.Time, has alloc.Standing, said alloc.IDRecord) alloc.Standing {
	w.Helper()
	to, want := has.Carry(said, point)
	got, err := w.open().Carry(w.Context(), has.Pool, point, []alloc.IDRecord{said})
	w.ok(err, "Carry")
	equal(w, len(got), 1, "outcomes")
	equal(w, got[0], want, fmt.Sprintf("outcome of %+v, which is said to be %+v; the backup is of %v", has, said, point))
	if want == alloc.CarryDone {
		has = alloc.Standing{IDRecord: to, Carried: true, Ahead: to.Generation - said.Generation}
		has.Changed = w.clock.Now()
	}
	w.sameCarried(w.inspect(has.Pool, has.ID), has.IDRecord)
	return has
}

// bringTo brings the one ID of a pool to a state, and returns the token that it has then.
func (w *world) bringTo(pool alloc.PoolName, state alloc.State) alloc.Token {
	w.Helper()
	s := w.open()
	switch state {
	case alloc.StateFree:
		return ""
	case alloc.StateHeld:
		return w.claim(s, holdOrder(pool, 1, holdTime)).Token
	}
	c := w.claim(s, order(pool, 1))
	switch state {
	case alloc.StateReturning:
		w.release(s, c)
	case alloc.StateRetired:
		w.retire(s, c)
	}
	return c.Token
}
