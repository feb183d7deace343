package alloctest

import (
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
)

var keyCases = []testCase{
	{"K06 a repeat gives the same answer as replayed and takes nothing more", func(w *world) {
		w.full("p", 10)
		s, o := w.open(), keyedOrder("p", 1, "k")
		first := w.claim(s, o)
		equal(w, first.Replayed, false, "Replayed of the first answer")
		for range 3 {
			w.clock.Advance(time.Minute)
			w.replay(s, o, first)
		}
		equal(w, w.free("p"), 9, "free IDs")
	}},
	{"K22 a repeat is answered by a process with nothing in memory", func(w *world) {
		w.full("p", 10)
		o := keyedOrder("p", 2, "k")
		first := w.claim(w.open(), o)
		for range 3 {
			w.replay(w.open(), o, first)
		}
		equal(w, w.free("p"), 8, "free IDs")
	}},
	{"K25 a batch is repeated with the same IDs in the same order", func(w *world) {
		n := size(300)
		w.full("p", 2*n)
		w.claim(w.open(), order("p", 7))
		o := keyedOrder("p", alloc.Count(n), "k")
		first := w.claim(w.open(), o)
		w.replay(w.open(), o, first)
		w.settle("p")
		w.replay(w.open(), o, first)
	}},
	{"P13 the last free ID is repeated to its key although the pool is empty, paused or draining", func(w *world) {
		w.full("p", 1)
		o := keyedOrder("p", 1, "k")
		warm := w.open()
		first := w.claim(warm, o)
		w.refuse(warm, order("p", 1), alloc.CodePoolExhausted, "Claim of an empty pool")
		w.replay(warm, o, first)
		w.replay(w.open(), o, first)
		for _, state := range []alloc.PoolState{alloc.PoolPaused, alloc.PoolDraining, alloc.PoolActive} {
			w.setState("p", state)
			w.replay(warm, o, first)
			w.replay(w.open(), o, first)
		}
	}},
	{"a repeat is answered after the pool's limit has become smaller than it", func(w *world) {
		w.full("p", 10)
		o := keyedOrder("p", 5, "k")
		first := w.claim(w.open(), o)
		_, err := w.open().ChangePool(w.Context(), "p", 1, alloc.PoolConfig{MaxBatch: 2}.WithDefaults())
		w.ok(err, "ChangePool")
		w.clock.Advance(stateDelay)
		w.replay(w.open(), o, first)
	}},
	{"K08 K26 the same key with another request is key_mismatch, in a warm process and a cold one, and changes nothing", func(w *world) {
		w.full("p", 10)
		warm, o := w.open(), keyedOrder("p", 2, "k")
		first := w.claim(warm, o)
		for range 2 {
			for _, s := range []alloc.Store{warm, w.open()} {
				w.refuse(s, otherBody(o), alloc.CodeKeyMismatch, "Claim with the same key and another request")
				more := otherBody(o)
				more.Count = 3
				w.refuse(s, more, alloc.CodeKeyMismatch, "Claim with the same key of another count")
				w.replay(s, o, first)
			}
		}
		equal(w, w.free("p"), 8, "free IDs")
	}},
	{"K08 a mismatch is told although the pool is empty", func(w *world) {
		w.full("p", 2)
		o := keyedOrder("p", 2, "k")
		first := w.claim(w.open(), o)
		w.refuse(w.open(), otherBody(o), alloc.CodeKeyMismatch, "Claim with the same key and another request")
		w.replay(w.open(), o, first)
	}},
	{"K11 keys do not mix: each has IDs of its own", func(w *world) {
		w.full("p", 20)
		s := w.open()
		var orders []alloc.ClaimOrder
		for i, key := range []string{"k", "K", "k ", " k", "k/1", "k#1", `"k"`, "%6B", "1", "01"} {
			o := keyedOrder("p", 1, key)
			if i%2 == 0 {
				o.Key = alloc.NewKey("another client", "claim", "pool/p", key, "body")
			}
			orders = append(orders, o)
		}
		var firsts []alloc.Claim
		for _, o := range orders {
			firsts = append(firsts, w.claim(s, o)) // the book sees that no ID comes twice
		}
		for i, o := range orders {
			w.replay(w.open(), o, firsts[i])
		}
		equal(w, w.free("p"), alloc.Count(20-len(orders)), "free IDs")
	}},
	{"K18 a refused count is not stored: the same key with a repaired request claims", func(w *world) {
		w.pool("p", alloc.PoolConfig{MaxBatch: 3})
		w.seedNew("p", "first", someIDs("p-", 5))
		o := keyedOrder("p", 4, "k")
		w.refuse(w.open(), o, alloc.CodeInvalidCount, "Claim of too many")
		repaired := otherBody(o)
		repaired.Count = 3
		w.replay(w.open(), repaired, w.claim(w.open(), repaired))
	}},
	{"K18 a pause is not stored: the same key claims after it", func(w *world) {
		w.full("p", 3)
		w.setState("p", alloc.PoolPaused)
		o := keyedOrder("p", 2, "k")
		w.refuse(w.open(), o, alloc.CodePoolPaused, "Claim of a paused pool")
		w.setState("p", alloc.PoolActive)
		w.replay(w.open(), o, w.claim(w.open(), o))
	}},
	{"K19 exhaustion is not stored: the same key claims when there are IDs again", func(w *world) {
		w.full("p", 3)
		warm, o := w.open(), keyedOrder("p", 5, "k")
		w.refuse(warm, o, alloc.CodePoolExhausted, "Claim of more than there is")
		w.refuse(warm, o, alloc.CodePoolExhausted, "Claim of more than there is, again")
		w.seedNew("p", "second", someIDs("more-", 4))
		w.replay(w.open(), o, w.claim(warm, o))
		equal(w, w.free("p"), 2, "free IDs")
	}},
	{"K19 after exhaustion the same key may ask for less", func(w *world) {
		w.full("p", 3)
		o := keyedOrder("p", 5, "k")
		w.refuse(w.open(), o, alloc.CodePoolExhausted, "Claim of more than there is")
		less := otherBody(o)
		less.Count = 3
		w.replay(w.open(), less, w.claim(w.open(), less))
		w.refuse(w.open(), o, alloc.CodeKeyMismatch, "Claim with what the key asked for first")
	}},
	{"K20 a key is repeated a second before its retention ends", func(w *world) {
		w.full("p", 4)
		warm, o := w.open(), keyedOrder("p", 2, "k")
		first := w.claim(warm, o)
		w.clock.Advance(beforeEnd)
		w.replay(warm, o, first)
		w.replay(w.open(), o, first)
		w.refuse(w.open(), otherBody(o), alloc.CodeKeyMismatch, "Claim with the same key and another request")
	}},
	{"K20 a key claims anew a second after its retention has ended, in a warm process and a cold one", func(w *world) {
		for name, newStore := range map[string]func(warm alloc.Store) alloc.Store{
			"warm": func(warm alloc.Store) alloc.Store { return warm },
			"cold": func(alloc.Store) alloc.Store { return w.open() },
		} {
			pool := alloc.PoolName(name)
			w.full(pool, 7)
			warm, o := w.open(), keyedOrder(pool, 2, "k")
			w.claim(warm, o)
			w.clock.Advance(expiry)
			second := w.claim(newStore(warm), o) // the book sees that the IDs are others
			equal(w, second.Replayed, false, "Replayed after the retention")
			w.replay(w.open(), o, second)
			w.clock.Advance(expiry)
			changed := otherBody(o)
			w.replay(w.open(), changed, w.claim(newStore(warm), changed))
			w.clock.Advance(expiry)
			w.refuse(newStore(warm), o, alloc.CodePoolExhausted, "Claim with an expired key of a pool that has 1 ID left")
			equal(w, w.free(pool), 1, "free IDs")
		}
	}},
	{"K20 an expired key is claimed anew by one of many callers who come at once", func(w *world) {
		w.full("p", 12)
		o := keyedOrder("p", 3, "k")
		w.claim(w.open(), o)
		w.clock.Advance(expiry)
		w.oneAnswer(o, 10)
		equal(w, w.afterSettling("p"), 6, "free IDs")
	}},
	{"K10 of many callers with one key at once, all get one answer", func(w *world) {
		n := w.callers()
		w.full("p", n)
		w.oneAnswer(keyedOrder("p", 1, "k"), n)
		equal(w, w.afterSettling("p"), alloc.Count(n-1), "free IDs")
	}},
	{"K10 of many callers with one key and a batch at once, all get one answer", func(w *world) {
		w.full("p", 60)
		w.oneAnswer(keyedOrder("p", 13, "k"), 12)
		equal(w, w.afterSettling("p"), 47, "free IDs")
	}},
	{"K10 many callers with one key take the last ID of a pool together", func(w *world) {
		w.full("p", 1)
		w.oneAnswer(keyedOrder("p", 1, "k"), 12)
		w.refuse(w.open(), order("p", 1), alloc.CodePoolExhausted, "Claim of an empty pool")
	}},
	{"K11 of many callers with a key each at once, each gets an ID of its own, to the last", func(w *world) {
		n := w.callers()
		w.full("p", n)
		stores := w.processes(n)
		w.together(n, func(i int) {
			o := keyedOrder("p", 1, fmt.Sprint(i))
			first, err := w.patiently(stores[i], o)
			if err != nil {
				w.Errorf("Claim with a key beside others: got %v, want an ID", err)
				return
			}
			again, err := w.patiently(stores[(i+1)%n], o)
			if err != nil || !again.Replayed || again.IDs[0] != first.IDs[0] {
				w.Errorf("the repeat elsewhere: got %+v and %v, want %+v replayed", again, err, first)
			}
		})
		w.refuse(w.open(), order("p", 1), alloc.CodePoolExhausted, "Claim of an empty pool")
	}},
	{"K19 batches with keys that meet at the end of a pool are given up whole, and their keys claim when there are IDs again", func(w *world) {
		const callers, each, all = 8, 4, 10
		w.full("p", all)
		stores := w.processes(callers)
		w.together(callers, func(i int) {
			_, err := w.patiently(stores[i], keyedOrder("p", each, fmt.Sprint(i)))
			if err != nil && !alloc.Is(err, alloc.CodePoolExhausted) && !repeatable(err) {
				w.Errorf("Claim of a batch beside others: got %v, want IDs, pool_exhausted or what may be repeated", err)
			}
		})
		w.settle("p")
		w.seedNew("p", "second", someIDs("more-", callers*each-all))
		for i := range callers {
			w.claim(w.open(), keyedOrder("p", each, fmt.Sprint(i))) // the book sees that whoever had an answer has it again
		}
		w.refuse(w.open(), order("p", 1), alloc.CodePoolExhausted, "Claim of an empty pool")
	}},
	{"a key's first request decides when two different ones come at once", func(w *world) {
		w.full("p", 10)
		for i := range 5 {
			o := keyedOrder("p", 1, fmt.Sprint(i))
			orders := []alloc.ClaimOrder{o, otherBody(o)}
			stores := w.processes(2)
			codes := make([]alloc.Code, 2)
			w.together(2, func(j int) {
				_, err := w.patiently(stores[j], orders[j])
				codes[j] = alloc.CodeOf(err)
			})
			got := [2]alloc.Code{codes[0], codes[1]}
			if got != [2]alloc.Code{"", alloc.CodeKeyMismatch} && got != [2]alloc.Code{alloc.CodeKeyMismatch, ""} {
				w.Fatalf("two requests with one key: got %q, want one answer and one key_mismatch", got)
			}
		}
		equal(w, w.afterSettling("p"), 5, "free IDs")
	}},
}

// replay repeats a claim and stops the test unless it is answered as before, with Replayed set.
func (w *world) replay(s alloc.Store, o alloc.ClaimOrder, first alloc.Claim) {
	w.Helper()
	got := w.claim(s, o)
	want := first
	want.Replayed = true
	got.Finished, got.Lost = want.Finished, want.Lost // for metrics, without promise
	if diff := cmp.Diff(want, got, cmp.Comparer(sameTime)); diff != "" {
		w.Fatalf("answer to a repeat (-first +repeat):\n%s", diff)
	}
}

// oneAnswer lets n cold processes claim with one key at once; the book sees that all answers are one.
func (w *world) oneAnswer(o alloc.ClaimOrder, n int) {
	w.Helper()
	stores := w.processes(n)
	w.together(n, func(i int) {
		if _, err := w.patiently(stores[i], o); err != nil {
			w.Errorf("Claim with one key beside others: got %v, want the one answer", err)
		}
	})
}

// afterSettling counts the free IDs when all that was given up has come back.
func (w *world) afterSettling(pool alloc.PoolName) alloc.Count {
	w.Helper()
	w.settle(pool)
	return w.free(pool)
}
