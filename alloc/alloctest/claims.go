package alloctest

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
)

var claimCases = []testCase{
	{"C23 a claim answers a list of exactly Count different IDs, of one as of many", func(w *world) {
		w.full("p", 150)
		s := w.open()
		for _, n := range []alloc.Count{1, 2, 1, 25, 100} {
			c := w.claim(s, order("p", n)) // the book checks the answer's shape
			equal(w, alloc.Count(len(c.IDs)), n, "IDs")
			if !sameTime(c.At, w.clock.Now()) {
				w.Errorf("At: got %v, want %v", c.At, w.clock.Now())
			}
		}
	}},
	{"each claim has a token of its own", func(w *world) {
		w.full("p", 10)
		s, seen := w.open(), map[alloc.Token]bool{}
		for i := range 10 {
			o := order("p", 1)
			if i%2 == 0 {
				o = keyedOrder("p", 1, fmt.Sprint(i))
			}
			seen[w.claim(s, o).Token] = true
		}
		equal(w, len(seen), 10, "different tokens")
	}},
	{"what a claim said stands on each of its IDs", func(w *world) {
		w.full("p", 6)
		plain := order("p", 2)
		plain.Owner, plain.By = "", "another client"
		withKey := keyedOrder("p", 2, "k")
		for name, o := range map[string]alloc.ClaimOrder{"without a key": plain, "with a key": withKey} {
			o.Metadata = map[string]string{"order": "Nr. 7/ä", "empty": "", `q"'`: "🎟"}
			w.clock.Advance(time.Minute)
			c := w.claim(w.open(), o)
			for _, id := range c.IDs {
				got, err := w.open().Inspect(w.Context(), "p", id)
				w.ok(err, "Inspect")
				want := alloc.IDRecord{
					Pool: "p", ID: id, State: alloc.StateClaimed, Job: "first", Token: c.Token,
					By: o.By, Owner: o.Owner, Metadata: o.Metadata, At: c.At,
				}
				if diff := cmp.Diff(want, got, noMetadata, cmp.Comparer(sameTime)); diff != "" {
					w.Fatalf("ID claimed %s (-want +got):\n%s", name, diff)
				}
			}
		}
	}},
	{"an ID that nobody seeded is id_not_found", func(w *world) {
		w.full("p", 1)
		_, err := w.open().Inspect(w.Context(), "p", "nobody's")
		w.want(err, alloc.CodeIDNotFound, "Inspect")
	}},
	{"C08 the answers of several calls name each call's own IDs", func(w *world) {
		const calls, each = 8, 5
		w.full("p", 3*calls*each)
		stores := w.processes(calls)
		claims := make([]alloc.Claim, calls)
		w.together(calls, func(i int) {
			o := order("p", each)
			o.Owner = fmt.Sprintf("owner %d", i)
			c, err := w.patiently(stores[i], o)
			if err != nil {
				w.Errorf("Claim of a batch beside others: got %v, want IDs", err)
			}
			claims[i] = c
		})
		for i, c := range claims {
			for _, id := range c.IDs {
				r, err := w.open().Inspect(w.Context(), "p", id)
				w.ok(err, "Inspect")
				equal(w, r.Owner, fmt.Sprintf("owner %d", i), fmt.Sprintf("owner of %q", id))
				equal(w, r.Token, c.Token, fmt.Sprintf("token of %q", id))
			}
		}
	}},
	{"C22 a count outside the pool's limit is refused and takes nothing", func(w *world) {
		w.pool("p", alloc.PoolConfig{MaxBatch: 3})
		w.seedNew("p", "first", someIDs("p-", 10))
		warm := w.open()
		w.claim(warm, order("p", 1))
		for _, n := range []alloc.Count{0, -1, 4, alloc.MaxBatchLimit, alloc.MaxBatchLimit + 1, 1 << 40} {
			w.refuse(warm, order("p", n), alloc.CodeInvalidCount, fmt.Sprintf("Claim of %d in a warm process", n))
			w.refuse(w.open(), order("p", n), alloc.CodeInvalidCount, fmt.Sprintf("Claim of %d in a cold process", n))
			w.refuse(w.open(), keyedOrder("p", n, fmt.Sprint(n)), alloc.CodeInvalidCount, fmt.Sprintf("Claim of %d with a key", n))
		}
		equal(w, w.free("p"), 9, "free IDs")
	}},
	{"C24 a batch larger than what is left is refused whole, and what is left can be claimed", func(w *world) {
		w.full("p", 7)
		for name, o := range map[string]alloc.ClaimOrder{"without a key": order("p", 8), "with a key": keyedOrder("p", 8, "k")} {
			w.refuse(w.open(), o, alloc.CodePoolExhausted, "Claim of more than there is "+name)
			equal(w, w.free("p"), 7, "free IDs after the refusal "+name)
		}
		warm := w.open()
		w.claim(warm, order("p", 3))
		w.refuse(warm, order("p", 5), alloc.CodePoolExhausted, "Claim of more than is left")
		equal(w, w.free("p"), 4, "free IDs after the refusal")
		w.claim(warm, order("p", 4))
	}},
	{"an empty pool is pool_exhausted, with and without a key, at once and later", func(w *world) {
		w.pool("p", alloc.PoolConfig{})
		s := w.open()
		for range 3 {
			w.refuse(s, order("p", 1), alloc.CodePoolExhausted, "Claim")
			w.refuse(s, keyedOrder("p", 1, "k"), alloc.CodePoolExhausted, "Claim with a key")
			w.refuse(w.open(), order("p", 5), alloc.CodePoolExhausted, "Claim of a batch in a cold process")
			w.settle("p")
		}
	}},
	{"every free ID can be claimed although another process holds stock of it", func(w *world) {
		w.full("p", 40)
		for range 4 {
			w.claim(w.open(), order("p", 1)) // and is never heard of again
		}
		equal(w, w.drain(w.open(), "p"), 36, "IDs left to one process")
	}},
	{"a refused batch of many is not remembered against a claim of few", func(w *world) {
		w.full("p", 2)
		s := w.open()
		w.refuse(s, order("p", 5), alloc.CodePoolExhausted, "Claim of 5")
		w.claim(s, order("p", 1))
		w.refuse(s, order("p", 2), alloc.CodePoolExhausted, "Claim of 2")
		w.claim(s, order("p", 1))
	}},
	{"a claimed ID never comes back by itself", func(w *world) {
		w.full("p", 5)
		w.claim(w.open(), order("p", 3))
		w.claim(w.open(), keyedOrder("p", 2, "k"))
		for _, d := range []time.Duration{staleStock, expiry, 40 * 24 * time.Hour, 400 * 24 * time.Hour} {
			w.clock.Advance(d)
			w.sweep("p")
			w.refuse(w.open(), order("p", 1), alloc.CodePoolExhausted, "Claim of an empty pool")
		}
	}},
	{"C39 the last hundredth of a pool is claimed by cold processes as the first was, and then the pool is exhausted", func(w *world) {
		n := size(500)
		w.full("p", n)
		s := w.open()
		last := max(1, n/100)
		for left := n - last; left > 0; left -= 20 {
			w.claim(s, order("p", alloc.Count(min(20, left))))
		}
		for range last {
			w.claim(w.open(), order("p", 1))
		}
		w.refuse(s, order("p", 1), alloc.CodePoolExhausted, "Claim of the warm process")
		w.refuse(w.open(), order("p", 1), alloc.CodePoolExhausted, "Claim of a cold process")
	}},
	{"the largest batch is claimed whole", func(w *world) {
		n := size(int(alloc.MaxBatchLimit))
		ids := w.full("p", n)
		got := slices.Clone(w.claim(w.open(), order("p", alloc.Count(n))).IDs)
		slices.Sort(got)
		if diff := cmp.Diff(ids, got); diff != "" {
			w.Fatalf("claimed IDs (-seeded +claimed):\n%s", diff)
		}
	}},
}
