package alloc

import (
	"context"
	"time"
)

// maxSamples is the most samples that one call returns: those of a day, and some.
const maxSamples = 1500

// PoolForecast tells how long the pool lasts. Needs ActionRead.
func (s *Service) PoolForecast(ctx context.Context, name PoolName) (Forecast, error) {
	if _, err := s.readablePool(ctx, name); err != nil {
		return Forecast{}, err
	}
	level, err := s.store.Level(ctx, name)
	if err != nil {
		return Forecast{}, err
	}
	now := s.now()
	burns, err := s.poolBurns(ctx, name, now, level)
	return poolForecast(now, level, burns), err
}

// SequenceForecast tells when the sequence overflows; of one that is stopped or frozen nothing is known. Needs ActionRead.
func (s *Service) SequenceForecast(ctx context.Context, name SequenceName) (Forecast, error) {
	q, err := s.Sequence(ctx, name)
	if err != nil {
		return Forecast{}, err
	}
	now := q.sample(s.now())
	if !q.State.hasPosition() {
		return Forecast{At: now.At}, nil
	}
	burns, _, err := s.sequenceBurns(ctx, q, now)
	return forecastOf(now.At, now.Available, burns), err
}

// PoolSamples returns at most limit (1 to 1500) samples, oldest first, from a time on and before another. Needs ActionRead.
func (s *Service) PoolSamples(ctx context.Context, name PoolName, from, until time.Time, limit int) ([]Sample, error) {
	if _, err := s.readablePool(ctx, name); err != nil {
		return nil, err
	}
	if err := checkSamples(from, until, limit); err != nil {
		return nil, err
	}
	return s.store.PoolSamples(ctx, name, from, until, limit)
}

// SequenceSamples is to sequences what PoolSamples is to pools.
func (s *Service) SequenceSamples(ctx context.Context, name SequenceName, from, until time.Time, limit int) ([]Sample, error) {
	if _, err := s.Sequence(ctx, name); err != nil {
		return nil, err
	}
	if err := checkSamples(from, until, limit); err != nil {
		return nil, err
	}
	return s.store.SequenceSamples(ctx, name, from, until, limit)
}

func checkSamples(from, until time.Time, limit int) error {
	if limit < 1 || limit > maxSamples {
		return Errorf(CodeInvalidRequest, "limit must be 1 to %d", maxSamples)
	}
	for what, t := range map[string]time.Time{"from": from, "until": until} {
		if err := checkMoment(what, t); err != nil {
			return err
		}
	}
	if !from.Before(until) {
		return Errorf(CodeInvalidRequest, "until must be later than from")
	}
	return nil
}

// readablePool returns a pool that is not deleted to a caller who may read it.
func (s *Service) readablePool(ctx context.Context, name PoolName) (Pool, error) {
	if _, err := s.admit(ctx, ActionRead, string(name)); err != nil {
		return Pool{}, err
	}
	p, err := s.store.Pool(ctx, name)
	if err != nil {
		return Pool{}, err
	}
	return p, p.CheckThere()
}

// poolBurns looks at how fast the pool was used.
func (s *Service) poolBurns(ctx context.Context, name PoolName, now time.Time, level Level) ([]Burn, error) {
	read := func(from, until time.Time, limit int) ([]Sample, error) {
		return s.store.PoolSamples(ctx, name, from, until, limit)
	}
	burns, _, err := burnsUpTo(Sample{At: now, Available: level.Available, Used: level.Seeded - level.Available}, read)
	return burns, err
}

// sample is how the sequence stands.
func (s Sequence) sample(now time.Time) Sample {
	return Sample{At: now, Available: s.Remaining(), Used: Count(s.Next - s.Config.Start)}
}

// sequenceBurns looks at how fast the sequence was used, and returns its last sample of the last hour, or the zero Sample. The numbers that a
// rebuild has left out, or tested with, were not used: what was sampled before one says nothing of what comes after.
func (s *Service) sequenceBurns(ctx context.Context, q Sequence, now Sample) ([]Burn, Sample, error) {
	since := time.Time{}
	if q.Epoch > 1 {
		r, err := s.store.Rebuild(ctx, q.Name)
		if err != nil {
			return nil, Sample{}, err
		}
		since = r.jumped()
	}
	read := func(from, until time.Time, limit int) ([]Sample, error) {
		if from.Before(since) {
			from = since
		}
		return s.store.SequenceSamples(ctx, q.Name, from, until, limit)
	}
	return burnsUpTo(now, read)
}

// jumped is from when on the counter has not been moved by a rebuild: there is no sample between the step before and its end, in which the
// sequence is closed. Of a rebuild that was given up it is not known when one before it was applied, but that this was before it began.
func (r Rebuild) jumped() time.Time {
	last := r.Applied
	if last.Before(r.Started) {
		last = r.Started
	}
	if last.IsZero() {
		return last
	}
	return last.Add(time.Second) // the record has whole seconds
}

// burnsUpTo looks at what was used until now in each of the windows, at one query a window, and returns the last sample of
// the first window, or the zero Sample. What a pool has been seeded with is known as of its last sweep, while what is
// available is known as of now: an ID added in between looks like one that came back. So where the last sample shows more
// use than there would be by now, that is the end.
func burnsUpTo(now Sample, read func(from, until time.Time, limit int) ([]Sample, error)) (burns []Burn, last Sample, err error) {
	const minutes = 100 // more than the first window has
	end := now
	for i, window := range ForecastWindows() {
		limit := 1
		if i == 0 {
			limit = minutes
		}
		samples, err := read(now.At.Add(-window), now.At, limit)
		if err != nil {
			return nil, Sample{}, err
		}
		if len(samples) == 0 {
			burns = append(burns, Burn{Window: window})
			continue
		}
		if i == 0 {
			if last = samples[len(samples)-1]; last.Used > end.Used {
				end = last
			}
		}
		burns = append(burns, burnOf(window, samples[0], end))
	}
	return burns, last, nil
}
