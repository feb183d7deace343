package alloctest

import (
	"context"
	"time"

	"idpool/alloc"
)

// What is not built yet; see the brief.

var errPending = alloc.Errorf(alloc.CodeInternal, "not built yet")

func (s *Model) OpenJobs(ctx context.Context, after alloc.JobID, limit int) ([]alloc.Job, error) {
	return nil, errPending
}

func (s *Model) PutInput(ctx context.Context, job alloc.JobID, name string, data []byte) error {
	return errPending
}

func (s *Model) Input(ctx context.Context, job alloc.JobID, name string) ([]byte, error) {
	return nil, errPending
}

func (s *Model) Refill(ctx context.Context, pool alloc.PoolName) (alloc.Refill, error) {
	return alloc.Refill{}, errPending
}

func (s *Model) ChangeRefill(ctx context.Context, from alloc.Version, r alloc.Refill) (alloc.Refill, error) {
	return alloc.Refill{}, errPending
}

func (s *Model) PoolSamples(ctx context.Context, pool alloc.PoolName, from, until time.Time, limit int) ([]alloc.Sample, error) {
	return nil, errPending
}

func (s *Model) SampleSequence(ctx context.Context, name alloc.SequenceName, sample alloc.Sample) error {
	return errPending
}

func (s *Model) SequenceSamples(ctx context.Context, name alloc.SequenceName, from, until time.Time, limit int) ([]alloc.Sample, error) {
	return nil, errPending
}

func (s *Faulty) OpenJobs(ctx context.Context, after alloc.JobID, limit int) ([]alloc.Job, error) {
	return nil, errPending
}

func (s *Faulty) PutInput(ctx context.Context, job alloc.JobID, name string, data []byte) error {
	return errPending
}

func (s *Faulty) Input(ctx context.Context, job alloc.JobID, name string) ([]byte, error) {
	return nil, errPending
}

func (s *Faulty) Refill(ctx context.Context, pool alloc.PoolName) (alloc.Refill, error) {
	return alloc.Refill{}, errPending
}

func (s *Faulty) ChangeRefill(ctx context.Context, from alloc.Version, r alloc.Refill) (alloc.Refill, error) {
	return alloc.Refill{}, errPending
}

func (s *Faulty) PoolSamples(ctx context.Context, pool alloc.PoolName, from, until time.Time, limit int) ([]alloc.Sample, error) {
	return nil, errPending
}

func (s *Faulty) SampleSequence(ctx context.Context, name alloc.SequenceName, sample alloc.Sample) error {
	return errPending
}

func (s *Faulty) SequenceSamples(ctx context.Context, name alloc.SequenceName, from, until time.Time, limit int) ([]alloc.Sample, error) {
	return nil, errPending
}
