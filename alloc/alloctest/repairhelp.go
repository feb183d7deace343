package alloctest

import (
	"fmt"
	"slices"
	"time"

	"idpool/alloc"
)

// rebuildPool does the steps of a rebuild, each in another process than the last, and returns what they met and the orders
// for them; an error stops the test.
func (w *world) rebuildPool(o alloc.PoolRebuildOrder) (sum alloc.PoolRebuilt, steps []alloc.PoolRebuildOrder) {
	w.Helper()
	stores := w.processes(2)
	for i := range 1000 {
		steps = append(steps, o)
		done, err := stores[i%2].RebuildPool(w.Context(), o)
		w.ok(err, "RebuildPool")
		sum = plusRebuilt(sum, done)
		if done.Next == "" {
			return sum, steps
		}
		o.Step = done.Next
	}
	w.Fatalf("the rebuild of %q has not ended after 1000 steps", o.Pool)
	return sum, steps
}

// knownProgress rebuilds the pool, and demands of every step that it says how far the rebuild is by then: never less than before, and nothing left at the
// end; exact says that no step meets more than was foreseen.
func (w *world) knownProgress(o alloc.PoolRebuildOrder, exact bool) {
	w.Helper()
	s := w.open()
	var looked, met alloc.Count
	share := 0.0
	for range 1000 {
		done, err := s.RebuildPool(w.Context(), o)
		w.ok(err, "RebuildPool")
		looked, met = looked+done.Looked, met+done.Met
		if all := looked + done.Left; all == 0 || float64(looked)/float64(all) < share {
			w.Errorf("%q has looked at %d of %d IDs, which is less than %.2f as before", o.Pool, looked, all, share)
		} else {
			share = float64(looked) / float64(all)
		}
		if exact && done.Total != 0 && done.Total < met {
			w.Errorf("%q has met %d IDs of %d in all", o.Pool, met, done.Total)
		}
		if done.Next == "" {
			equal(w, done.Left, 0, "IDs that are left at the end")
			equal(w, looked >= met && met > 0, true, fmt.Sprintf("that it has looked at %d IDs and met %d", looked, met))
			return
		}
		o.Step = done.Next
	}
	w.Errorf("the rebuild of %q does not end", o.Pool)
}

// plusRebuilt adds what another step has met.
func plusRebuilt(a, b alloc.PoolRebuilt) alloc.PoolRebuilt {
	a.Met += b.Met
	a.Tally.Free += b.Tally.Free
	a.Tally.Held += b.Tally.Held
	a.Tally.Claimed += b.Tally.Claimed
	a.Tally.Returning += b.Tally.Returning
	a.Tally.Retired += b.Tally.Retired
	a.Tally.Lost += b.Tally.Lost
	a.Gone = append(a.Gone, b.Gone...)
	a.Tally.Missing += b.Tally.Missing
	return a
}

// rebuildPatiently does the steps of a rebuild beside others, and repeats as long as the answer allows it. It must not
// stop the test.
func (w *world) rebuildPatiently(s alloc.Store, o alloc.PoolRebuildOrder) {
	w.Helper()
	for range 100 * patience {
		done, err := s.RebuildPool(w.Context(), o)
		switch {
		case repeatable(err):
		case err != nil:
			w.Errorf("RebuildPool beside others: got %v, want no error", err)
			return
		case done.Next == "":
			return
		default:
			o.Step = done.Next
		}
	}
	w.Errorf("the rebuild of %q beside others does not end", o.Pool)
}

// rebuiltPool rebuilds a pool with the job.
func (w *world) rebuiltPool(pool alloc.PoolName, job alloc.JobID) alloc.PoolRebuilt {
	w.Helper()
	sum, _ := w.rebuildPool(alloc.PoolRebuildOrder{Pool: pool, Job: job})
	w.clock.Advance(stateDelay)
	return sum
}

// poolEvidence reads a pool's condition.
func (w *world) poolEvidence(pool alloc.PoolName) alloc.PoolEvidence {
	w.Helper()
	e, err := w.open().PoolEvidence(w.Context(), pool)
	w.ok(err, "PoolEvidence")
	return e
}

// mixture is a pool with IDs in every state.
type mixture struct {
	pool                     alloc.PoolName
	ids                      []alloc.ID
	claimed, held, returning alloc.Claim
	retired                  alloc.Claim
	keyed                    alloc.ClaimOrder
	answer                   alloc.Claim // of keyed
	warm                     alloc.Store // has stock in its memory
}

// What a mixture has of each state; the rest is free.
const (
	mixed     = 40
	nClaimed  = 5 + 2 // with those of the key
	nHeld     = 4
	nReturned = 3
	nRetired  = 2
	nFree     = mixed - nClaimed - nHeld - nReturned - nRetired
	holdTime  = 6 * time.Hour
)

// mixture makes one.
func (w *world) mixture(pool alloc.PoolName) mixture {
	w.Helper()
	m := mixture{pool: pool, ids: w.full(pool, mixed), warm: w.open()}
	m.claimed = w.claim(m.warm, order(pool, 5))
	m.held = w.claim(m.warm, holdOrder(pool, nHeld, holdTime))
	m.returning = w.claim(m.warm, order(pool, nReturned))
	m.retired = w.claim(m.warm, order(pool, nRetired))
	m.keyed = keyedOrder(pool, 2, "k")
	m.answer = w.claim(m.warm, m.keyed)
	w.release(m.warm, m.returning)
	w.retire(m.warm, m.retired)
	return m
}

// whole proves that nothing of the mixture is lost and nothing is there twice: each ID is met once, owners have what they
// had, and every other can be claimed once.
func (w *world) whole(m mixture) {
	w.Helper()
	w.met(m)
	w.replay(w.open(), m.keyed, m.answer)
	w.confirm(w.open(), m.held, m.held.IDs[0])
	w.sweep(m.pool)
	w.pass(holdTime)
	w.settle(m.pool)
	w.release(w.open(), m.claimed)
	w.settle(m.pool)
	w.met(m)
	taken := w.drain(m.warm, m.pool) + w.drain(w.open(), m.pool)
	equal(w, taken, nFree+nReturned+nHeld-1+5, "IDs that can be claimed")
}

// met proves that a walk meets each ID of the mixture, once.
func (w *world) met(m mixture) {
	w.Helper()
	var got []alloc.ID
	for _, r := range w.walk(m.pool, "", 7) {
		got = append(got, r.ID)
	}
	slices.Sort(got)
	if !slices.Equal(got, m.ids) {
		w.Fatalf("a walk of %q: got %d IDs %v, want %d", m.pool, len(got), got, len(m.ids))
	}
}
