package alloc_test

import (
	"context"
	"time"

	"idpool/alloc"
)

// The rebuild of a pool, audits, logs and restores.
var repairOperations = map[string]operation{
	"PoolEvidence": {need: alloc.ActionManage, on: string(pool), run: func(ctx context.Context, s *alloc.Service) error {
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
	"LogTaken": {need: alloc.ActionManage, on: string(sequence), record: "sequence.log", run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.LogTaken(ctx, alloc.LogRequest{Sequence: sequence})
		return err
	}},
	"Restore": {need: alloc.ActionManage, on: string(pool), record: "pool.restore", run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.Restore(ctx, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreLog, Point: time.Unix(1, 0)})
		return err
	}},
}
