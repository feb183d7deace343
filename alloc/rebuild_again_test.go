package alloc_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// warned reports whether a warning of the plan has the words.
func warned(r alloc.Rebuild, words string) bool {
	return slices.ContainsFunc(r.Warnings(), func(s string) bool { return strings.Contains(s, words) })
}

// What a plan leaves is told before it is applied, and one that leaves nothing is not applied without that being said.
func TestAPlanThatLeavesNothing(t *testing.T) {
	for what, c := range map[string]struct {
		asks alloc.RebuildRequest
		left alloc.Count
		says string
	}{
		"since":                       {alloc.RebuildRequest{Since: alloctest.NewClock().Now().Add(-time.Hour)}, 0, "leaves no number"},
		"the margin":                  {alloc.RebuildRequest{Margin: 4900}, 0, "leaves no number"},
		"the test takes the last ten": {alloc.RebuildRequest{Margin: 4890}, 0, "leaves no number"},
		"it leaves one":               {alloc.RebuildRequest{Margin: 4889}, 1, "burns 4,889 numbers, and leaves 1"},
		"it leaves most":              {alloc.RebuildRequest{Margin: 10}, 4880, ""},
		"a digit too many":            {alloc.RebuildRequest{Reported: 1000, HasReported: true, Margin: 10}, 3980, "digit too many"},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWreck(t, alloc.SequenceConfig{Limit: 5000})
			w.lease(100)
			w.tend()
			p := w.plan(c.asks)
			if p.Left() != c.left || p.Exhausts() != (c.left == 0) || c.says != "" && !warned(p, c.says) || c.says == "" && len(p.Warnings()) > 0 {
				t.Fatalf("the plan %+v leaves %d, and warns of %q", p.Plan, p.Left(), p.Warnings())
			}
			if c.left > 0 {
				w.apply(p.Plan.ID)
				w.resume(100, alloc.RebuildDone)
				w.lease(c.left)
				return
			}
			_, err := w.ApplyRebuild(w.ctx, alloc.RebuildApproval{Sequence: orders, Plan: p.Plan.ID})
			wantCode(t, err, alloc.CodeInvalidRequest)
			if r, err := w.Rebuild(w.ctx, orders); err != nil || r.Step != alloc.RebuildPlanned {
				t.Fatalf("the rebuild is %+v, %v, want nothing applied", r, err)
			}
			r := w.approve(alloc.RebuildApproval{Plan: p.Plan.ID, Exhausts: true})
			untested := len(r.Tested) == 0
			if last := r.Log[len(r.Log)-1].Text; untested != (p.Plan.Next > 5000) || untested != warned(r, "without test numbers") || untested != strings.Contains(last, "without test numbers") {
				t.Errorf("tested %v, it says %q and warns of %q", r.Tested, last, r.Warnings())
			}
			w.resume(100, alloc.RebuildDone)
			w.wantRefused(alloc.CodeSequenceExhausted)
		})
	}
}

// The schedule uses no sequence up by itself.
func TestTheScheduleAppliesNoPlanThatLeavesNothing(t *testing.T) {
	w := newAuto(t, alloc.SequenceConfig{Limit: 1105}) // what the margin leaves the test would take
	w.model.DropCounter(orders)
	if state, step := autoOf(w.tend()); state != alloc.SequenceStopped || step != alloc.RebuildCancelled {
		t.Errorf("the sequence is %s, its rebuild %s; want it left to people", state, step)
	}
}

// A request that says less leaves what was said before, and what is taken back is.
func TestAPlanRestsOnAllThatWasSaid(t *testing.T) {
	w := newWreck(t, alloc.SequenceConfig{})
	w.lease(100)
	w.model.DropCounter(orders)
	since := w.clock.Now().Add(-time.Hour)
	first := w.plan(alloc.RebuildRequest{Reported: 5000, HasReported: true, Margin: 7, Since: since})
	if again := w.plan(alloc.RebuildRequest{}); again.Plan != first.Plan || again.Version != first.Version {
		t.Fatalf("the bare request again plans %+v, want %+v", again.Plan, first.Plan)
	}
	if more := w.plan(alloc.RebuildRequest{Margin: 8}); more.Margin != 8 || more.Reported != 5000 || !more.HasReported || !more.Since.Equal(since) || more.Plan.Next != first.Plan.Next+1 {
		t.Fatalf("another margin plans %+v of %+v", more.Plan, more)
	}
	if none := w.plan(alloc.RebuildRequest{NoSince: true}); !none.Since.IsZero() || none.Plan.Floor != 5001 || none.Margin != 8 {
		t.Fatalf("without since it plans %+v of %+v", none.Plan, none)
	}
	if none := w.plan(alloc.RebuildRequest{NoReported: true}); none.HasReported || none.Plan.Floor != 101 {
		t.Fatalf("without what was reported it plans %+v of %+v", none.Plan, none)
	}
	if _, err := w.CancelRebuild(w.ctx, orders); err != nil {
		t.Fatal(err)
	}
	if fresh := w.plan(alloc.RebuildRequest{}); fresh.Margin != alloc.DefaultMargin {
		t.Errorf("after the cancellation the margin is %d", fresh.Margin)
	}
}

// A configuration that was said for a sequence which has lost its own is kept likewise.
func TestAPlanKeepsTheConfigurationThatWasSaid(t *testing.T) {
	w := newWreck(t, alloc.SequenceConfig{})
	w.lease(100)
	w.model.DropCounter(orders)
	w.harm(alloctest.Damage{Kind: alloctest.LoseSequenceCopy})
	_, err := w.PlanRebuild(w.ctx, alloc.RebuildRequest{Sequence: orders})
	if e := wantCode(t, err, alloc.CodeInvalidConfig); !strings.Contains(e.Message, "config") {
		t.Errorf("the refusal does not name the field: %s", e.Message)
	}
	first := w.plan(alloc.RebuildRequest{Config: alloc.SequenceConfig{Limit: 7000}})
	if again := w.plan(alloc.RebuildRequest{Margin: 5}); again.Config != first.Config {
		t.Errorf("the configuration is %+v, want %+v", again.Config, first.Config)
	}
}

// From every step after the plan was applied there is a way back: another plan, above the first, until which the sequence is closed. It is
// decided by naming the plan that it replaces, so a request that comes late changes nothing.
func TestAnAppliedPlanIsReplaced(t *testing.T) {
	for _, from := range []alloc.RebuildStep{alloc.RebuildApplied, alloc.RebuildVerified, alloc.RebuildResuming} {
		for _, paused := range []bool{false, true} {
			if paused && from == alloc.RebuildResuming {
				continue // it is done at once
			}
			t.Run(string(from), func(t *testing.T) {
				w := newWreck(t, alloc.SequenceConfig{})
				w.lease(100)
				if paused {
					must(t, w.model.SetSequenceState, orders, alloc.SequencePaused)
				}
				first := w.plan(alloc.RebuildRequest{Margin: 20, Since: w.clock.Now()})
				w.advance(from, first)
				_, err := w.PlanRebuild(w.ctx, alloc.RebuildRequest{Sequence: orders})
				if e := wantCode(t, err, alloc.CodeRebuildStep); !strings.Contains(e.Message, first.Plan.ID) {
					t.Errorf("the refusal does not say how: %s", e.Message)
				}
				_, err = w.PlanRebuild(w.ctx, alloc.RebuildRequest{Sequence: orders, Replaces: "another"})
				wantCode(t, err, alloc.CodePlanChanged)

				asks := alloc.RebuildRequest{Sequence: orders, Replaces: first.Plan.ID, Why: "too low"}
				second := w.plan(asks)
				w.wantState(alloc.SequenceFrozen)
				w.wantRefused(alloc.CodeSequenceRebuilding)
				again, err := w.another().PlanRebuild(w.of("ben"), asks)
				if err != nil || again.Version != second.Version || second.ID == first.ID || second.Margin != 20 || !second.Since.IsZero() || second.Share != 0 {
					t.Fatalf("planned %+v, and again %+v, %v", second, again, err)
				}
				if p := second.Plan; p.Floor < first.Plan.Next || p.Epoch <= first.Plan.Epoch && from != alloc.RebuildApplied {
					t.Fatalf("the new plan is %+v, want it above %+v", p, first.Plan)
				}
				_, err = w.ApplyRebuild(w.ctx, alloc.RebuildApproval{Sequence: orders, Plan: first.Plan.ID})
				wantCode(t, err, alloc.CodePlanChanged)
				_, err = w.ResumeRebuild(w.ctx, orders, 100)
				wantCode(t, err, alloc.CodeRebuildStep)
				w.apply(second.Plan.ID)
				_, err = w.PlanRebuild(w.ctx, asks) // it comes late
				wantCode(t, err, alloc.CodePlanChanged)
				w.resume(100, alloc.RebuildDone)
				if paused {
					w.wantState(alloc.SequencePaused)
					return
				}
				w.lease(1)
			})
		}
	}
}

// advance brings the rebuild to the step.
func (w *wreck) advance(to alloc.RebuildStep, r alloc.Rebuild) {
	w.t.Helper()
	if to == alloc.RebuildApplied {
		w.store.SetPlan(alloctest.Script("Restart", alloctest.Refused))
		_, err := w.ApplyRebuild(w.ctx, alloc.RebuildApproval{Sequence: orders, Plan: r.Plan.ID})
		if w.store.SetPlan(nil); !alloctest.Injected(err) {
			w.t.Fatal(err)
		}
		return
	}
	w.apply(r.Plan.ID)
	if to == alloc.RebuildResuming {
		w.resume(60, alloc.RebuildResuming)
	}
}

// Whatever fails while a plan is replaced, somebody else brings it to its end, and nothing is open in between.
func TestAPlanIsReplacedWhateverFails(t *testing.T) {
	everyCut(t, func(t *testing.T, w *wreck) {
		w.store.SetPlan(nil)
		first := w.plan(alloc.RebuildRequest{})
		w.advance(alloc.RebuildResuming, first)
		asks := alloc.RebuildRequest{Sequence: orders, Replaces: first.Plan.ID}
		w.store.SetPlan(w.fault)
		_, _ = w.PlanRebuild(w.ctx, asks)
		w.store.SetPlan(nil)
		second, err := w.another().PlanRebuild(w.of("ben"), asks)
		if err != nil {
			t.Fatal(err)
		}
		w.wantRefused(alloc.CodeSequenceRebuilding, alloc.CodeSequenceStopped)
		w.apply(second.Plan.ID)
		w.resume(100, alloc.RebuildDone)
		if got := w.lease(1); got.Epoch != 3 || got.Start < second.Plan.Next {
			t.Errorf("the lease after it is %+v", got)
		}
	})
}

// A replaced plan that is cancelled opens nothing: the sequence is stopped, and a rebuild goes on above the first plan whatever else is lost.
func TestAReplacedPlanIsCancelled(t *testing.T) {
	w := newWreck(t, alloc.SequenceConfig{})
	w.lease(100)
	first := w.plan(alloc.RebuildRequest{Margin: 5000})
	w.advance(alloc.RebuildResuming, first)
	w.plan(alloc.RebuildRequest{Replaces: first.Plan.ID, Margin: 1})
	if _, err := w.CancelRebuild(w.ctx, orders); err != nil {
		t.Fatal(err)
	}
	w.wantState(alloc.SequenceStopped)
	w.model.DropCounter(orders)
	w.harm(alloctest.Damage{Kind: alloctest.CutLedger, Number: 101})
	w.harm(alloctest.Damage{Kind: alloctest.LoseMark})
	p := w.plan(alloc.RebuildRequest{})
	if s := sourceOf(p, alloc.SourceRebuild); !s.Known || s.Last != first.Plan.Next-1 || p.Plan.Floor < first.Plan.Next {
		t.Errorf("the rebuild before says %+v, and the plan is %+v, want it above %+v", s, p.Plan, first.Plan)
	}
}

// What was said of a restore is in the counter of the plan that was applied, and stays when that is lost, and nothing was tested.
func TestWhatAnAppliedPlanGaveUpIsGivenUpForGood(t *testing.T) {
	w := newWreck(t, alloc.SequenceConfig{Limit: 5000})
	w.lease(100)
	w.watch()
	p := w.plan(alloc.RebuildRequest{Since: w.clock.Now()})
	w.approve(alloc.RebuildApproval{Plan: p.Plan.ID, Exhausts: true})
	w.model.DropCounter(orders)
	_, err := w.ResumeRebuild(w.ctx, orders, 100)
	wantCode(t, err, alloc.CodeRebuildStep)
	if p := w.plan(alloc.RebuildRequest{Margin: 1}); p.Plan.Floor != 5001 {
		t.Errorf("the plan is %+v, want nothing that the first one gave up", p.Plan)
	}
}

// Pausing serves nobody at once, whoever resumes the rebuild at the same time or later; it is done with that.
func TestPausingWhileASequenceResumes(t *testing.T) {
	for _, from := range []alloc.RebuildStep{alloc.RebuildVerified, alloc.RebuildResuming} {
		w := newWreck(t, alloc.SequenceConfig{})
		w.lease(100)
		w.advance(from, w.plan(alloc.RebuildRequest{}))
		before := len(w.actions())
		q, err := w.SetSequenceState(w.ctx, orders, 99, alloc.SequencePaused)
		wantCode(t, err, alloc.CodeVersionMismatch)
		for range 2 {
			if q, err = w.SetSequenceState(w.ctx, orders, 1, alloc.SequencePaused); err != nil || q.State != alloc.SequencePaused {
				t.Fatalf("paused at %s: %+v, %v", from, q, err)
			}
			w.wantRefused(alloc.CodeSequencePaused)
			if r, err := w.ResumeRebuild(w.ctx, orders, 100); err != nil || r.Step != alloc.RebuildDone {
				t.Fatalf("resumed after that: %+v, %v", r, err)
			}
			w.tend()
			w.wantState(alloc.SequencePaused)
		}
		if got := w.actions()[before:]; !slices.Equal(got, []string{
			"admin sequence.pause version_mismatch", "admin sequence.pause ok", "admin sequence.resume-rebuild ok", "admin sequence.pause ok", "admin sequence.resume-rebuild ok",
		}) {
			t.Errorf("the trail has %q", got)
		}
		if q, err = w.SetSequenceState(w.ctx, orders, 0, alloc.SequenceActive); err != nil || q.State != alloc.SequenceActive {
			t.Fatalf("resumed: %+v, %v", q, err)
		}
		w.lease(1)
	}
	w := newWreck(t, alloc.SequenceConfig{})
	w.lease(100)
	w.plan(alloc.RebuildRequest{})
	_, err := w.SetSequenceState(w.ctx, orders, 0, alloc.SequencePaused)
	wantCode(t, err, alloc.CodeSequenceRebuilding) // it serves nobody anyway
}

// However pausing is cut off, a repeat of it pauses, and nothing opens the sequence.
func TestPausingWhileASequenceResumesWhateverFails(t *testing.T) {
	everyCut(t, func(t *testing.T, w *wreck) {
		w.store.SetPlan(nil)
		w.advance(alloc.RebuildResuming, w.plan(alloc.RebuildRequest{}))
		w.store.SetPlan(w.fault)
		_, _ = w.SetSequenceState(w.ctx, orders, 0, alloc.SequencePaused)
		w.store.SetPlan(nil)
		for range 2 {
			w.clock.Advance(2 * time.Minute)
			w.tend()
		}
		if q, err := w.another().SetSequenceState(w.of("ben"), orders, 0, alloc.SequencePaused); err != nil || q.State != alloc.SequencePaused {
			t.Fatalf("paused: %+v, %v", q, err)
		}
		w.tend()
		w.wantState(alloc.SequencePaused)
	})
}

// A share that is lower than what is served is refused, and a repeat of one that is not is not.
func TestALowerShareIsRefused(t *testing.T) {
	w := newWreck(t, alloc.SequenceConfig{})
	w.lease(100)
	w.advance(alloc.RebuildResuming, w.plan(alloc.RebuildRequest{}))
	_, err := w.ResumeRebuild(w.ctx, orders, 59)
	wantCode(t, err, alloc.CodeRebuildStep)
	for _, share := range []int{0, 60} {
		if r := w.resume(share, alloc.RebuildResuming); r.Share != 60 {
			t.Errorf("a share of %d serves %d", share, r.Share)
		}
	}
	w.resume(100, alloc.RebuildDone)
	w.resume(10, alloc.RebuildDone)
}

func TestResumingWhatWasNeverRebuilt(t *testing.T) {
	w := newWreck(t, alloc.SequenceConfig{})
	_, err := w.ResumeRebuild(w.ctx, orders, 100)
	if e := wantCode(t, err, alloc.CodeRebuildStep); !strings.Contains(e.Message, "never rebuilt") {
		t.Errorf("it says %q", e.Message)
	}
}

// A step that says of which rebuild it is, and of which plan, does nothing to another, and its repeat is a success.
func TestAStepIsOfTheRebuildThatWasSeen(t *testing.T) {
	w := newWreck(t, alloc.SequenceConfig{})
	w.lease(100)
	first := w.plan(alloc.RebuildRequest{})
	cancel := func(seen alloc.RebuildSeen) error { _, err := w.CancelRebuild(w.ctx, orders, seen); return err }
	serve := func(seen alloc.RebuildSeen) error { _, err := w.ResumeRebuild(w.ctx, orders, 100, seen); return err }
	other := w.plan(alloc.RebuildRequest{Margin: 7})
	if other.ID != first.ID {
		t.Fatalf("another plan is of the rebuild %s, want %s", other.ID, first.ID)
	}
	wantCode(t, cancel(first.Seen()), alloc.CodePlanChanged)
	for range 2 {
		if err := cancel(other.Seen()); err != nil {
			t.Fatal(err)
		}
	}
	next := w.plan(alloc.RebuildRequest{Margin: 7})
	wantCode(t, cancel(other.Seen()), alloc.CodePlanChanged)
	w.wantState(alloc.SequenceFrozen)
	w.apply(next.Plan.ID)
	second := w.plan(alloc.RebuildRequest{Replaces: next.Plan.ID, Margin: 8})
	w.apply(second.Plan.ID)
	wantCode(t, serve(next.Seen()), alloc.CodePlanChanged)
	w.wantState(alloc.SequenceFrozen)
	for range 2 {
		if err := serve(second.Seen()); err != nil {
			t.Fatal(err)
		}
	}
	w.lease(1)
}
