package sql

import (
	"context"
	"time"

	"idpool/alloc"
)

// What is not built yet; see the brief.

var errPending = alloc.Errorf(alloc.CodeInternal, "not built yet")

func (s *Store) OpenJobs(ctx context.Context, after alloc.JobID, limit int) ([]alloc.Job, error) {
	return nil, errPending
}

func (s *Store) PutInput(ctx context.Context, job alloc.JobID, name string, data []byte) error {
	return errPending
}

func (s *Store) Input(ctx context.Context, job alloc.JobID, name string) ([]byte, error) {
	return nil, errPending
}

func (s *Store) Refill(ctx context.Context, pool alloc.PoolName) (alloc.Refill, error) {
	return alloc.Refill{}, errPending
}

func (s *Store) ChangeRefill(ctx context.Context, from alloc.Version, r alloc.Refill) (alloc.Refill, error) {
	return alloc.Refill{}, errPending
}

func (s *Store) PoolSamples(ctx context.Context, pool alloc.PoolName, from, until time.Time, limit int) ([]alloc.Sample, error) {
	return nil, errPending
}

func (s *Store) SampleSequence(ctx context.Context, name alloc.SequenceName, sample alloc.Sample) error {
	return errPending
}

func (s *Store) SequenceSamples(ctx context.Context, name alloc.SequenceName, from, until time.Time, limit int) ([]alloc.Sample, error) {
	return nil, errPending
}
