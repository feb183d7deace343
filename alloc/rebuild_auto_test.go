package alloc_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// newAuto makes a sequence that the schedule may rebuild, with a ledger, a mark and a sample.
func newAuto(t testing.TB, config alloc.SequenceConfig) *wreck {
	t.Helper()
	config.AutoRebuild = true
	w := newWreck(t, config)
	w.lease(100)
	w.tend()
	return w
}

// autoOf is the state of the sequence by the last run of the schedule, and the step of its rebuild there; "" for none.
func autoOf(r alloc.TendReport) (alloc.SequenceState, alloc.RebuildStep) {
	step := alloc.RebuildStep("")
	if len(r.Rebuilds) > 0 {
		step = r.Rebuilds[0].Step
	}
	return r.Sequences[0].State, step
}

func TestTheScheduleRebuildsWhereItMay(t *testing.T) {
	for what, harm := range map[string]func(w *wreck){
		"C13 the counter is deleted": func(w *wreck) { w.model.DropCounter(orders) },
		"C12 it is set back":         func(w *wreck) { w.model.SetCounter(orders, 5) },
	} {
		t.Run(what, func(t *testing.T) {
			w := newAuto(t, alloc.SequenceConfig{ResumeShare: 30})
			harm(w)
			r := w.tend()
			if state, step := autoOf(r); state != alloc.SequenceStopped || step != alloc.RebuildResuming || !r.Rebuilds[0].Auto || r.Rebuilds[0].Share != 30 {
				t.Fatalf("the run has %+v, %+v, want it noticed, and rebuilt for 30 in 100", r.Sequences, r.Rebuilds)
			}
			w.wantState(alloc.SequenceResuming)
			w.clock.Advance(4 * time.Minute)
			if state, step := autoOf(w.tend()); state != alloc.SequenceResuming || step != "" {
				t.Fatalf("after four minutes it is %s, %s", state, step)
			}
			w.clock.Advance(time.Minute)
			if _, step := autoOf(w.tend()); step != alloc.RebuildDone {
				t.Fatalf("after five minutes it is %s, want it done", step)
			}
			if got := w.lease(1); got.Start != 1111 || got.Epoch != 2 {
				t.Errorf("the first lease is %+v, want it above margin and test, in epoch 2", got)
			}
			want := []string{
				"admin sequence.create ok", "schedule sequence.plan-rebuild ok", "schedule sequence.apply-rebuild ok",
				"schedule sequence.resume-rebuild ok", "schedule sequence.resume-rebuild ok",
			}
			if got := w.actions(); !slices.Equal(got, want) {
				t.Errorf("the trail has %q, want %q", got, want)
			}
		})
	}
}

func TestTheScheduleRebuildsNothingWithoutLeave(t *testing.T) {
	w := newWreck(t, alloc.SequenceConfig{})
	w.lease(100)
	w.tend()
	w.model.DropCounter(orders)
	if state, step := autoOf(w.tend()); state != alloc.SequenceStopped || step != "" {
		t.Errorf("the sequence is %s, its rebuild %q; want it stopped, and nobody at it", state, step)
	}
}

// Each check before an automatic rebuild: where it fails, the sequence stays stopped, and it is not tried again at once.
func TestTheScheduleRebuildsNothingOfWhichItIsNotSure(t *testing.T) {
	for what, harm := range map[string]func(w *wreck){
		"no evidence": func(w *wreck) {
			w.model.DropCounter(orders)
			w.cut()
			w.harm(alloctest.Damage{Kind: alloctest.LoseMark})
			w.clock.Advance(alloc.SampleRetention + 48*time.Hour)
		},
		"one source alone": func(w *wreck) {
			w.model.DropCounter(orders)
			w.cut()
			w.clock.Advance(alloc.SampleRetention + 48*time.Hour)
		},
		"sources that do not agree": func(w *wreck) {
			w.late(50_000, 50_001) // far above what anything else knows
			w.model.DropCounter(orders)
			w.harm(alloctest.Damage{Kind: alloctest.LoseMark})
		},
		"a ledger that is behind the mark": func(w *wreck) {
			w.lease(5000)
			w.watch()
			w.clock.Advance(alloc.SampleRetention + 48*time.Hour)
			w.harm(alloctest.Damage{Kind: alloctest.CutLedger, Number: 101})
			w.model.DropCounter(orders)
		},
		"leases that overlap": func(w *wreck) {
			w.late(50, 100)
			w.model.DropCounter(orders)
		},
		"an entry that cannot be read": func(w *wreck) {
			w.lease(10)
			w.harm(alloctest.Damage{Kind: alloctest.DamageLease, Number: 1})
			w.model.DropCounter(orders)
		},
		"a sequence that would have nothing left": func(w *wreck) {
			w.late(9_999, 10_000)
			w.model.DropCounter(orders)
			w.harm(alloctest.Damage{Kind: alloctest.LoseMark})
			w.late(9_000, 9_001)
		},
		"no configuration": func(w *wreck) {
			w.model.DropCounter(orders)
			w.harm(alloctest.Damage{Kind: alloctest.LoseSequenceCopy})
		},
	} {
		t.Run(what, func(t *testing.T) {
			config := alloc.SequenceConfig{}
			if what == "a sequence that would have nothing left" {
				config.Limit = 10_000
			}
			w := newAuto(t, config)
			harm(w)
			state, step := autoOf(w.tend())
			if want := alloc.RebuildCancelled; state != alloc.SequenceStopped || step != want && what != "no configuration" {
				t.Fatalf("the sequence is %s, its rebuild %s; want it stopped, and the rebuild %s", state, step, want)
			}
			w.wantRefused(alloc.CodeSequenceStopped)
			w.clock.Advance(time.Minute)
			if _, step := autoOf(w.tend()); step != "" {
				t.Errorf("a minute later the rebuild is %s, want it left alone", step)
			}
		})
	}
}

// A sequence that stops again and again is rebuilt three times a day, and then left to people.
func TestTheScheduleRebuildsThreeTimesADay(t *testing.T) {
	w := newAuto(t, alloc.SequenceConfig{})
	for n := range 5 {
		w.model.DropCounter(orders)
		_, step := autoOf(w.tend())
		if want := n < alloc.MaxAutoRebuilds; (step == alloc.RebuildResuming) != want {
			t.Fatalf("rebuild %d of the day: %q, want it done by itself: %t", n+1, step, want)
		}
		w.clock.Advance(time.Minute)
	}
	w.clock.Advance(24 * time.Hour)
	if _, step := autoOf(w.tend()); step != alloc.RebuildResuming {
		t.Errorf("on the next day it is %q, want it rebuilt", step)
	}
}

// A rebuild that an operator has begun, or has taken over, is his.
func TestTheScheduleLeavesAnOperatorsRebuildAlone(t *testing.T) {
	w := newAuto(t, alloc.SequenceConfig{})
	w.model.DropCounter(orders)
	p := w.plan(alloc.RebuildRequest{})
	for range 3 {
		w.clock.Advance(time.Hour)
		if r := w.tend(); len(r.Rebuilds) > 0 {
			t.Fatalf("the schedule has made %+v", r.Rebuilds)
		}
	}
	w.apply(p.Plan.ID)
	w.resume(20, alloc.RebuildResuming)
	w.clock.Advance(time.Hour)
	if r := w.tend(); len(r.Rebuilds) > 0 {
		t.Fatalf("the schedule has made %+v", r.Rebuilds)
	}

	w = newAuto(t, alloc.SequenceConfig{})
	w.model.DropCounter(orders)
	w.store.SetPlan(alloctest.Script("Restart", alloctest.Refused, alloctest.Refused))
	if _, err := w.Tend(alloc.AsSchedule(w.ctx)); !alloctest.Injected(err) {
		t.Fatal(err)
	}
	if r, err := w.Rebuild(w.ctx, orders); err != nil || !r.Auto || r.Step != alloc.RebuildApplied {
		t.Fatalf("the rebuild is %+v, %v", r, err)
	}
	w.store.SetPlan(nil)
	w.clock.Advance(time.Minute)
	if _, step := autoOf(w.tend()); step != alloc.RebuildResuming {
		t.Errorf("the next run leaves it at %q, want it carried on", step)
	}
}

// However a run of the schedule is cut off, those after it come to the end.
func TestTheScheduleRebuildsWhateverFails(t *testing.T) {
	for how, fault := range faults {
		for at := 0; ; at++ {
			w := newAuto(t, alloc.SequenceConfig{})
			w.model.DropCounter(orders)
			n, hit := 0, false
			w.store.SetPlan(func(alloctest.Call) alloctest.Fault {
				if n++; n == at+1 {
					hit = true
					return fault
				}
				return alloctest.Pass
			})
			for range 12 {
				if _, err := w.Tend(alloc.AsSchedule(w.ctx)); err != nil && !alloctest.Injected(err) {
					t.Fatalf("%s at call %d: %v", how, at, err)
				}
				w.clock.Advance(time.Minute)
			}
			w.store.SetPlan(nil)
			if r, err := w.Rebuild(w.ctx, orders); err != nil || r.Step != alloc.RebuildDone || r.Plan.Next != 1101 {
				t.Fatalf("%s at call %d: the rebuild is %+v, %v", how, at, r, err)
			}
			w.lease(1)
			if !hit {
				break
			}
		}
	}
}

// A paused sequence stays paused whatever becomes of its counter: the schedule tells of it, once, and does nothing to it; a rebuild that somebody asks for
// leaves it paused; and whoever resumes it without that opens nothing.
func TestAPausedSequenceStaysPausedWhateverBecomesOfItsCounter(t *testing.T) {
	for what, harm := range map[string]func(w *wreck){
		"behind": func(w *wreck) { w.model.SetCounter(orders, 5) },
		"lost":   func(w *wreck) { w.model.DropCounter(orders) },
	} {
		t.Run(what, func(t *testing.T) {
			w := newAuto(t, alloc.SequenceConfig{ResumeShare: 100})
			var told []alloc.Stop
			s, err := alloc.NewService(alloc.Config{Store: w.store, Now: w.clock.Now, Stopped: func(_ context.Context, s alloc.Stop) { told = append(told, s) }})
			if err != nil {
				t.Fatal(err)
			}
			w.Service = s
			w.lease(100)
			w.tend()
			if _, err := w.SetSequenceState(w.ctx, orders, 0, alloc.SequencePaused); err != nil {
				t.Fatal(err)
			}
			harm(w)
			for range 10 {
				r := w.tend()
				if q := r.Sequences[0]; !q.Faulty() || q.Left != 0 || q.Next != 0 || len(r.Rebuilds) != 0 {
					t.Fatalf("the schedule tells of it as %+v, and rebuilds %+v; want it faulty, and nothing rebuilt", q, r.Rebuilds)
				}
				w.wantState(alloc.SequencePaused)
				w.clock.Advance(time.Hour)
			}
			if len(told) != 1 || told[0].Paused != (what == "behind") {
				t.Errorf("told %+v, want it once", told)
			}
			w.apply(w.plan(alloc.RebuildRequest{}).Plan.ID)
			w.resume(10, alloc.RebuildDone)
			w.tend()
			w.wantState(alloc.SequencePaused)
			if _, err := w.SetSequenceState(w.ctx, orders, 0, alloc.SequenceActive); err != nil {
				t.Fatal(err)
			}
			w.lease(1)
		})
	}
}

func TestAPausedSequenceWhoseCounterIsBehindOpensNothingWhenItIsResumed(t *testing.T) {
	w := newWreck(t, alloc.SequenceConfig{})
	w.lease(100)
	w.watch()
	must(t, w.model.SetSequenceState, orders, alloc.SequencePaused)
	w.model.SetCounter(orders, 5)
	w.tend()
	_, err := w.SetSequenceState(w.ctx, orders, 0, alloc.SequenceActive)
	wantCode(t, err, alloc.CodeSequenceStopped)
	w.wantState(alloc.SequenceStopped)
	w.wantRefused(alloc.CodeSequenceStopped)
}

// The same through a rebuild that was applied and given up: the sequence is stopped, and paused when the next one has ended.
func TestAPausedSequenceIsPausedAgainAfterASecondRebuild(t *testing.T) {
	w := newAuto(t, alloc.SequenceConfig{ResumeShare: 100})
	w.lease(100)
	w.watch()
	must(t, w.model.SetSequenceState, orders, alloc.SequencePaused)
	w.model.SetCounter(orders, 5)
	applied := w.apply(w.plan(alloc.RebuildRequest{}).Plan.ID)
	w.plan(alloc.RebuildRequest{Replaces: applied.Plan.ID})
	if _, err := w.CancelRebuild(w.ctx, orders); err != nil {
		t.Fatal(err)
	}
	w.wantState(alloc.SequenceStopped)
	for range 3 {
		w.tend()
		w.clock.Advance(time.Hour)
		w.wantState(alloc.SequenceStopped)
	}
	w.apply(w.plan(alloc.RebuildRequest{}).Plan.ID)
	w.resume(10, alloc.RebuildDone)
	w.wantState(alloc.SequencePaused)
}
