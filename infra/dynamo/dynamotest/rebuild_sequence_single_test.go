package dynamotest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// wrecks are the ways in which the counter may be no good.
var wrecks = map[string]func(m *Memory){
	"whole": func(*Memory) {},
	"lost":  func(m *Memory) { m.Drop(counterKey) },
	"damaged": func(m *Memory) {
		it := m.Item(counterKey)
		it[attrLast] = "ten"
		m.Set(it)
	},
}

// TestARebuildSurvivesAFaultAtEveryWrite carries each step out as the Service does: again, by another process, where it failed.
func TestARebuildSurvivesAFaultAtEveryWrite(t *testing.T) {
	for name, harm := range wrecks {
		t.Run(name, func(t *testing.T) {
			atEveryWrite(t, func(t *testing.T, a *attempt) {
				createSequence(t, a.mem)
				before := leaseOn(t, storeOn(t, a.mem), 10, nil)
				again(t, a, func(ctx context.Context, s *dynamo.Store) (alloc.Sequence, error) { return s.Watch(ctx, sequence) })
				harm(a.mem)
				rebuildInSteps(t, a, name == "whole")
				after := leaseOn(t, storeOn(t, a.mem), 10, nil)
				if after.Start <= before.End || after.Start < 101 || after.Epoch != 2 {
					t.Errorf("the ranges are %+v and %+v", before, after)
				}
				e, err := storeOn(t, a.mem).Evidence(t.Context(), sequence)
				if err != nil || !e.Counter || !e.Marked || e.Mark != 10 || e.Epoch != 2 {
					t.Errorf("the evidence is %+v, %v", e, err)
				}
			})
		})
	}
}

func rebuildInSteps(t *testing.T, a *attempt, whole bool) {
	t.Helper()
	record := func(from alloc.Version, step alloc.RebuildStep) {
		t.Helper()
		change := alloc.NewToken()
		r, _ := again(t, a, func(ctx context.Context, s *dynamo.Store) (alloc.Rebuild, error) {
			return s.ChangeRebuild(ctx, from, alloc.Rebuild{Sequence: sequence, ID: "r1", Step: step, Change: change})
		})
		if r.Version != from+1 || r.Step != step {
			t.Errorf("the record is %+v", r)
		}
	}
	state := func(what string, want alloc.SequenceState, f func(context.Context, *dynamo.Store) (alloc.Sequence, error)) {
		t.Helper()
		if q, _ := again(t, a, f); q.State != want {
			t.Errorf("%s gave %+v, want it %s", what, q, want)
		}
	}
	o := alloc.RestartOrder{Sequence: sequence, Rebuild: "r1", To: 2, Next: 101, Config: alloc.SequenceConfig{}.WithDefaults()}
	was := alloc.SequenceStopped
	if whole {
		o.From, was = 1, alloc.SequenceActive
	}
	record(0, alloc.RebuildGathering)
	state("Freeze", was, func(ctx context.Context, s *dynamo.Store) (alloc.Sequence, error) {
		return s.Freeze(ctx, sequence, "r1")
	})
	record(1, alloc.RebuildApplied)
	state("Restart", alloc.SequenceFrozen, func(ctx context.Context, s *dynamo.Store) (alloc.Sequence, error) { return s.Restart(ctx, o) })
	test, _ := again(t, a, func(ctx context.Context, s *dynamo.Store) (alloc.Range, error) {
		return s.Lease(ctx, alloc.LeaseOrder{Sequence: sequence, Count: 10, By: "operator", Rebuild: "r1"})
	})
	if test.Start < 101 || test.Epoch != 2 {
		t.Errorf("the test leased %+v", test)
	}
	state("Thaw", alloc.SequenceResuming, func(ctx context.Context, s *dynamo.Store) (alloc.Sequence, error) {
		return s.Thaw(ctx, sequence, "r1", alloc.SequenceResuming, 10)
	})
	record(2, alloc.RebuildDone)
	state("Thaw", alloc.SequenceActive, func(ctx context.Context, s *dynamo.Store) (alloc.Sequence, error) {
		return s.Thaw(ctx, sequence, "r1", alloc.SequenceActive, 0)
	})
}

func TestCarriedLeasesSurviveAFaultAtEveryWrite(t *testing.T) {
	atEveryWrite(t, func(t *testing.T, a *attempt) {
		createSequence(t, a.mem)
		shorter := leaseOn(t, storeOn(t, a.mem), 5, nil)
		var leases []alloc.LeaseRecord
		for i, start := range []alloc.Number{1, 11, 21} {
			leases = append(leases, alloc.LeaseRecord{Start: start, End: start + 9, Token: alloc.Token(fmt.Sprint("t", i)), By: "old", Epoch: 1, Proven: true})
		}
		setSequence(t, a.mem, alloc.SequencePaused)
		outcomes, _ := again(t, a, func(ctx context.Context, s *dynamo.Store) ([]alloc.CarryOutcome, error) {
			return s.CarryLeases(ctx, sequence, leases)
		})
		if len(outcomes) != 3 || outcomes[0] != alloc.CarryClash || slices.Contains(outcomes[1:], alloc.CarryClash) {
			t.Errorf("the outcomes are %v", outcomes)
		}
		got, _, err := storeOn(t, a.mem).WalkLedger(t.Context(), sequence, "", 10)
		if err != nil || len(got) != 4 || got[0].End != 5 || got[1].End != 10 || got[3].End != 30 || shorter.End != 5 {
			t.Errorf("the ledger is %+v, %v", got, err)
		}
		setSequence(t, a.mem, alloc.SequenceActive)
		if _, err := storeOn(t, a.mem).Lease(t.Context(), alloc.LeaseOrder{Sequence: sequence, Count: 5, By: "client"}); !alloc.Is(err, alloc.CodeSequenceStopped) {
			t.Errorf("a lease below what was carried got %v", err)
		}
	})
}

// setSequence changes the state of the sequence.
func setSequence(t *testing.T, table dynamo.Table, to alloc.SequenceState) {
	t.Helper()
	if _, err := storeOn(t, table).SetSequenceState(t.Context(), sequence, 0, to); err != nil {
		t.Fatal(err)
	}
}
