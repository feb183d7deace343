package alloctest

import (
	"fmt"
	"slices"
	"time"

	"idpool/alloc"
)

var recentCases = []testCase{
	{"the claims of a pool that were made last are read, the last one first, and nothing that came back since", func(w *world) {
		w.full("p", 40)
		w.full("q", 3)
		s := w.open()
		w.claim(s, order("q", 2))
		var want []alloc.ID
		for i := range alloc.RecentTaken - 1 {
			w.clock.Advance(time.Second)
			o := order("p", 1)
			if i%5 == 0 {
				o = holdOrder("p", 1, aHold)
			}
			want = append(want, w.claim(s, o).IDs...)
		}
		w.clock.Advance(time.Second)
		back := w.claim(s, order("p", 1))
		slices.Reverse(want)
		w.recent("p", 100, append(slices.Clone(back.IDs), want...))
		w.recent("p", 3, append(slices.Clone(back.IDs), want[:2]...))
		w.release(s, back)
		w.recent("p", 100, want)
		w.sweep("p")
		w.recent("p", 100, want)
	}},
	{"what was retired is no recent claim, and a deleted pool has them still", func(w *world) {
		w.full("p", 6)
		s := w.open()
		kept := w.claim(s, order("p", 1))
		w.clock.Advance(time.Second)
		w.retire(s, w.claim(s, order("p", 1)))
		w.setState("p", alloc.PoolDeleted)
		w.recent("p", 10, kept.IDs)
	}},
	{"an untouched pool and an empty one have no recent claims", func(w *world) {
		w.full("p", 40)
		w.pool("empty", alloc.PoolConfig{})
		w.recent("p", 10, nil)
		w.recent("empty", 10, nil)
	}},
	{"a pool that forgets shows what it has not forgotten", func(w *world) {
		w.forgetting("p", 6)
		s := w.open()
		w.claim(s, order("p", 1))
		held := w.claim(s, holdOrder("p", 1, aHold))
		w.recent("p", 10, held.IDs)
	}},
}

// recent holds that these are the recent claims of a pool, in their order, in whatever process.
func (w *world) recent(pool alloc.PoolName, limit int, want []alloc.ID) {
	w.Helper()
	for _, s := range []alloc.Store{w.open(), w.elsewhere()} {
		records, err := s.RecentClaims(w.Context(), pool, limit)
		w.ok(err, "RecentClaims")
		var got []alloc.ID
		for _, r := range records {
			w.sameRecord(r, w.inspect(pool, r.ID))
			got = append(got, r.ID)
		}
		equal(w, fmt.Sprint(got), fmt.Sprint(want), fmt.Sprintf("the %d recent claims of %q", limit, pool))
	}
}
