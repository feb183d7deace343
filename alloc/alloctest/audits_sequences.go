package alloctest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"idpool/alloc"
)

var sequenceAuditCases = []testCase{
	{"an audit of a healthy sequence finds nothing: new, leased, watched, rebuilt, paused and deleted", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		w.soundSequence("s")
		for range 5 {
			w.lease(w.open(), leaseOrder("s", 10))
		}
		w.soundSequence("s")
		w.watch("s")
		w.soundSequence("s")
		w.rebuildSequence("s", "rebuild")
		w.lease(w.open(), leaseOrder("s", 10))
		w.watch("s")
		w.soundSequence("s")
		w.setSequence("s", alloc.SequencePaused)
		w.soundSequence("s")
		w.setSequence("s", alloc.SequenceDeleted)
		w.soundSequence("s")
		w.sequence("zero", alloc.SequenceConfig{StartAtZero: true})
		w.soundSequence("zero")
	}},
	{"an audit beside leases, watches and rebuilds finds nothing", func(w *world) {
		const callers, auditors = 4, 2
		w.sequence("s", alloc.SequenceConfig{})
		stores := w.processes(callers + auditors + 1)
		w.together(len(stores), func(i int) {
			for round := range 20 {
				switch {
				case i < callers:
					if _, err := w.leasePatiently(stores[i], leaseOrder("s", 3)); err != nil && !alloc.Is(err, alloc.CodeSequenceRebuilding) {
						w.Errorf("Lease beside audits: got %v, want a range", err)
					}
				case i < callers+auditors:
					w.auditSequenceBeside(stores[i])
				case round%5 == 0:
					w.operate(stores[i], alloc.JobID(fmt.Sprint("rebuild-", round/5)))
				default:
					_, _ = stores[i].Watch(w.Context(), "s")
				}
			}
		})
		w.soundSequence("s")
	}},
	{"C12 C13 whatever is wrong with a sequence is found, until it is rebuilt", func(w *world) {
		for what, c := range map[string]struct {
			harm func(name alloc.SequenceName)
			want []alloc.FindingKind
		}{
			"behind": {func(name alloc.SequenceName) { w.fixture.SetCounter(w.TB, name, 5) }, []alloc.FindingKind{alloc.FindCounter}},
			"lost":   {func(name alloc.SequenceName) { w.fixture.DropCounter(w.TB, name) }, []alloc.FindingKind{alloc.FindCounter}},
			"mark": {func(name alloc.SequenceName) {
				w.damage(Damage{Kind: CutLedger, Sequence: name, Number: 1})
				w.fixture.SetCounter(w.TB, name, 5)
			}, []alloc.FindingKind{alloc.FindMark}},
			"carried": {func(name alloc.SequenceName) {
				w.carryLeases(name, alloc.LeaseRecord{Start: 1000, End: 1009, Token: alloc.NewToken(), At: w.clock.Now(), Epoch: 1, Proven: true})
			}, []alloc.FindingKind{alloc.FindCounter}},
		} {
			name := alloc.SequenceName(what)
			w.sequence(name, alloc.SequenceConfig{})
			w.lease(w.open(), leaseOrder(name, 10))
			w.lease(w.open(), leaseOrder(name, 10))
			w.watch(name)
			c.harm(name)
			w.findsIn(name, c.want...)
			w.rebuildSequence(name, "rebuild")
			w.soundSequence(name)
		}
	}},
	{"numbers that the counter has passed, and of which the ledger has no entry, are told once, for information; not what a rebuild leaves out", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{Start: 5})
		w.fixture.SetCounter(w.TB, "s", 8)
		w.lease(w.open(), leaseOrder("s", 3))
		w.fixture.SetCounter(w.TB, "s", 41)
		w.lease(w.open(), leaseOrder("s", 10))
		w.watch("s")
		w.soundSequence("s") // what is on its way may come yet
		w.clock.Advance(10 * time.Minute)
		w.lacks("s", "2 gaps in the ledger, of 33 numbers, the first of 5 to 7:")
		w.rebuildSequence("s", "rebuild")
		w.lease(w.open(), leaseOrder("s", 10))
		w.watch("s")
		w.clock.Advance(10 * time.Minute)
		w.lacks("s", "2 gaps in the ledger, of 33 numbers, the first of 5 to 7:")

		w.sequence("top", alloc.SequenceConfig{})
		w.lease(w.open(), leaseOrder("top", 10))
		w.lease(w.open(), leaseOrder("top", 10))
		w.watch("top")
		w.clock.Advance(10 * time.Minute)
		w.soundSequence("top")
		if w.damage(Damage{Kind: CutLedger, Sequence: "top", Number: 11}) {
			w.lacks("top", "1 gap in the ledger, of 10 numbers, the first of 11 to 20:")
		}
	}},
	{"proven leases that overlap are found", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		w.lease(w.open(), leaseOrder("s", 100))
		w.carryLeases("s", alloc.LeaseRecord{Start: 50, End: 60, Token: alloc.NewToken(), At: w.clock.Now(), Epoch: 1, Proven: true})
		w.findsIn("s", alloc.FindOverlap)
	}},
	{"an entry of the ledger that cannot be read, or lies outside the sequence, is found", func(w *world) {
		w.sequence("outside", alloc.SequenceConfig{Start: 100, Limit: 1000})
		w.lease(w.open(), leaseOrder("outside", 10))
		w.carryLeases("outside", alloc.LeaseRecord{Start: 50, End: 60, Token: alloc.NewToken(), At: w.clock.Now(), Epoch: 1, Proven: true})
		w.findsIn("outside", alloc.FindLease)
		w.sequence("damaged", alloc.SequenceConfig{})
		w.lease(w.open(), leaseOrder("damaged", 10))
		if w.damage(Damage{Kind: DamageLease, Sequence: "damaged", Number: 1}) {
			w.findsIn("damaged", alloc.FindLease)
		}
	}},
	{"a rebuild is offered for an entry that cannot be read only as long as it mends something", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		for range 2 {
			w.lease(w.open(), leaseOrder("s", 10))
			w.carryLeases("s", alloc.LeaseRecord{Start: 500, End: 510, Token: alloc.NewToken(), At: w.clock.Now(), Epoch: 1, Proven: true})
		}
		if !w.damage(Damage{Kind: DamageLease, Sequence: "s", Number: 1}) || !w.damage(Damage{Kind: DamageLease, Sequence: "s", Number: 500}) {
			return
		}
		remedies := func(below, above alloc.Remedy) {
			w.Helper()
			var got []alloc.Remedy
			for _, f := range w.auditSequence("s").Findings {
				if f.Kind == alloc.FindLease {
					got = append(got, f.Remedy)
				}
			}
			equal(w, fmt.Sprintf("%q", got), fmt.Sprintf("%q", []alloc.Remedy{below, above}), "what is offered for the entry below the counter, and for the one above it")
		}
		remedies(alloc.RemedyNone, alloc.RemedyRebuild)
		epoch := w.readSequence("s").Epoch
		w.freeze(w.open(), "s", "rebuild")
		w.restarted(w.open(), alloc.RestartOrder{Sequence: "s", Rebuild: "rebuild", From: epoch, To: epoch + 1, Next: 1000})
		_, err := w.open().Thaw(w.Context(), "s", "rebuild", alloc.SequenceActive, 0)
		w.ok(err, "Thaw")
		remedies(alloc.RemedyNone, alloc.RemedyNone)
	}},
}

// auditSequence does the steps of an audit of a sequence.
func (w *world) auditSequence(name alloc.SequenceName) alloc.AuditStep {
	w.Helper()
	return w.auditSteps(func(s alloc.Store, o alloc.AuditOrder) (alloc.AuditStep, error) {
		o.Sample = 100
		return s.AuditSequence(w.Context(), name, o)
	})
}

// soundSequence stops the test if an audit finds anything.
func (w *world) soundSequence(name alloc.SequenceName) {
	w.Helper()
	if findings := w.auditSequence(name).Findings; len(findings) > 0 {
		w.Fatalf("an audit of %q, which is healthy: got %+v", name, findings)
	}
}

// lacks stops the test unless an audit finds the gaps, and nothing else.
func (w *world) lacks(name alloc.SequenceName, detail string) {
	w.Helper()
	found := w.auditSequence(name).Findings
	if len(found) != 1 || found[0].Kind != alloc.FindGaps || found[0].On != string(name) || !strings.HasPrefix(found[0].Detail, detail) {
		w.Fatalf("an audit of %q: got %+v, want %q", name, found, detail)
	}
}

// findsIn stops the test unless an audit finds one of the kinds.
func (w *world) findsIn(name alloc.SequenceName, kinds ...alloc.FindingKind) {
	w.Helper()
	findings := w.auditSequence(name).Findings
	if !slices.ContainsFunc(findings, func(f alloc.Finding) bool { return slices.Contains(kinds, f.Kind) }) {
		w.Fatalf("an audit of %q: got %+v, want one of %v", name, findings, kinds)
	}
}

// auditSequenceBeside audits the sequence "s" beside others. It must not stop the test.
func (w *world) auditSequenceBeside(s alloc.Store) {
	w.Helper()
	w.quietBeside(func(o alloc.AuditOrder) (alloc.AuditStep, error) { return s.AuditSequence(w.Context(), "s", o) })
}
