package alloctest

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
)

// holdOrder asks for n IDs, held for d.
func holdOrder(pool alloc.PoolName, n alloc.Count, d time.Duration) alloc.ClaimOrder {
	o := order(pool, n)
	o.Hold = d
	return o
}

// keyedHold asks for n IDs with a key, held for d.
func keyedHold(pool alloc.PoolName, n alloc.Count, d time.Duration, key string) alloc.ClaimOrder {
	o := keyedOrder(pool, n, key)
	o.Hold = d
	return o
}

// settleOrder is what the holder of a claim asks for: of the IDs given, or of all.
func settleOrder(e alloc.Event, c alloc.Claim, ids ...alloc.ID) alloc.SettleOrder {
	if len(ids) == 0 {
		ids = c.IDs
	}
	return alloc.SettleOrder{Pool: c.Pool, Event: e, IDs: slices.Clone(ids), Token: c.Token}
}

// trySettle settles and books the outcome. It may be called by many goroutines.
func (w *world) trySettle(s alloc.Store, o alloc.SettleOrder) (alloc.Settled, error) {
	w.Helper()
	done := w.book.settling(o)
	settled, err := s.Settle(w.Context(), o)
	if wrong := done(settled, err); wrong != nil {
		w.Errorf("Settle: %v", wrong)
	}
	return settled, err
}

// settlePatiently settles as a client does that repeats as long as the answer allows it.
func (w *world) settlePatiently(s alloc.Store, o alloc.SettleOrder) (settled alloc.Settled, err error) {
	w.Helper()
	for range patience {
		settled, err = w.trySettle(s, o)
		if !repeatable(err) {
			return settled, err
		}
		runtime.Gosched()
	}
	return settled, err
}

// settleAs settles and stops the test unless all of it is in the state then.
func (w *world) settleAs(s alloc.Store, o alloc.SettleOrder, want alloc.State) {
	w.Helper()
	settled, err := w.trySettle(s, o)
	w.ok(err, string(o.Event))
	equal(w, settled.State, want, "state that a "+string(o.Event)+" answers")
}

func (w *world) confirm(s alloc.Store, c alloc.Claim, ids ...alloc.ID) {
	w.Helper()
	w.settleAs(s, settleOrder(alloc.EventConfirm, c, ids...), alloc.StateClaimed)
}

func (w *world) release(s alloc.Store, c alloc.Claim, ids ...alloc.ID) {
	w.Helper()
	w.settleAs(s, settleOrder(alloc.EventRelease, c, ids...), alloc.StateReturning)
}

func (w *world) retire(s alloc.Store, c alloc.Claim, ids ...alloc.ID) {
	w.Helper()
	w.settleAs(s, settleOrder(alloc.EventRetire, c, ids...), alloc.StateRetired)
}

// refuseSettle stops the test unless the order is refused for all of its IDs with the code, and changes none of those
// that the pool knows.
func (w *world) refuseSettle(s alloc.Store, o alloc.SettleOrder, code alloc.Code, what string) {
	w.Helper()
	var faults []alloc.IDFault
	for _, id := range o.IDs {
		faults = append(faults, alloc.IDFault{ID: id, Code: code})
	}
	w.refuseSome(s, o, faults, what)
}

// refuseSome stops the test unless the order is refused for just these of its IDs, and changes none.
func (w *world) refuseSome(s alloc.Store, o alloc.SettleOrder, want []alloc.IDFault, what string) {
	w.Helper()
	before := w.records(o.Pool, o.IDs)
	_, err := w.trySettle(s, o)
	e := w.wantError(err, want[0].Code, what)
	if diff := cmp.Diff(want, e.IDs); diff != "" {
		w.Fatalf("%s: IDs that cannot be settled (-want +got):\n%s", what, diff)
	}
	if diff := cmp.Diff(before, w.records(o.Pool, o.IDs), noMetadata, cmp.Comparer(sameTime)); diff != "" {
		w.Fatalf("%s: IDs of a refused order (-before +after):\n%s", what, diff)
	}
}

// records reads those of the IDs that the pool knows.
func (w *world) records(pool alloc.PoolName, ids []alloc.ID) map[alloc.ID]alloc.IDRecord {
	w.Helper()
	known, s := map[alloc.ID]alloc.IDRecord{}, w.elsewhere()
	for _, id := range ids {
		r, err := s.Inspect(w.Context(), pool, id)
		if !alloc.Is(err, alloc.CodeIDNotFound) {
			w.ok(err, "Inspect")
			known[id] = r
		}
	}
	return known
}

// inspect reads an ID in another process.
func (w *world) inspect(pool alloc.PoolName, id alloc.ID) alloc.IDRecord {
	w.Helper()
	r, err := w.elsewhere().Inspect(w.Context(), pool, id)
	w.ok(err, "Inspect")
	return r
}

// are stops the test unless all the IDs are in the state.
func (w *world) are(pool alloc.PoolName, ids []alloc.ID, want alloc.State) {
	w.Helper()
	for _, id := range ids {
		equal(w, w.inspect(pool, id).State, want, fmt.Sprintf("state of %q", id))
	}
}

// pass moves the clock to just after d, and a little further than engines may differ in their clocks.
func (w *world) pass(d time.Duration) { w.clock.Advance(d + time.Second) }
