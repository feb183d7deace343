package alloctest

import (
	"context"
	"time"

	"idpool/alloc"
)

// FailedJobs implements alloc.Jobs.
func (f *Faulty) FailedJobs(ctx context.Context, since time.Time, before string, limit int) ([]alloc.Job, error) {
	return call(ctx, f, "FailedJobs", func() ([]alloc.Job, error) { return f.store.FailedJobs(ctx, since, before, limit) })
}

// OpenJobs implements alloc.Jobs.
func (f *Faulty) OpenJobs(ctx context.Context, after alloc.JobID, limit int) ([]alloc.Job, error) {
	return call(ctx, f, "OpenJobs", func() ([]alloc.Job, error) { return f.store.OpenJobs(ctx, after, limit) })
}

// PutInput implements alloc.Jobs.
func (f *Faulty) PutInput(ctx context.Context, job alloc.JobID, name string, data []byte) error {
	_, err := call(ctx, f, "PutInput", func() (struct{}, error) { return struct{}{}, f.store.PutInput(ctx, job, name, data) })
	return err
}

// Input implements alloc.Jobs.
func (f *Faulty) Input(ctx context.Context, job alloc.JobID, name string) ([]byte, error) {
	return call(ctx, f, "Input", func() ([]byte, error) { return f.store.Input(ctx, job, name) })
}

// Refill implements alloc.Refills.
func (f *Faulty) Refill(ctx context.Context, pool alloc.PoolName) (alloc.Refill, error) {
	return call(ctx, f, "Refill", func() (alloc.Refill, error) { return f.store.Refill(ctx, pool) })
}

// ChangeRefill implements alloc.Refills.
func (f *Faulty) ChangeRefill(ctx context.Context, from alloc.Version, r alloc.Refill) (alloc.Refill, error) {
	return call(ctx, f, "ChangeRefill", func() (alloc.Refill, error) { return f.store.ChangeRefill(ctx, from, r) })
}

// PoolSamples implements alloc.Samples.
func (f *Faulty) PoolSamples(ctx context.Context, pool alloc.PoolName, from, until time.Time, limit int) ([]alloc.Sample, error) {
	return call(ctx, f, "PoolSamples", func() ([]alloc.Sample, error) { return f.store.PoolSamples(ctx, pool, from, until, limit) })
}

// SampleSequence implements alloc.Samples.
func (f *Faulty) SampleSequence(ctx context.Context, name alloc.SequenceName, s alloc.Sample) error {
	_, err := call(ctx, f, "SampleSequence", func() (struct{}, error) { return struct{}{}, f.store.SampleSequence(ctx, name, s) })
	return err
}

// SequenceSamples implements alloc.Samples.
func (f *Faulty) SequenceSamples(ctx context.Context, name alloc.SequenceName, from, until time.Time, limit int) ([]alloc.Sample, error) {
	return call(ctx, f, "SequenceSamples", func() ([]alloc.Sample, error) {
		return f.store.SequenceSamples(ctx, name, from, until, limit)
	})
}

// PutBoard implements alloc.Boards.
func (f *Faulty) PutBoard(ctx context.Context, at time.Time, data []byte) error {
	_, err := call(ctx, f, "PutBoard", func() (struct{}, error) { return struct{}{}, f.store.PutBoard(ctx, at, data) })
	return err
}

// PoolLevels implements alloc.Boards.
func (f *Faulty) PoolLevels(ctx context.Context, names []alloc.PoolName) ([]alloc.PoolLevel, error) {
	return call(ctx, f, "PoolLevels", func() ([]alloc.PoolLevel, error) { return f.store.PoolLevels(ctx, names) })
}

// Board implements alloc.Boards.
func (f *Faulty) Board(ctx context.Context) ([]byte, error) {
	return call(ctx, f, "Board", func() ([]byte, error) { return f.store.Board(ctx) })
}
