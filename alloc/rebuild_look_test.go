package alloc_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// look reads the evidence, and fails the test where that changes anything.
func (w *wreck) look() alloc.SequenceEvidence {
	w.t.Helper()
	e, err := w.SequenceEvidence(w.ctx, orders)
	if err != nil {
		w.t.Fatal(err)
	}
	return e
}

func seenIn(e alloc.SequenceEvidence, kind alloc.SourceKind) alloc.SourceSeen {
	for _, s := range e.Sources {
		if s.Kind == kind {
			return s
		}
	}
	return alloc.SourceSeen{}
}

func TestTheEvidenceSaysWhatIsWrongBeforeAnythingIsFrozen(t *testing.T) {
	says := func(s ...alloc.Saying) map[alloc.SourceKind]alloc.Saying {
		return map[alloc.SourceKind]alloc.Saying{
			alloc.SourceCounter: s[0], alloc.SourceLedger: s[1], alloc.SourceMark: s[2], alloc.SourceSamples: s[3],
			alloc.SourceReported: alloc.SaysNothing, alloc.SourceRebuild: alloc.SaysNothing,
		}
	}
	for what, c := range map[string]struct {
		harm  func(w *wreck)
		says  map[alloc.SourceKind]alloc.Saying
		fault string
	}{
		"all is well":         {func(*wreck) {}, says(alloc.SaysOK, alloc.SaysOK, alloc.SaysOK, alloc.SaysOK), ""},
		"more was leased":     {func(w *wreck) { w.lease(50) }, says(alloc.SaysOK, alloc.SaysOK, alloc.SaysOK, alloc.SaysOK), ""},
		"the counter is lost": {func(w *wreck) { w.model.DropCounter(orders) }, says(alloc.SaysMissing, alloc.SaysOK, alloc.SaysOK, alloc.SaysOK), "lost or damaged"},
		"it was set back":     {func(w *wreck) { w.model.SetCounter(orders, 5) }, says(alloc.SaysBehind, alloc.SaysOK, alloc.SaysOK, alloc.SaysOK), "would give 5 next"},
		"the ledger is cut":   {(*wreck).cut, says(alloc.SaysOK, alloc.SaysMissing, alloc.SaysOK, alloc.SaysOK), ""},
		"the mark is lost": {func(w *wreck) {
			w.harm(alloctest.Damage{Kind: alloctest.LoseMark})
			w.clock.Advance(10 * time.Minute)
		}, says(alloc.SaysOK, alloc.SaysOK, alloc.SaysMissing, alloc.SaysOK), ""},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWreck(t, alloc.SequenceConfig{})
			w.lease(100)
			w.tend()
			c.harm(w)
			before, _ := w.model.Evidence(w.ctx, orders)
			e := w.look()
			for kind, want := range c.says {
				if got := seenIn(e, kind); got.Says != want || got.Read.IsZero() {
					t.Errorf("%s says %q (%+v), want %q", kind, got.Says, got, want)
				}
			}
			if c.fault == "" && e.Fault != "" || !strings.Contains(e.Fault, c.fault) {
				t.Errorf("wrong is %q, want %q", e.Fault, c.fault)
			}
			if after, _ := w.model.Evidence(w.ctx, orders); after != before {
				t.Errorf("the look has changed %+v to %+v", before, after)
			}
			if _, err := w.Rebuild(w.ctx, orders); !alloc.Is(err, alloc.CodeRebuildStep) {
				t.Errorf("after the look there is a rebuild: %v", err)
			}
		})
	}
}

// What a rebuild has left out is nobody's loss: the sequence is well after it.
func TestTheEvidenceIsOfASequenceThatWasRebuilt(t *testing.T) {
	w := newWreck(t, alloc.SequenceConfig{})
	w.lease(100)
	w.tend()
	w.model.DropCounter(orders)
	w.apply(w.plan(alloc.RebuildRequest{Reported: 500, HasReported: true}).Plan.ID)
	w.resume(100, alloc.RebuildDone)
	w.tend()
	e := w.look()
	for _, s := range e.Sources {
		if s.Says != alloc.SaysOK {
			t.Errorf("%s says %q: %s", s.Kind, s.Says, s.Note)
		}
	}
	if s := seenIn(e, alloc.SourceReported); s.Last != 500 || e.Fault != "" || e.Epoch != 2 {
		t.Errorf("got %+v, want 500 reported, and nothing wrong in the epoch 2", e)
	}
}

// Nothing was leased, and nothing is missing.
func TestTheEvidenceOfANewSequence(t *testing.T) {
	w := newWreck(t, alloc.SequenceConfig{})
	for range 2 {
		for _, s := range w.look().Sources {
			if s.Says != alloc.SaysOK && s.Says != alloc.SaysNothing {
				t.Errorf("%s says %q: %s", s.Kind, s.Says, s.Note)
			}
		}
		w.tend()
		w.clock.Advance(time.Hour)
	}
}

// A source that cannot be read says so, and the others stand.
func TestASourceFailsAlone(t *testing.T) {
	for method, unread := range map[string][]alloc.SourceKind{
		"Evidence":        {alloc.SourceCounter, alloc.SourceMark, alloc.SourceSamples},
		"Leases":          {alloc.SourceLedger},
		"SequenceSamples": {alloc.SourceSamples},
		"Rebuild":         {alloc.SourceReported, alloc.SourceRebuild},
	} {
		t.Run(method, func(t *testing.T) {
			w := newWreck(t, alloc.SequenceConfig{})
			w.lease(100)
			w.tend()
			w.store.SetPlan(func(c alloctest.Call) alloctest.Fault {
				if c.Method == method {
					return alloctest.Refused
				}
				return alloctest.Pass
			})
			n := 0
			for _, s := range w.look().Sources {
				if s.Says == alloc.SaysUnreadable {
					n++
					if s.Err == nil || s.Known || s.Note == "" {
						t.Errorf("what could not be read is %+v", s)
					}
				}
			}
			if n != len(unread) {
				t.Errorf("%d sources could not be read, want %v", n, unread)
			}
			for _, kind := range unread {
				if s := seenIn(w.look(), kind); s.Says != alloc.SaysUnreadable {
					t.Errorf("%s says %q", kind, s.Says)
				}
			}
		})
	}
}

func TestThereIsNoEvidenceOfWhatIsNotThere(t *testing.T) {
	w := newWreck(t, alloc.SequenceConfig{})
	if _, err := w.SequenceEvidence(w.ctx, "none"); !alloc.Is(err, alloc.CodeSequenceNotFound) {
		t.Errorf("of a sequence that never was: %v", err)
	}
	for _, state := range []alloc.SequenceState{alloc.SequencePaused, alloc.SequenceDeleted} {
		if _, err := w.SetSequenceState(w.ctx, orders, 0, state); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.SequenceEvidence(w.ctx, orders); !alloc.Is(err, alloc.CodeSequenceDeleted) {
		t.Errorf("of one that is deleted: %v", err)
	}
	if _, err := w.SequenceEvidence(context.Background(), orders); !alloc.Is(err, alloc.CodeUnauthenticated) {
		t.Errorf("to nobody: %v", err)
	}
}
