package alloctest

import (
	"fmt"
	"time"

	"idpool/alloc"
)

// Clocks do not stand on whole seconds. What a time promises is kept to the end, and what an engine adds to that, because
// it counts in seconds, is less than one.
const (
	offSecond = 900 * time.Millisecond
	justShort = 500 * time.Millisecond // of an end: no more than this is left
)

var secondCases = []testCase{
	{"a key of a claim is repeated to the end of its retention, which need not be a whole second", func(w *world) {
		w.full("p", 12)
		w.clock.Advance(offSecond)
		warm := w.open()
		for _, o := range []alloc.ClaimOrder{keyedOrder("p", 2, "k"), keyedHold("p", 2, alloc.MaxHold, "h")} {
			first := w.claim(warm, o)
			w.clock.Advance(alloc.KeyRetention - justShort)
			w.sweep("p")
			w.replay(warm, o, first)
			w.replay(w.open(), o, first)
			w.refuse(w.open(), otherBody(o), alloc.CodeKeyMismatch, "Claim of something else with the key")
			w.clock.Advance(justShort + time.Second)
			equal(w, w.claim(w.open(), o).Replayed, false, "Replayed after the retention") // the book sees that it is another
		}
	}},
	{"a key of a lease is repeated to the end of its retention, which need not be a whole second", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		w.clock.Advance(offSecond)
		warm, o := w.open(), keyedLease("s", 10, "k")
		first := w.lease(warm, o)
		w.clock.Advance(alloc.KeyRetention - justShort)
		w.replayLease(warm, o, first)
		w.replayLease(w.open(), o, first)
		w.refuseLease(w.open(), otherLease(o), alloc.CodeKeyMismatch, "Lease of something else with the key")
		w.clock.Advance(justShort + time.Second)
		again := w.lease(w.open(), o)
		equal(w, again.Replayed, false, "Replayed after the retention")
		equal(w, again.Start, first.End+1, "Start after the retention")
	}},
	{"a kept key stands to the end of its retention, which need not be a whole second", func(w *world) {
		w.clock.Advance(offSecond)
		for name, answer := range map[string][]byte{"open": nil, "done": []byte("answer"), "closed late": nil} {
			warm, k, token := w.open(), someKey(name), alloc.NewToken()
			w.openKey(warm, k, token, answer)
			w.clock.Advance(alloc.KeyRetention - justShort)
			w.isKept(w.findKey(warm, k), token, answer)
			w.isKept(w.openKey(w.open(), k, alloc.NewToken(), nil), token, answer)
			if name == "closed late" {
				w.isKept(w.closeKey(w.open(), k, token, []byte("late")), token, []byte("late"))
				w.isKept(w.findKey(warm, k), token, []byte("late"))
			}
			w.clock.Advance(justShort + time.Second)
			w.noKey(warm, k)
			second := alloc.NewToken()
			w.isKept(w.openKey(w.open(), k, second, nil), second, nil)
		}
	}},
	{"a hold lasts to its end, which need not be a whole second, and comes back after it", func(w *world) {
		w.full("p", 6)
		w.clock.Advance(offSecond)
		warm := w.open()
		for _, o := range []alloc.ClaimOrder{holdOrder("p", 3, time.Minute), keyedHold("p", 3, time.Minute, "k")} {
			c := w.claim(warm, o)
			w.clock.Advance(time.Minute - justShort)
			w.sweep("p")
			w.are("p", c.IDs, alloc.StateHeld)
			w.confirm(w.open(), c, c.IDs[0])
			w.pass(justShort)
			w.sweep("p")
			w.are("p", c.IDs[:1], alloc.StateClaimed)
			w.are("p", c.IDs[1:], alloc.StateFree)
			w.refuseSettle(w.open(), settleOrder(alloc.EventConfirm, c, c.IDs[1]), alloc.CodeNotOwner, "confirm of what came back")
		}
		equal(w, w.drain(w.open(), "p"), 4, "IDs that came back")
	}},
	{"a pool that forgets does so at its time, which need not be a whole second, and not before", func(w *world) {
		w.clock.Advance(offSecond)
		for i, o := range []alloc.ClaimOrder{keyedOrder("", 3, "k"), holdOrder("", 3, time.Minute), keyedHold("", 3, alloc.MaxHold, "h")} {
			pool := alloc.PoolName(fmt.Sprintf("p%d", i))
			w.forgetting(pool, 4)
			o.Pool = pool
			c := w.claim(w.open(), o)
			w.confirm(w.open(), c)
			w.clock.Advance(alloc.KeyRetention - justShort)
			w.sweep(pool)
			w.are(pool, c.IDs, alloc.StateClaimed)
			w.confirm(w.open(), c)
			w.release(w.open(), c, c.IDs[0])
			w.clock.Advance(justShort + time.Second)
			for range 2 { // a sweep makes no difference
				w.gone(pool, c.IDs[1:])
				w.refuseSettle(w.open(), settleOrder(alloc.EventConfirm, c, c.IDs[1:]...), alloc.CodeIDNotFound, "confirm of what is forgotten")
				w.refuseSettle(w.open(), settleOrder(alloc.EventRelease, c, c.IDs[1:]...), alloc.CodeIDNotFound, "release of what is forgotten")
				equal(w, len(w.walk(pool, "", 10)), 2, "IDs that a walk meets")
				w.sweep(pool)
			}
			w.book.forgot(pool, c.IDs[1:])
			w.seedNew(pool, "second", c.IDs[1:])
			equal(w, w.drain(w.open(), pool), 4, "IDs that can be claimed")
		}
	}},
	{"a pool that forgets takes again what it is to have forgotten, before any sweep", func(w *world) {
		w.clock.Advance(offSecond)
		w.forgetting("p", 4)
		c := w.claim(w.open(), keyedOrder("p", 2, "k"))
		held := w.claim(w.open(), holdOrder("p", 2, time.Minute))
		w.confirm(w.open(), held)
		w.clock.Advance(expiry)
		for _, ids := range [][]alloc.ID{c.IDs, held.IDs} {
			w.book.forgot("p", ids)
			w.seedNew("p", "second", ids)
		}
		w.refuseSettle(w.open(), settleOrder(alloc.EventRelease, held), alloc.CodeNotOwner, "release of what is new")
		equal(w, w.drain(w.open(), "p"), 4, "IDs that can be claimed")
	}},
}
