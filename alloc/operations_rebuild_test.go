package alloc_test

import (
	"context"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// The sequences with a rebuild in a world as newWorld makes it: there is a plan for one, the other is verified.
const (
	planned  = alloc.SequenceName("team-a.planned")
	verified = alloc.SequenceName("team-a.verified")
	planID   = "plan"
)

// The steps of a rebuild.
var rebuildOperations = map[string]operation{
	"PlanRebuild": {need: alloc.ActionManage, on: string(sequence), record: "sequence.plan-rebuild", run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.PlanRebuild(ctx, alloc.RebuildRequest{Sequence: sequence})
		return err
	}},
	"Rebuild": {need: alloc.ActionRead, on: string(planned), run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.Rebuild(ctx, planned)
		return err
	}},
	"SequenceEvidence": {need: alloc.ActionRead, on: string(sequence), run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.SequenceEvidence(ctx, sequence)
		return err
	}},
	"ApplyRebuild": {need: alloc.ActionManage, on: string(planned), record: "sequence.apply-rebuild", run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.ApplyRebuild(ctx, alloc.RebuildApproval{Sequence: planned, Plan: planID})
		return err
	}},
	"ResumeRebuild": {need: alloc.ActionManage, on: string(verified), record: "sequence.resume-rebuild", run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.ResumeRebuild(ctx, verified, 100)
		return err
	}},
	"CancelRebuild": {need: alloc.ActionManage, on: string(planned), record: "sequence.cancel-rebuild", run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.CancelRebuild(ctx, planned)
		return err
	}},
}

// newRebuilds makes the sequences with a rebuild.
func newRebuilds(t testing.TB, m *alloctest.Model) {
	t.Helper()
	config := alloc.SequenceConfig{}.WithDefaults()
	for name, step := range map[alloc.SequenceName]alloc.RebuildStep{planned: alloc.RebuildPlanned, verified: alloc.RebuildVerified} {
		_, _, err := m.CreateSequence(t.Context(), name, config)
		if err != nil {
			t.Fatal(err)
		}
		r := alloc.Rebuild{
			Sequence: name, ID: "0123456789ABCDEFGHIJKLMNOR", Step: step, Was: alloc.SequenceActive, Epoch: 1, Config: config, Started: time.Now(), Updated: time.Now(),
			Plan: alloc.RebuildPlan{ID: planID, Floor: 1, Next: 1001, Burned: 1000, Epoch: 2},
		}
		if _, err := m.ChangeRebuild(t.Context(), 0, r); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Freeze(t.Context(), name, r.ID); err != nil {
			t.Fatal(err)
		}
	}
}
