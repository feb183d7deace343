package alloc_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"idpool/alloc"
)

// booked is what the store says of the numbers of "orders": all that were leased, and which of them.
func booked(t testing.TB, l *lane) (next alloc.Number, leased alloc.Count) {
	t.Helper()
	q, err := l.Store.Sequence(t.Context(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := l.Store.Leases(t.Context(), "orders", alloc.MaxNumber+1, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		leased += alloc.Count(e.End-e.Start) + 1
	}
	return q.Next, leased
}

// C10: a process that ends with a part of its segment unused takes that part with it. The next process hands out none of it, and
// the ledger counts it as leased: what was handed out and what was lost are all that lies below the position.
func TestC10AnUnusedTailIsLostAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, l := newLane(t, alloc.SequenceConfig{Segment: 10})
		wantNext(t, first, 1, 2, 3)
		second := newService(t, l) // the first one has ended, cleanly or not: it has nothing to do at its end
		wantNext(t, second, 11)
		third := newService(t, l)
		wantNext(t, third, 21, 22)
		wantNext(t, second, 12)
		if next, leased := booked(t, l); next != 31 || leased != 30 {
			t.Errorf("the position is %d and %d numbers are leased; want 31 and 30, the lost ones among them", next, leased)
		}
	})
}

// C20: a lease whose answer comes late, after the line has been served from another one, leads to no number twice. Its range is
// used later or dropped; numbers that come after it may be lower than some before, and the ledger has it in any case.
func TestC20ALateLeaseOvertakesNothing(t *testing.T) {
	for name, late := range map[string]time.Duration{
		"within the bound of a call":             4 * time.Second,
		"after the bound, as its caller is gone": 8 * time.Second,
		"when it has become old":                 20 * time.Minute,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, l := newLane(t, alloc.SequenceConfig{Segment: 10})
				l.answer = func(ctx context.Context, n int, o alloc.LeaseOrder) (alloc.Range, error) {
					r, err := l.Store.Lease(context.WithoutCancel(ctx), o)
					if n == 1 {
						time.Sleep(late) // its answer is on its way, whatever its caller does
					}
					return r, err
				}
				var mu sync.Mutex
				seen := map[alloc.Number]bool{}
				take := func() {
					numbers, err := next(t.Context(), s, 3)
					if err != nil {
						return // the bound was over: nothing was handed out
					}
					mu.Lock()
					defer mu.Unlock()
					for _, n := range numbers {
						if seen[n] {
							t.Errorf("%d was handed out twice", n)
						}
						seen[n] = true
					}
				}
				go take()
				synctest.Wait()
				for range 12 {
					take()
					time.Sleep(time.Second)
				}
				time.Sleep(time.Hour)
				take()
				synctest.Wait()
				position, leased := booked(t, l)
				if alloc.Count(position-1) != leased || alloc.Count(len(seen)) > leased {
					t.Errorf("%d numbers were handed out, %d are in the ledger, the position is %d", len(seen), leased, position)
				}
				if len(seen) < 30 {
					t.Errorf("%d numbers were handed out; the late lease has stopped the others", len(seen))
				}
			})
		})
	}
}
