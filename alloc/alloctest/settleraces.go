package alloctest

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"idpool/alloc"
)

var settleRaceCases = []testCase{
	{"of many who release and retire one ID at once, those of one kind succeed and the others are told why not", func(w *world) {
		const callers, rounds = 8, 5
		w.full("p", rounds)
		for range rounds {
			c := w.claim(w.open(), holdOrder("p", 1, aHold))
			var retired, released atomic.Int64
			stores := w.processes(callers)
			w.together(callers, func(i int) {
				e := []alloc.Event{alloc.EventRelease, alloc.EventRetire}[i%2]
				switch _, err := w.settlePatiently(stores[i], settleOrder(e, c)); {
				case err == nil && e == alloc.EventRetire:
					retired.Add(1)
				case err == nil:
					released.Add(1)
				case e == alloc.EventRetire && !alloc.Is(err, alloc.CodeNotOwner), e == alloc.EventRelease && !alloc.Is(err, alloc.CodeIDRetired):
					w.Errorf("%s beside others: got %v, want success, or what the other event made of the ID", e, err)
				}
			})
			got := [2]int64{released.Load(), retired.Load()}
			if got != [2]int64{callers / 2, 0} && got != [2]int64{0, callers / 2} {
				w.Fatalf("releases and retirements that succeeded: got %v, want all of one kind and none of the other", got)
			}
		}
		w.settle("p")
	}},
	{"of a confirmation, the hold's end and who wants the ID next, one wins", func(w *world) {
		const rounds, sweepers, takers = 8, 2, 2
		for round := range rounds {
			pool := alloc.PoolName(fmt.Sprintf("p-%d", round))
			w.full(pool, 1)
			c := w.claim(w.open(), holdOrder(pool, 1, time.Minute))
			w.pass(time.Minute)
			stores := w.processes(1 + sweepers + takers)
			var taken atomic.Int64
			var confirmed error
			ended := make(chan struct{})
			w.together(len(stores), func(i int) {
				switch {
				case i == 0:
					defer close(ended)
					_, confirmed = w.settlePatiently(stores[i], settleOrder(alloc.EventConfirm, c))
				case i <= sweepers:
					for range 1 << round { // so that now the one is earlier and now the other
						runtime.Gosched()
					}
					w.sweepPatiently(stores[i], pool)
				default:
					if w.takeUntil(stores[i], pool, ended) {
						taken.Add(1)
					}
				}
			})
			if confirmed != nil && !alloc.Is(confirmed, alloc.CodeNotOwner) {
				w.Fatalf("confirm beside the hold's end: got %v, want success or not_owner", confirmed)
			}
			w.sweep(pool)
			left := w.drain(w.open(), pool)
			equal(w, confirmed == nil, left+alloc.Count(taken.Load()) == 0, "the confirmation won, as nobody else has the ID")
		}
	}},
	{"holds, claims, confirmations, releases, retirements and sweeps of many at once end with an owner for each ID, or none", func(w *world) {
		const callers, rounds, ids = 8, 10, 30
		w.full("p", ids)
		stores := w.processes(callers + 1)
		var busy sync.WaitGroup
		busy.Add(callers)
		ended := make(chan struct{})
		go func() { busy.Wait(); close(ended) }()
		w.together(callers+1, func(i int) {
			if i == callers {
				w.sweepUntil(stores[i], "p", ended)
				return
			}
			defer busy.Done()
			rng := rand.New(rand.NewPCG(uint64(i), 6))
			for range rounds {
				w.takeAndSettle(rng, stores, order("p", alloc.Count(1+rng.IntN(2))))
			}
		})
		w.settle("p")
	}},
	{"confirmations of one hold by many at once all succeed", func(w *world) {
		n := w.callers() / 2
		w.full("p", 3)
		c := w.claim(w.open(), holdOrder("p", 3, aHold))
		stores := w.processes(n)
		w.together(n, func(i int) {
			if _, err := w.settlePatiently(stores[i], settleOrder(alloc.EventConfirm, c)); err != nil {
				w.Errorf("confirm beside others: got %v, want success", err)
			}
		})
		w.are("p", c.IDs, alloc.StateClaimed)
	}},
	{"releases of one claim by many at once all succeed and give it back once", func(w *world) {
		n := w.callers() / 2
		w.full("p", 3)
		c := w.claim(w.open(), keyedOrder("p", 3, "k"))
		stores := w.processes(n)
		w.together(n, func(i int) {
			if i%4 == 0 {
				w.sweepPatiently(stores[i], "p")
			}
			if _, err := w.settlePatiently(stores[i], settleOrder(alloc.EventRelease, c)); err != nil {
				w.Errorf("release beside others: got %v, want success", err)
			}
		})
		w.sweep("p")
		for _, id := range c.IDs {
			equal(w, w.inspect("p", id).Generation, 1, "generation")
		}
		w.claim(w.open(), order("p", 3))
		w.refuse(w.open(), order("p", 1), alloc.CodePoolExhausted, "Claim of an empty pool")
	}},
}

// takeUntil tries to claim an ID until the others have ended, and reports whether it got one.
func (w *world) takeUntil(s alloc.Store, pool alloc.PoolName, ended <-chan struct{}) bool {
	w.Helper()
	for {
		switch _, err := w.patiently(s, order(pool, 1)); {
		case err == nil:
			return true
		case !alloc.Is(err, alloc.CodePoolExhausted) && !repeatable(err):
			w.Errorf("Claim beside a confirmation: got %v, want the ID or pool_exhausted", err)
			return false
		}
		select {
		case <-ended:
			return false
		default:
		}
	}
}

// usualEvents are what holders ask for, mostly giving back, so that a pool lasts.
var usualEvents = []alloc.Event{
	alloc.EventConfirm, alloc.EventRelease, alloc.EventRelease, alloc.EventRelease, alloc.EventRelease, alloc.EventRelease, alloc.EventRetire,
}

// takeAndSettle claims or holds, settles in one of all ways, perhaps another's too, and lets time pass now and then.
func (w *world) takeAndSettle(rng *rand.Rand, stores []alloc.Store, o alloc.ClaimOrder) {
	w.Helper()
	process := func() alloc.Store { return stores[rng.IntN(len(stores))] }
	if rng.IntN(2) == 0 {
		o.Hold = time.Duration(1+rng.IntN(3)) * time.Minute
	}
	c, err := w.patiently(process(), o)
	if err != nil {
		if !alloc.Is(err, alloc.CodePoolExhausted) && !repeatable(err) {
			w.Errorf("Claim beside others: got %v, want IDs or pool_exhausted", err)
		}
		return
	}
	if rng.IntN(3) == 0 {
		w.clock.Advance(time.Minute)
	}
	for range 1 + rng.IntN(2) {
		e := usualEvents[rng.IntN(len(usualEvents))]
		_, err := w.settlePatiently(process(), settleOrder(e, c, slices.Clone(c.IDs)[:1+rng.IntN(len(c.IDs))]...))
		if err != nil && !alloc.Is(err, alloc.CodeNotOwner) && !alloc.Is(err, alloc.CodeIDRetired) {
			w.Errorf("%s beside others: got %v, want success or why it cannot be", e, err)
		}
	}
}

// sweepPatiently sweeps once, beside whatever else goes on. It may be called by many goroutines.
func (w *world) sweepPatiently(s alloc.Store, pool alloc.PoolName) {
	w.Helper()
	if _, err := s.Sweep(w.Context(), pool); err != nil && !repeatable(err) {
		w.Errorf("Sweep beside others: got %v, want no error", err)
	}
}

// sweepUntil sweeps until the others have ended.
func (w *world) sweepUntil(s alloc.Store, pool alloc.PoolName, ended <-chan struct{}) {
	w.Helper()
	for {
		select {
		case <-ended:
			return
		default:
			w.sweepPatiently(s, pool)
		}
	}
}
