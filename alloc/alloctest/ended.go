package alloctest

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
)

// endedCases are about repeats of a claim with a key after what it took was settled.
var endedCases = []testCase{
	{"K06 a hold is repeated as it was first answered, before and after its confirmation, and its end does not move", func(w *world) {
		w.full("p", 4)
		warm, o := w.open(), keyedHold("p", 2, aHold, "k")
		first := w.claim(warm, o)
		w.clock.Advance(aHold - time.Minute)
		w.replay(warm, o, first)
		w.replay(w.open(), o, first)
		w.confirm(w.open(), first, first.IDs[0])
		w.replay(w.open(), o, first)
		w.pass(time.Minute)
		w.replay(warm, o, first) // nobody has taken the other one back
		w.sweep("p")
		w.replayEnded(warm, o, first, first.IDs[1:], alloc.StateReturning)
		w.are("p", first.IDs[1:], alloc.StateFree)
		equal(w, w.free("p"), 3, "free IDs")
	}},
	{"a repeat tells which of its IDs were released or retired, at once and when they are back and somebody else's", func(w *world) {
		w.full("p", 5)
		warm, o := w.open(), keyedOrder("p", 5, "k")
		first := w.claim(warm, o)
		w.release(w.open(), first, first.IDs[3])
		w.replayEnded(warm, o, first, first.IDs[3:4], alloc.StateReturning)
		w.sweep("p")
		w.replayEnded(w.open(), o, first, first.IDs[3:4], alloc.StateReturning)
		w.claim(w.open(), order("p", 1))
		w.replayEnded(warm, o, first, first.IDs[3:4], alloc.StateReturning)
		w.retire(w.open(), first, first.IDs[1])
		for range 2 {
			again := w.claim(w.open(), o)
			want := []alloc.EndedID{{ID: first.IDs[1], State: alloc.StateRetired}, {ID: first.IDs[3], State: alloc.StateReturning}}
			if diff := cmp.Diff(want, again.Ended); diff != "" {
				w.Fatalf("Ended (-want +got):\n%s", diff)
			}
			equal(w, fmt.Sprint(again.IDs), fmt.Sprint(first.IDs), "IDs")
			w.settle("p")
		}
		w.refuse(w.open(), otherBody(o), alloc.CodeKeyMismatch, "Claim with the same key and another request")
	}},
	{"a repeat of which all IDs have come back or were retired is key_ended, until the key expires", func(w *world) {
		for name, end := range map[alloc.PoolName]func(c alloc.Claim){
			"released": func(c alloc.Claim) { w.release(w.open(), c) },
			"retired":  func(c alloc.Claim) { w.retire(w.open(), c) },
			"one-after-one": func(c alloc.Claim) {
				w.retire(w.open(), c, c.IDs[1])
				w.sweep(c.Pool)
				w.release(w.open(), c, c.IDs[0])
			},
			"lapsed": func(c alloc.Claim) { w.pass(aHold); w.sweep(c.Pool) },
		} {
			w.full(name, 6)
			warm, o := w.open(), keyedHold(name, 2, aHold, "k")
			first := w.claim(warm, o)
			end(first)
			for range 2 {
				w.refuse(warm, o, alloc.CodeKeyEnded, "Claim with a key of which everything was "+string(name))
				w.refuse(w.open(), o, alloc.CodeKeyEnded, "Claim in a cold process with a key of which everything was "+string(name))
				w.refuse(w.open(), otherBody(o), alloc.CodeKeyMismatch, "Claim with the same key and another request")
				w.settle(name)
			}
			w.setState(name, alloc.PoolPaused)
			w.refuse(w.open(), o, alloc.CodeKeyEnded, "Claim of a paused pool with a key that has ended")
			w.setState(name, alloc.PoolActive)
			w.clock.Advance(expiry)
			second := w.claim(w.open(), o)
			equal(w, second.Replayed, false, "Replayed after the retention")
		}
	}},
	{"K25 a batch of many is repeated in its order, with those that have ended among it", func(w *world) {
		n := size(200)
		w.full("p", n)
		o := keyedOrder("p", alloc.Count(n), "k")
		first := w.claim(w.open(), o)
		var ended []alloc.ID
		for i := 0; i < n; i += 7 {
			ended = append(ended, first.IDs[i])
		}
		w.release(w.open(), first, ended...)
		w.replayEnded(w.open(), o, first, ended, alloc.StateReturning)
		w.sweep("p")
		w.replayEnded(w.open(), o, first, ended, alloc.StateReturning)
		w.refuse(w.open(), keyedOrder("p", alloc.Count(len(ended)+1), "another"), alloc.CodePoolExhausted, "Claim of more than came back")
		w.claim(w.open(), keyedOrder("p", alloc.Count(len(ended)), "another"))
		w.replayEnded(w.open(), o, first, ended, alloc.StateReturning)
	}},
	{"two keys that had one ID, one after the other, are each told of their own", func(w *world) {
		w.full("p", 2)
		o, p := keyedOrder("p", 2, "first"), keyedOrder("p", 1, "second")
		first := w.claim(w.open(), o)
		w.release(w.open(), first, first.IDs[0])
		w.sweep("p")
		second := w.claim(w.open(), p)
		w.replay(w.open(), p, second)
		w.replayEnded(w.open(), o, first, first.IDs[:1], alloc.StateReturning)
		w.retire(w.open(), second)
		w.refuse(w.open(), p, alloc.CodeKeyEnded, "Claim with the second key")
		w.replayEnded(w.open(), o, first, first.IDs[:1], alloc.StateReturning) // what another made of it is not told
	}},
	{"in a deleted pool a key is told what has ended", func(w *world) {
		w.full("p", 4)
		o, all := keyedOrder("p", 2, "k"), keyedOrder("p", 1, "all")
		first, other := w.claim(w.open(), o), w.claim(w.open(), all)
		w.setState("p", alloc.PoolDeleted)
		w.release(w.open(), first, first.IDs[1])
		w.release(w.open(), other)
		for range 2 {
			w.replayEnded(w.open(), o, first, first.IDs[1:], alloc.StateReturning)
			w.refuse(w.open(), all, alloc.CodeKeyEnded, "Claim with a key of which everything was released")
			w.settle("p")
		}
	}},
	{"in a pool that forgets a key is told what has ended, and what it still has", func(w *world) {
		w.forgetting("p", 4)
		o, all := keyedOrder("p", 3, "k"), keyedHold("p", 1, aHold, "all")
		first, held := w.claim(w.open(), o), w.claim(w.open(), all)
		w.release(w.open(), first, first.IDs[2])
		w.pass(aHold)
		for range 2 {
			w.sweep("p")
			w.replayEnded(w.open(), o, first, first.IDs[2:], alloc.StateReturning)
			w.refuse(w.open(), all, alloc.CodeKeyEnded, "Claim with a key whose hold has ended")
		}
		w.claim(w.open(), order("p", 2)) // the pool forgets both at once, which the keys have no longer
		w.replayEnded(w.open(), o, first, first.IDs[2:], alloc.StateReturning)
		w.refuse(w.open(), all, alloc.CodeKeyEnded, "Claim with a key whose hold has ended, and another has its ID")
		equal(w, len(held.IDs), 1, "IDs held")
		w.confirmedForgetting()
	}},
	{"K10 many repeats beside the release of what the key took are answered with it or told that it has ended", func(w *world) {
		n := w.callers() / 5
		w.full("p", 6)
		o := keyedOrder("p", 3, "k")
		first := w.claim(w.open(), o)
		stores := w.processes(n)
		w.together(n, func(i int) {
			switch {
			case i < 3:
				if _, err := w.settlePatiently(stores[i], settleOrder(alloc.EventRelease, first, first.IDs[i])); err != nil {
					w.Errorf("release beside repeats: got %v, want success", err)
				}
			case i == 3:
				w.sweepPatiently(stores[i], "p")
			default:
				c, err := w.patiently(stores[i], o)
				if err != nil && !alloc.Is(err, alloc.CodeKeyEnded) || err == nil && !slices.Equal(c.IDs, first.IDs) {
					w.Errorf("a repeat beside releases: got %+v and %v, want %v or key_ended", c, err, first.IDs)
				}
			}
		})
		w.sweep("p")
		w.refuse(w.open(), o, alloc.CodeKeyEnded, "Claim with a key of which everything was released")
		equal(w, w.drain(w.open(), "p"), 6, "IDs left")
	}},
	{"K04 where a key is required, a claim without one is refused and takes nothing", func(w *world) {
		w.pool("p", alloc.PoolConfig{RequireKey: true})
		w.seedNew("p", "first", someIDs("p-", 4))
		warm := w.open()
		first := w.claim(warm, keyedOrder("p", 1, "k"))
		for _, s := range []alloc.Store{warm, w.open()} {
			w.refuse(s, order("p", 1), alloc.CodeKeyRequired, "Claim without a key")
			w.refuse(s, holdOrder("p", 1, aHold), alloc.CodeKeyRequired, "hold without a key")
		}
		equal(w, w.free("p"), 3, "free IDs")
		w.release(w.open(), first) // settling needs none
		p := w.readPool("p")
		p.Config.RequireKey = false
		_, err := w.open().ChangePool(w.Context(), "p", p.Version, p.Config)
		w.ok(err, "ChangePool")
		w.clock.Advance(stateDelay)
		w.claim(warm, order("p", 1))
	}},
}

// replayEnded repeats a claim and stops the test unless it is answered as before, with just these IDs as ended.
func (w *world) replayEnded(s alloc.Store, o alloc.ClaimOrder, first alloc.Claim, ended []alloc.ID, as alloc.State) {
	w.Helper()
	for _, id := range ended {
		first.Ended = append(first.Ended, alloc.EndedID{ID: id, State: as})
	}
	w.replay(s, o, first)
}

// confirmedForgetting is a hold of a pool that forgets, with a key: confirmed, it is repeated until the key expires.
func (w *world) confirmedForgetting() {
	w.Helper()
	w.forgetting("f", 1)
	o := keyedHold("f", 1, aHold, "k")
	first := w.claim(w.open(), o)
	w.confirm(w.open(), first)
	w.pass(aHold)
	w.sweep("f")
	w.replay(w.open(), o, first)
	w.clock.Advance(expiry)
	w.sweep("f")
	w.refuse(w.open(), o, alloc.CodePoolExhausted, "Claim anew of a pool that has forgotten its only ID")
}
