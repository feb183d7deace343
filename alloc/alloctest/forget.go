package alloctest

import (
	"fmt"
	"sync/atomic"

	"idpool/alloc"
)

var forgetCases = []testCase{
	{"a pool that forgets hands out each ID once, and when it is empty it is exhausted", func(w *world) {
		w.forgetting("p", 30)
		w.claim(w.open(), order("p", 10))
		w.claim(w.open(), keyedOrder("p", 5, "k"))
		equal(w, w.drain(w.open(), "p"), 15, "IDs left")
	}},
	{"a pool that forgets does not know an ID that was claimed without a key, and takes it again as new", func(w *world) {
		w.forgetting("p", 3)
		ids := w.claim(w.open(), order("p", 3)).IDs
		for _, id := range ids {
			_, err := w.open().Inspect(w.Context(), "p", id)
			w.want(err, alloc.CodeIDNotFound, "Inspect of a forgotten ID")
		}
		w.book.forgot("p", ids)
		w.clock.Advance(stateDelay)
		w.seedNew("p", "second", ids)
		w.claim(w.open(), order("p", 3))
		w.refuse(w.open(), order("p", 1), alloc.CodePoolExhausted, "Claim of an empty pool")
	}},
	{"a pool that forgets still knows an ID that is free", func(w *world) {
		ids := w.forgetting("p", 3)
		for _, o := range w.seed(w.open(), "p", "second", ids) {
			equal(w, o, alloc.SeedDuplicate, "outcome of a free ID")
		}
		equal(w, w.drain(w.open(), "p"), 3, "IDs that can be claimed")
	}},
	{"a repeat of a batch by its job does not put again what was claimed and forgotten since", func(w *world) {
		ids := w.forgetting("p", 5)
		w.claim(w.open(), order("p", 2))
		for range 2 {
			for _, o := range w.seed(w.open(), "p", "first", ids) {
				equal(w, o, alloc.SeedAdded, "outcome of an ID that the job put")
			}
		}
		equal(w, w.drain(w.open(), "p"), 3, "IDs that can be claimed after the repeats")
		w.seed(w.open(), "p", "first", ids)
		w.refuse(w.open(), order("p", 1), alloc.CodePoolExhausted, "Claim after a repeat of what was all claimed")
	}},
	{"a pool that forgets repeats a key's answer within its retention and forgets after it", func(w *world) {
		w.forgetting("p", 4)
		o := keyedOrder("p", 2, "k")
		first := w.claim(w.open(), o)
		w.clock.Advance(beforeEnd)
		w.sweep("p")
		again := w.claim(w.open(), o)
		equal(w, again.Replayed, true, "Replayed")
		for _, outcome := range w.seed(w.open(), "p", "early", first.IDs) {
			equal(w, outcome, alloc.SeedConflict, "outcome of an ID that a key still answers with")
		}
		w.clock.Advance(expiry)
		w.sweep("p")
		w.book.forgot("p", first.IDs)
		w.seedNew("p", "second", first.IDs)
		equal(w, w.drain(w.open(), "p"), 4, "IDs that can be claimed")
	}},
	{"old stock of a pool that forgets cannot take an ID that was seeded again, twice", func(w *world) {
		ids := w.forgetting("p", 6)
		sleeper := w.open()
		w.book.forgot("p", w.claim(sleeper, order("p", 1)).IDs)
		w.book.forgot("p", w.claim(w.open(), order("p", 5)).IDs)
		w.clock.Advance(stateDelay)
		w.seedNew("p", "second", ids)
		other := w.open()
		w.claim(other, order("p", 2))
		w.claim(sleeper, order("p", 2))
		equal(w, w.drain(other, "p")+w.drain(sleeper, "p"), 2, "IDs left")
	}},
	{"of 2N callers of a pool of N that forgets, N get an ID", func(w *world) {
		n := w.callers() / 2
		w.forgetting("p", n)
		w.race("p", n)
	}},
	{"Level of a pool that forgets counts what it forgot", func(w *world) {
		w.forgetting("p", 10)
		w.claim(w.open(), order("p", 4))
		w.settle("p")
		level, err := w.open().Level(w.Context(), "p")
		w.ok(err, "Level")
		equal(w, level, alloc.Level{Available: 6, Seeded: 10, Forgotten: 4, CountedAt: level.CountedAt}, "level")
	}},
}

// forgetting makes a pool that forgets, with n IDs in it.
func (w *world) forgetting(name alloc.PoolName, n int) []alloc.ID {
	w.Helper()
	w.pool(name, alloc.PoolConfig{Policy: alloc.PolicyForget, MaxBatch: alloc.MaxBatchLimit})
	ids := someIDs(string(name)+"-", n)
	w.seedNew(name, "first", ids)
	return ids
}

// race lets 2n callers, each a cold process of its own, claim from a pool of n IDs: n succeed, the others are told that
// it is exhausted.
func (w *world) race(pool alloc.PoolName, n int) {
	w.Helper()
	w.raceFor(order(pool, 1), n)
}

// raceFor is race with another order for one ID.
func (w *world) raceFor(o alloc.ClaimOrder, n int) {
	w.Helper()
	stores := w.processes(2 * n)
	var done, exhausted atomic.Int64
	w.together(2*n, func(i int) {
		o := o
		o.Owner = fmt.Sprintf("caller %d", i)
		switch _, err := w.patiently(stores[i], o); {
		case err == nil:
			done.Add(1)
		case alloc.Is(err, alloc.CodePoolExhausted):
			exhausted.Add(1)
		default:
			w.Errorf("Claim of one of many: got %v, want an ID or pool_exhausted", err)
		}
	})
	equal(w, done.Load(), int64(n), "callers who got an ID")
	equal(w, exhausted.Load(), int64(n), "callers who were told that the pool is exhausted")
}
