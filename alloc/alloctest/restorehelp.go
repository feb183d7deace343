package alloctest

import (
	"fmt"
	"sync"

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
	got, err := w.open().Carry(w.Context(), pool, []alloc.IDRecord{r})
	w.ok(err, "Carry")
	equal(w, len(got), 1, "outcomes")
	equal(w, got[0], want, fmt.Sprintf("outcome of %q, which is said to be %s of generation %d", r.ID, r.State, r.Generation))
}

// carryPatiently carries beside others, and repeats as long as the answer allows it. It must not stop the test.
func (w *world) carryPatiently(s alloc.Store, pool alloc.PoolName, taken []alloc.IDRecord) {
	w.Helper()
	for range patience {
		_, err := s.Carry(w.Context(), pool, taken)
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

// carryCase is what a pool has of an ID, what is said of it, and what becomes of it.
type carryCase struct {
	has, said  alloc.State
	generation int  // of what is said: one behind, the same, or one ahead
	own        bool // what is said has the token that the pool has
	want       alloc.CarryOutcome
}

// carries are all pairs of states, in all three relations of their generations, with the same token and another.
func carries() (all []carryCase) {
	// Of one generation and token: what comes later in an ID's life is carried.
	ahead := map[alloc.State][]alloc.State{
		alloc.StateFree:      {alloc.StateHeld, alloc.StateClaimed, alloc.StateReturning, alloc.StateRetired},
		alloc.StateHeld:      {alloc.StateClaimed, alloc.StateReturning, alloc.StateRetired},
		alloc.StateClaimed:   {alloc.StateReturning, alloc.StateRetired},
		alloc.StateReturning: {alloc.StateRetired},
	}
	for _, has := range stages {
		for _, said := range stages {
			for _, generation := range []int{-1, 0, 1} {
				for _, own := range []bool{true, false} {
					c := carryCase{has: has, said: said, generation: generation, own: own, want: alloc.CarryKnown}
					switch {
					case generation < 0:
						c.want = alloc.CarryBehind
					case said == alloc.StateFree: // changes nothing
					case generation > 0, has == alloc.StateFree:
						c.want = alloc.CarryDone
					case !own:
						c.want = alloc.CarryClash
					default:
						for _, later := range ahead[has] {
							if later == said {
								c.want = alloc.CarryDone
							}
						}
					}
					all = append(all, c)
				}
			}
		}
	}
	return all
}

// carriesAs does one.
func (w *world) carriesAs(c carryCase) {
	w.Helper()
	pool := alloc.PoolName(fmt.Sprintf("%s-%s-%d-%t", c.has, c.said, c.generation, c.own))
	w.full(pool, 1)
	first := w.claim(w.open(), order(pool, 1)) // so that there is an earlier generation
	w.release(w.open(), first)
	w.settle(pool)
	token := w.bringTo(pool, c.has)
	w.unbooked(pool)
	before := w.inspect(pool, first.IDs[0])
	equal(w, before.State, c.has, "state before")
	r := alloc.IDRecord{
		Pool: pool, ID: before.ID, State: c.said, Generation: before.Generation + alloc.Generation(c.generation), Job: before.Job, Token: alloc.NewToken(),
		By: "other", Owner: "other", At: w.clock.Now(), HeldUntil: heldUntil(w, c.said),
	}
	if c.own && token != "" {
		r.Token = token
	}
	if c.said == alloc.StateFree {
		r = alloc.IDRecord{Pool: pool, ID: r.ID, State: r.State, Generation: r.Generation, Job: r.Job}
	}
	w.carriedAs(pool, r, c.want)
	want := before
	if c.want == alloc.CarryDone {
		want = r
	}
	w.sameCarried(w.inspect(pool, r.ID), want)
	again := c.want
	if again == alloc.CarryDone {
		again = alloc.CarryKnown
	}
	w.carriedAs(pool, r, again)
	w.sameCarried(w.inspect(pool, r.ID), want)
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
