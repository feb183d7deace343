package alloctest

import (
	"fmt"
	"slices"
	"time"

	"idpool/alloc"
)

// theEvents are what a holder may ask for.
var theEvents = []alloc.Event{alloc.EventConfirm, alloc.EventRelease, alloc.EventRetire}

var settleCases = []testCase{
	{"every event in every state of an ID does what the table of states says", func(w *world) {
		for name, reach := range map[alloc.State]func(c alloc.Claim){
			alloc.StateHeld:      func(alloc.Claim) {},
			alloc.StateClaimed:   func(c alloc.Claim) { w.confirm(w.open(), c) },
			alloc.StateReturning: func(c alloc.Claim) { w.release(w.open(), c) },
			alloc.StateRetired:   func(c alloc.Claim) { w.retire(w.open(), c) },
		} {
			pool := alloc.PoolName(name)
			w.full(pool, 2*len(theEvents))
			for _, e := range theEvents {
				for _, o := range []alloc.ClaimOrder{holdOrder(pool, 1, aHold), keyedHold(pool, 1, aHold, string(e))} {
					c := w.claim(w.elsewhere(), o)
					reach(c)
					w.follows(c, name, e)
				}
			}
		}
	}},
	{"a confirmation and a retirement say when they were made, a repeat and a release change nothing of that, and it ends with the life of the ID", func(w *world) {
		w.full("p", 4)
		changed := func(c alloc.Claim, want time.Time) {
			w.Helper()
			if r := w.inspect("p", c.IDs[0]); !sameTime(r.Changed, want) || !sameTime(r.At, c.At) {
				w.Fatalf("a claim of %v: got %+v, want it changed at %v", c.At, r, want)
			}
		}
		for _, o := range []alloc.ClaimOrder{holdOrder("p", 1, aHold), keyedHold("p", 1, aHold, "k")} {
			c := w.claim(w.open(), o)
			changed(c, time.Time{})
			w.clock.Advance(time.Minute)
			w.confirm(w.open(), c)
			confirmed := w.clock.Now()
			w.clock.Advance(time.Minute)
			w.confirm(w.open(), c)
			changed(c, confirmed)
			w.release(w.open(), c)
			changed(c, confirmed)
			w.sweep("p")
			if r := w.inspect("p", c.IDs[0]); !r.Changed.IsZero() {
				w.Fatalf("an ID that is free: got %+v, want it as new", r)
			}
		}
		c := w.claim(w.open(), order("p", 2))
		changed(c, time.Time{})
		w.clock.Advance(time.Minute)
		w.retire(w.open(), c)
		changed(c, w.clock.Now())
	}},
	{"an ID that was claimed for good is confirmed already, and can be released or retired", func(w *world) {
		w.full("p", 3)
		for _, e := range theEvents {
			w.follows(w.claim(w.open(), order("p", 1)), alloc.StateClaimed, e)
		}
	}},
	{"the answer names the IDs as they were asked for", func(w *world) {
		w.full("p", 9)
		c := w.claim(w.open(), holdOrder("p", 9, aHold))
		for _, e := range theEvents { // the book compares
			ids := slices.Clone(c.IDs[:3])
			c.IDs = c.IDs[3:]
			slices.Reverse(ids)
			if _, err := w.trySettle(w.open(), settleOrder(e, c, ids...)); err != nil {
				w.Fatalf("%s of three: got %v, want no error", e, err)
			}
		}
	}},
	{"C41 a released ID can be claimed again after Sweep, not before", func(w *world) {
		w.full("p", 6)
		warm := w.open()
		first := w.claim(warm, order("p", 2))
		second := w.claim(warm, keyedOrder("p", 2, "k"))
		third := w.claim(warm, holdOrder("p", 2, aHold))
		for i, c := range []alloc.Claim{first, second, third} {
			w.release(warm, c)
			w.are("p", c.IDs, alloc.StateReturning)
			w.clock.Advance(staleStock)
			for name, s := range map[string]alloc.Store{"warm": warm, "cold": w.open()} {
				w.refuse(s, order("p", 1), alloc.CodePoolExhausted, "Claim before the sweep in a "+name+" process")
			}
			w.sweep("p")
			w.are("p", c.IDs, alloc.StateFree)
			s := warm
			if i%2 == 1 {
				s = w.open()
			}
			w.claim(s, order("p", 2))
		}
	}},
	{"C41 a retired ID is nobody's for ever, and its release is id_retired", func(w *world) {
		w.full("p", 4)
		c := w.claim(w.open(), order("p", 2))
		w.retire(w.open(), c)
		for _, d := range []time.Duration{staleStock, expiry, 400 * 24 * time.Hour} {
			w.clock.Advance(d)
			w.sweep("p")
			w.refuseSettle(w.open(), settleOrder(alloc.EventRelease, c), alloc.CodeIDRetired, "release of what is retired")
			w.refuseSettle(w.open(), settleOrder(alloc.EventConfirm, c), alloc.CodeIDRetired, "confirm of what is retired")
			w.retire(w.open(), c)
		}
		equal(w, w.drain(w.open(), "p"), 2, "IDs left")
	}},
	{"C41 a double release gives an ID back once, and both succeed", func(w *world) {
		w.full("p", 1)
		warm := w.open()
		c := w.claim(warm, order("p", 1))
		for range 2 {
			w.release(warm, c)
			w.release(w.open(), c)
		}
		w.sweep("p")
		w.release(w.open(), c) // it is back
		w.sweep("p")
		other := w.claim(w.open(), order("p", 1))
		w.release(warm, c) // it is somebody else's now, and stays so
		w.settle("p")
		w.are("p", c.IDs, alloc.StateClaimed)
		equal(w, w.inspect("p", "p-00000").Generation, 1, "generation")
		w.confirm(w.open(), other)
		w.refuse(w.open(), order("p", 1), alloc.CodePoolExhausted, "Claim of an empty pool")
	}},
	{"a release is repeated as long as nobody else has released the ID after it", func(w *world) {
		w.full("p", 1)
		first := w.claim(w.open(), order("p", 1))
		w.release(w.open(), first)
		w.sweep("p")
		second := w.claim(w.open(), order("p", 1))
		w.release(w.open(), first)
		w.release(w.open(), second)
		w.sweep("p")
		w.refuseSettle(w.open(), settleOrder(alloc.EventRelease, first), alloc.CodeNotOwner, "release of long ago")
		w.release(w.open(), second)
		third := w.claim(w.open(), order("p", 1))
		w.refuseSettle(w.open(), settleOrder(alloc.EventRelease, first), alloc.CodeNotOwner, "release of long ago")
		w.release(w.open(), second)
		w.confirm(w.open(), third)
	}},
	{"after an ID has come back its old token confirms and retires nothing", func(w *world) {
		w.full("p", 2)
		c := w.claim(w.open(), keyedHold("p", 2, aHold, "k"))
		w.release(w.open(), c)
		w.sweep("p")
		for range 2 {
			w.refuseSettle(w.open(), settleOrder(alloc.EventConfirm, c), alloc.CodeNotOwner, "confirm with an old token")
			w.refuseSettle(w.open(), settleOrder(alloc.EventRetire, c), alloc.CodeNotOwner, "retire with an old token")
			if w.free("p") > 0 {
				w.claim(w.open(), order("p", 2))
			}
		}
	}},
	{"K30 the token of another claim, one that nobody has and none at all are not_owner", func(w *world) {
		w.full("p", 6)
		s := w.open()
		held, claimed, retired := w.claim(s, holdOrder("p", 1, aHold)), w.claim(s, order("p", 1)), w.claim(s, order("p", 1))
		w.retire(s, retired)
		back, other := w.claim(s, order("p", 1)), w.claim(s, order("p", 1))
		w.release(s, back)
		w.sweep("p")
		for _, c := range []alloc.Claim{held, claimed, retired, back} {
			for _, token := range []alloc.Token{other.Token, alloc.NewToken(), ""} {
				for _, e := range theEvents {
					o := settleOrder(e, c)
					o.Token = token
					w.refuseSettle(s, o, alloc.CodeNotOwner, fmt.Sprintf("%s of %q with the token %q", e, c.IDs[0], token))
				}
			}
		}
		w.confirm(s, held)
	}},
	{"an ID or a pool that is not known is refused as such", func(w *world) {
		w.full("p", 2)
		w.full("another", 2)
		c := w.claim(w.open(), order("p", 2))
		for _, e := range theEvents {
			w.refuseSettle(w.open(), settleOrder(e, c, "nobody's"), alloc.CodeIDNotFound, string(e)+" of an unknown ID")
			o := settleOrder(e, c)
			o.Pool = "another"
			w.refuseSettle(w.open(), o, alloc.CodeIDNotFound, string(e)+" of another pool's ID")
			o.Pool = "none"
			_, err := w.open().Settle(w.Context(), o)
			w.want(err, alloc.CodePoolNotFound, string(e)+" in an unknown pool")
		}
	}},
	{"IDs come back many times over, and none is listed twice", func(w *world) {
		w.full("p", 12)
		for range 6 {
			a, b := w.claim(w.open(), order("p", 4)), w.claim(w.open(), holdOrder("p", 3, time.Minute))
			w.sweep("p")
			w.release(w.open(), a)
			w.pass(time.Minute)
			w.sweep("p")
			w.release(w.open(), a)
			equal(w, len(b.IDs), 3, "IDs held")
			w.settle("p")
		}
		level, err := w.open().Level(w.Context(), "p")
		w.ok(err, "Level")
		equal(w, level.Available, 12, "Available")
		equal(w, w.drain(w.open(), "p"), 12, "IDs left")
	}},
	{"a seeding finds what is on its way back to be a duplicate, and what is held or retired in conflict", func(w *world) {
		w.full("p", 4)
		s := w.open()
		held, back, retired := w.claim(s, holdOrder("p", 1, aHold)), w.claim(s, order("p", 1)), w.claim(s, order("p", 1))
		w.release(s, back)
		w.retire(s, retired)
		ids := []alloc.ID{held.IDs[0], back.IDs[0], retired.IDs[0]}
		want := []alloc.SeedOutcome{alloc.SeedConflict, alloc.SeedDuplicate, alloc.SeedConflict}
		for range 2 {
			equal(w, fmt.Sprint(w.seed(w.open(), "p", "second", ids)), fmt.Sprint(want), "outcomes")
			w.sweep("p")
		}
		w.are("p", retired.IDs, alloc.StateRetired)
		equal(w, w.drain(w.open(), "p"), 2, "IDs left")
	}},
}

// follows lets the holder of a claim of one ID, which is in the state, ask for an event twice, and stops the test unless
// the table of states is kept.
func (w *world) follows(c alloc.Claim, state alloc.State, e alloc.Event) {
	w.Helper()
	s := w.open()
	for _, from := range []alloc.State{state, state.On(e).To} {
		o, t := settleOrder(e, c), from.On(e)
		if t.Effect == alloc.EffectRefuse {
			w.refuseSettle(s, o, alloc.RefusalOf(from), fmt.Sprintf("%s of what is %s", e, from))
		} else {
			w.settleAs(s, o, t.To)
		}
		r := w.inspect(c.Pool, c.IDs[0])
		equal(w, r.State, t.To, fmt.Sprintf("state after %s of what was %s", e, from))
		equal(w, r.Token, c.Token, "token")
		equal(w, r.HeldUntil.IsZero(), r.State != alloc.StateHeld, "there is an end of the hold when there is a hold")
	}
}
