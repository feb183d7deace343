package alloctest

import (
	"fmt"

	"idpool/alloc"
)

var restartCases = []testCase{
	{"C14 Restart puts the counter where the plan says, in a new epoch, and stays frozen until it is thawed", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		warm := w.open()
		w.lease(warm, leaseOrder("s", 10))
		w.freeze(w.open(), "s", "rebuild")
		o := restartOrder("s", "rebuild", 2, 1000)
		for range 2 {
			w.restarted(w.open(), o)
			w.refuseLease(warm, leaseOrder("s", 1), alloc.CodeSequenceRebuilding, "Lease of a frozen sequence")
			w.refuseLease(w.open(), leaseOrder("s", 1), alloc.CodeSequenceRebuilding, "Lease of a frozen sequence")
		}
		w.thaw(w.open(), "s", "rebuild", alloc.SequenceActive, 0)
		w.clock.Advance(stateDelay)
		r := w.lease(warm, leaseOrder("s", 5))
		equal(w, r.Start, 1000, "Start")
		equal(w, r.Epoch, 2, "Epoch")
		equal(w, w.lease(w.open(), leaseOrder("s", 5)).Start, 1005, "Start of the next")
		equal(w, w.watch("s").State, alloc.SequenceActive, "state that Watch answers of a rebuilt sequence")
		w.marked("s", 1009)
	}},
	{"Restart never lowers a counter, and needs the epoch, the freeze and the rebuild that it was planned for", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		w.lease(w.open(), leaseOrder("s", 100))
		w.refuseRestart(restartOrder("s", "rebuild", 2, 1000), alloc.CodeRebuildStep, "of a sequence that is not frozen")
		w.freeze(w.open(), "s", "rebuild")
		w.refuseRestart(restartOrder("s", "rebuild", 2, 100), alloc.CodeRebuildStep, "below the counter")
		w.refuseRestart(restartOrder("s", "rebuild", 2, 1), alloc.CodeRebuildStep, "at the start")
		w.refuseRestart(restartOrder("s", "rebuild", 3, 1000), alloc.CodeRebuildStep, "from an epoch that is to come")
		lost := restartOrder("s", "rebuild", 2, 1000)
		lost.From = 0
		w.refuseRestart(lost, alloc.CodeRebuildStep, "of a counter that it takes to be lost")
		w.restarted(w.open(), restartOrder("s", "rebuild", 2, 101))
		equal(w, w.readSequence("s").Next, 101, "Next, where the counter stood")
	}},
	{"C13 Restart makes a lost counter anew, above all that was leased, and its configuration with it", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{MaxLease: 50})
		config := w.readSequence("s").Config
		warm := w.open()
		before := w.lease(warm, keyedLease("s", 50, "k"))
		w.watch("s")
		w.fixture.DropCounter(w.TB, "s")
		w.freeze(w.open(), "s", "rebuild")
		wrong := restartOrder("s", "rebuild", 2, 1000)
		w.refuseRestart(wrong, alloc.CodeRebuildStep, "of a counter that it takes to be there")
		o := alloc.RestartOrder{Sequence: "s", Rebuild: "rebuild", To: 2, Next: 1000, Config: config}
		for range 2 {
			w.restarted(w.open(), o)
		}
		q := w.readSequence("s")
		equal(w, q.Config, config, "configuration")
		equal(w, q.State, alloc.SequenceFrozen, "state")
		w.refuseLease(warm, leaseOrder("s", 1), alloc.CodeSequenceRebuilding, "Lease of a frozen sequence")
		w.thaw(w.open(), "s", "rebuild", alloc.SequenceActive, 0)
		w.clock.Advance(stateDelay)
		for i, s := range []alloc.Store{warm, w.open()} {
			equal(w, w.lease(s, leaseOrder("s", 1)).Start, alloc.Number(1000+i), "Start")
			w.replayLease(s, keyedLease("s", 50, "k"), before)
		}
		_, created, err := w.open().CreateSequence(w.Context(), "s", config)
		w.ok(err, "CreateSequence of a rebuilt sequence")
		equal(w, created, false, "created")
	}},
	{"C13 a counter that was lost with the copy of its configuration is made anew with the one that is said", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{MaxLease: 50})
		w.lease(w.open(), leaseOrder("s", 50))
		w.fixture.DropCounter(w.TB, "s")
		w.damage(Damage{Kind: LoseSequenceCopy, Sequence: "s"})
		config := alloc.SequenceConfig{MaxLease: 50, Description: "said"}.WithDefaults()
		if w.evidence("s").Configured {
			config = w.evidence("s").Sequence.Config
		}
		w.restarted(w.open(), alloc.RestartOrder{Sequence: "s", Rebuild: "rebuild", To: 2, Next: 51, Config: config})
		w.thaw(w.open(), "s", "rebuild", alloc.SequenceActive, 0)
		equal(w, w.readSequence("s").Config, config, "configuration")
		equal(w, w.lease(w.open(), leaseOrder("s", 1)).Start, 51, "Start")
	}},
	{"a Restart that comes late changes nothing: after leases, after its Thaw, and after another rebuild", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		w.lease(w.open(), leaseOrder("s", 10))
		w.freeze(w.open(), "s", "one")
		first := restartOrder("s", "one", 2, 100)
		w.restarted(w.open(), first)
		test := leaseOrder("s", 10)
		test.Rebuild = "one"
		equal(w, w.lease(w.open(), test).Start, 100, "Start of the test")
		w.restarted(w.open(), first)
		equal(w, w.readSequence("s").Next, 110, "Next after a repeat of Restart")
		w.thaw(w.open(), "s", "one", alloc.SequenceActive, 0)
		equal(w, w.lease(w.open(), leaseOrder("s", 10)).Start, 110, "Start")
		w.lateRestart(first)
		w.freeze(w.open(), "s", "two")
		w.lateRestart(first)
		w.restarted(w.open(), restartOrder("s", "two", 3, 500))
		w.lateRestart(first)
		w.thaw(w.open(), "s", "two", alloc.SequenceActive, 0)
		w.lateRestart(first)
		r := w.lease(w.open(), leaseOrder("s", 10))
		equal(w, r.Start, 500, "Start")
		equal(w, r.Epoch, 3, "Epoch")
	}},
	{"the test of a rebuild leases from what it has frozen, in the new epoch, and what it leases nobody gets again", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{RequireKey: true})
		w.lease(w.open(), keyedLease("s", 10, "k"))
		test := leaseOrder("s", alloc.TestNumbers)
		test.Rebuild, test.Segment = "rebuild", true
		w.refuseLease(w.open(), test, alloc.CodeRebuildStep, "test of a sequence that is not frozen")
		w.freeze(w.open(), "s", "rebuild")
		w.restarted(w.open(), restartOrder("s", "rebuild", 2, 100))
		r := w.lease(w.open(), test)
		equal(w, r.Start, 100, "Start of the test")
		equal(w, r.Epoch, 2, "Epoch of the test")
		other := test
		other.Rebuild = "other"
		w.refuseLease(w.open(), other, alloc.CodeRebuildStep, "test of another rebuild")
		w.covered(w.ledger("s", 100), []alloc.Range{r})
		w.thaw(w.open(), "s", "rebuild", alloc.SequenceActive, 0)
		w.refuseLease(w.open(), test, alloc.CodeRebuildStep, "test of a sequence that was thawed")
		equal(w, w.lease(w.open(), keyedLease("s", 1, "after")).Start, r.End+1, "Start after the test")
	}},
	{"C13 a test that runs into leases stops the sequence, and its rebuild does not open it", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		w.lease(w.open(), leaseOrder("s", 100))
		w.fixture.DropCounter(w.TB, "s")
		w.freeze(w.open(), "s", "rebuild")
		w.restarted(w.open(), alloc.RestartOrder{Sequence: "s", Rebuild: "rebuild", To: 2, Next: 50, Config: alloc.SequenceConfig{}.WithDefaults()})
		test := leaseOrder("s", alloc.TestNumbers)
		test.Rebuild = "rebuild"
		w.refuseLease(w.open(), test, alloc.CodeSequenceStopped, "test that runs into leases")
		for _, to := range []alloc.SequenceState{alloc.SequenceActive, alloc.SequenceResuming} {
			_, err := w.open().Thaw(w.Context(), "s", "rebuild", to, 10)
			w.want(err, alloc.CodeRebuildStep, fmt.Sprintf("Thaw to %s of a sequence that its test has stopped", to))
		}
		w.refuseLease(w.open(), leaseOrder("s", 1), alloc.CodeSequenceStopped, "Lease")
		equal(w, w.rebuildSequence("s", "again").State, alloc.SequenceActive, "state after another rebuild")
		equal(w, w.lease(w.open(), leaseOrder("s", 1)).Start, 111, "Start, above all leases and the margin")
	}},
	{"an exhausted sequence can be rebuilt, and none wraps", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{Start: alloc.MaxNumber - 9})
		w.lease(w.open(), leaseOrder("s", 5))
		w.freeze(w.open(), "s", "rebuild")
		o := restartOrder("s", "rebuild", 2, alloc.MaxNumber+1)
		o.Config.Start = alloc.MaxNumber - 9
		w.restarted(w.open(), o)
		w.thaw(w.open(), "s", "rebuild", alloc.SequenceActive, 0)
		e := w.refusedLease(w.open(), leaseOrder("s", 1), alloc.CodeSequenceExhausted, "Lease of an exhausted sequence")
		equal(w, e.Remaining, 0, "Remaining")
		equal(w, w.watch("s").State, alloc.SequenceActive, "state")
		w.marked("s", alloc.MaxNumber)
	}},
	{"steps of a rebuild whose answers are lost are repeated, and end as one", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		f := NewFaulty(w.open(), nil)
		var leased []alloc.Range
		for i, faults := range faultSeries() {
			rebuild := alloc.JobID(fmt.Sprint("rebuild-", i))
			leased = append(leased, w.lease(w.open(), leaseOrder("s", 10)))
			f.SetPlan(Script("Freeze", faults...))
			w.untilDone("Freeze", func() error { _, err := f.Freeze(w.Context(), "s", rebuild); return err })
			o := restartOrder("s", rebuild, alloc.Epoch(i+2), w.above("s")+10)
			f.SetPlan(Script("Restart", faults...))
			w.untilDone("Restart", func() error { _, err := f.Restart(w.Context(), o); return err })
			f.SetPlan(Script("Thaw", faults...))
			w.untilDone("Thaw", func() error {
				_, err := f.Thaw(w.Context(), "s", rebuild, alloc.SequenceActive, 0)
				return err
			})
			equal(w, w.readSequence("s").Next, o.Next, "Next")
			equal(w, w.readSequence("s").Epoch, o.To, "Epoch")
		}
		w.disjoint(leased)
	}},
}

// lateRestart repeats a Restart when the sequence has gone on: a success or not, it changes nothing.
func (w *world) lateRestart(o alloc.RestartOrder) {
	w.Helper()
	before := w.readSequence(o.Sequence)
	if _, err := w.open().Restart(w.Context(), o); err != nil {
		w.want(err, alloc.CodeRebuildStep, "Restart that comes late")
	}
	sameSequence(w, w.readSequence(o.Sequence), before)
}
