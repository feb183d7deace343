package alloctest

import (
	"context"
	"slices"
	"time"

	"idpool/alloc"
)

var sampleMutants = []mutant{
	{"a sweep keeps no sample", []string{"Sweep keeps a sample", "a paused and a draining pool", "a sample says what Level says"}, func(m *Model) alloc.Store {
		return sweeping{m, func(p *modelPool, _ time.Time) { clear(p.samples) }}
	}},
	{"each sweep keeps a sample of its own", []string{"however often Sweep runs"}, func(m *Model) alloc.Store {
		return sweeping{m, func(p *modelPool, now time.Time) { p.samples[now.UnixMilli()<<20] = p.sample(now) }}
	}},
	{"a sample is kept an hour", []string{"Sweep keeps a sample", "however often Sweep runs"}, func(m *Model) alloc.Store {
		return sweeping{m, func(p *modelPool, now time.Time) {
			hour := now.Unix() / 3600
			for minute := range p.samples {
				if minute != now.Unix()/60 && minute/60 == hour {
					delete(p.samples, now.Unix()/60)
				}
			}
		}}
	}},
	{"a minute is any 60 seconds after the last sample", []string{"however often Sweep runs"}, func(m *Model) alloc.Store {
		return sweeping{m, func(p *modelPool, now time.Time) {
			for _, s := range p.samples {
				if age := now.Sub(s.At); age > 0 && age < time.Minute+time.Second {
					delete(p.samples, now.Unix()/60)
				}
			}
		}}
	}},
	{"a sample says the time of its minute", []string{"Sweep keeps a sample", "PoolSamples gives those"}, func(m *Model) alloc.Store {
		return sweeping{m, func(p *modelPool, _ time.Time) {
			for minute, s := range p.samples {
				s.At = s.At.Truncate(time.Minute)
				p.samples[minute] = s
			}
		}}
	}},
	{"a sample counts what is claimed as used, and no more", []string{"a sample says what Level says"}, func(m *Model) alloc.Store {
		return sweeping{m, func(p *modelPool, now time.Time) {
			minute := now.Unix() / 60
			s := p.samples[minute]
			s.Used = p.counted.Claimed
			p.samples[minute] = s
		}}
	}},
	{"a sample counts what was seeded as available", []string{"a sample says what Level says"}, func(m *Model) alloc.Store {
		return sweeping{m, func(p *modelPool, now time.Time) {
			minute := now.Unix() / 60
			s := p.samples[minute]
			s.Available += s.Used
			p.samples[minute] = s
		}}
	}},
	{"a deleted pool is sampled", []string{"a paused and a draining pool"}, func(m *Model) alloc.Store {
		return sweeping{m, func(p *modelPool, now time.Time) { p.samples.keep(p.sample(now)) }}
	}},
	{"a paused pool is not sampled", []string{"a paused and a draining pool"}, func(m *Model) alloc.Store {
		return sweeping{m, func(p *modelPool, now time.Time) {
			if p.State != alloc.PoolActive {
				delete(p.samples, now.Unix()/60)
			}
		}}
	}},
	{"a sweep counts more writes than calls", []string{"Sweep counts its calls"}, func(m *Model) alloc.Store { return overwritten{m} }},

	{"samples come newest first", []string{"PoolSamples gives those", "SequenceSamples gives those", "Sweep keeps a sample"}, reading(func(r readRange, read samplesRead) ([]alloc.Sample, error) {
		s, err := read(r)
		slices.Reverse(s)
		return s, err
	})},
	{"until is included", []string{"PoolSamples gives those", "SequenceSamples gives those"}, reading(func(r readRange, read samplesRead) ([]alloc.Sample, error) {
		r.until = r.until.Add(time.Millisecond)
		return read(r)
	})},
	{"from is left out", []string{"PoolSamples gives those", "SequenceSamples gives those"}, reading(func(r readRange, read samplesRead) ([]alloc.Sample, error) {
		r.from = r.from.Add(time.Millisecond)
		return read(r)
	})},
	{"a sample is found by its minute", []string{"PoolSamples gives those", "SequenceSamples gives those"}, reading(func(r readRange, read samplesRead) ([]alloc.Sample, error) {
		r.from = r.from.Truncate(time.Minute)
		return read(r)
	})},
	{"the newest samples are given where there are more", []string{"PoolSamples gives those", "SequenceSamples gives those"}, reading(func(r readRange, read samplesRead) ([]alloc.Sample, error) {
		limit := r.limit
		r.limit = 1 << 20
		s, err := read(r)
		return s[max(0, len(s)-limit):], err
	})},
	{"samples are given whatever the limit", []string{"PoolSamples gives those", "SequenceSamples gives those"}, reading(func(r readRange, read samplesRead) ([]alloc.Sample, error) {
		r.limit = 1 << 20
		return read(r)
	})},
	{"samples are kept for a day", []string{"Sweep keeps a sample", "a sample is kept as long as said", "a sequence's sample is kept"}, reading(func(r readRange, read samplesRead) ([]alloc.Sample, error) {
		if day := r.now.Add(-24 * time.Hour); r.from.Before(day) {
			r.from = day
		}
		return read(r)
	})},
	{"samples are kept for ever", []string{"a sample is kept as long as said", "a sequence's sample is kept"}, func(m *Model) alloc.Store {
		return readingSamples{m, m.Open(func() time.Time { return time.Time{} }), func(r readRange, read samplesRead) ([]alloc.Sample, error) { return read(r) }}
	}},

	{"the last sample of a minute stays", []string{"of several samples of a sequence"}, func(m *Model) alloc.Store {
		return samplingBy{m, func(name alloc.SequenceName, s alloc.Sample) (alloc.SequenceName, alloc.Sample) {
			m.data.mu.Lock()
			delete(m.data.samples[name], s.At.Unix()/60)
			m.data.mu.Unlock()
			return name, s
		}}
	}},
	{"a sample's figures are floating", []string{"SampleSequence keeps a sample as it was given"}, func(m *Model) alloc.Store {
		return samplingBy{m, func(name alloc.SequenceName, s alloc.Sample) (alloc.SequenceName, alloc.Sample) {
			s.Used = alloc.Count(float64(s.Used))
			return name, s
		}}
	}},
	{"a sample says when it came", []string{"SequenceSamples gives those"}, func(m *Model) alloc.Store {
		return samplingBy{m, func(name alloc.SequenceName, s alloc.Sample) (alloc.SequenceName, alloc.Sample) {
			s.At = m.now()
			return name, s
		}}
	}},
	{"all sequences are sampled as one", []string{"a sequence that is not there"}, func(m *Model) alloc.Store { return sampledAsOne{m} }},
	{"a sample sets the position of its sequence", []string{"a sample of a sequence changes nothing"}, func(m *Model) alloc.Store {
		return samplingBy{m, func(name alloc.SequenceName, s alloc.Sample) (alloc.SequenceName, alloc.Sample) {
			m.data.mu.Lock()
			m.data.sequences[name].Next = alloc.Number(s.Used) + 1
			m.data.mu.Unlock()
			return name, s
		}}
	}},
	{"a pool and a sequence of one name share their samples", []string{"a sequence that is not there", "a pool that is not there, or was never swept"}, func(m *Model) alloc.Store {
		return shared{m}
	}},
}

// sweeping is a Model that does something else to a pool's samples after a sweep.
type sweeping struct {
	*Model
	then func(p *modelPool, now time.Time)
}

func (s sweeping) Sweep(ctx context.Context, pool alloc.PoolName) (alloc.SweepReport, error) {
	r, err := s.Model.Sweep(ctx, pool)
	s.data.mu.Lock()
	defer s.data.mu.Unlock()
	if p := s.data.pools[pool]; p != nil {
		s.then(p, s.now())
	}
	return r, err
}

type overwritten struct{ *Model }

func (s overwritten) Sweep(ctx context.Context, pool alloc.PoolName) (alloc.SweepReport, error) {
	r, err := s.Model.Sweep(ctx, pool)
	r.Writes = r.Calls + 1
	return r, err
}

// readRange is what a read of samples asks for, at the time now.
type readRange struct {
	now, from, until time.Time
	limit            int
}

type samplesRead func(r readRange) ([]alloc.Sample, error)

// readingSamples reads in another way, from a Model that may have another clock.
type readingSamples struct {
	*Model
	source *Model
	by     func(r readRange, read samplesRead) ([]alloc.Sample, error)
}

func reading(by func(r readRange, read samplesRead) ([]alloc.Sample, error)) func(m *Model) alloc.Store {
	return func(m *Model) alloc.Store { return readingSamples{m, m, by} }
}

func (s readingSamples) PoolSamples(ctx context.Context, pool alloc.PoolName, from, until time.Time, limit int) ([]alloc.Sample, error) {
	return s.by(readRange{s.now(), from, until, limit}, func(r readRange) ([]alloc.Sample, error) {
		return s.source.PoolSamples(ctx, pool, r.from, r.until, r.limit)
	})
}

func (s readingSamples) SequenceSamples(ctx context.Context, name alloc.SequenceName, from, until time.Time, limit int) ([]alloc.Sample, error) {
	return s.by(readRange{s.now(), from, until, limit}, func(r readRange) ([]alloc.Sample, error) {
		return s.source.SequenceSamples(ctx, name, r.from, r.until, r.limit)
	})
}

// samplingBy samples sequences in another way.
type samplingBy struct {
	*Model
	by func(name alloc.SequenceName, s alloc.Sample) (alloc.SequenceName, alloc.Sample)
}

func (s samplingBy) SampleSequence(ctx context.Context, name alloc.SequenceName, sample alloc.Sample) error {
	name, sample = s.by(name, sample)
	return s.Model.SampleSequence(ctx, name, sample)
}

type sampledAsOne struct{ *Model }

func (s sampledAsOne) SampleSequence(ctx context.Context, _ alloc.SequenceName, sample alloc.Sample) error {
	return s.Model.SampleSequence(ctx, "", sample)
}

func (s sampledAsOne) SequenceSamples(ctx context.Context, _ alloc.SequenceName, from, until time.Time, limit int) ([]alloc.Sample, error) {
	return s.Model.SequenceSamples(ctx, "", from, until, limit)
}

// shared keeps and reads the samples of a pool where there is one of the sequence's name.
type shared struct{ *Model }

func (s shared) SampleSequence(ctx context.Context, name alloc.SequenceName, sample alloc.Sample) error {
	s.data.mu.Lock()
	if p := s.data.pools[alloc.PoolName(name)]; p != nil {
		p.samples.keep(sample)
	}
	s.data.mu.Unlock()
	return s.Model.SampleSequence(ctx, name, sample)
}

func (s shared) SequenceSamples(ctx context.Context, name alloc.SequenceName, from, until time.Time, limit int) ([]alloc.Sample, error) {
	if found, err := s.PoolSamples(ctx, alloc.PoolName(name), from, until, limit); len(found) > 0 {
		return found, err
	}
	return s.Model.SequenceSamples(ctx, name, from, until, limit)
}
