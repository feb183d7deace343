package alloctest

import (
	"fmt"
	"slices"
	"strings"
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
		w.setSequence("s", alloc.SequencePaused)
		carried := w.clock.Now()
		leases[1].Carried = carried.Add(-time.Hour)
		for _, want := range []alloc.CarryOutcome{alloc.CarryDone, alloc.CarryKnown} {
			w.outcomes(w.carryLeases("s", leases...), alloc.CarryKnown, want, want)
			if want == alloc.CarryDone {
				leases[1].Carried, leases[2].Carried = carried, carried
			}
			w.sameLedger(w.wholeLedger("s", 2), leases)
		}
		longer := leases[2]
		longer.End, longer.Carried = 699, w.clock.Now()
		shorter := leases[1]
		shorter.End = 15
		w.outcomes(w.carryLeases("s", longer, shorter), alloc.CarryDone, alloc.CarryKnown)
		w.sameLedger(w.wholeLedger("s", 10), []alloc.LeaseRecord{leases[0], leases[1], longer})
		unread := alloc.LeaseRecord{Start: 700} // of which nothing else is known
		for _, want := range []alloc.CarryOutcome{alloc.CarryDone, alloc.CarryKnown} {
			w.outcomes(w.carryLeases("s", unread, alloc.LeaseRecord{Start: 500}), want, alloc.CarryKnown)
			w.sameLedger(w.wholeLedger("s", 10), []alloc.LeaseRecord{leases[0], leases[1], longer, unread})
		}
	}},
	{"a lease that overlaps somebody else's is a clash, each time it is carried, and both stand in the ledger", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		for _, n := range []alloc.Count{100, 5, 200} { // 1 to 100, 101 to 105, 106 to 305
			w.lease(w.open(), leaseOrder("s", n))
		}
		for _, c := range []struct {
			what       string
			start, end alloc.Number
			want       alloc.CarryOutcome
		}{
			{"in the middle of another", 40, 50, alloc.CarryClash},
			{"behind that, in the same other", 60, 70, alloc.CarryClash},
			{"at the end of the same", 100, 100, alloc.CarryClash},
			{"the same numbers", 101, 105, alloc.CarryClash},
			{"the end of one, all of two, and more", 90, 400, alloc.CarryClash},
			{"in what only that one has", 350, 360, alloc.CarryClash},
			{"from the start of one, over that and another", 101, 420, alloc.CarryClash},
			{"in what only that one has", 410, 415, alloc.CarryClash},
			{"above all", 421, 430, alloc.CarryDone},
			{"above all, with a gap", 441, 450, alloc.CarryDone},
			{"over the gap", 425, 445, alloc.CarryClash},
			{"in the gap", 435, 438, alloc.CarryClash},
		} {
			l := alloc.LeaseRecord{Start: c.start, End: c.end, Token: alloc.NewToken(), By: "old", At: w.clock.Now(), Epoch: 1, Proven: true}
			again := c.want
			if again == alloc.CarryDone {
				again = alloc.CarryKnown
			}
			for _, want := range []alloc.CarryOutcome{c.want, again} {
				if got := w.carryLeases("s", l); got[0] != want {
					w.Errorf("a lease %s: got %s, want %s", c.what, got[0], want)
				}
			}
		}
		var got []string
		for _, l := range w.wholeLedger("s", 3) {
			got = append(got, fmt.Sprintf("%d-%d", l.Start, l.End))
		}
		equal(w, strings.Join(got, " "), "1-100 40-50 60-70 90-400 100-100 101-105 106-305 306-420 350-360 410-415 421-430 425-445 435-438 441-450", "ledger")
		equal(w, w.rebuildSequence("s", "rebuild").Next, 461, "Next after a rebuild")
	}},
	{"leases are carried only while nobody leases", func(w *world) {
		l := alloc.LeaseRecord{Start: 500, End: 599, Token: alloc.NewToken(), By: "old", At: w.clock.Now(), Epoch: 1, Proven: true}
		carry := func(name alloc.SequenceName) error {
			_, err := w.open().CarryLeases(w.Context(), name, []alloc.LeaseRecord{l})
			return err
		}
		w.sequence("s", alloc.SequenceConfig{})
		w.want(carry("s"), alloc.CodeRebuildStep, "CarryLeases of an active sequence")
		equal(w, len(w.wholeLedger("s", 10)), 0, "entries of the ledger")
		w.setSequence("s", alloc.SequencePaused)
		w.ok(carry("s"), "CarryLeases of a paused sequence")
		_, err := w.open().Freeze(w.Context(), "s", "rebuild")
		w.ok(err, "Freeze")
		w.ok(carry("s"), "CarryLeases of a frozen sequence")
		_, err = w.open().Restart(w.Context(), restartOrder("s", "rebuild", 2, 1000))
		w.ok(err, "Restart")
		_, err = w.open().Thaw(w.Context(), "s", "rebuild", alloc.SequenceResuming, 10)
		w.ok(err, "Thaw")
		w.want(carry("s"), alloc.CodeRebuildStep, "CarryLeases of a sequence that serves a share")
		w.sequence("lost", alloc.SequenceConfig{})
		w.fixture.DropCounter(w.TB, "lost")
		w.ok(carry("lost"), "CarryLeases of a sequence whose counter is lost")
	}},
	{"a lease that runs into what was carried stops the sequence, and so does Watch; a rebuild begins above it", func(w *world) {
		for _, how := range []string{"lease", "watch"} {
			name := alloc.SequenceName("s-" + how)
			w.sequence(name, alloc.SequenceConfig{})
			warm := w.open()
			w.lease(warm, leaseOrder(name, 10))
			carried := alloc.LeaseRecord{Start: 15, End: 40, Token: alloc.NewToken(), By: "client", At: w.clock.Now(), Epoch: 1, Proven: true}
			w.carryLeases(name, carried)
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
		w.outcomes(w.carryLeases("s", carried), alloc.CarryDone)
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
			w.carryLeases("s", ledger...)
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
		w.carryLeases("s", old...)
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

// carryLeases carries leases into a sequence that is paused meanwhile.
func (w *world) carryLeases(name alloc.SequenceName, leases ...alloc.LeaseRecord) []alloc.CarryOutcome {
	w.Helper()
	q, err := w.elsewhere().Sequence(w.Context(), name)
	if active := err == nil && q.State == alloc.SequenceActive; active {
		w.setSequence(name, alloc.SequencePaused)
		defer w.setSequence(name, alloc.SequenceActive)
	}
	outcomes, err := w.open().CarryLeases(w.Context(), name, leases)
	w.ok(err, "CarryLeases")
	equal(w, len(outcomes), len(leases), "outcomes of CarryLeases")
	return outcomes
}

func (w *world) outcomes(got []alloc.CarryOutcome, want ...alloc.CarryOutcome) {
	w.Helper()
	if !slices.Equal(got, want) {
		w.Errorf("outcomes: got %v, want %v", got, want)
	}
}

func (w *world) sameLedger(got, want []alloc.LeaseRecord) {
	w.Helper()
	equal(w, len(got), len(want), "entries of the ledger")
	for i := range got {
		if !sameTime(got[i].At, want[i].At) || !sameTime(got[i].Carried, want[i].Carried) {
			w.Fatalf("entry of the ledger: got %+v, want %+v", got[i], want[i])
		}
		got[i].At, got[i].Carried = want[i].At, want[i].Carried
		equal(w, got[i], want[i], "entry of the ledger")
	}
}
