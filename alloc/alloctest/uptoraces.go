package alloctest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"idpool/alloc"
)

// upToRaceCases are about batches up to a level beside others, and those that are cut off.
var upToRaceCases = []testCase{
	{"C38 of many batches at once, up to two levels, the pool ends at the higher", func(w *world) {
		const level, each = 30, 40
		n := w.callers() / 4
		w.full("p", 3)
		stores := w.processes(n)
		var added atomic.Int64
		w.together(n, func(i int) {
			b := alloc.SeedBatch{Pool: "p", Job: alloc.JobID(fmt.Sprintf("refill-%02d", i)), UpTo: level - alloc.Count(i%5/4)*10}
			b.IDs = someIDs(string(b.Job)+"-", each)
			added.Add(w.addedBy(stores[i], b))
		})
		w.stands("p", level, level)
		equal(w, added.Load(), level-3, "IDs that the batches say they added")
	}},
	{"C38 many runs of one batch at once end at its level and say the same", func(w *world) {
		const level = 25
		n := w.callers() / 4
		w.full("p", 5)
		b := alloc.SeedBatch{Pool: "p", Job: "refill", IDs: someIDs("r-", 60), UpTo: level}
		stores := w.processes(n)
		w.together(n, func(i int) {
			if got := inWords(w.seedPatiently(stores[i], b)); got != "20 added, 40 unneeded" {
				w.Errorf("outcomes of one of many runs of a batch: got %s, want 20 added, 40 unneeded", got)
			}
		})
		w.there("p", level, level)
		w.seedsAs(w.open(), b, "20 added, 40 unneeded")
		equal(w, w.drain(w.open(), "p"), level, "IDs that can be claimed")
	}},
	{"C38 batches up to a level beside plain seedings add no more than to the level, and those all", func(w *world) {
		const level, each, plain = 24, 30, 5
		n := w.callers() / 3
		w.pool("p", alloc.PoolConfig{MaxBatch: alloc.MaxBatchLimit})
		stores := w.processes(n)
		var filled, seeded atomic.Int64
		w.together(n, func(i int) {
			b := alloc.SeedBatch{Pool: "p", Job: alloc.JobID(fmt.Sprintf("job-%02d", i))}
			if i%3 == 0 {
				b.IDs = someIDs(string(b.Job)+"-", plain)
				seeded.Add(w.addedBy(stores[i], b))
				return
			}
			b.IDs, b.UpTo = someIDs(string(b.Job)+"-", each), level
			filled.Add(w.addedBy(stores[i], b))
		})
		equal(w, seeded.Load(), int64((n+2)/3*plain), "IDs that the plain seedings added")
		all := alloc.Count(filled.Load() + seeded.Load())
		if filled.Load() > level || all < level {
			w.Fatalf("IDs added by batches up to %d and by plain seedings: got %d and %d", level, filled.Load(), seeded.Load())
		}
		w.stands("p", all, all)
		w.fill("p", "last", someIDs("last-", 3), level, "3 unneeded")
		equal(w, w.drain(w.open(), "p"), all, "IDs that can be claimed")
	}},
	{"C38 plain seedings done before batches up to a level at once count for it", func(w *world) {
		const level = 20
		for pool, plain := range map[alloc.PoolName]int{"below": 13, "above": 23} {
			w.full(pool, plain)
			stores := w.processes(6)
			w.together(len(stores), func(i int) {
				job := fmt.Sprintf("refill-%d-", i)
				w.addedBy(stores[i], alloc.SeedBatch{Pool: pool, Job: alloc.JobID(job), IDs: someIDs(job, 9), UpTo: level})
			})
			w.stands(pool, alloc.Count(max(plain, level)), alloc.Count(max(plain, level)))
		}
	}},
	{"C33 one set of IDs, seeded plainly and up to levels by several at once, is added once each", func(w *world) {
		const level = 15
		w.pool("p", alloc.PoolConfig{MaxBatch: alloc.MaxBatchLimit})
		ids := someIDs("r-", 40)
		stores := w.processes(8)
		added := make([]atomic.Int64, len(ids))
		w.together(len(stores), func(i int) {
			b := alloc.SeedBatch{Pool: "p", Job: alloc.JobID(fmt.Sprintf("job-%d", i)), IDs: ids, UpTo: level}
			if i%4 == 3 {
				b.IDs, b.UpTo = ids[20:30], 0
			}
			for j, o := range w.seedPatiently(stores[i], b) {
				if o == alloc.SeedAdded {
					added[slices.Index(ids, b.IDs[j])].Add(1)
				}
			}
		})
		all := alloc.Count(0)
		for j := range added {
			if n := added[j].Load(); n > 1 {
				w.Errorf("jobs that added %q: got %d, want at most 1", ids[j], n)
			}
			all += alloc.Count(added[j].Load())
		}
		if all < 10 || all > level+10 {
			w.Errorf("IDs added up to %d and 10 plainly: got %d", level, all)
		}
		w.there("p", all, all)
		equal(w, w.drain(w.open(), "p"), all, "IDs that can be claimed")
	}},
	{"batches up to a level beside claims lose no ID, and end at the level when the claims are over", func(w *world) {
		const fillers, claimers, rounds, level = 3, 5, 4, 20
		w.full("p", 10)
		stores := w.processes(fillers + claimers)
		var taken, added atomic.Int64
		w.together(len(stores), func(i int) {
			for round := range rounds {
				if i < fillers {
					job := fmt.Sprintf("refill-%d-%d-", i, round)
					added.Add(w.addedBy(stores[i], alloc.SeedBatch{Pool: "p", Job: alloc.JobID(job), IDs: someIDs(job, 9), UpTo: level}))
					continue
				}
				switch _, err := w.patiently(stores[i], order("p", 1)); {
				case err == nil:
					taken.Add(1)
				case !alloc.Is(err, alloc.CodePoolExhausted):
					w.Errorf("Claim beside refills: got %v, want an ID or pool_exhausted", err)
				}
			}
		})
		w.settle("p")
		left := alloc.Count(10 + added.Load() - taken.Load())
		w.stands("p", left, alloc.Count(10+added.Load()))
		last := alloc.SeedBatch{Pool: "p", Job: "last", IDs: someIDs("last-", 30), UpTo: left + 5}
		w.seedsAs(w.open(), last, "5 added, 25 unneeded")
		equal(w, w.drain(w.open(), "p"), left+5, "IDs that can be claimed")
	}},
	{"C38 a batch up to a level whose answer is lost, or that is refused, is repeated and ends at the level", func(w *world) {
		w.pool("p", alloc.PoolConfig{MaxBatch: alloc.MaxBatchLimit})
		level := alloc.Count(0)
		for i, faults := range faultSeries() {
			level += 3
			job := fmt.Sprintf("refill-%d-", i)
			b := alloc.SeedBatch{Pool: "p", Job: alloc.JobID(job), IDs: someIDs(job, 5), UpTo: level}
			if got := inWords(w.seedPatiently(NewFaulty(w.open(), Script("Seed", faults...)), b)); got != "3 added, 2 unneeded" {
				w.Fatalf("outcomes after the faults %v: got %s, want 3 added, 2 unneeded", faults, got)
			}
			w.stands("p", level, level)
		}
		equal(w, w.drain(w.open(), "p"), level, "IDs that can be claimed")
	}},
	{"a batch up to a level whose answer was lost is repeated after its IDs were claimed, and counts each once", func(w *world) {
		w.pool("p", alloc.PoolConfig{})
		b := alloc.SeedBatch{Pool: "p", Job: "refill", IDs: someIDs("r-", 9), UpTo: 4}
		w.book.offer("p", b.IDs)
		f := NewFaulty(w.open(), Script("Seed", AppliedButFailed))
		if _, err := f.Seed(w.Context(), b); !Injected(err) {
			w.Fatalf("Seed: got %v, want the injected fault", err)
		}
		w.claim(w.open(), order("p", 3))
		w.settle("p")
		w.seedsAs(f, b, "7 added, 2 unneeded")
		w.stands("p", 4, 7)
	}},
	{"C46 batches up to a level cut off at random by their context are finished by a repeat, at the level", func(w *world) {
		n := w.callers() / 5
		level := alloc.Count(10 * n)
		w.full("p", 4)
		stores := w.processes(n)
		batches := make([]alloc.SeedBatch, n)
		w.together(n, func(i int) {
			rng := rand.New(rand.NewPCG(uint64(i), 6))
			job := fmt.Sprintf("refill-%02d-", i)
			batches[i] = alloc.SeedBatch{Pool: "p", Job: alloc.JobID(job), IDs: someIDs(job, 50), UpTo: level}
			w.book.offer("p", batches[i].IDs)
			for range 3 {
				ctx, cancel := context.WithTimeout(w.Context(), cutOff(rng))
				outcomes, err := stores[i].Seed(ctx, batches[i])
				cancel()
				if err != nil && !repeatable(err) {
					w.Errorf("Seed cut off: got %v, want outcomes or an error that allows a repeat", err)
				}
				w.book.seeded("p", batches[i].IDs[:len(outcomes)], outcomes)
			}
		})
		var added int64
		for _, b := range batches {
			added += w.addedBy(w.open(), b)
		}
		equal(w, added, int64(level-4), "IDs that the batches say they added")
		w.there("p", level, level)
		equal(w, w.drain(w.open(), "p"), level, "IDs that can be claimed")
	}},
	{"C11 a batch that was held for hours on its way adds what is needed then", func(w *world) {
		w.full("p", 2)
		f := NewFaulty(w.open(), Script("Seed", Delayed))
		var late sync.WaitGroup
		late.Go(func() {
			b := alloc.SeedBatch{Pool: "p", Job: "late", IDs: someIDs("late-", 9), UpTo: 6}
			if got := inWords(w.seedPatiently(f, b)); got != "1 added, 8 unneeded" {
				w.Errorf("outcomes of the late batch: got %s, want 1 added, 8 unneeded", got)
			}
		})
		<-f.Held()
		w.clock.Advance(3 * time.Hour)
		w.fill("p", "refill", someIDs("r-", 3), 6, "3 added")
		f.Release()
		late.Wait()
		w.stands("p", 6, 6)
	}},
}

// addedBy seeds a batch and returns how many of its IDs it has added, which are the first of it that were not there. It
// may be called by many goroutines.
func (w *world) addedBy(s alloc.Store, b alloc.SeedBatch) (n int64) {
	unneeded := false
	for i, o := range w.seedPatiently(s, b) {
		switch {
		case o == alloc.SeedAdded && unneeded:
			w.Errorf("outcome of %q: got added after an unneeded one before it, want the first of the batch added", b.IDs[i])
		case o == alloc.SeedAdded:
			n++
		}
		unneeded = unneeded || o == alloc.SeedUnneeded
	}
	return n
}
