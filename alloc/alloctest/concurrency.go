package alloctest

import (
	"fmt"
	"sync/atomic"

	"idpool/alloc"
)

var concurrencyCases = []testCase{
	{"C01 of many callers who lease one number each, each gets another", func(w *world) {
		n := w.callers()
		w.sequence("s", alloc.SequenceConfig{})
		stores := w.processes(n)
		var got ranges
		w.together(n, func(i int) {
			r, err := w.leasePatiently(stores[i], leaseOrder("s", 1))
			if err != nil {
				w.Errorf("Lease beside others: got %v, want a number", err)
				return
			}
			got.add(r)
		})
		equal(w, len(got.all), n, "numbers")
		w.disjoint(got.all)
		w.covered(w.ledger("s", 100), got.all)
	}},
	{"C28 the end of a sequence is leased by exactly as many callers as there are numbers", func(w *world) {
		n := w.callers() / 2
		w.sequence("s", alloc.SequenceConfig{Start: alloc.MaxNumber - alloc.Number(n) + 1})
		stores := w.processes(2 * n)
		var got ranges
		w.together(2*n, func(i int) {
			r, err := w.leasePatiently(stores[i], leaseOrder("s", 1))
			switch {
			case err == nil:
				got.add(r)
			case !alloc.Is(err, alloc.CodeSequenceExhausted):
				w.Errorf("Lease at the end: got %v, want a number or sequence_exhausted", err)
			}
		})
		equal(w, len(got.all), n, "numbers")
		w.disjoint(got.all)
	}},
	{"C02 many callers claim a pool of exactly as many IDs: each gets one, and the pool is empty", func(w *world) {
		n := w.callers()
		w.full("p", n)
		stores := w.processes(n)
		w.together(n, func(i int) {
			if _, err := w.patiently(stores[i], order("p", 1)); err != nil {
				w.Errorf("Claim of one of as many IDs: got %v, want an ID", err)
			}
		})
		w.refuse(w.open(), order("p", 1), alloc.CodePoolExhausted, "Claim of an empty pool")
	}},
	{"of 2 callers of a pool of 1, each a cold process, exactly 1 succeeds", func(w *world) {
		for i := range 5 {
			pool := alloc.PoolName(fmt.Sprintf("p-%d", i))
			w.full(pool, 1)
			w.race(pool, 1)
		}
	}},
	{"of 20 callers of a pool of 10, each a cold process, exactly 10 succeed", func(w *world) {
		w.full("p", 10)
		w.race("p", 10)
	}},
	{"of 2N callers of a pool of N, each a cold process, exactly N succeed", func(w *world) {
		n := w.callers()
		w.full("p", n)
		w.race("p", n)
	}},
	{"many callers of one process empty a pool and get each ID once", func(w *world) {
		n := w.callers()
		w.full("p", 3*n)
		s := w.open()
		w.together(n, func(int) {
			for range 3 {
				if _, err := w.patiently(s, order("p", 1)); err != nil {
					w.Errorf("Claim beside others in one process: got %v, want an ID", err)
				}
			}
		})
		w.refuse(s, order("p", 1), alloc.CodePoolExhausted, "Claim of an empty pool")
	}},
	{"of 2N callers of one process and a pool of N, exactly N succeed", func(w *world) {
		n := w.callers()
		w.full("p", n)
		s := w.open()
		var done atomic.Int64
		w.together(2*n, func(int) {
			switch _, err := w.patiently(s, order("p", 1)); {
			case err == nil:
				done.Add(1)
			case !alloc.Is(err, alloc.CodePoolExhausted):
				w.Errorf("Claim of one of many: got %v, want an ID or pool_exhausted", err)
			}
		})
		equal(w, done.Load(), int64(n), "callers who got an ID")
	}},
	{"C06 batches that overlap in time are disjoint", func(w *world) {
		for i := range 5 {
			pool := alloc.PoolName(fmt.Sprintf("p-%d", i))
			w.full(pool, 20)
			stores := w.processes(2)
			w.together(2, func(i int) {
				if _, err := w.patiently(stores[i], order(pool, 5)); err != nil { // the book sees that they are disjoint
					w.Errorf("Claim of a batch beside another: got %v, want IDs", err)
				}
			})
			equal(w, w.drain(w.open(), pool), 10, "IDs left")
		}
	}},
	{"C24 batches of several sizes at once, with and without keys, are whole and disjoint", func(w *world) {
		n := w.callers()
		w.full("p", 5*n)
		stores := w.processes(n)
		w.together(n, func(i int) {
			o := order("p", alloc.Count(1+i%5))
			if i%2 == 0 {
				o = keyedOrder("p", o.Count, fmt.Sprint(i))
			}
			if _, err := w.patiently(stores[i], o); err != nil {
				w.Errorf("Claim of a batch beside others: got %v, want IDs", err)
			}
		})
	}},
	{"one ID is not lost when batches too large for the pool meet claims of one", func(w *world) {
		const ids = 9
		w.full("p", ids)
		stores := w.processes(12)
		var taken atomic.Int64
		w.together(len(stores), func(i int) {
			n := alloc.Count(1)
			if i%2 == 0 {
				n = ids + 1
			}
			_, err := w.patiently(stores[i], order("p", n))
			switch {
			case err == nil && n == 1:
				taken.Add(1)
			case n > ids && !alloc.Is(err, alloc.CodePoolExhausted) && !repeatable(err):
				w.Errorf("Claim of more than there ever was: got %v, want pool_exhausted", err)
			}
		})
		w.settle("p")
		equal(w, w.drain(w.open(), "p")+alloc.Count(taken.Load()), ids, "IDs claimed beside and after the batches")
	}},
	{"pools do not disturb one another", func(w *world) {
		const pools, each = 4, 6
		for i := range pools {
			w.full(alloc.PoolName(fmt.Sprintf("p%d", i)), each)
		}
		s := w.open()
		w.together(pools*each, func(i int) {
			pool := alloc.PoolName(fmt.Sprintf("p%d", i%pools))
			if _, err := w.patiently(s, order(pool, 1)); err != nil {
				w.Errorf("Claim of %q: got %v, want an ID", pool, err)
			}
		})
		for i := range pools {
			w.refuse(w.open(), order(alloc.PoolName(fmt.Sprintf("p%d", i)), 1), alloc.CodePoolExhausted, "Claim of an empty pool")
		}
	}},
}
