package alloc

import (
	"context"
	"time"
)

// What is not built yet; see the brief.

var errPending = Errorf(CodeInternal, "not built yet")

// PreviewGenerator checks a configuration as a whole, and shows what its generator would make. CodeInvalidConfig with the
// arithmetic where it cannot work or would be unwise. Needs ActionManage on the pool's name, and for a generator of a sequence
// ActionLease on that.
func (s *Service) PreviewGenerator(ctx context.Context, r PreviewRequest) (Preview, error) {
	return Preview{}, errPending
}

// PoolForecast tells how long the pool lasts. Needs ActionRead.
func (s *Service) PoolForecast(ctx context.Context, name PoolName) (Forecast, error) {
	return Forecast{}, errPending
}

// SequenceForecast tells when the sequence overflows. Needs ActionRead.
func (s *Service) SequenceForecast(ctx context.Context, name SequenceName) (Forecast, error) {
	return Forecast{}, errPending
}

// PoolSamples returns at most limit (1 to 1500) samples, oldest first, from a time on and before another. Needs ActionRead.
func (s *Service) PoolSamples(ctx context.Context, name PoolName, from, until time.Time, limit int) ([]Sample, error) {
	return nil, errPending
}

// SequenceSamples is to sequences what PoolSamples is to pools.
func (s *Service) SequenceSamples(ctx context.Context, name SequenceName, from, until time.Time, limit int) ([]Sample, error) {
	return nil, errPending
}

// PoolRefill returns where the pool's refill stands: its version is 0 where it was never filled. Needs ActionRead.
func (s *Service) PoolRefill(ctx context.Context, name PoolName) (Refill, error) {
	return Refill{}, errPending
}

// OpenSeeding makes a job that takes a file in parts, by ReceivePart, and adds its IDs once StartJob has said that all are
// there. Needs ActionSeed. CodeInvalidRequest; what CheckSeed says; CodeBusy as in Export.
func (s *Service) OpenSeeding(ctx context.Context, r SeedJobRequest) (Job, error) {
	return Job{}, errPending
}

// ReceivePart takes part n, from 0, of the job's file: whole lines, at most MaxInputBytes. Parts come in their order; one
// that comes again, with the same bytes, is a success. CodeInvalidRequest with what cannot be read, another part n or a gap; CodeJobEnded,
// and once the job was started. Needs ActionSeed on its pool.
func (s *Service) ReceivePart(ctx context.Context, id JobID, n int, data []byte) (j Job, warnings []string, err error) {
	return Job{}, nil, errPending
}

// StartJob says that the job's file has so many parts, and all are there. A repeat is a success. CodeInvalidRequest where
// they are not. Needs ActionSeed on its pool.
func (s *Service) StartJob(ctx context.Context, id JobID, parts int) (Job, error) {
	return Job{}, errPending
}

// CountPool counts a pool's IDs by their states, one by one, as a job; a small pool is counted when it returns. Needs
// ActionRead. What is claimed or comes back while it counts is counted before or after that.
func (s *Service) CountPool(ctx context.Context, r CountRequest) (Job, error) {
	return Job{}, errPending
}

// Work carries the job on from the step, until it has ended or the context's deadline is near; then it sends word of the rest.
// A step that was overtaken is dropped: no error. An error means that the message should come again. Needs ActionTend on all.
func (s *Service) Work(ctx context.Context, step Step) error { return errPending }

// ResumeJobs sends word of every job that has not ended, whenever it was last carried on: for a program whose queue was lost
// with its last process. It returns how many. Needs ActionTend on all.
func (s *Service) ResumeJobs(ctx context.Context) (int, error) { return 0, errPending }
