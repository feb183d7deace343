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
