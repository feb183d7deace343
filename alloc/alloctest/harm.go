package alloctest

import (
	"idpool/alloc"
)

// damage does harm to the data. It reports whether the engine has anything of that kind to lose.
func (w *world) damage(d Damage) bool {
	w.Helper()
	return w.fixture.Damage(w.TB, d)
}

// watch watches a sequence from another process.
func (w *world) watch(name alloc.SequenceName) alloc.Sequence {
	w.Helper()
	q, err := w.open().Watch(w.Context(), name)
	w.ok(err, "Watch")
	return q
}

// evidence reads what is known of where a sequence stands.
func (w *world) evidence(name alloc.SequenceName) alloc.Evidence {
	w.Helper()
	e, err := w.open().Evidence(w.Context(), name)
	w.ok(err, "Evidence")
	return e
}

// marked stops the test unless the high-water mark stands at last, and was put there now.
func (w *world) marked(name alloc.SequenceName, last alloc.Number) {
	w.Helper()
	e := w.evidence(name)
	equal(w, e.Marked, true, "Marked")
	equal(w, e.Mark, last, "Mark")
}

// freeze freezes a sequence; an error stops the test.
func (w *world) freeze(s alloc.Store, name alloc.SequenceName, rebuild alloc.JobID) alloc.Sequence {
	w.Helper()
	was, err := s.Freeze(w.Context(), name, rebuild)
	w.ok(err, "Freeze")
	return was
}

// restarted puts a counter where a plan says; an error stops the test.
func (w *world) restarted(s alloc.Store, o alloc.RestartOrder) {
	w.Helper()
	q, err := s.Restart(w.Context(), o)
	w.ok(err, "Restart")
	equal(w, q.State, alloc.SequenceFrozen, "state after Restart")
	equal(w, q.Epoch, o.To, "epoch after Restart")
	equal(w, q.Rebuild, o.Rebuild, "rebuild after Restart")
}

// restartOrder puts a counter that is in the epoch before to next.
func restartOrder(name alloc.SequenceName, rebuild alloc.JobID, to alloc.Epoch, next alloc.Number) alloc.RestartOrder {
	return alloc.RestartOrder{Sequence: name, Rebuild: rebuild, From: to - 1, To: to, Next: next, Config: alloc.SequenceConfig{}.WithDefaults()}
}

// refuseRestart stops the test unless Restart is refused and changes nothing.
func (w *world) refuseRestart(o alloc.RestartOrder, code alloc.Code, what string) {
	w.Helper()
	before := w.evidence(o.Sequence)
	_, err := w.open().Restart(w.Context(), o)
	w.want(err, code, "Restart "+what)
	sameEvidence(w, w.evidence(o.Sequence), before)
}

func sameEvidence(w *world, got, want alloc.Evidence) {
	w.Helper()
	equal(w, got.Counter, want.Counter, "Counter")
	equal(w, got.Mark, want.Mark, "Mark")
	sameSequence(w, got.Sequence, want.Sequence)
}

// thaw ends what Freeze began; an error stops the test.
func (w *world) thaw(s alloc.Store, name alloc.SequenceName, rebuild alloc.JobID, to alloc.SequenceState, share int) alloc.Sequence {
	w.Helper()
	q, err := s.Thaw(w.Context(), name, rebuild, to, share)
	w.ok(err, "Thaw")
	return q
}

// wholeLedger walks a ledger from beginning to end, each page in another process, and checks the order.
func (w *world) wholeLedger(name alloc.SequenceName, limit int) (all []alloc.LeaseRecord) {
	w.Helper()
	mark := ""
	for range 1000 {
		page, next, err := w.open().WalkLedger(w.Context(), name, mark, limit)
		w.ok(err, "WalkLedger")
		for _, l := range page {
			if n := len(all); n > 0 && l.Start <= all[n-1].Start {
				w.Fatalf("a walk of the ledger: got %d after %d, want rising starts", l.Start, all[n-1].Start)
			}
			all = append(all, l)
		}
		if next == "" {
			return all
		}
		mark = next
	}
	w.Fatalf("a walk of the ledger of %q has not ended after 1000 pages", name)
	return nil
}

// above is the first number that no entry of the ledger has, and no mark.
func (w *world) above(name alloc.SequenceName) alloc.Number {
	w.Helper()
	e := w.evidence(name)
	next := max(e.Sequence.Next, e.Mark+1)
	for _, l := range w.wholeLedger(name, 100) {
		next = max(next, l.End+1)
	}
	return next
}

// rebuildSequence does what a rebuild does: all of it, with a margin of ten.
func (w *world) rebuildSequence(name alloc.SequenceName, rebuild alloc.JobID) alloc.Sequence {
	w.Helper()
	s := w.open()
	w.freeze(s, name, rebuild)
	e := w.evidence(name)
	o := alloc.RestartOrder{Sequence: name, Rebuild: rebuild, From: e.Sequence.Epoch, Next: w.above(name) + 10, Config: e.Sequence.Config}
	o.To = w.epochOf(name, e) + 1
	w.restarted(s, o)
	q := w.thaw(s, name, rebuild, alloc.SequenceActive, 0)
	w.clock.Advance(stateDelay)
	return q
}

// epochOf is the highest epoch that anything of a sequence knows of.
func (w *world) epochOf(name alloc.SequenceName, e alloc.Evidence) alloc.Epoch {
	w.Helper()
	epoch := max(e.Epoch, e.Sequence.Epoch)
	for _, l := range w.wholeLedger(name, 100) {
		epoch = max(epoch, l.Epoch)
	}
	return epoch
}
