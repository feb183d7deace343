package alloctest

import (
	"fmt"

	"idpool/alloc"
)

var shareCases = []testCase{
	{"a resuming sequence serves a share of the callers, the same ones in every process, and more of them as it grows", func(w *world) {
		const clients = 100
		w.sequence("s", alloc.SequenceConfig{})
		w.freeze(w.open(), "s", "rebuild")
		w.restarted(w.open(), restartOrder("s", "rebuild", 2, 100))
		var leased []alloc.Range
		served := map[int]bool{}
		for _, share := range []int{1, 10, 50, 90, 99} {
			q := w.thaw(w.open(), "s", "rebuild", alloc.SequenceResuming, share)
			equal(w, q.State, alloc.SequenceResuming, "state that Thaw answers")
			equal(w, q.Share, share, "share that Thaw answers")
			equal(w, w.readSequence("s").Share, share, "share")
			equal(w, w.readSequence("s").Rebuild, "rebuild", "rebuild")
			w.clock.Advance(stateDelay)
			n := 0
			for i := range clients {
				ranges, ok := w.servedTwice(i)
				leased = append(leased, ranges...)
				if ok {
					n++
				}
				if served[i] && !ok {
					w.Errorf("client %d is served no more at a share of %d", i, share)
				}
				served[i] = served[i] || ok
			}
			if n < share-25 || n > share+25 {
				w.Errorf("clients served at a share of %d in 100: got %d of %d", share, n, clients)
			}
		}
		w.thaw(w.open(), "s", "rebuild", alloc.SequenceActive, 0)
		w.clock.Advance(stateDelay)
		for i := range clients {
			leased = append(leased, w.lease(w.elsewhere(), leaseBy(i)))
		}
		w.disjoint(leased)
	}},
	{"a caller whom a resuming sequence does not serve yet is told when to come again, and nothing is taken", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		w.freeze(w.open(), "s", "rebuild")
		w.thaw(w.open(), "s", "rebuild", alloc.SequenceResuming, 1)
		before := w.readSequence("s")
		for i := range 100 {
			_, err := w.elsewhere().Lease(w.Context(), leaseBy(i))
			if err == nil {
				before = w.readSequence("s")
				continue
			}
			if e := w.wantError(err, alloc.CodeSequenceResuming, "Lease by a client who is not served yet"); e.RetryAfter <= 0 {
				w.Fatalf("RetryAfter: got %v, want a time", e.RetryAfter)
			}
		}
		sameSequence(w, w.readSequence("s"), before)
	}},
	{"a Thaw that comes late serves no fewer, and takes nothing back", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		w.freeze(w.open(), "s", "rebuild")
		w.restarted(w.open(), restartOrder("s", "rebuild", 2, 100))
		w.thaw(w.open(), "s", "rebuild", alloc.SequenceResuming, 50)
		w.thaw(w.open(), "s", "rebuild", alloc.SequenceResuming, 50)
		w.lateThaw(alloc.SequenceResuming, 10)
		equal(w, w.readSequence("s").Share, 50, "share after a Thaw that comes late")
		w.thaw(w.open(), "s", "rebuild", alloc.SequenceActive, 0)
		w.thaw(w.open(), "s", "rebuild", alloc.SequenceActive, 0)
		w.lateThaw(alloc.SequenceResuming, 10)
		equal(w, w.readSequence("s").State, alloc.SequenceActive, "state after a Thaw that comes late")
		w.setSequence("s", alloc.SequencePaused)
		w.lateThaw(alloc.SequenceResuming, 10)
		w.lateThaw(alloc.SequenceActive, 0)
		equal(w, w.readSequence("s").State, alloc.SequencePaused, "state of what was paused since")
	}},
	{"a resuming sequence is watched and stopped like an active one", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		w.lease(w.open(), leaseOrder("s", 10))
		w.freeze(w.open(), "s", "rebuild")
		w.restarted(w.open(), restartOrder("s", "rebuild", 2, 100))
		w.thaw(w.open(), "s", "rebuild", alloc.SequenceResuming, 99)
		equal(w, w.watch("s").State, alloc.SequenceResuming, "state that Watch answers")
		w.marked("s", 99)
		w.fixture.SetCounter(w.TB, "s", 50)
		equal(w, w.watch("s").State, alloc.SequenceStopped, "state that Watch answers of a counter below the mark")
		_, err := w.open().Lease(w.Context(), leaseOrder("s", 1))
		w.want(err, alloc.CodeSequenceStopped, "Lease")
		equal(w, w.rebuildSequence("s", "again").State, alloc.SequenceActive, "state after another rebuild")
	}},
}

// leaseBy is a lease of one number by the ith client.
func leaseBy(i int) alloc.LeaseOrder {
	o := leaseOrder("s", 1)
	o.By = alloc.ClientID(fmt.Sprintf("client-%d", i))
	return o
}

// servedTwice leases for a client in two processes, which must agree on whether it is served.
func (w *world) servedTwice(i int) (leased []alloc.Range, served bool) {
	w.Helper()
	for n := range 2 {
		r, err := w.elsewhere().Lease(w.Context(), leaseBy(i))
		if err != nil {
			w.want(err, alloc.CodeSequenceResuming, "Lease of a resuming sequence")
		} else {
			leased = append(leased, r)
		}
		if n > 0 && served != (err == nil) {
			w.Errorf("client %d is served now and then", i)
		}
		served = err == nil
	}
	return leased, served
}

// lateThaw repeats a Thaw when the sequence has gone on: a success or not.
func (w *world) lateThaw(to alloc.SequenceState, share int) {
	w.Helper()
	if _, err := w.open().Thaw(w.Context(), "s", "rebuild", to, share); err != nil {
		w.want(err, alloc.CodeRebuildStep, "Thaw that comes late")
	}
}
