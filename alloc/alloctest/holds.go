package alloctest

import (
	"fmt"
	"time"

	"idpool/alloc"
)

// aHold is a hold that is longer than what a sweep or the delay of changes takes in a case.
const aHold = 2 * time.Hour

var holdCases = []testCase{
	{"a hold answers its IDs as held until its time, and so they stand", func(w *world) {
		w.full("p", 5)
		for _, o := range []alloc.ClaimOrder{holdOrder("p", 2, time.Minute), keyedHold("p", 2, alloc.MaxHold, "k"), holdOrder("p", 1, time.Second)} {
			c := w.claim(w.open(), o) // the book checks the answer's shape
			for _, id := range c.IDs {
				r := w.inspect("p", id)
				equal(w, r.State, alloc.StateHeld, "state")
				equal(w, r.Token, c.Token, "token")
				if !sameTime(r.HeldUntil, w.clock.Now().Add(o.Hold)) {
					w.Fatalf("HeldUntil: got %v, want %s from %v", r.HeldUntil, o.Hold, w.clock.Now())
				}
			}
		}
		w.refuse(w.open(), order("p", 1), alloc.CodePoolExhausted, "Claim of what is held")
		w.refuse(w.open(), holdOrder("p", 1, time.Minute), alloc.CodePoolExhausted, "hold of what is held")
	}},
	{"a hold does not come back before its time, and by the next Sweep after it", func(w *world) {
		w.full("p", 3)
		warm := w.open()
		c := w.claim(warm, holdOrder("p", 3, aHold))
		w.clock.Advance(aHold - time.Second)
		w.sweep("p")
		w.are("p", c.IDs, alloc.StateHeld)
		w.refuse(warm, order("p", 1), alloc.CodePoolExhausted, "Claim a second before the end")
		w.pass(time.Second)
		w.sweep("p")
		w.are("p", c.IDs, alloc.StateFree)
		w.claim(warm, order("p", 2))
		w.claim(w.open(), order("p", 1))
	}},
	{"an ID that came back stands as a free one of the next generation", func(w *world) {
		w.full("p", 1)
		before := w.inspect("p", "p-00000")
		o := holdOrder("p", 1, time.Minute)
		o.Metadata = map[string]string{"order": "7"}
		w.claim(w.open(), o)
		w.pass(time.Minute)
		w.sweep("p")
		before.Generation++
		got := w.inspect("p", "p-00000")
		equal(w, fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", before), "record of the ID that came back")
	}},
	{"a hold whose answer was lost comes back although nobody ever calls again", func(w *world) {
		w.full("p", 4)
		f := NewFaulty(w.open(), Script("Claim", AppliedButFailed, AppliedButFailed))
		for _, o := range []alloc.ClaimOrder{holdOrder("p", 2, time.Minute), keyedHold("p", 2, time.Minute, "k")} {
			if _, err := w.tryClaim(f, o); !Injected(err) {
				w.Fatalf("hold: got %v, want the injected fault", err)
			}
		}
		w.refuse(w.open(), order("p", 1), alloc.CodePoolExhausted, "Claim of what is held")
		w.pass(time.Minute)
		w.sweep("p")
		w.claim(w.open(), order("p", 4))
	}},
	{"a confirmation past the hold's time works while nobody has taken the ID back", func(w *world) {
		w.full("p", 2)
		warm := w.open()
		first, second := w.claim(warm, holdOrder("p", 1, time.Minute)), w.claim(warm, keyedHold("p", 1, time.Minute, "k"))
		w.pass(time.Hour)
		w.confirm(warm, first)
		w.confirm(w.open(), second)
		w.settle("p")
		w.are("p", []alloc.ID{first.IDs[0], second.IDs[0]}, alloc.StateClaimed)
	}},
	{"C42 a confirmation after the ID was taken back is not_owner, before and after somebody else has it", func(w *world) {
		w.full("p", 2)
		c := w.claim(w.open(), holdOrder("p", 2, time.Minute))
		w.pass(time.Minute)
		w.sweep("p")
		w.refuseSettle(w.open(), settleOrder(alloc.EventConfirm, c), alloc.CodeNotOwner, "confirm of what is free")
		other := w.claim(w.open(), holdOrder("p", 2, aHold))
		w.refuseSettle(w.open(), settleOrder(alloc.EventConfirm, c), alloc.CodeNotOwner, "confirm of what somebody else has")
		w.refuseSettle(w.open(), settleOrder(alloc.EventRetire, c), alloc.CodeNotOwner, "retire of what somebody else has")
		w.confirm(w.open(), other)
	}},
	{"a confirmed ID stays its owner's for ever", func(w *world) {
		w.full("p", 3)
		c := w.claim(w.open(), holdOrder("p", 3, time.Minute))
		w.confirm(w.open(), c)
		for _, d := range []time.Duration{time.Minute, expiry, alloc.MaxHold, 400 * 24 * time.Hour} {
			w.pass(d)
			w.sweep("p")
			w.refuse(w.open(), order("p", 1), alloc.CodePoolExhausted, "Claim of an empty pool")
		}
		for _, id := range c.IDs {
			r := w.inspect("p", id)
			equal(w, r.State, alloc.StateClaimed, "state")
			equal(w, r.Token, c.Token, "token")
			equal(w, r.HeldUntil.IsZero(), true, "a confirmed ID has no end of a hold")
		}
	}},
	{"of a batch that is held, what is confirmed stays and the rest comes back", func(w *world) {
		w.full("p", 12)
		c := w.claim(w.open(), holdOrder("p", 12, time.Minute))
		w.confirm(w.open(), c, c.IDs[2:7]...)
		w.pass(time.Minute)
		w.sweep("p")
		w.are("p", c.IDs[2:7], alloc.StateClaimed)
		equal(w, w.drain(w.open(), "p"), 7, "IDs that came back")
	}},
	{"holds of different lengths come back each at its time", func(w *world) {
		w.full("p", 4)
		s := w.open()
		for i := range 4 {
			w.claim(s, holdOrder("p", 1, time.Duration(4-i)*time.Hour))
		}
		for range 4 {
			w.pass(time.Hour)
			w.sweep("p")
			w.claim(w.open(), order("p", 1))
			w.refuse(w.open(), order("p", 1), alloc.CodePoolExhausted, "Claim before the next hold's end")
		}
	}},
	{"the longest hold outlives its key, which claims anew, and then comes back", func(w *world) {
		w.full("p", 2)
		o := keyedHold("p", 1, alloc.MaxHold, "k")
		first := w.claim(w.open(), o)
		w.clock.Advance(expiry)
		w.sweep("p")
		second := w.claim(w.open(), o) // the book sees that it is another ID
		equal(w, second.Replayed, false, "Replayed after the retention")
		w.clock.Advance(alloc.MaxHold - expiry - time.Second)
		w.sweep("p")
		w.refuse(w.open(), order("p", 1), alloc.CodePoolExhausted, "Claim a second before the end")
		w.pass(time.Second)
		w.sweep("p")
		w.are("p", first.IDs, alloc.StateFree)
		w.confirm(w.open(), second)
		w.claim(w.open(), order("p", 1))
	}},
	{"one ID is held, comes back and is held again, over and over, and no old token can do anything to it", func(w *world) {
		w.full("p", 1)
		var before []alloc.Claim
		for i := range 6 {
			o := holdOrder("p", 1, time.Minute)
			if i%2 == 0 {
				o = keyedHold("p", 1, time.Minute, fmt.Sprint(i))
			}
			c := w.claim(w.open(), o)
			for _, old := range before {
				w.refuseSettle(w.open(), settleOrder(alloc.EventConfirm, old), alloc.CodeNotOwner, "confirm with an old token")
				w.refuseSettle(w.open(), settleOrder(alloc.EventRetire, old), alloc.CodeNotOwner, "retire with an old token")
			}
			before = append(before, c)
			w.pass(time.Minute)
			w.sweep("p")
		}
		equal(w, w.inspect("p", "p-00000").Generation, 6, "generation")
		equal(w, w.drain(w.open(), "p"), 1, "IDs left")
	}},
	{"a process that slept while what it had in memory was held and came back hands out nothing twice", func(w *world) {
		w.full("p", 20)
		sleeper := w.open()
		w.claim(sleeper, order("p", 1))
		for range 3 {
			w.claim(w.open(), holdOrder("p", 19, time.Minute))
			w.pass(time.Minute)
			w.settle("p")
		}
		other := w.open()
		for range 9 {
			w.claim(other, holdOrder("p", 1, aHold))
			w.claim(sleeper, order("p", 1))
		}
		equal(w, w.drain(sleeper, "p")+w.drain(other, "p"), 1, "IDs left")
	}},
	{"holds end in a paused and in a draining pool", func(w *world) {
		for name, state := range map[alloc.PoolName]alloc.PoolState{"paused": alloc.PoolPaused, "draining": alloc.PoolDraining} {
			w.full(name, 3)
			c := w.claim(w.open(), holdOrder(name, 3, time.Minute))
			w.setState(name, state)
			w.confirm(w.open(), c, c.IDs[1])
			w.pass(time.Minute)
			w.sweep(name)
			w.setState(name, alloc.PoolActive)
			equal(w, w.drain(w.open(), name), 2, "IDs that came back")
		}
	}},
	{"what is held of a pool that is deleted can be confirmed, and nothing becomes claimable", func(w *world) {
		w.full("p", 4)
		warm := w.open()
		c := w.claim(warm, holdOrder("p", 3, aHold))
		w.setState("p", alloc.PoolDeleted)
		w.confirm(warm, c, c.IDs[0])
		w.retire(w.open(), c, c.IDs[1])
		w.pass(aHold)
		w.settle("p")
		w.refuse(warm, order("p", 1), alloc.CodePoolDeleted, "Claim of a deleted pool")
		w.refuse(w.open(), holdOrder("p", 1, time.Minute), alloc.CodePoolDeleted, "hold of a deleted pool")
		w.are("p", c.IDs[:1], alloc.StateClaimed)
		w.are("p", c.IDs[1:2], alloc.StateRetired)
	}},
	{"Level counts after a sweep what is held, claimed and retired", func(w *world) {
		w.full("p", 20)
		s := w.open()
		w.confirm(s, w.claim(s, holdOrder("p", 3, aHold)))
		w.claim(s, holdOrder("p", 4, aHold))
		w.claim(s, holdOrder("p", 2, time.Minute))
		w.retire(s, w.claim(s, order("p", 1)))
		w.release(s, w.claim(s, order("p", 5)))
		w.settle("p")
		level, err := w.open().Level(w.Context(), "p")
		w.ok(err, "Level")
		equal(w, level, alloc.Level{Available: 12, Seeded: 20, Held: 4, Claimed: 3, Retired: 1, CountedAt: level.CountedAt}, "level")
	}},
	{"of 2N callers who hold from a pool of N, each a cold process, exactly N succeed", func(w *world) {
		n := w.callers() / 2
		w.full("p", n)
		w.raceFor(holdOrder("p", 1, aHold), n)
		w.pass(aHold)
		w.sweep("p")
		w.raceFor(holdOrder("p", 1, aHold), n)
	}},
	{"an order with a refusal of Service's is refused with it and takes nothing, and a repeat is answered all the same", func(w *world) {
		w.full("p", 5)
		o := keyedOrder("p", 2, "k")
		first := w.claim(w.open(), o)
		quota := alloc.Errorf(alloc.CodeQuotaExceeded, "the quota is used up").After(time.Hour)
		o.Refusal = quota
		w.replay(w.open(), o, first)
		for _, o := range []alloc.ClaimOrder{order("p", 1), keyedOrder("p", 1, "new"), holdOrder("p", 1, time.Minute)} {
			o.Refusal = quota
			_, err := w.tryClaim(w.open(), o)
			equal(w, w.wantError(err, alloc.CodeQuotaExceeded, "Claim").RetryAfter, time.Hour, "RetryAfter")
		}
		equal(w, w.free("p"), 3, "free IDs")
		w.claim(w.open(), keyedOrder("p", 1, "new")) // nothing was kept of the refusal
	}},
}
