package alloc_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// wreckage is the ways in which the sequence comes to harm before it is rebuilt in the tests of faults.
var wreckage = map[string]func(w *wreck){
	"lost":    func(w *wreck) { w.model.DropCounter(orders) },
	"behind":  func(w *wreck) { w.model.SetCounter(orders, 5) },
	"healthy": func(*wreck) {},
}

// everyCut runs do with the Store failing at each of its calls in each way, once, and from each call on for good, until no call is left.
func everyCut(t *testing.T, do func(t *testing.T, w *wreck)) {
	t.Helper()
	for what, harm := range wreckage {
		for how, fault := range faults {
			for _, forGood := range []bool{false, true} {
				for at := 0; ; at++ {
					hit := false
					t.Run(fmt.Sprintf("%s, %s at call %d, for good %t", what, how, at, forGood), func(t *testing.T) {
						w := newWreck(t, alloc.SequenceConfig{})
						w.lease(100)
						w.watch()
						harm(w)
						n := 0
						w.fault = func(alloctest.Call) alloctest.Fault {
							n++
							if n == at+1 || forGood && n > at {
								hit = true
								return fault
							}
							return alloctest.Pass
						}
						w.store.SetPlan(w.fault)
						do(t, w)
					})
					if !hit || t.Failed() {
						break
					}
				}
			}
		}
	}
}

// allSteps is what an operator does who trusts the plan. It ends with the first error.
func allSteps(ctx context.Context, s *alloc.Service) error {
	r, err := s.Rebuild(ctx, orders)
	if err != nil && !alloc.Is(err, alloc.CodeRebuildStep) {
		return err
	}
	if r.Step == "" || r.Step == alloc.RebuildGathering || r.Step == alloc.RebuildPlanned {
		if r, err = s.PlanRebuild(ctx, alloc.RebuildRequest{Sequence: orders}); err != nil {
			return err
		}
	}
	if r.Step == alloc.RebuildPlanned || r.Step == alloc.RebuildApplied {
		if r, err = s.ApplyRebuild(ctx, alloc.RebuildApproval{Sequence: orders, Plan: r.Plan.ID}); err != nil {
			return err
		}
	}
	for _, share := range []int{10, 100} {
		if _, err = s.ResumeRebuild(ctx, orders, share); err != nil {
			return err
		}
	}
	return nil
}

// C16: whatever fails, and wherever the process dies, another person who does the same comes to the same result.
func TestARebuildEndsTheSameWhateverFails(t *testing.T) {
	everyCut(t, func(t *testing.T, w *wreck) {
		_ = allSteps(w.ctx, w.Service) // as far as it comes
		w.store.SetPlan(nil)
		if err := allSteps(w.of("ben"), w.another()); err != nil {
			t.Fatal(err)
		}
		r, err := w.Rebuild(w.ctx, orders)
		if p := r.Plan; err != nil || r.Step != alloc.RebuildDone || p.Floor != 101 || p.Next != 1101 || p.Epoch != 2 {
			t.Errorf("the rebuild is %+v, %v, want it done with one plan: above 100, in epoch 2", r, err)
		}
		if got := w.lease(1); got.Epoch != 2 || got.Start < 1111 || got.Start > 1131 {
			t.Errorf("the lease after it is %+v, want it right above the tests", got)
		}
		w.watch()
		w.wantState(alloc.SequenceActive)
	})
}

// Whatever fails in a rebuild that is cancelled, another cancellation leaves the sequence as it was.
func TestACancellationEndsTheSameWhateverFails(t *testing.T) {
	everyCut(t, func(t *testing.T, w *wreck) {
		_, before := w.model.Sequence(w.ctx, orders)
		if _, err := w.PlanRebuild(w.ctx, alloc.RebuildRequest{Sequence: orders}); err == nil {
			_, _ = w.CancelRebuild(w.ctx, orders)
		}
		w.store.SetPlan(nil)
		if _, err := w.another().CancelRebuild(w.of("ben"), orders); err != nil && !alloc.Is(err, alloc.CodeRebuildStep) {
			t.Fatal(err)
		}
		if _, after := w.model.Sequence(w.ctx, orders); alloc.CodeOf(before) != alloc.CodeOf(after) {
			t.Fatalf("the sequence is read with %v, before it was %v", after, before)
		}
		w.watch()
		if e, err := w.model.Evidence(w.ctx, orders); err != nil || e.Sequence.State == alloc.SequenceFrozen {
			t.Fatalf("the sequence is %+v, %v, want it as before", e.Sequence, err)
		}
		w.rebuild()
		w.lease(1)
	})
}

// The schedule carries on what an operator has begun and left, up to where he is to decide.
func TestTheScheduleCarriesOnWhatWasLeft(t *testing.T) {
	everyCut(t, func(t *testing.T, w *wreck) {
		_ = allSteps(w.ctx, w.Service)
		w.store.SetPlan(nil)
		left, err := w.model.Rebuild(w.ctx, orders)
		if err != nil {
			t.Fatal(err)
		}
		w.tend() // too early
		if now, err := w.model.Rebuild(w.ctx, orders); err != nil || now.Version != left.Version {
			t.Fatalf("the schedule has made %+v of %+v, %v, although somebody may be at it", now, left, err)
		}
		w.clock.Advance(2 * time.Minute)
		w.tend()
		w.clock.Advance(2 * time.Minute)
		w.tend()
		now, err := w.model.Rebuild(w.ctx, orders)
		e, everr := w.model.Evidence(w.ctx, orders)
		if err != nil || everr != nil {
			t.Fatal(err, everr)
		}
		frozen := e.Sequence.State == alloc.SequenceFrozen || !e.Counter
		to := map[alloc.RebuildStep]alloc.RebuildStep{alloc.RebuildGathering: alloc.RebuildPlanned, alloc.RebuildApplied: alloc.RebuildVerified}
		switch {
		case now.Auto, now.Step != left.Step && now.Step != to[left.Step]:
			t.Errorf("the schedule has made %+v of %+v", now, left)
		case now.Step == alloc.RebuildResuming && frozen, now.Step == alloc.RebuildDone && frozen:
			t.Errorf("the rebuild is %+v, and the sequence %+v", now, e.Sequence)
		case now.Step == alloc.RebuildGathering && frozen, now.Step == alloc.RebuildApplied:
			t.Errorf("the rebuild is left at %+v", now)
		}
	})
}

// An answer that comes late, of a call that was given up, opens nothing and closes nothing for good.
func TestAFreezeThatComesLateIsClearedAway(t *testing.T) {
	w := newWreck(t, alloc.SequenceConfig{})
	w.lease(100)
	p := w.plan(alloc.RebuildRequest{})
	if _, err := w.CancelRebuild(w.ctx, orders); err != nil {
		t.Fatal(err)
	}
	for _, late := range []alloc.JobID{p.ID, "0123456789ABCDEFGHIJKLMNOS"} {
		_, _ = w.model.Freeze(w.ctx, orders, late)
		w.tend()
		w.wantState(alloc.SequenceActive)
		_, _ = w.model.Freeze(w.ctx, orders, late)
		w.rebuild()
		w.wantState(alloc.SequenceActive)
		w.lease(1)
	}
}

// C16: of two who do everything at the same time, with every order of their calls that the test comes to, both have what they asked
// for, or hear that the other has it.
func TestOperatorsAtOnce(t *testing.T) {
	for n := range 60 {
		w := newWreck(t, alloc.SequenceConfig{})
		w.lease(100)
		w.model.DropCounter(orders)
		second := make(chan error, 1)
		started := false
		other := w.another()
		w.store.SetPlan(func(c alloctest.Call) alloctest.Fault {
			if c.Number == n && !started {
				started = true
				go func() { second <- allSteps(w.of("ben"), other) }()
			}
			return alloctest.Pass
		})
		err := allSteps(w.ctx, w.Service)
		if !started {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		for _, err := range []error{err, <-second} {
			if err != nil && !slices.Contains([]alloc.Code{alloc.CodePlanChanged, alloc.CodeRebuildStep, alloc.CodeBusy}, alloc.CodeOf(err)) {
				t.Fatalf("call %d: %v", n, err)
			}
		}
		w.store.SetPlan(nil)
		r, err := w.Rebuild(w.ctx, orders)
		if err != nil || r.Step != alloc.RebuildDone {
			if err := allSteps(w.ctx, w.Service); err != nil {
				t.Fatal(err)
			}
		}
		w.lease(1)
		w.wantState(alloc.SequenceActive)
	}
}
