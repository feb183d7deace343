package alloc_test

import (
	"context"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// late is a lease that was given before the counter was lost, and whose record comes into the ledger after the plan was made.
func (w *wreck) late(start, end alloc.Number) {
	w.t.Helper()
	lease := alloc.LeaseRecord{Start: start, End: end, Token: alloc.NewToken(), By: "late", At: w.clock.Now(), Epoch: 1, Proven: true}
	w.carry(lease)
	w.leased = append(w.leased, alloc.Range{Start: start, End: end})
}

// carry enters leases into the ledger of the sequence, which is paused meanwhile.
func (w *wreck) carry(leases ...alloc.LeaseRecord) {
	w.t.Helper()
	set := func(to alloc.SequenceState) {
		w.t.Helper()
		if _, err := w.model.SetSequenceState(w.ctx, orders, 0, to); err != nil {
			w.t.Fatal(err)
		}
	}
	if q, err := w.model.Sequence(w.ctx, orders); err == nil && q.State == alloc.SequenceActive {
		set(alloc.SequencePaused)
		defer set(alloc.SequenceActive)
	}
	if _, err := w.model.CarryLeases(w.ctx, orders, leases); err != nil {
		w.t.Fatal(err)
	}
}

// C14: leases in flight put their records late. The verification reads the ledger again: a plan that is wrong by now is given up, the
// sequence stays closed, and there is a new plan above them.
func TestAPlanThatTurnsOutToBeWrongIsMadeAnew(t *testing.T) {
	for what, c := range map[string]struct {
		start, end alloc.Number
		holds      bool
	}{
		"a record below the plan changes nothing": {101, 1100, true},
		"one that reaches into the test numbers":  {1050, 1105, false},
		"one that spans them":                     {900, 50_000, false},
		"one behind them":                         {2000, 2100, false},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWreck(t, alloc.SequenceConfig{})
			w.lease(100)
			w.model.DropCounter(orders)
			p := w.plan(alloc.RebuildRequest{})
			w.late(c.start, c.end)
			if c.holds {
				w.apply(p.Plan.ID)
				w.resume(100, alloc.RebuildDone)
				w.lease(500)
				return
			}
			_, err := w.ApplyRebuild(w.ctx, alloc.RebuildApproval{Sequence: orders, Plan: p.Plan.ID})
			wantCode(t, err, alloc.CodePlanChanged)
			w.wantRefused(alloc.CodeSequenceRebuilding, alloc.CodeSequenceStopped)
			_, err = w.ResumeRebuild(w.ctx, orders, 100)
			wantCode(t, err, alloc.CodeRebuildStep)
			_, err = w.ApplyRebuild(w.ctx, alloc.RebuildApproval{Sequence: orders, Plan: p.Plan.ID})
			wantCode(t, err, alloc.CodePlanChanged)
			r, err := w.Rebuild(w.ctx, orders)
			if err != nil || r.Step != alloc.RebuildPlanned || r.Plan.Floor <= c.end || r.Plan.Epoch <= p.Plan.Epoch {
				t.Fatalf("the rebuild is %+v, %v, want a new plan above %d", r, err, c.end)
			}
			w.apply(r.Plan.ID)
			w.resume(100, alloc.RebuildDone)
			w.lease(500)
		})
	}
}

// A rebuild whose plan was wrong can be cancelled, and leaves the sequence stopped, however it was before.
func TestAWrongPlanNeverOpensTheSequence(t *testing.T) {
	w := newWreck(t, alloc.SequenceConfig{})
	w.lease(100)
	p := w.plan(alloc.RebuildRequest{})
	w.late(1000, 1500)
	_, err := w.ApplyRebuild(w.ctx, alloc.RebuildApproval{Sequence: orders, Plan: p.Plan.ID})
	wantCode(t, err, alloc.CodePlanChanged)
	if _, err := w.CancelRebuild(w.ctx, orders); err != nil {
		t.Fatal(err)
	}
	w.wantState(alloc.SequenceStopped)
	w.tend()
	w.wantState(alloc.SequenceStopped)
	w.rebuild()
	w.lease(1)
}

// The counter is lost once more, or comes back by hand, between plan and application: the plan is not for that counter.
func TestAPlanIsForTheCounterThatItWasMadeFor(t *testing.T) {
	w := newWreck(t, alloc.SequenceConfig{})
	w.lease(100)
	w.watch()
	p := w.plan(alloc.RebuildRequest{})
	w.model.DropCounter(orders)
	_, err := w.ApplyRebuild(w.ctx, alloc.RebuildApproval{Sequence: orders, Plan: p.Plan.ID})
	wantCode(t, err, alloc.CodePlanChanged)
	r, err := w.Rebuild(w.ctx, orders)
	if err != nil || r.Step != alloc.RebuildPlanned || r.Epoch != 0 {
		t.Fatalf("the rebuild is %+v, %v, want a plan for a lost counter", r, err)
	}
	w.apply(r.Plan.ID)
	w.model.DropCounter(orders) // and once more, when it is verified
	_, err = w.ResumeRebuild(w.ctx, orders, 100)
	wantCode(t, err, alloc.CodeRebuildStep)
	w.rebuild()
	w.lease(1)
}

// A ledger that is longer than what a request has time for is read in several, by the operator's repeats and by the schedule.
func TestALongLedgerIsReadInParts(t *testing.T) {
	const entries = 12_000 // more than what is read between two marks
	for _, schedule := range []bool{false, true} {
		w := newWreck(t, alloc.SequenceConfig{})
		long := make([]alloc.LeaseRecord, entries)
		for i := range long {
			n := alloc.Number(2*i + 1)
			long[i] = alloc.LeaseRecord{Start: n, End: n + 1, Token: alloc.NewToken(), By: "c", At: w.clock.Now(), Epoch: 1, Proven: true}
		}
		w.carry(long...)
		w.model.DropCounter(orders)
		reading, stop := context.WithCancel(w.ctx)
		pages := 0
		hurry := func(do func(ctx context.Context) (alloc.Rebuild, error)) alloc.Rebuild {
			t.Helper()
			// The time for reading is over before the deadline, at once: each request reads a bit and leaves the rest.
			ctx, cancel := context.WithTimeout(reading, time.Second)
			defer cancel()
			r, err := do(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		w.store.SetPlan(func(c alloctest.Call) alloctest.Fault {
			if c.Method == "WalkLedger" {
				pages++
			}
			return alloctest.Pass
		})
		ask := func(ctx context.Context) (alloc.Rebuild, error) {
			return w.PlanRebuild(ctx, alloc.RebuildRequest{Sequence: orders})
		}
		r := hurry(ask)
		if r.Step != alloc.RebuildGathering || r.Plan.ID != "" || pages != 0 {
			t.Fatalf("in no time %d pages were read, and the rebuild is %+v", pages, r.Step)
		}
		goOn := func() alloc.Rebuild {
			if schedule {
				w.clock.Advance(2 * time.Minute)
				w.tend()
			} else if _, err := ask(w.ctx); err != nil {
				t.Fatal(err)
			}
			r, err := w.Rebuild(w.ctx, orders)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		if r = goOn(); r.Step != alloc.RebuildPlanned || r.Ledger.Entries != entries || r.Plan.Floor != 2*entries+1 {
			t.Fatalf("the rebuild is %+v, want it planned above the ledger", r)
		}
		apply := func(ctx context.Context) (alloc.Rebuild, error) {
			return w.ApplyRebuild(ctx, alloc.RebuildApproval{Sequence: orders, Plan: r.Plan.ID})
		}
		if r = hurry(apply); r.Step != alloc.RebuildApplied || len(r.Tested) != 2 {
			t.Fatalf("in no time the rebuild is %+v", r)
		}
		if schedule {
			r = goOn()
		} else if again, err := apply(w.ctx); err != nil {
			t.Fatal(err)
		} else {
			r = again
		}
		if r.Step != alloc.RebuildVerified || r.Check.Entries != entries+1 {
			t.Fatalf("the rebuild is %+v, want it verified against all entries and its own", r)
		}
		stop()
	}
}
