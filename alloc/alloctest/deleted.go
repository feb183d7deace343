package alloctest

import (
	"fmt"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
)

// deletedCases are about what is left of a pool or a sequence that was deleted.
var deletedCases = []testCase{
	{"Sweep of a deleted pool succeeds, however often, and leaves what was claimed", func(w *world) {
		w.full("p", 10)
		w.claim(w.open(), order("p", 3))
		w.claim(w.open(), keyedOrder("p", 2, "k"))
		w.setState("p", alloc.PoolDeleted)
		for range 3 {
			report, err := w.open().Sweep(w.Context(), "p")
			w.ok(err, "Sweep of a deleted pool")
			equal(w, report.Pool, "p", "pool in the report")
			w.settle("p")
			w.refuse(w.open(), order("p", 1), alloc.CodePoolDeleted, "Claim after a sweep")
			equal(w, w.readPool("p").State, alloc.PoolDeleted, "state after a sweep")
		}
		equal(w, w.fixture.Census(w.TB, "p")[alloc.StateClaimed], 5, "claimed IDs")
	}},
	{"a deleted pool repeats the answer of a key until its retention ends, before and after a sweep", func(w *world) {
		w.full("p", 10)
		warm, o := w.open(), keyedOrder("p", 2, "k")
		first := w.claim(warm, o)
		w.setState("p", alloc.PoolDeleted)
		for range 2 {
			w.replay(warm, o, first)
			w.replay(w.open(), o, first)
			w.refuse(w.open(), otherBody(o), alloc.CodeKeyMismatch, "Claim with the same key and another request")
			w.refuse(w.open(), keyedOrder("p", 2, "new"), alloc.CodePoolDeleted, "Claim with a new key")
			w.settle("p")
		}
		w.clock.Advance(expiry)
		w.refuse(warm, o, alloc.CodePoolDeleted, "Claim with a key whose retention has ended")
		w.refuse(w.open(), o, alloc.CodePoolDeleted, "Claim with a key whose retention has ended, in a cold process")
	}},
	{"a deleted sequence repeats the answer of a key until its retention ends", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		warm, o := w.open(), keyedLease("s", 5, "k")
		first := w.lease(warm, o)
		w.setSequence("s", alloc.SequenceDeleted)
		w.replayLease(warm, o, first)
		w.replayLease(w.open(), o, first)
		w.refuseLease(w.open(), keyedLease("s", 5, "new"), alloc.CodeSequenceDeleted, "Lease with a new key")
		w.clock.Advance(expiry)
		w.refuseLease(w.open(), o, alloc.CodeSequenceDeleted, "Lease with a key whose retention has ended")
	}},
	{"ListPools keeps deleted pools in their place, at the ends of pages too", func(w *world) {
		for i, name := range listNames {
			w.pool(alloc.PoolName(name), alloc.PoolConfig{})
			if i%4 != 1 { // the first, the last, and three in a row
				w.setState(alloc.PoolName(name), alloc.PoolDeleted)
			}
		}
		for _, limit := range []int{1, 2, 3, 4, 100} {
			var got []string
			for i, p := range pages(w, "ListPools", limit, func(after alloc.PoolName) ([]alloc.Pool, error) {
				return w.open().ListPools(w.Context(), after, limit)
			}, func(p alloc.Pool) alloc.PoolName { return p.Name }) {
				got = append(got, string(p.Name))
				equal(w, p.State == alloc.PoolDeleted, i%4 != 1, fmt.Sprintf("%q is deleted", p.Name))
			}
			if diff := cmp.Diff(listNames, got); diff != "" {
				w.Fatalf("pools in pages of %d (-want +got):\n%s", limit, diff)
			}
		}
	}},
}
