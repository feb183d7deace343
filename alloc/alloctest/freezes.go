package alloctest

import (
	"fmt"

	"idpool/alloc"
)

var freezeCases = []testCase{
	{"Freeze refuses every lease, in whatever process, and says what was before; a repeat says the same", func(w *world) {
		for _, was := range []alloc.SequenceState{alloc.SequenceActive, alloc.SequencePaused} {
			name := alloc.SequenceName("s-" + was)
			w.sequence(name, alloc.SequenceConfig{})
			warm := w.open()
			before := w.lease(warm, keyedLease(name, 10, "k"))
			w.setSequence(name, was)
			for range 2 {
				q := w.freeze(w.open(), name, "rebuild")
				equal(w, q.State, was, "state that was")
				equal(w, q.Next, 11, "Next that was")
				equal(w, q.Epoch, 1, "Epoch that was")
			}
			for _, s := range []alloc.Store{warm, w.open()} {
				w.refuseLease(s, leaseOrder(name, 1), alloc.CodeSequenceRebuilding, "Lease of a frozen sequence")
				w.refuseLease(s, keyedLease(name, 1, "new"), alloc.CodeSequenceRebuilding, "Lease with a key of a frozen sequence")
				w.replayLease(s, keyedLease(name, 10, "k"), before)
			}
			q := w.readSequence(name)
			equal(w, q.State, alloc.SequenceFrozen, "state")
			equal(w, q.Rebuild, "rebuild", "Rebuild")
			equal(w, q.Next, 11, "Next")
		}
	}},
	{"C16 what one rebuild has frozen no other freezes, restarts or thaws", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		w.lease(w.open(), leaseOrder("s", 10))
		w.freeze(w.open(), "s", "mine")
		_, err := w.open().Freeze(w.Context(), "s", "other")
		w.want(err, alloc.CodeRebuildStep, "Freeze by another rebuild")
		w.refuseRestart(restartOrder("s", "other", 2, 100), alloc.CodeRebuildStep, "by another rebuild")
		for _, to := range []alloc.SequenceState{alloc.SequenceActive, alloc.SequenceResuming, alloc.SequencePaused} {
			_, err := w.open().Thaw(w.Context(), "s", "other", to, 10)
			w.want(err, alloc.CodeRebuildStep, "Thaw by another rebuild")
		}
		equal(w, w.readSequence("s").Rebuild, "mine", "Rebuild")
	}},
	{"a frozen sequence cannot be paused or resumed by hand; it can be changed, and deleted", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		w.freeze(w.open(), "s", "rebuild")
		for _, to := range []alloc.SequenceState{alloc.SequenceActive, alloc.SequencePaused} {
			_, err := w.open().SetSequenceState(w.Context(), "s", 0, to)
			w.want(err, alloc.CodeSequenceRebuilding, fmt.Sprintf("SetSequenceState of a frozen sequence to %s", to))
		}
		_, err := w.open().ChangeSequence(w.Context(), "s", 1, alloc.SequenceConfig{MaxLease: 3}.WithDefaults())
		w.ok(err, "ChangeSequence")
		equal(w, w.readSequence("s").State, alloc.SequenceFrozen, "state")
		w.setSequence("s", alloc.SequenceDeleted)
		w.rebuildRefused("s", alloc.CodeSequenceDeleted)
		w.rebuildRefused("none", alloc.CodeSequenceNotFound)
	}},
	{"a rebuild that is cancelled leaves the sequence as it was", func(w *world) {
		for _, was := range []alloc.SequenceState{alloc.SequenceActive, alloc.SequencePaused} {
			name := alloc.SequenceName("s-" + was)
			w.sequence(name, alloc.SequenceConfig{})
			w.lease(w.open(), leaseOrder(name, 10))
			w.setSequence(name, was)
			before := w.readSequence(name)
			w.freeze(w.open(), name, "rebuild")
			for range 2 {
				w.thaw(w.open(), name, "rebuild", was, 0)
				got := w.readSequence(name)
				got.Rebuild = before.Rebuild // of one that is open, it means nothing
				sameSequence(w, got, before)
			}
		}
	}},
	{"a rebuild of a stopped sequence that is cancelled leaves it stopped", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		warm := w.open()
		w.lease(warm, leaseOrder("s", 10))
		w.fixture.SetCounter(w.TB, "s", 5)
		w.stopped("s", warm)
		equal(w, w.freeze(w.open(), "s", "rebuild").State, alloc.SequenceStopped, "state that was")
		w.refuseLease(warm, leaseOrder("s", 1), alloc.CodeSequenceRebuilding, "Lease of a frozen sequence")
		w.thaw(w.open(), "s", "rebuild", alloc.SequenceStopped, 0)
		w.stopped("s", warm)
	}},
	{"C13 a lost counter is frozen by that alone, and no Thaw opens it", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		w.lease(w.open(), leaseOrder("s", 10))
		w.fixture.DropCounter(w.TB, "s")
		for range 2 {
			equal(w, w.freeze(w.open(), "s", "rebuild").State, alloc.SequenceStopped, "state that Freeze answers")
		}
		for _, to := range []alloc.SequenceState{alloc.SequenceStopped, alloc.SequenceActive} {
			equal(w, w.thaw(w.open(), "s", "rebuild", to, 0).State, alloc.SequenceStopped, "state that Thaw answers")
		}
		w.refuseLease(w.open(), leaseOrder("s", 1), alloc.CodeSequenceStopped, "Lease")
		equal(w, w.evidence("s").Counter, false, "Counter")
	}},
	{"a Freeze that comes late, after its rebuild has ended, freezes nothing", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		w.lease(w.open(), leaseOrder("s", 10))
		w.freeze(w.open(), "s", "rebuild")
		w.restarted(w.open(), restartOrder("s", "rebuild", 2, 100))
		w.thaw(w.open(), "s", "rebuild", alloc.SequenceResuming, 100-1)
		_, err := w.open().Freeze(w.Context(), "s", "rebuild")
		w.want(err, alloc.CodeRebuildStep, "Freeze of a sequence that resumes after this rebuild")
		w.thaw(w.open(), "s", "rebuild", alloc.SequenceActive, 0)
		_, err = w.open().Freeze(w.Context(), "s", "rebuild")
		w.want(err, alloc.CodeRebuildStep, "Freeze of a sequence that was thawed after this rebuild")
		equal(w, w.lease(w.open(), leaseOrder("s", 1)).Start, 100, "Start")
	}},
	{"another rebuild freezes a sequence that resumes after one, from the state resuming, and nothing of the first opens it", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		w.lease(w.open(), leaseOrder("s", 10))
		w.freeze(w.open(), "s", "first")
		w.restarted(w.open(), restartOrder("s", "first", 2, 100))
		w.thaw(w.open(), "s", "first", alloc.SequenceResuming, 99)
		warm := w.open()
		if _, err := warm.Lease(w.Context(), leaseOrder("s", 1)); err != nil { // the process remembers the sequence, whether it serves this one or not
			w.want(err, alloc.CodeSequenceResuming, "Lease of a sequence that resumes")
		}
		for range 2 {
			equal(w, w.freeze(w.open(), "s", "second").State, alloc.SequenceResuming, "state that Freeze answers")
		}
		for _, s := range []alloc.Store{warm, w.open()} {
			w.refuseLease(s, leaseOrder("s", 1), alloc.CodeSequenceRebuilding, "Lease of a sequence that is frozen again")
		}
		for _, to := range []alloc.SequenceState{alloc.SequenceActive, alloc.SequenceResuming, alloc.SequencePaused} {
			_, err := w.open().Thaw(w.Context(), "s", "first", to, 50)
			w.want(err, alloc.CodeRebuildStep, "Thaw by the first rebuild")
		}
		w.refuseRestart(restartOrder("s", "first", 3, 500), alloc.CodeRebuildStep, "by the first rebuild")
		q := w.readSequence("s")
		equal(w, q.State, alloc.SequenceFrozen, "state")
		equal(w, q.Rebuild, "second", "Rebuild")
		w.restarted(w.open(), restartOrder("s", "second", 3, 200))
		equal(w, w.readSequence("s").Next, 200, "Next")
	}},
	{"Evidence of a sequence tells what its head says, and of a lost one what is kept apart", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{MaxLease: 12})
		w.lease(w.open(), leaseOrder("s", 10))
		e := w.evidence("s")
		equal(w, e.Counter && e.Configured && !e.Marked, true, "Counter and Configured, and no mark")
		sameSequence(w, e.Sequence, w.readSequence("s"))
		w.watch("s")
		w.lease(w.open(), leaseOrder("s", 7))
		w.marked("s", 10)
		w.fixture.DropCounter(w.TB, "s")
		e = w.evidence("s")
		equal(w, e.Counter, false, "Counter")
		equal(w, e.Configured, true, "Configured")
		equal(w, e.Sequence.Config, alloc.SequenceConfig{MaxLease: 12}.WithDefaults(), "configuration")
		equal(w, e.Sequence.Next, 0, "Next of a lost counter")
		equal(w, e.Sequence.Epoch, 0, "Epoch of a lost counter")
		equal(w, e.Epoch, 1, "highest epoch that is known")
		if w.damage(Damage{Kind: LoseSequenceCopy, Sequence: "s"}) {
			equal(w, w.evidence("s").Configured, false, "Configured without a head and a copy")
		}
	}},
	{"a walk of the ledger meets each entry once, the lowest first, page by page, with what is not proven and what is damaged", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{StartAtZero: true})
		equal(w, len(w.wholeLedger("s", 10)), 0, "entries of a sequence that leased nothing")
		var leased []alloc.Range
		for i := range 12 {
			leased = append(leased, w.lease(w.open(), leaseOrder("s", alloc.Count(i+1))))
		}
		loose := alloc.LeaseRecord{Start: 500, End: 599, Token: alloc.NewToken(), By: "other", At: w.clock.Now(), Epoch: 1}
		w.carryLeases("s", loose)
		all := w.wholeLedger("s", 100)
		for _, limit := range []int{1, 5, len(all)} {
			equal(w, len(w.wholeLedger("s", limit)), len(all), fmt.Sprintf("entries in pages of %d", limit))
		}
		last := all[len(all)-1]
		if !sameTime(last.At, loose.At) {
			w.Errorf("At of the entry that is not proven: got %v, want %v", last.At, loose.At)
		}
		last.At, last.Carried = loose.At, loose.Carried
		equal(w, last, loose, "the entry that is not proven")
		w.covered(all[:len(all)-1], leased)
		equal(w, len(w.ledger("s", 100)), len(all)-1, "proven entries")
		if w.damage(Damage{Kind: DamageLease, Sequence: "s", Number: 500}) {
			last = w.wholeLedger("s", 5)[len(all)-1]
			equal(w, last, alloc.LeaseRecord{Start: 500}, "the entry that is damaged")
		}
		_, _, err := w.open().WalkLedger(w.Context(), "none", "", 10)
		w.want(err, alloc.CodeSequenceNotFound, "WalkLedger of a sequence that was never made")
	}},
}

// rebuildRefused tries each step of a rebuild.
func (w *world) rebuildRefused(name alloc.SequenceName, code alloc.Code) {
	w.Helper()
	s := w.open()
	_, err := s.Evidence(w.Context(), name)
	w.want(err, code, "Evidence")
	_, err = s.Freeze(w.Context(), name, "rebuild")
	w.want(err, code, "Freeze")
	_, err = s.Restart(w.Context(), restartOrder(name, "rebuild", 2, 1000))
	w.want(err, code, "Restart")
	_, err = s.Thaw(w.Context(), name, "rebuild", alloc.SequenceActive, 0)
	w.want(err, code, "Thaw")
	_, err = s.CarryLeases(w.Context(), name, []alloc.LeaseRecord{{Start: 1, End: 2, Token: alloc.NewToken(), At: w.clock.Now(), Epoch: 1}})
	w.want(err, code, "CarryLeases")
}
