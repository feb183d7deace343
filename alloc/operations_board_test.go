package alloc_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// newBoard puts a board with the pool of a world as newWorld makes it.
func newBoard(t testing.TB, m *alloctest.Model) {
	t.Helper()
	board, err := alloc.Board{At: time.Now(), Pools: []alloc.PoolOnBoard{{Pool: pool, State: alloc.PoolActive}}}.Encode()
	if err := errors.Join(err, m.PutBoard(t.Context(), time.Now(), board)); err != nil {
		t.Fatal(err)
	}
}

// failedAudit is in a world as newWorld makes it: an audit that has failed.
func failedAudit() alloc.Job {
	return alloc.Job{ID: "0123456789ABCDEFGHIJKLMNOS", Kind: alloc.JobAudit, Pool: pool, State: alloc.JobFailed, Created: time.Now(), Updated: time.Now()}
}

// boardOperations are what pages of many things ask for.
var boardOperations = map[string]operation{
	"TrailAtOnce": {need: alloc.ActionRead, on: "*", run: func(ctx context.Context, s *alloc.Service) error {
		_, _, err := s.TrailAtOnce(ctx, alloc.TrailFilter{})
		return err
	}},
	"OpenJobs": {need: alloc.ActionExport, or: alloc.ActionManage, on: string(pool), list: true, run: func(ctx context.Context, s *alloc.Service) error {
		jobs, err := s.OpenJobs(ctx, 10)
		exports := slices.DeleteFunc(jobs, func(j alloc.Job) bool { return j.Kind != alloc.JobExport })
		return oneOrHidden(len(exports), err)
	}},
	"FailedJobs": {need: alloc.ActionManage, on: string(pool), list: true, run: func(ctx context.Context, s *alloc.Service) error {
		jobs, _, err := s.FailedJobs(ctx, time.Time{}, 10)
		return oneOrHidden(len(jobs), err)
	}},
	"Board": {need: alloc.ActionRead, on: string(pool), list: true, run: func(ctx context.Context, s *alloc.Service) error {
		b, err := s.Board(ctx)
		return oneOrHidden(len(b.Pools), err)
	}},
	"PoolsBy": {need: alloc.ActionRead, on: string(pool), list: true, run: func(ctx context.Context, s *alloc.Service) error {
		pools, _, err := s.PoolsBy(ctx, alloc.Board{}, alloc.BoardQuery{}, "", 10)
		return oneOrHidden(len(pools), err)
	}},
	"SequencesBy": {need: alloc.ActionRead, on: string(sequence), list: true, run: func(ctx context.Context, s *alloc.Service) error {
		sequences, _, err := s.SequencesBy(ctx, alloc.Board{}, alloc.BoardQuery{}, "", 10)
		return oneOrHidden(len(sequences), err)
	}},
}
