package alloctest

import (
	"fmt"
	"sync/atomic"

	"idpool/alloc"
)

var sweepCases = []testCase{
	{"after Sweep all that dead processes took into memory can be claimed in one batch", func(w *world) {
		w.full("p", 40)
		for range 5 {
			w.claim(w.open(), order("p", 1)) // and is never heard of again
		}
		w.settle("p")
		w.claim(w.open(), order("p", 35))
		w.refuse(w.open(), order("p", 1), alloc.CodePoolExhausted, "Claim of an empty pool")
	}},
	{"a process that slept through sweeps and claims of others wakes and hands out nothing twice", func(w *world) {
		w.full("p", 30)
		sleeper := w.open()
		w.claim(sleeper, order("p", 1))
		w.settle("p")
		other := w.open()
		w.claim(other, order("p", 20))
		for range 4 {
			w.claim(sleeper, order("p", 1))
			w.claim(other, order("p", 1))
		}
		w.settle("p")
		equal(w, w.drain(sleeper, "p")+w.drain(other, "p"), 1, "IDs left")
	}},
	{"a process that wakes within its stock's time after a sweep hands out nothing twice", func(w *world) {
		w.full("p", 30)
		sleeper := w.open()
		w.claim(sleeper, order("p", 1))
		w.sweep("p")
		w.claim(w.open(), order("p", 29))
		w.refuse(sleeper, order("p", 1), alloc.CodePoolExhausted, "Claim of the sleeper")
	}},
	{"Sweep of a pool with nothing to do changes nothing, however often", func(w *world) {
		w.full("p", 10)
		for range 3 {
			w.settle("p")
			equal(w, w.free("p"), 10, "free IDs")
		}
		w.pool("empty", alloc.PoolConfig{})
		report, err := w.open().Sweep(w.Context(), "empty")
		w.ok(err, "Sweep")
		equal(w, report.Pool, "empty", "pool in the report")
	}},
	{"many sweeps and claims in turn list no ID twice", func(w *world) {
		w.full("p", 24)
		for range 8 {
			w.claim(w.open(), order("p", 2))
			w.settle("p")
			w.settle("p")
		}
		level, err := w.open().Level(w.Context(), "p")
		w.ok(err, "Level")
		equal(w, level.Available, 8, "Available")
		equal(w, w.drain(w.open(), "p"), 8, "IDs left")
	}},
	{"any number of sweeps at once, beside claims and seedings, is harmless", func(w *world) {
		const sweepers, claimers, seeders, rounds = 4, 5, 2, 5
		w.full("p", 30)
		stores := w.processes(sweepers + claimers + seeders)
		var taken atomic.Int64
		w.together(len(stores), func(i int) {
			for round := range rounds {
				switch {
				case i < sweepers:
					w.clock.Advance(stateDelay) // stock grows stale while it is used
					if _, err := stores[i].Sweep(w.Context(), "p"); err != nil && !repeatable(err) {
						w.Errorf("Sweep beside others: got %v, want no error", err)
					}
				case i < sweepers+claimers:
					switch _, err := w.patiently(stores[i], order("p", 1)); {
					case err == nil:
						taken.Add(1)
					case !alloc.Is(err, alloc.CodePoolExhausted):
						w.Errorf("Claim beside sweeps: got %v, want an ID or pool_exhausted", err)
					}
				default:
					job := fmt.Sprintf("job-%d-%d-", i, round)
					w.seedPatiently(stores[i], alloc.SeedBatch{Pool: "p", Job: alloc.JobID(job), IDs: someIDs(job, 5)})
				}
			}
		})
		w.settle("p")
		left := w.drain(w.open(), "p")
		equal(w, left+alloc.Count(taken.Load()), 30+seeders*rounds*5, "IDs claimed beside and after the sweeps")
	}},
	{"after Sweep a batch that several had to give up can be claimed", func(w *world) {
		const callers, each, all = 12, 5, 47
		w.full("p", all)
		stores := w.processes(callers)
		var done atomic.Int64
		w.together(callers, func(i int) {
			switch _, err := w.patiently(stores[i], order("p", each)); {
			case err == nil:
				done.Add(1)
			case !alloc.Is(err, alloc.CodePoolExhausted) && !repeatable(err):
				w.Errorf("Claim of a batch beside others: got %v, want IDs, pool_exhausted or what may be repeated", err)
			}
		})
		w.settle("p")
		s := w.open()
		for n := done.Load(); n < all/each; n++ {
			w.claim(s, order("p", each))
		}
		w.refuse(s, order("p", each), alloc.CodePoolExhausted, "Claim of a batch with 2 IDs left")
		w.claim(s, order("p", all%each))
	}},
}
