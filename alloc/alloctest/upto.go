package alloctest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
)

// upToCases are about batches with UpTo, those of a refill. Level is exact right after a sweep with no stock in anybody's
// memory, so where IDs were claimed before, the pool is settled first.
var upToCases = []testCase{
	{"a batch up to a level adds its IDs in their order until so many are available, and no more", func(w *world) {
		plain := w.full("p", 7)
		ids := someIDs("r-", 10)
		slices.Reverse(ids)
		w.fill("p", "refill", ids, 12, "5 added, 5 unneeded")
		w.stands("p", 12, 12)
		got := w.claim(w.open(), order("p", 12)).IDs
		want := slices.Concat(plain, ids[:5])
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			w.Fatalf("IDs that can be claimed (-want +got):\n%s", diff)
		}
		w.refuse(w.open(), order("p", 1), alloc.CodePoolExhausted, "Claim of an empty pool")
	}},
	{"a batch up to a level that is reached adds nothing, and one up to a level that it does not reach adds all", func(w *world) {
		w.full("p", 7)
		for _, level := range []alloc.Count{1, 6, 7} {
			w.fill("p", "refill", someIDs("r-", 4), level, "4 unneeded")
			w.stands("p", 7, 7)
		}
		w.fill("p", "another", someIDs("s-", 4), 11, "4 added")
		w.fill("p", "a third", someIDs("t-", 4), 1_000_000, "4 added")
		w.stands("p", 15, 15)
		w.pool("empty", alloc.PoolConfig{})
		w.fill("empty", "refill", someIDs("r-", 4), 1, "1 added, 3 unneeded")
		w.stands("empty", 1, 1)
	}},
	{"an unneeded ID is not known to the pool, nor is it after sweeps", func(w *world) {
		w.full("p", 3)
		ids := someIDs("r-", 30)
		w.fill("p", "refill", ids, 5, "2 added, 28 unneeded")
		for range 2 {
			w.gone("p", ids[2:])
			equal(w, len(w.walk("p", "", 10)), 5, "IDs that a walk meets")
			equal(w, w.free("p"), 5, "free IDs in the data")
			w.settle("p")
		}
		equal(w, w.drain(w.open(), "p"), 5, "IDs that can be claimed")
		w.settle("p")
		w.refuse(w.open(), order("p", 1), alloc.CodePoolExhausted, "Claim of an empty pool")
	}},
	{"a repeat of a batch with a higher level goes on where it ended, and counts each ID once", func(w *world) {
		w.full("p", 2)
		ids := someIDs("r-", 10)
		for _, step := range []struct {
			level alloc.Count
			want  string
			there alloc.Count
		}{
			{5, "3 added, 7 unneeded", 5},
			{5, "3 added, 7 unneeded", 5},
			{8, "6 added, 4 unneeded", 8},
			{1, "6 added, 4 unneeded", 8},
			{9, "7 added, 3 unneeded", 9},
			{500, "10 added", 12},
			{500, "10 added", 12},
			{1, "10 added", 12},
		} {
			w.fill("p", "refill", ids, step.level, step.want)
			w.stands("p", step.there, step.there)
		}
	}},
	{"a repeat of a batch goes on by as many as were claimed", func(w *world) {
		w.pool("p", alloc.PoolConfig{})
		ids := someIDs("r-", 10)
		w.fill("p", "refill", ids, 4, "4 added, 6 unneeded")
		w.claim(w.open(), order("p", 3))
		w.settle("p")
		w.fill("p", "refill", ids, 4, "7 added, 3 unneeded")
		w.stands("p", 4, 7)
		w.claim(w.open(), order("p", 4))
		w.settle("p")
		w.fill("p", "refill", ids, 4, "10 added")
		w.stands("p", 3, 10)
		w.claim(w.open(), order("p", 3))
		w.settle("p")
		w.fill("p", "refill", ids, 4, "10 added")
		w.refuse(w.open(), order("p", 1), alloc.CodePoolExhausted, "Claim after the repeat of a batch whose IDs are all taken")
		w.fill("p", "refill 2", someIDs("s-", 10), 4, "4 added, 6 unneeded")
	}},
	{"only what is free counts for the level: not what is held, claimed, retired or on its way back", func(w *world) {
		w.full("p", 8)
		held, claimed := w.claim(w.open(), holdOrder("p", 2, aHold)), w.claim(w.open(), order("p", 2))
		w.retire(w.open(), w.claim(w.open(), order("p", 1)))
		w.settle("p")
		w.fill("p", "refill", someIDs("r-", 10), 8, "5 added, 5 unneeded")
		w.stands("p", 8, 13)
		w.release(w.open(), held, held.IDs[0])
		w.settle("p")
		w.release(w.open(), claimed, claimed.IDs[0])
		w.fill("p", "refill", someIDs("r-", 10), 10, "6 added, 4 unneeded")
		w.settle("p")
		w.fill("p", "refill", someIDs("r-", 10), 11, "6 added, 4 unneeded")
		w.stands("p", 11, 14)
	}},
	{"of a batch up to a level what is there is a duplicate or a conflict, whether more is needed or not", func(w *world) {
		ids := w.full("p", 6)
		w.claim(w.open(), order("p", 6))
		w.seedNew("p", "second", someIDs("q-", 3))
		w.settle("p")
		batch := slices.Concat(ids[:2], someIDs("q-", 2), someIDs("r-", 3), someIDs("q-", 3)[2:], ids[5:])
		w.fill("p", "refill", batch, 3, "2 conflict, 2 duplicate, 3 unneeded, 1 duplicate, 1 conflict")
		w.fill("p", "refill", batch, 5, "2 conflict, 2 duplicate, 2 added, 1 unneeded, 1 duplicate, 1 conflict")
		w.fill("p", "refill", batch, 9, "2 conflict, 2 duplicate, 3 added, 1 duplicate, 1 conflict")
		w.stands("p", 6, 12)
	}},
	{"an unneeded ID that somebody else seeds is added there, and is a duplicate or a conflict of the batch from then on", func(w *world) {
		for _, other := range []alloc.SeedBatch{
			{Job: "plain"}, {Job: "without-key", Keyless: true}, {Job: "another-refill", UpTo: 4},
		} {
			other.Pool = alloc.PoolName("beside-" + other.Job)
			w.pool(other.Pool, alloc.PoolConfig{})
			ids := someIDs("r-", 5)
			w.fill(other.Pool, "refill", ids, 2, "2 added, 3 unneeded")
			other.IDs = ids[2:4]
			w.seedsAs(w.open(), other, "2 added")
			w.stands(other.Pool, 4, 4)
			w.fill(other.Pool, "refill", ids, 4, "2 added, 2 duplicate, 1 unneeded")
			w.claim(w.open(), order(other.Pool, 4))
			w.settle(other.Pool)
			w.fill(other.Pool, "refill", ids, 4, "2 added, 2 conflict, 1 added")
			w.stands(other.Pool, 1, 5)
		}
	}},
	{"a plain seeding adds all, whatever a refill has filled up to", func(w *world) {
		w.pool("p", alloc.PoolConfig{})
		w.fill("p", "refill", someIDs("r-", 9), 5, "5 added, 4 unneeded")
		w.seedNew("p", "plain", someIDs("p-", 20))
		w.stands("p", 25, 25)
		w.fill("p", "refill", someIDs("r-", 9), 5, "5 added, 4 unneeded")
	}},
	{"the largest batch of a refill, of the longest IDs it may have, ends at its level to the ID", func(w *world) {
		n := size(alloc.MaxRefillIDs)
		w.pool("p", alloc.PoolConfig{})
		ids := someIDs("r-", n)
		for i := range ids {
			ids[i] += alloc.ID(strings.Repeat("x", longestRefilled-len(ids[i])))
		}
		half := n/2 + 3
		w.fill("p", "refill", ids, alloc.Count(half), fmt.Sprintf("%d added, %d unneeded", half, n-half))
		w.stands("p", alloc.Count(half), alloc.Count(half))
		w.fill("p", "refill", ids, alloc.MaxTarget, fmt.Sprintf("%d added", n))
		w.stands("p", alloc.Count(n), alloc.Count(n))
	}},
	{"a pool that forgets is filled up to a level, and a repeat does not put again what was claimed since", func(w *world) {
		w.pool("p", alloc.PoolConfig{Policy: alloc.PolicyForget})
		ids := someIDs("r-", 8)
		w.fill("p", "refill", ids, 3, "3 added, 5 unneeded")
		w.claim(w.open(), order("p", 2))
		w.settle("p")
		w.fill("p", "refill", ids, 3, "5 added, 3 unneeded")
		w.stands("p", 3, 5)
		w.claim(w.open(), keyedOrder("p", 3, "k"))
		w.settle("p")
		w.fill("p", "refill", ids, 2, "7 added, 1 unneeded")
		w.clock.Advance(expiry)
		w.settle("p")
		w.fill("p", "refill", ids, 100, "8 added")
		equal(w, w.drain(w.open(), "p"), 3, "IDs that can be claimed")
		w.settle("p")
		w.fill("p", "refill", ids, 100, "8 added")
		w.refuse(w.open(), order("p", 1), alloc.CodePoolExhausted, "Claim after a repeat of what was all claimed")
	}},
	{"a paused pool is filled up to a level, a draining, deleted or unknown one is not", func(w *world) {
		w.full("p", 2)
		w.setState("p", alloc.PoolPaused)
		w.fill("p", "refill", someIDs("r-", 4), 3, "1 added, 3 unneeded")
		w.setState("p", alloc.PoolDraining)
		for _, level := range []alloc.Count{1, 100} { // needed or not
			w.refuseFill("p", level, alloc.CodePoolDraining)
		}
		w.setState("p", alloc.PoolActive)
		w.fill("p", "refill", someIDs("r-", 4), 4, "2 added, 2 unneeded")
		equal(w, w.drain(w.open(), "p"), 4, "IDs that can be claimed")
		w.setState("p", alloc.PoolDeleted)
		for _, level := range []alloc.Count{1, 100} {
			w.refuseFill("p", level, alloc.CodePoolDeleted)
			w.refuseFill("missing", level, alloc.CodePoolNotFound)
		}
	}},
}

// longestRefilled is how long an ID of a batch with UpTo may be.
const longestRefilled = 128

// fill seeds a batch up to a level from a cold process, and stops the test unless its outcomes are as wanted.
func (w *world) fill(pool alloc.PoolName, job alloc.JobID, ids []alloc.ID, level alloc.Count, want string) {
	w.Helper()
	w.seedsAs(w.open(), alloc.SeedBatch{Pool: pool, Job: job, IDs: ids, UpTo: level}, want)
}

// seedsAs seeds a batch and stops the test unless its outcomes, in their order, are as in "3 added, 2 unneeded".
func (w *world) seedsAs(s alloc.Store, b alloc.SeedBatch, want string) {
	w.Helper()
	equal(w, inWords(w.seedBatch(s, b)), want, fmt.Sprintf("outcomes of the batch of %q up to %d", b.Job, b.UpTo))
}

// inWords counts runs of equal outcomes.
func inWords(outcomes []alloc.SeedOutcome) string {
	var runs []string
	for len(outcomes) > 0 {
		n := 1
		for n < len(outcomes) && outcomes[n] == outcomes[0] {
			n++
		}
		runs = append(runs, fmt.Sprintf("%d %s", n, outcomes[0]))
		outcomes = outcomes[n:]
	}
	return strings.Join(runs, ", ")
}

// refuseFill stops the test unless a batch up to a level is refused with the code.
func (w *world) refuseFill(pool alloc.PoolName, level alloc.Count, code alloc.Code) {
	w.Helper()
	_, err := w.open().Seed(w.Context(), alloc.SeedBatch{Pool: pool, Job: "late", IDs: someIDs("late-", 3), UpTo: level})
	w.want(err, code, fmt.Sprintf("Seed up to %d", level))
}

// stands stops the test unless so many IDs are available, and were ever added, after a sweep.
func (w *world) stands(pool alloc.PoolName, available, seeded alloc.Count) {
	w.Helper()
	level := w.there(pool, available, seeded)
	equal(w, level.Available, available, "Available")
}

// there is stands where an ID may have been listed more than once, as several runs came to it at once: Available may count
// it so often, until its turn comes.
func (w *world) there(pool alloc.PoolName, free, seeded alloc.Count) alloc.Level {
	w.Helper()
	w.sweep(pool)
	level, err := w.elsewhere().Level(w.Context(), pool)
	w.ok(err, "Level")
	equal(w, level.Seeded, seeded, "Seeded")
	equal(w, w.free(pool), free, "free IDs in the data")
	return level
}
