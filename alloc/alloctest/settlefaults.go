package alloctest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"idpool/alloc"
)

var settleFaultCases = []testCase{
	{"a confirmation, a release and a retirement whose answer is lost, or that are refused, are repeated and end as one", func(w *world) {
		for i, faults := range faultSeries() {
			pool := alloc.PoolName(fmt.Sprintf("p-%d", i))
			w.full(pool, 6)
			for _, e := range theEvents {
				c := w.claim(w.elsewhere(), holdOrder(pool, 2, aHold))
				f := NewFaulty(w.elsewhere(), Script("Settle", faults...))
				settled, err := w.settlePatiently(f, settleOrder(e, c))
				w.ok(err, fmt.Sprintf("%s after the faults %v", e, faults))
				equal(w, settled.State, alloc.StateHeld.On(e).To, "state")
				w.are(pool, c.IDs, settled.State)
			}
			w.sweep(pool)
			equal(w, w.drain(w.open(), pool), 2, "IDs left after one confirmation, one release, one retirement")
		}
	}},
	{"a release whose answer is lost is repeated after the ID has come back and somebody else has it", func(w *world) {
		w.full("p", 2)
		c := w.claim(w.open(), keyedOrder("p", 2, "k"))
		f := NewFaulty(w.open(), Script("Settle", AppliedButFailed))
		if _, err := w.trySettle(f, settleOrder(alloc.EventRelease, c)); !Injected(err) {
			w.Fatalf("release: got %v, want the injected fault", err)
		}
		w.sweep("p")
		other := w.claim(w.open(), order("p", 2))
		w.release(f, c)
		w.settle("p")
		w.confirm(w.open(), other)
	}},
	{"a hold with a key whose answer is lost, or that is refused, is repeated and ends with one answer", func(w *world) {
		w.full("p", 40)
		for i, faults := range faultSeries() {
			w.claimThrough(keyedHold("p", 2, aHold, fmt.Sprint(i)), Script("Claim", faults...))
			equal(w, w.free("p"), alloc.Count(40-2*(i+1)), fmt.Sprintf("free IDs after the faults %v", faults))
		}
		w.pass(aHold)
		w.sweep("p")
		equal(w, w.drain(w.open(), "p"), 40, "IDs that came back")
	}},
	{"C11 K17 what was held for hours on its way and then carried out settles nothing that another has", func(w *world) {
		for _, e := range theEvents {
			pool := alloc.PoolName(e)
			w.full(pool, 1)
			c := w.claim(w.open(), holdOrder(pool, 1, time.Minute))
			f := NewFaulty(w.open(), Script("Settle", Delayed))
			var late sync.WaitGroup
			late.Go(func() {
				_, err := w.trySettle(f, settleOrder(e, c))
				if e != alloc.EventRelease && !alloc.Is(err, alloc.CodeNotOwner) {
					w.Errorf("%s that came too late: got %v, want not_owner", e, err)
				}
			})
			<-f.Held()
			w.pass(time.Hour)
			w.sweep(pool)
			other := w.claim(w.open(), order(pool, 1))
			f.Release()
			late.Wait()
			w.settle(pool)
			w.confirm(w.open(), other)
		}
	}},
	{"C46 confirmations and releases cut off at random by their context are settled or not, and a repeat tells", func(w *world) {
		n := w.callers() / 2
		w.full("p", 2*n)
		stores := w.processes(n)
		claims := make([]alloc.Claim, n)
		for i := range claims {
			claims[i] = w.claim(stores[0], holdOrder("p", 2, aHold))
		}
		w.together(n, func(i int) {
			rng := rand.New(rand.NewPCG(uint64(i), 7))
			o := settleOrder([]alloc.Event{alloc.EventConfirm, alloc.EventRelease}[i%2], claims[i])
			for j := range 3 {
				ctx, cancel := context.WithTimeout(w.Context(), cutOff(rng))
				if j == 0 && i%4 > 1 {
					cancel() // before it begins
				}
				done := w.book.settling(o)
				settled, err := stores[i].Settle(ctx, o)
				cancel()
				if wrong := done(settled, err); wrong != nil {
					w.Errorf("Settle cut off: %v", wrong)
				}
				if err != nil && !repeatable(err) {
					w.Errorf("%s cut off: got %v, want success or an error that allows a repeat", o.Event, err)
				}
			}
			if _, err := w.settlePatiently(stores[i], o); err != nil {
				w.Errorf("the repeat of a %s: got %v, want success", o.Event, err)
			}
		})
		w.sweep("p")
		equal(w, w.drain(w.open(), "p"), alloc.Count(2*(n/2)), "IDs that were released")
	}},
	{"many holders, half of all calls going wrong, end with each ID where its answers say", func(w *world) {
		const callers = 8
		w.full("p", 40)
		w.together(callers, func(i int) {
			rng := rand.New(rand.NewPCG(uint64(i), 8))
			f := NewFaulty(w.open(), Sometimes(rng.IntN, 2, bothForms...))
			for j := range 4 {
				o := keyedHold("p", 1, time.Duration(1+rng.IntN(3))*aHold, fmt.Sprint(i, " ", j))
				if rng.IntN(3) == 0 {
					w.sweepPatiently(f, "p")
				}
				c, err := w.patiently(f, o)
				if err != nil {
					w.Errorf("hold through faults: got %v, want an ID", err)
					return
				}
				if _, err := w.settlePatiently(f, settleOrder(theEvents[rng.IntN(3)], c)); err != nil {
					w.Errorf("Settle through faults: got %v, want success", err)
				}
			}
		})
		w.pass(3 * aHold)
		w.settle("p")
	}},
}
