package alloc_test

import (
	"slices"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// C12, C13, C14: however the counter came to harm, it is noticed before a number comes twice, nothing is handed out until it is rebuilt, and what
// comes then is above every lease ever given.
func TestARebuiltSequenceGoesOnAboveEveryLease(t *testing.T) {
	for what, harm := range map[string]func(w *wreck){
		"C13 the counter is deleted":           func(w *wreck) { w.model.DropCounter(orders) },
		"C12 it is set to the start":           func(w *wreck) { w.model.SetCounter(orders, 1) },
		"C12 it is set into a lease":           func(w *wreck) { w.model.SetCounter(orders, 105) },
		"C12 it is set to the last number":     func(w *wreck) { w.model.SetCounter(orders, 130) },
		"it is deleted, and the ledger is cut": func(w *wreck) { w.model.DropCounter(orders); w.cut() },
		"it is deleted, and the mark is lost": func(w *wreck) {
			w.model.DropCounter(orders)
			w.harm(alloctest.Damage{Kind: alloctest.LoseMark})
		},
		"it is set back, and the end of the ledger is cut": func(w *wreck) {
			w.model.SetCounter(orders, 20)
			w.harm(alloctest.Damage{Kind: alloctest.CutLedger, Number: 20})
		},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWreck(t, alloc.SequenceConfig{})
			for range 13 {
				w.lease(10)
			}
			w.watch()
			harm(w)
			w.wantRefused(alloc.CodeSequenceStopped)
			w.wantRefused(alloc.CodeSequenceStopped)

			p := w.plan(alloc.RebuildRequest{})
			w.wantRefused(alloc.CodeSequenceStopped, alloc.CodeSequenceRebuilding)
			if p.Plan.Floor != 131 || p.Plan.Next != 1131 || p.Plan.Epoch != 2 {
				t.Errorf("the plan is %+v, want the floor 131, the margin above it, and a new epoch", p.Plan)
			}
			r := w.apply(p.Plan.ID)
			w.wantRefused(alloc.CodeSequenceRebuilding)
			if want := []alloc.Number{1131, 1140}; !slices.Equal(r.Tested, want) {
				t.Errorf("tested %v, want %v", r.Tested, want)
			}
			w.resume(100, alloc.RebuildDone)
			if got := w.lease(10); got.Start != 1141 || got.Epoch != 2 {
				t.Errorf("the first lease after it is %+v, want 1141 in epoch 2", got)
			}
			w.watch()
			w.wantState(alloc.SequenceActive)
			want := []string{"admin sequence.create ok", "admin sequence.plan-rebuild ok", "admin sequence.apply-rebuild ok", "admin sequence.resume-rebuild ok"}
			if got := w.actions(); !slices.Equal(got, want) {
				t.Errorf("the trail has %q, want %q", got, want)
			}
		})
	}
}

// C16: operators at once, twice in a row, and one who carries on what another began, come to the same result, with a record each.
func TestTwoOperatorsRebuildTheSameThingOnce(t *testing.T) {
	w := newWreck(t, alloc.SequenceConfig{})
	w.lease(100)
	w.model.DropCounter(orders)
	other := w.another()
	first := w.plan(alloc.RebuildRequest{Why: "mine"})
	for range 2 {
		second, err := other.PlanRebuild(w.of("ben"), alloc.RebuildRequest{Sequence: orders, Why: "his"})
		if err != nil || second.Plan != first.Plan || second.By != "admin" || second.Why != "mine" {
			t.Fatalf("the second operator gets %+v, %v, want the same plan", second, err)
		}
	}
	w.apply(first.Plan.ID)
	applied, err := other.ApplyRebuild(w.of("ben"), alloc.RebuildApproval{Sequence: orders, Plan: first.Plan.ID})
	if err != nil || applied.Step != alloc.RebuildVerified {
		t.Fatalf("applied by the second: %+v, %v", applied, err)
	}
	resumed := w.resume(100, alloc.RebuildDone)
	if again, err := other.ResumeRebuild(w.of("ben"), orders, 5); err != nil || again.Version != resumed.Version {
		t.Fatalf("resumed once more: %+v, %v, want what it was", again, err)
	}
	if again, err := other.ApplyRebuild(w.of("ben"), alloc.RebuildApproval{Sequence: orders, Plan: first.Plan.ID}); err != nil || again.Version != resumed.Version {
		t.Fatalf("applied once more: %+v, %v, want what it was", again, err)
	}
	if r := w.lease(1); r.Start != 1111 || r.Epoch != 2 {
		t.Errorf("the first lease is %+v, want 1111 in epoch 2: one rebuild, one test", r)
	}
	want := []string{
		"admin sequence.create ok", "admin sequence.plan-rebuild ok", "ben sequence.plan-rebuild ok", "ben sequence.plan-rebuild ok", "admin sequence.apply-rebuild ok",
		"ben sequence.apply-rebuild ok", "admin sequence.resume-rebuild ok", "ben sequence.resume-rebuild ok", "ben sequence.apply-rebuild ok",
	}
	if got := w.actions(); !slices.Equal(got, want) {
		t.Errorf("the trail has\n%q, want\n%q", got, want)
	}
}

func TestAnotherRequestMakesAnotherPlan(t *testing.T) {
	w := newWreck(t, alloc.SequenceConfig{})
	w.lease(100)
	w.model.DropCounter(orders)
	first := w.plan(alloc.RebuildRequest{})
	second := w.plan(alloc.RebuildRequest{Reported: 5000, HasReported: true, Margin: 7})
	if second.ID != first.ID || second.Plan.ID == first.Plan.ID || second.Plan.Floor != 5001 || second.Plan.Next != 5008 {
		t.Errorf("the second plan is %+v of %+v, want another of the same rebuild, above 5000", second.Plan, first)
	}
	_, err := w.ApplyRebuild(w.ctx, alloc.RebuildApproval{Sequence: orders, Plan: first.Plan.ID})
	wantCode(t, err, alloc.CodePlanChanged)
	w.wantRefused(alloc.CodeSequenceStopped)
	w.apply(second.Plan.ID)
	_, err = w.PlanRebuild(w.ctx, alloc.RebuildRequest{Sequence: orders})
	wantCode(t, err, alloc.CodeRebuildStep)
	_, err = w.ApplyRebuild(w.ctx, alloc.RebuildApproval{Sequence: orders, Plan: first.Plan.ID})
	wantCode(t, err, alloc.CodePlanChanged)
}

func TestAStepBeforeItsTurnIsRefused(t *testing.T) {
	w := newWreck(t, alloc.SequenceConfig{})
	w.lease(100)
	refused := func(steps ...string) {
		t.Helper()
		for _, step := range steps {
			var err error
			switch step {
			case "plan":
				_, err = w.PlanRebuild(w.ctx, alloc.RebuildRequest{Sequence: orders})
			case "apply":
				_, err = w.ApplyRebuild(w.ctx, alloc.RebuildApproval{Sequence: orders, Plan: "plan"})
			case "resume":
				_, err = w.ResumeRebuild(w.ctx, orders, 10)
			case "cancel":
				_, err = w.CancelRebuild(w.ctx, orders)
			}
			wantCode(t, err, alloc.CodeRebuildStep)
		}
	}
	_, err := w.Rebuild(w.ctx, orders)
	wantCode(t, err, alloc.CodeRebuildStep)
	_, err = w.Rebuild(w.ctx, "nothing")
	wantCode(t, err, alloc.CodeSequenceNotFound)
	_, err = w.PlanRebuild(w.ctx, alloc.RebuildRequest{Sequence: "nothing"})
	wantCode(t, err, alloc.CodeSequenceNotFound)
	refused("apply", "resume", "cancel")
	p := w.plan(alloc.RebuildRequest{})
	refused("resume")
	w.apply(p.Plan.ID)
	refused("plan", "cancel")
	w.resume(10, alloc.RebuildResuming)
	refused("plan", "cancel")
	w.resume(100, alloc.RebuildDone)
	refused("apply", "cancel")
	w.plan(alloc.RebuildRequest{})
	if _, err := w.CancelRebuild(w.ctx, orders); err != nil {
		t.Fatal(err)
	}
	refused("apply", "resume")
	w.lease(1)
}

// What was cancelled, or refused, leaves the sequence as it was, and paused stays paused.
func TestARebuildLeavesTheStateThatItFound(t *testing.T) {
	for _, state := range []alloc.SequenceState{alloc.SequenceActive, alloc.SequencePaused, alloc.SequenceStopped} {
		w := newWreck(t, alloc.SequenceConfig{})
		w.lease(100)
		w.watch()
		if state == alloc.SequenceStopped {
			w.model.SetCounter(orders, 1)
			w.watch()
		} else {
			must(t, w.model.SetSequenceState, orders, state)
		}
		p := w.plan(alloc.RebuildRequest{})
		w.wantState(alloc.SequenceFrozen)
		for range 2 {
			if r, err := w.CancelRebuild(w.ctx, orders); err != nil || r.Step != alloc.RebuildCancelled {
				t.Fatalf("cancelled: %+v, %v", r, err)
			}
			w.wantState(state)
		}
		_, err := w.ApplyRebuild(w.ctx, alloc.RebuildApproval{Sequence: orders, Plan: p.Plan.ID})
		wantCode(t, err, alloc.CodeRebuildStep)
		w.apply(w.plan(alloc.RebuildRequest{}).Plan.ID)
		if state == alloc.SequencePaused {
			w.resume(1, alloc.RebuildDone)
			w.wantState(alloc.SequencePaused)
			continue
		}
		w.resume(100, alloc.RebuildDone)
		w.wantState(alloc.SequenceActive)
		w.lease(1)
	}
}

// A sequence that is deleted in the middle of it stays deleted.
func TestADeletedSequenceIsNotRebuilt(t *testing.T) {
	for _, after := range []alloc.RebuildStep{"", alloc.RebuildPlanned, alloc.RebuildVerified, alloc.RebuildResuming} {
		w := newWreck(t, alloc.SequenceConfig{})
		w.lease(100)
		plan := "none"
		if after != "" {
			plan = w.plan(alloc.RebuildRequest{}).Plan.ID
		}
		if after == alloc.RebuildVerified || after == alloc.RebuildResuming {
			w.apply(plan)
		}
		if after == alloc.RebuildResuming {
			w.resume(1, alloc.RebuildResuming)
			_, err := w.SetSequenceState(w.ctx, orders, 0, alloc.SequenceDeleted)
			wantCode(t, err, alloc.CodeSequenceActive)
			if _, err := w.SetSequenceState(w.ctx, orders, 0, alloc.SequencePaused); err != nil {
				t.Fatal(err)
			}
		}
		must(t, w.model.SetSequenceState, orders, alloc.SequenceDeleted)
		_, err := w.PlanRebuild(w.ctx, alloc.RebuildRequest{Sequence: orders})
		wantCode(t, err, alloc.CodeSequenceDeleted)
		if after == alloc.RebuildPlanned {
			_, err = w.ApplyRebuild(w.ctx, alloc.RebuildApproval{Sequence: orders, Plan: plan})
			wantCode(t, err, alloc.CodeSequenceDeleted)
		}
		if after == alloc.RebuildVerified || after == alloc.RebuildResuming {
			_, err = w.ResumeRebuild(w.ctx, orders, 100)
			wantCode(t, err, alloc.CodeSequenceDeleted)
		}
		w.wantRefused(alloc.CodeSequenceDeleted)
		w.clock.Advance(time.Hour)
		if r := w.tend(); len(r.Rebuilds) > 0 {
			t.Errorf("the schedule carries on %+v", r.Rebuilds)
		}
	}
}
