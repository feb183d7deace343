package alloc_test

import (
	"context"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// The rebuild of a pool, audits, logs and restores, and what an administrator does on pages.
var repairOperations = map[string]operation{
	"CheckSeeding": {need: alloc.ActionManage, on: string(pool), record: "pool.check-seed", finds: "Job", run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.CheckSeeding(ctx, seeding, "")
		return err
	}},
	"SettleFor": {need: alloc.ActionOperate, or: alloc.ActionManage, on: string(pool), record: "pool.release", run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.SettleFor(ctx, alloc.OperatorRequest{Was: taken, Event: alloc.EventRelease})
		return err
	}},
	"RecentClaims": {need: alloc.ActionRead, on: string(pool), run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.RecentClaims(ctx, pool, 10)
		return err
	}},
	"BarePools": {need: alloc.ActionRead, on: string(pool), list: true, run: func(ctx context.Context, s *alloc.Service) error {
		pools, _, err := s.BarePools(ctx, "", 10)
		return oneOrHidden(len(pools), err)
	}},
	"PoolNames": {need: alloc.ActionRead, on: string(pool), list: true, run: func(ctx context.Context, s *alloc.Service) error {
		names, _, err := s.PoolNames(ctx, "", 10)
		return oneOrHidden(len(names), err)
	}},
	"PoolEvidence": {need: alloc.ActionRead, on: string(pool), run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.PoolEvidence(ctx, pool)
		return err
	}},
	"RebuildPool": {need: alloc.ActionManage, on: string(pool), record: "pool.rebuild", run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.RebuildPool(ctx, alloc.PoolRebuildRequest{Pool: pool})
		return err
	}},
	"Audit": {need: alloc.ActionManage, on: string(pool), record: "pool.audit", run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.Audit(ctx, alloc.AuditRequest{Pool: pool})
		return err
	}},
	"Acknowledge": {need: alloc.ActionManage, on: "*", record: "trail.acknowledge", target: "trail", spared: true, run: func(ctx context.Context, s *alloc.Service) error {
		month := alloc.MonthOf(time.Now())
		return s.Acknowledge(ctx, alloc.Acknowledgement{Month: month, Position: 1, Seen: alloc.SeenMissing(month, 1, 1), Why: "the disk was full"})
	}},
	"LogTaken": {need: alloc.ActionManage, on: string(sequence), record: "sequence.log", run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.LogTaken(ctx, alloc.LogRequest{Sequence: sequence})
		return err
	}},
	"Restore": {need: alloc.ActionManage, on: string(sequence), record: "sequence.restore", run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.Restore(ctx, alloc.RestoreRequest{Sequence: sequence, Source: alloc.RestoreBurn, Point: time.Unix(1_000_000_000, 0)})
		return err
	}},
}

// newBreak makes a trail of which the first record is gone.
func newBreak(t testing.TB, m *alloctest.Model) {
	t.Helper()
	if err := m.Record(t.Context(), alloc.AuditRecord{ID: "gone", At: time.Now(), Client: "c", Action: "pool.pause", Target: "pool/x", Result: "ok"}); err != nil {
		t.Fatal(err)
	}
	m.Damage(t, alloctest.Damage{Kind: alloctest.LoseRecord, Month: alloc.MonthOf(time.Now()), Position: 1})
}
