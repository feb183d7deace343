package alloctest

import (
	"slices"
	"time"

	"idpool/alloc"
)

var ledgerRestoreCases = []testCase{
	{"CarryLeases enters what the ledger has not, as it is, once", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		mine := w.lease(w.open(), leaseOrder("s", 10))
		leases := []alloc.LeaseRecord{
			{Start: 1, End: 10, Token: mine.Token, By: "client", At: mine.At, Epoch: 1, Proven: true},
			{Start: 11, End: 20, Token: alloc.NewToken(), By: "other", At: w.clock.Now().Add(-time.Hour), Epoch: 1, Proven: true},
			{Start: 500, End: 599, Token: alloc.NewToken(), By: "third", At: w.clock.Now(), Epoch: 3},
		}
		for _, want := range []int{2, 0} {
			n, err := w.open().CarryLeases(w.Context(), "s", leases)
			w.ok(err, "CarryLeases")
			equal(w, n, want, "leases that were entered")
			w.sameLedger(w.wholeLedger("s", 2), leases)
		}
		longer := leases[2]
		longer.End, longer.Token = 699, alloc.NewToken()
		shorter := leases[1]
		shorter.End, shorter.Token = 15, alloc.NewToken()
		n, err := w.open().CarryLeases(w.Context(), "s", []alloc.LeaseRecord{longer, shorter})
		w.ok(err, "CarryLeases")
		equal(w, n, 1, "leases that end later than what has their start")
		w.sameLedger(w.wholeLedger("s", 10), []alloc.LeaseRecord{leases[0], leases[1], longer})
	}},
	{"a lease that runs into what was carried stops the sequence, and so does Watch; a rebuild begins above it", func(w *world) {
		for _, how := range []string{"lease", "watch"} {
			name := alloc.SequenceName("s-" + how)
			w.sequence(name, alloc.SequenceConfig{})
			warm := w.open()
			w.lease(warm, leaseOrder(name, 10))
			carried := alloc.LeaseRecord{Start: 15, End: 40, Token: alloc.NewToken(), By: "client", At: w.clock.Now(), Epoch: 1, Proven: true}
			_, err := w.open().CarryLeases(w.Context(), name, []alloc.LeaseRecord{carried})
			w.ok(err, "CarryLeases")
			if how == "watch" {
				equal(w, w.watch(name).State, alloc.SequenceStopped, "state that Watch answers")
			} else {
				w.refuseLease(warm, leaseOrder(name, 10), alloc.CodeSequenceStopped, "Lease into what was carried")
			}
			w.stopped(name, warm)
			w.rebuildSequence(name, "rebuild")
			if r := w.lease(warm, leaseOrder(name, 1)); r.Start <= 40 {
				w.Fatalf("Lease after a rebuild: got %+v, want it above 40", r)
			}
		}
	}},
	{"leases are carried into a sequence whose counter is lost", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		w.fixture.DropCounter(w.TB, "s")
		carried := alloc.LeaseRecord{Start: 1, End: 100, Token: alloc.NewToken(), By: "client", At: w.clock.Now(), Epoch: 4, Proven: true}
		n, err := w.open().CarryLeases(w.Context(), "s", []alloc.LeaseRecord{carried})
		w.ok(err, "CarryLeases")
		equal(w, n, 1, "leases that were entered")
		q := w.rebuildSequence("s", "rebuild")
		equal(w, q.Epoch, 5, "epoch after a rebuild")
		equal(w, q.Next, 111, "Next after a rebuild")
	}},
}

var timeTravelCases = []testCase{
	{"after a restore and a carrying forward from the old data no ID and no number is given again", func(w *world) {
		m := w.mixture("p")
		w.forgetting("f", 10)
		w.sequence("s", alloc.SequenceConfig{})
		leased := []alloc.Range{w.lease(m.warm, leaseOrder("s", 100))}
		w.watch("s")
		restore := w.fixture.Snapshot(w.TB)

		w.clock.Advance(time.Hour)
		claim := w.claim(m.warm, order("p", 6))
		held := w.claim(w.open(), holdOrder("p", 2, holdTime))
		w.retire(m.warm, claim, claim.IDs[0])
		w.release(m.warm, claim, claim.IDs[1])
		w.confirm(m.warm, m.held, m.held.IDs[0])
		w.sweep("p")
		w.claim(m.warm, order("p", 3))
		w.seedNew("p", "second", someIDs("new-", 5))
		for range 3 {
			leased = append(leased, w.lease(m.warm, leaseOrder("s", 100)), w.lease(w.open(), leaseOrder("s", 7)))
		}
		taken, ledger := w.walk("p", "", 100), w.wholeLedger("s", 100)
		var unused []alloc.ID // seeded since, and free: what the backup knows nothing of is retired, as it may have been taken
		for _, r := range taken {
			if r.State == alloc.StateFree && r.Job == "second" {
				unused = append(unused, r.ID)
			}
		}
		w.book.lose("p", unused)

		for range 2 {
			restore(w.TB)
			w.carryAll("p", taken)
			_, err := w.open().CarryLeases(w.Context(), "s", ledger)
			w.ok(err, "CarryLeases")
			q := w.rebuildSequence("s", "rebuild")
			if next := leased[len(leased)-1].End; q.Next <= next {
				w.Fatalf("Next after a restore: got %d, want it above %d", q.Next, next)
			}
		}
		leased = append(leased, w.lease(w.open(), leaseOrder("s", 50)), w.lease(m.warm, leaseOrder("s", 50)))
		w.disjoint(leased)
		w.confirm(w.open(), held, held.IDs[0])
		w.settle("p")
		w.drain(w.open(), "p")
		w.drain(m.warm, "p")
		w.pass(holdTime)
		w.settle("p")
		w.drain(w.open(), "p")
		w.sweep("p")
		equal(w, w.fits("p").Seeded, mixed+5, "Seeded")
		equal(w, w.drain(w.open(), "f"), 10, "IDs of another pool, which nobody took since")
	}},
	{"a lease after a restore, before anybody has carried anything, is stopped where the mark of then is passed", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		w.lease(w.open(), leaseOrder("s", 10))
		restore := w.fixture.Snapshot(w.TB)
		w.lease(w.open(), leaseOrder("s", 10))
		old := w.wholeLedger("s", 10)
		restore(w.TB)
		w.sameLedger(w.wholeLedger("s", 10), old[:1])
		_, err := w.open().CarryLeases(w.Context(), "s", old)
		w.ok(err, "CarryLeases")
		w.refuseLease(w.open(), leaseOrder("s", 1), alloc.CodeSequenceStopped, "Lease of what was leased before the restore")
	}},
	{"after a restore and a burning of all that may have been taken nothing is given again", func(w *world) {
		m := w.mixture("p")
		restore := w.fixture.Snapshot(w.TB)
		w.claim(m.warm, order("p", 8))
		w.claim(w.open(), holdOrder("p", 2, holdTime))
		w.sweep("p")
		w.claim(m.warm, order("p", 2))
		restore(w.TB)
		var burned []alloc.IDRecord
		for _, r := range append(w.stock("p", 10), slices.Concat(w.walk("p", alloc.StateHeld, 10), w.walk("p", alloc.StateReturning, 10))...) {
			r.State, r.HeldUntil = alloc.StateRetired, time.Time{}
			burned = append(burned, r)
		}
		equal(w, len(burned), nFree+nHeld+nReturned, "IDs that may have been taken")
		w.carryAll("p", burned)
		for _, s := range []alloc.Store{w.open(), m.warm} {
			w.refuse(s, order("p", 1), alloc.CodePoolExhausted, "Claim after a burning")
		}
		w.pass(holdTime)
		w.settle("p")
		w.refuse(w.open(), order("p", 1), alloc.CodePoolExhausted, "Claim after a burning")
		w.unbooked("p")
		equal(w, w.fits("p").Seeded, mixed, "Seeded")
		equal(w, w.fits("p").Claimed, nClaimed, "Claimed, as before the restore")
	}},
	{"a restored engine is as it was: what was made since is unknown", func(w *world) {
		w.full("p", 3)
		restore := w.fixture.Snapshot(w.TB)
		w.full("q", 3)
		w.append(w.record(1))
		restore(w.TB)
		_, err := w.open().Pool(w.Context(), "q")
		w.want(err, alloc.CodePoolNotFound, "Pool that was made since")
		equal(w, len(w.trail(10)), 0, "records of the trail")
		w.unbooked("q")
		equal(w, w.drain(w.open(), "p"), 3, "IDs that can be claimed")
	}},
}

// carryAll carries in batches, and stops the test on a clash: nobody has taken anything since the restore.
func (w *world) carryAll(pool alloc.PoolName, taken []alloc.IDRecord) {
	w.Helper()
	for batch := range slices.Chunk(taken, 13) {
		outcomes, err := w.open().Carry(w.Context(), pool, w.point(), batch)
		w.ok(err, "Carry")
		for i, o := range outcomes {
			if o == alloc.CarryClash {
				w.Fatalf("Carry of %+v: got a clash, though nobody has taken anything since", batch[i])
			}
		}
	}
}

func (w *world) sameLedger(got, want []alloc.LeaseRecord) {
	w.Helper()
	equal(w, len(got), len(want), "entries of the ledger")
	for i := range got {
		if !sameTime(got[i].At, want[i].At) {
			w.Fatalf("At of an entry of the ledger: got %v, want %v", got[i].At, want[i].At)
		}
		got[i].At = want[i].At
		equal(w, got[i], want[i], "entry of the ledger")
	}
}
