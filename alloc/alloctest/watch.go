package alloctest

import "idpool/alloc"

var watchCases = []testCase{
	{"Watch of a healthy sequence changes nothing, and raises the mark to where it stands", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		warm := w.open()
		end := alloc.Number(0)
		for i := range 3 {
			end = w.lease(warm, leaseOrder("s", alloc.Count(10+i))).End
			before := w.readSequence("s")
			sameSequence(w, w.watch("s"), before)
			sameSequence(w, w.readSequence("s"), before)
			w.marked("s", end)
			if got := w.evidence("s").MarkedAt; !sameTime(got, w.clock.Now()) {
				w.Errorf("MarkedAt: got %v, want %v", got, w.clock.Now())
			}
			w.clock.Advance(stateDelay)
		}
		equal(w, w.lease(warm, leaseOrder("s", 1)).Start, end+1, "Start of the lease after it")
	}},
	{"a sequence that leased nothing has no mark above its start, and may start at 0", func(w *world) {
		for name, config := range map[alloc.SequenceName]alloc.SequenceConfig{"zero": {StartAtZero: true}, "one": {}, "high": {Start: 1 << 40}} {
			w.sequence(name, config)
			equal(w, w.watch(name).State, alloc.SequenceActive, "state of a sequence that leased nothing")
			if e := w.evidence(name); e.Marked && e.Mark >= e.Sequence.Config.Start {
				w.Errorf("the mark of %q, which leased nothing: got %d, want it below %d", name, e.Mark, e.Sequence.Config.Start)
			}
			start := w.lease(w.open(), leaseOrder(name, 1)).Start
			w.watch(name)
			w.marked(name, start)
			w.lease(w.open(), leaseOrder(name, 1))
		}
	}},
	{"C12 Watch stops a sequence whose counter is behind its leases, or at its start again", func(w *world) {
		for name, back := range map[alloc.SequenceName]alloc.Number{"start": 1, "inside": 15, "last": 30} {
			w.sequence(name, alloc.SequenceConfig{})
			warm := w.open()
			for range 3 {
				w.lease(warm, leaseOrder(name, 10))
			}
			w.fixture.SetCounter(w.TB, name, back)
			equal(w, w.watch(name).State, alloc.SequenceStopped, "state that Watch answers of "+string(name))
			w.stopped(name, warm)
			equal(w, w.watch(name).State, alloc.SequenceStopped, "state that Watch answers again")
			_, err := w.open().SetSequenceState(w.Context(), name, 0, alloc.SequenceActive)
			w.want(err, alloc.CodeSequenceStopped, "SetSequenceState of a sequence that Watch has stopped")
		}
	}},
	{"C12 a paused sequence stays paused whatever its counter is; Watch says that it is behind, and the first lease after the pause stops it", func(w *world) {
		for name, back := range map[alloc.SequenceName]alloc.Number{"start": 1, "inside": 15, "last": 30} {
			warm := w.pausedBehind(name, back)
			for range 2 {
				q := w.watch(name)
				equal(w, q.State, alloc.SequencePaused, "state that Watch answers of "+string(name))
				equal(w, q.Behind, true, "Behind of "+string(name))
				for _, s := range []alloc.Store{warm, w.open()} {
					w.refuseLease(s, leaseOrder(name, 1), alloc.CodeSequencePaused, "Lease of "+string(name))
				}
			}
			w.marked(name, 30)
			w.fixture.SetCounter(w.TB, name, 31)
			equal(w, w.watch(name).Behind, false, "Behind of one whose counter is where it must be")
			w.fixture.SetCounter(w.TB, name, back)
			w.setSequence(name, alloc.SequenceActive)
			w.clock.Advance(stateDelay)
			w.stopped(name, warm)
		}
	}},
	{"C12 a paused sequence whose counter is behind is frozen as a paused one, and paused after its rebuild", func(w *world) {
		warm := w.pausedBehind("s", 15)
		equal(w, w.watch("s").Behind, true, "Behind")
		equal(w, w.freeze(w.open(), "s", "rebuild").State, alloc.SequencePaused, "state before it was frozen")
		_, err := w.open().Thaw(w.Context(), "s", "rebuild", alloc.SequencePaused, 0)
		w.ok(err, "Thaw")
		q := w.watch("s")
		equal(w, q.State, alloc.SequencePaused, "state after it was frozen")
		equal(w, q.Behind, true, "Behind after it was frozen")
		w.refuseLease(warm, leaseOrder("s", 1), alloc.CodeSequencePaused, "Lease")
	}},
	{"C13 of a paused sequence that has lost its counter it stays known that it was paused", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		warm := w.open()
		w.lease(warm, leaseOrder("s", 10))
		w.watch("s")
		w.setSequence("s", alloc.SequencePaused)
		w.fixture.DropCounter(w.TB, "s")
		for range 2 {
			equal(w, w.watch("s").State, alloc.SequenceStopped, "state that Watch answers")
			w.refuseLease(w.open(), leaseOrder("s", 1), alloc.CodeSequenceStopped, "Lease")
			e := w.evidence("s")
			equal(w, e.Counter, false, "Counter")
			equal(w, e.Sequence.State, alloc.SequencePaused, "state by the evidence")
		}
		w.freeze(w.open(), "s", "rebuild")
		equal(w, w.evidence("s").Sequence.State, alloc.SequencePaused, "state by the evidence, of one in the hand of a rebuild")
	}},
	{"C13 Watch answers a lost counter as stopped, and puts none in its place", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		w.lease(w.open(), leaseOrder("s", 10))
		w.watch("s")
		w.fixture.DropCounter(w.TB, "s")
		for range 2 {
			equal(w, w.watch("s").State, alloc.SequenceStopped, "state that Watch answers")
			equal(w, w.evidence("s").Counter, false, "Counter")
			w.marked("s", 10)
		}
		w.refuseLease(w.open(), leaseOrder("s", 1), alloc.CodeSequenceStopped, "Lease")
	}},
	{"C12 a ledger that was cut together with its counter is found by the mark: by Watch, and by a lease, cold or warm", func(w *world) {
		finders := map[alloc.SequenceName]func(name alloc.SequenceName, warm alloc.Store){
			"watched": func(name alloc.SequenceName, _ alloc.Store) {
				equal(w, w.watch(name).State, alloc.SequenceStopped, "state that Watch answers")
			},
			"cold": func(name alloc.SequenceName, _ alloc.Store) {
				w.refuseLease(w.open(), leaseOrder(name, 5), alloc.CodeSequenceStopped, "Lease at or below the mark")
			},
			"warm": func(name alloc.SequenceName, warm alloc.Store) {
				w.refuseLease(warm, leaseOrder(name, 5), alloc.CodeSequenceStopped, "Lease at or below the mark in a warm process")
			},
			"keyed": func(name alloc.SequenceName, _ alloc.Store) {
				w.refuseLease(w.open(), keyedLease(name, 5, "new"), alloc.CodeSequenceStopped, "Lease with a key at or below the mark")
			},
			"around": func(name alloc.SequenceName, _ alloc.Store) {
				w.refuseLease(w.open(), leaseOrder(name, 500), alloc.CodeSequenceStopped, "Lease that begins below the mark and ends above it")
			},
			"last": func(name alloc.SequenceName, _ alloc.Store) {
				w.fixture.SetCounter(w.TB, name, 30)
				w.refuseLease(w.open(), leaseOrder(name, 1), alloc.CodeSequenceStopped, "Lease of the very number of the mark")
			},
		}
		for name, find := range finders {
			w.sequence(name, alloc.SequenceConfig{})
			warm := w.open()
			for range 3 {
				w.lease(warm, leaseOrder(name, 10))
			}
			w.watch(name)
			w.clock.Advance(stateDelay)
			equal(w, w.damage(Damage{Kind: CutLedger, Sequence: name, Number: 11}), true, "every engine has a ledger to cut")
			w.fixture.SetCounter(w.TB, name, 11)
			find(name, warm)
			w.stopped(name, warm)
			w.marked(name, 30)
			for _, l := range w.wholeLedger(name, 100) {
				if l.Proven && l.End > 10 {
					w.Errorf("the ledger of %q: got %+v, want nothing proven above 10", name, l)
				}
			}
		}
	}},
	{"a number just above the mark is leased, and a counter set forward takes the mark along", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		w.lease(w.open(), leaseOrder("s", 10))
		w.watch("s")
		equal(w, w.damage(Damage{Kind: CutLedger, Sequence: "s", Number: 1}), true, "every engine has a ledger to cut")
		equal(w, w.lease(w.open(), leaseOrder("s", 1)).Start, 11, "Start just above the mark")
		w.fixture.SetCounter(w.TB, "s", 1000)
		equal(w, w.watch("s").State, alloc.SequenceActive, "state after the counter was set forward")
		w.marked("s", 999)
	}},
	{"the mark is never lowered, and put anew where it was lost", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		w.lease(w.open(), leaseOrder("s", 30))
		w.watch("s")
		w.fixture.SetCounter(w.TB, "s", 5)
		w.watch("s")
		w.fixture.SetCounter(w.TB, "s", 20)
		w.watch("s")
		w.marked("s", 30)
		w.sequence("t", alloc.SequenceConfig{})
		w.lease(w.open(), leaseOrder("t", 10))
		w.watch("t")
		if w.damage(Damage{Kind: LoseMark, Sequence: "t"}) {
			equal(w, w.evidence("t").Marked, false, "Marked after the mark was lost")
			equal(w, w.watch("t").State, alloc.SequenceActive, "state without a mark")
			w.marked("t", 10)
		}
	}},
	{"Watch looks at nothing of a deleted sequence, nor of a frozen one, and knows no other", func(w *world) {
		for _, name := range []alloc.SequenceName{"deleted", "frozen"} {
			w.sequence(name, alloc.SequenceConfig{})
			w.lease(w.open(), leaseOrder(name, 10))
		}
		w.setSequence("deleted", alloc.SequenceDeleted)
		w.freeze(w.open(), "frozen", "rebuild")
		w.fixture.SetCounter(w.TB, "frozen", 5)
		equal(w, w.watch("deleted").State, alloc.SequenceDeleted, "state of the deleted one")
		equal(w, w.watch("frozen").State, alloc.SequenceFrozen, "state of the frozen one")
		equal(w, w.watch("frozen").Rebuild, "rebuild", "rebuild of the frozen one")
		_, err := w.open().Watch(w.Context(), "none")
		w.want(err, alloc.CodeSequenceNotFound, "Watch of a sequence that was never made")
	}},
	{"Watch keeps the copy of the configuration, from which a lost counter can be made anew", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{MaxLease: 50})
		w.lease(w.open(), leaseOrder("s", 10))
		w.damage(Damage{Kind: LoseSequenceCopy, Sequence: "s"})
		config := w.readSequence("s").Config
		config.MaxLease, config.AutoRebuild, config.ResumeShare, config.Description = 77, true, 33, "invoices"
		_, err := w.open().ChangeSequence(w.Context(), "s", 1, config)
		w.ok(err, "ChangeSequence")
		w.watch("s")
		w.fixture.DropCounter(w.TB, "s")
		e := w.evidence("s")
		equal(w, e.Configured, true, "Configured")
		equal(w, e.Counter, false, "Counter")
		equal(w, e.Sequence.Config, config, "configuration of the copy")
		equal(w, e.Sequence.Version, 2, "version of the copy")
	}},
	{"a healthy sequence is never stopped by watches beside leases", func(w *world) {
		const callers, watchers = 8, 4
		w.sequence("s", alloc.SequenceConfig{})
		stores := w.processes(callers + watchers)
		var got ranges
		w.together(len(stores), func(i int) {
			for range size(100) {
				if i >= callers {
					if q, err := stores[i].Watch(w.Context(), "s"); err == nil && q.State != alloc.SequenceActive || err != nil && !repeatable(err) {
						w.Errorf("Watch beside leases: got %s and %v, want it active", q.State, err)
					}
					continue
				}
				r, err := w.leasePatiently(stores[i], leaseOrder("s", alloc.Count(i+1)))
				if err != nil {
					w.Errorf("Lease beside watches: got %v, want a range", err)
					return
				}
				got.add(r)
			}
		})
		w.disjoint(got.all)
		w.watch("s")
		w.marked("s", w.readSequence("s").Next-1)
	}},
}

// pausedBehind makes a paused sequence of which 30 numbers were leased and marked, and puts its counter back. It returns a process that knows it as active.
func (w *world) pausedBehind(name alloc.SequenceName, back alloc.Number) alloc.Store {
	w.Helper()
	w.sequence(name, alloc.SequenceConfig{})
	warm := w.open()
	for range 3 {
		w.lease(warm, leaseOrder(name, 10))
	}
	w.watch(name)
	w.setSequence(name, alloc.SequencePaused)
	w.clock.Advance(stateDelay)
	w.fixture.SetCounter(w.TB, name, back)
	return warm
}
