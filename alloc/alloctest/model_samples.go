package alloctest

import (
	"context"
	"maps"
	"slices"
	"time"

	"idpool/alloc"
)

// minutes has the samples of one pool or sequence by their minutes, counted from the epoch. The first of a minute stays.
type minutes map[int64]alloc.Sample

func (s minutes) keep(sample alloc.Sample) {
	minute := sample.At.Unix() / 60
	if _, there := s[minute]; !there {
		s[minute] = sample
	}
}

// between returns at most limit samples taken from from on and before until whose retention is not over.
func (s minutes) between(from, until, now time.Time, limit int) (found []alloc.Sample) {
	for _, minute := range slices.Sorted(maps.Keys(s)) {
		sample := s[minute]
		kept := now.Before(sample.At.Add(alloc.SampleRetention))
		if kept && !sample.At.Before(from) && sample.At.Before(until) && len(found) < limit {
			found = append(found, sample)
		}
	}
	return found
}

// sample is how the pool stands.
func (p *modelPool) sample(now time.Time) alloc.Sample {
	available := alloc.Count(len(p.free()))
	return alloc.Sample{At: now, Available: available, Used: p.seeded - available}
}

// PoolSamples implements alloc.Samples.
func (m *Model) PoolSamples(ctx context.Context, pool alloc.PoolName, from, until time.Time, limit int) (found []alloc.Sample, err error) {
	err = m.step(ctx, func(d *modelData) error {
		if p := d.pools[pool]; p != nil {
			found = p.samples.between(from, until, m.now(), limit)
		}
		return nil
	})
	return found, err
}

// SampleSequence implements alloc.Samples.
func (m *Model) SampleSequence(ctx context.Context, name alloc.SequenceName, s alloc.Sample) error {
	return m.step(ctx, func(d *modelData) error {
		if d.samples[name] == nil {
			d.samples[name] = minutes{}
		}
		d.samples[name].keep(s)
		return nil
	})
}

// SequenceSamples implements alloc.Samples.
func (m *Model) SequenceSamples(ctx context.Context, name alloc.SequenceName, from, until time.Time, limit int) (found []alloc.Sample, err error) {
	err = m.step(ctx, func(d *modelData) error {
		found = d.samples[name].between(from, until, m.now(), limit)
		return nil
	})
	return found, err
}
