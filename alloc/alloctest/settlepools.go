package alloctest

import (
	"fmt"
	"slices"
	"time"

	"idpool/alloc"
)

// settlePoolCases are about batches, and about what the pool has to do with it.
var settlePoolCases = []testCase{
	{"a batch of which one ID cannot be settled is refused whole, and the refusal names which", func(w *world) {
		for _, e := range theEvents {
			pool := alloc.PoolName(e)
			w.full(pool, 12)
			s := w.open()
			c := w.claim(s, holdOrder(pool, 6, aHold))
			other := w.claim(s, holdOrder(pool, 2, aHold))
			for _, fault := range []alloc.IDFault{{ID: "nobody's", Code: alloc.CodeIDNotFound}, {ID: other.IDs[1], Code: alloc.CodeNotOwner}} {
				for _, at := range []int{0, 3, 6} {
					ids := append(append(append([]alloc.ID{}, c.IDs[:at]...), fault.ID), c.IDs[at:]...)
					w.refuseSome(w.elsewhere(), settleOrder(e, c, ids...), []alloc.IDFault{fault}, fmt.Sprintf("%s of a batch with %q at %d", e, fault.ID, at))
				}
			}
			w.are(pool, c.IDs, alloc.StateHeld)
			w.confirm(s, c)
		}
	}},
	{"a refusal names each ID that cannot be settled, each with its reason", func(w *world) {
		w.full("p", 12)
		s := w.open()
		c, other := w.claim(s, holdOrder("p", 6, aHold)), w.claim(s, order("p", 1))
		w.retire(s, c, c.IDs[1])
		w.release(s, c, c.IDs[3])
		ids := []alloc.ID{c.IDs[0], "unknown", c.IDs[1], c.IDs[2], other.IDs[0], c.IDs[3], c.IDs[4]}
		w.refuseSome(w.open(), settleOrder(alloc.EventConfirm, c, ids...), []alloc.IDFault{
			{ID: "unknown", Code: alloc.CodeIDNotFound},
			{ID: c.IDs[1], Code: alloc.CodeIDRetired},
			{ID: other.IDs[0], Code: alloc.CodeNotOwner},
			{ID: c.IDs[3], Code: alloc.CodeNotOwner},
		}, "confirm of some of all kinds")
		w.refuseSome(w.open(), settleOrder(alloc.EventRelease, c, ids...), []alloc.IDFault{
			{ID: "unknown", Code: alloc.CodeIDNotFound}, {ID: c.IDs[1], Code: alloc.CodeIDRetired}, {ID: other.IDs[0], Code: alloc.CodeNotOwner},
		}, "release of some of all kinds")
	}},
	{"a batch of which some is settled already is settled to its end", func(w *world) {
		for _, e := range theEvents {
			pool := alloc.PoolName(e)
			w.full(pool, 8)
			c := w.claim(w.open(), holdOrder(pool, 8, aHold))
			want := alloc.StateHeld.On(e).To
			w.settleAs(w.open(), settleOrder(e, c, c.IDs[2], c.IDs[5]), want)
			if e == alloc.EventRelease {
				w.sweep(pool) // two have come back
			}
			for range 2 {
				w.settleAs(w.open(), settleOrder(e, c), want)
			}
		}
	}},
	{"the largest batch is settled whole", func(w *world) {
		n := size(int(alloc.MaxBatchLimit))
		w.full("p", n)
		c := w.claim(w.open(), holdOrder("p", alloc.Count(n), aHold))
		w.confirm(w.open(), c)
		w.refuseSome(w.open(), settleOrder(alloc.EventRelease, c, append(slices.Clone(c.IDs[1:]), "nobody's")...),
			[]alloc.IDFault{{ID: "nobody's", Code: alloc.CodeIDNotFound}}, "release of a batch with an unknown ID")
		w.release(w.open(), c)
		w.release(w.open(), c, c.IDs[0])
		w.sweep("p")
		equal(w, w.free("p"), alloc.Count(n), "free IDs")
		w.claim(w.open(), order("p", alloc.Count(n)))
	}},
	{"where a release retires, it says so and so it is, and holds that end come back all the same", func(w *world) {
		w.pool("p", alloc.PoolConfig{OnRelease: alloc.ReleaseRetires})
		w.seedNew("p", "first", someIDs("p-", 6))
		equal(w, w.readPool("p").Config.OnRelease, alloc.ReleaseRetires, "on_release")
		s := w.open()
		claimed, held, lapsed := w.claim(s, keyedOrder("p", 2, "k")), w.claim(s, holdOrder("p", 2, aHold)), w.claim(s, holdOrder("p", 2, time.Minute))
		for _, c := range []alloc.Claim{claimed, held} {
			for range 2 {
				w.settleAs(w.open(), settleOrder(alloc.EventRelease, c), alloc.StateRetired)
				w.settle("p")
			}
			w.retire(w.open(), c)
			w.are("p", c.IDs, alloc.StateRetired)
			w.refuseSettle(w.open(), settleOrder(alloc.EventConfirm, c), alloc.CodeIDRetired, "confirm of what a release retired")
		}
		w.are("p", lapsed.IDs, alloc.StateFree)
		equal(w, w.drain(w.open(), "p"), 2, "IDs left")
	}},
	{"it works in a paused and in a draining pool, and what was released comes back", func(w *world) {
		for _, state := range []alloc.PoolState{alloc.PoolPaused, alloc.PoolDraining} {
			pool := alloc.PoolName(state)
			w.full(pool, 6)
			warm := w.open()
			c := w.claim(warm, holdOrder(pool, 6, aHold))
			w.setState(pool, state)
			w.confirm(warm, c, c.IDs[:2]...)
			w.release(w.open(), c, c.IDs[2:4]...)
			w.retire(w.open(), c, c.IDs[4:]...)
			w.sweep(pool)
			w.setState(pool, alloc.PoolActive)
			equal(w, w.drain(w.open(), pool), 2, "IDs that came back")
		}
	}},
	{"it works in a deleted pool, and nothing of it is ever claimed again", func(w *world) {
		w.full("p", 6)
		warm := w.open()
		c := w.claim(warm, holdOrder("p", 5, aHold))
		w.release(warm, c, c.IDs[4])
		w.setState("p", alloc.PoolDeleted)
		for range 2 {
			w.confirm(warm, c, c.IDs[0])
			w.release(w.open(), c, c.IDs[1], c.IDs[2])
			w.retire(w.open(), c, c.IDs[3])
			w.settle("p")
			w.refuse(warm, order("p", 1), alloc.CodePoolDeleted, "Claim after a sweep")
			w.refuse(w.open(), order("p", 1), alloc.CodePoolDeleted, "Claim after a sweep in a cold process")
		}
		w.refuseSettle(w.open(), settleOrder(alloc.EventConfirm, c, c.IDs[1]), alloc.CodeNotOwner, "confirm of what was released")
	}},
	{"a pool that forgets has forgotten what was claimed without a key", func(w *world) {
		w.forgetting("p", 2)
		c := w.claim(w.open(), order("p", 2))
		w.gone("p", c.IDs)
		for _, e := range theEvents {
			_, err := w.open().Settle(w.Context(), settleOrder(e, c))
			got := w.wantError(err, alloc.CodeIDNotFound, string(e)+" of forgotten IDs")
			equal(w, len(got.IDs), 2, "IDs that the refusal names")
		}
	}},
	{"in a pool that forgets a confirmation is repeated with success, and what it confirmed can be settled", func(w *world) {
		for name, hold := range map[alloc.PoolName]func(pool alloc.PoolName) alloc.ClaimOrder{
			"keyless": func(pool alloc.PoolName) alloc.ClaimOrder { return holdOrder(pool, 4, alloc.MaxHold) },
			"keyed":   func(pool alloc.PoolName) alloc.ClaimOrder { return keyedHold(pool, 4, alloc.MaxHold, "k") },
		} {
			w.forgetting(name, 4)
			c := w.claim(w.open(), hold(name))
			w.clock.Advance(expiry) // also with a key it is the confirmation that counts
			w.confirm(w.open(), c)
			for range 2 {
				w.confirm(w.open(), c)
				w.are(name, c.IDs, alloc.StateClaimed)
				for _, outcome := range w.seed(w.open(), name, "early", c.IDs) {
					equal(w, outcome, alloc.SeedConflict, "outcome of a confirmed ID")
				}
				w.clock.Advance(beforeEnd / 2)
				w.sweep(name)
			}
			w.confirm(w.open(), c) // which does not put off that it is forgotten
			w.release(w.open(), c, c.IDs[0])
			w.retire(w.open(), c, c.IDs[1])
			w.sweep(name)
			w.are(name, c.IDs[:1], alloc.StateFree)
			w.clock.Advance(2 * time.Second)
			w.sweep(name)
			w.gone(name, c.IDs[2:])
			w.are(name, c.IDs[1:2], alloc.StateRetired)
			w.refuseSettle(w.open(), settleOrder(alloc.EventRelease, c, c.IDs[2:]...), alloc.CodeIDNotFound, "release of forgotten IDs")
			w.book.forgot(name, c.IDs[2:])
			w.seedNew(name, "second", c.IDs[2:])
			equal(w, w.drain(w.open(), name), 3, "IDs that can be claimed")
		}
	}},
	{"a pool that forgets takes back what was held or claimed with a key, and keeps what was retired", func(w *world) {
		w.forgetting("p", 7)
		c, held := w.claim(w.open(), keyedOrder("p", 3, "k")), w.claim(w.open(), keyedHold("p", 3, aHold, "h"))
		lapsed := w.claim(w.open(), holdOrder("p", 1, time.Minute))
		w.release(w.open(), c, c.IDs[0])
		w.release(w.open(), held, held.IDs[0])
		w.retire(w.open(), c, c.IDs[1])
		w.confirm(w.open(), held, held.IDs[1])
		w.pass(aHold)
		w.settle("p")
		w.are("p", []alloc.ID{c.IDs[0], held.IDs[0], held.IDs[2], lapsed.IDs[0]}, alloc.StateFree)
		w.clock.Advance(expiry)
		w.sweep("p")
		w.gone("p", []alloc.ID{c.IDs[2], held.IDs[1]})
		w.are("p", c.IDs[1:2], alloc.StateRetired)
		equal(w, w.seed(w.open(), "p", "second", c.IDs[1:2])[0], alloc.SeedConflict, "outcome of a retired ID")
		equal(w, w.drain(w.open(), "p"), 4, "IDs that can be claimed")
	}},
}

// gone stops the test unless the pool does not know the IDs.
func (w *world) gone(pool alloc.PoolName, ids []alloc.ID) {
	w.Helper()
	for _, id := range ids {
		_, err := w.elsewhere().Inspect(w.Context(), pool, id)
		w.want(err, alloc.CodeIDNotFound, "Inspect of a forgotten ID")
	}
}
