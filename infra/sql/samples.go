package sql

import (
	"context"
	"time"

	"idpool/alloc"
)

const (
	// keepPoolSample reads what it keeps from the counts of the step.
	keepPoolSample = `INSERT INTO pool_samples (pool, minute, at, available, used)
		SELECT pool, $2, $3, n_free, n_seeded - n_free FROM levels WHERE pool = $1 ON CONFLICT (pool, minute) DO NOTHING`
	keepSequenceSample = `INSERT INTO sequence_samples (sequence, minute, at, available, used) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (sequence, minute) DO NOTHING`

	// The minutes find the rows and give their order, which is that of the times.
	poolSamples = `SELECT at, available, used FROM pool_samples
		WHERE pool = (SELECT pool FROM pool_names WHERE name = $1) AND minute >= $2 AND minute <= $3 AND at >= $4 AND at < $5 ORDER BY minute LIMIT $6`
	sequenceSamples = `SELECT at, available, used FROM sequence_samples
		WHERE sequence = $1 AND minute >= $2 AND minute <= $3 AND at >= $4 AND at < $5 ORDER BY minute LIMIT $6`

	expirePoolSamples     = `DELETE FROM pool_samples WHERE pool = $1 AND minute IN (SELECT minute FROM pool_samples WHERE pool = $1 AND minute < $2 ORDER BY minute LIMIT $3)`
	expireSequenceSamples = `DELETE FROM sequence_samples WHERE (sequence, minute) IN
		(SELECT sequence, minute FROM sequence_samples WHERE minute < $1 ORDER BY minute LIMIT $2)`
)

// minuteOf counts minutes since 1970.
func minuteOf(t time.Time) int64 { return instant(t.Truncate(time.Minute)) / int64(time.Minute) }

// samplePool keeps how the pool stands, if there is no sample of the minute yet. A deleted pool has no more.
func (t *tx) samplePool(p poolRow, now time.Time) error {
	if p.State == alloc.PoolDeleted {
		return nil
	}
	_, err := t.exec(keepPoolSample, p.number, minuteOf(now), instant(now))
	return err
}

// SampleSequence keeps a sample of the sequence, if there is none of its minute yet.
func (s *Store) SampleSequence(ctx context.Context, name alloc.SequenceName, sample alloc.Sample) error {
	_, err := write(ctx, s.writer, func(t *tx) (int64, error) {
		kept, err := t.exec(keepSequenceSample, name, minuteOf(sample.At), instant(sample.At), sample.Available, sample.Used)
		if err == nil && kept > 0 {
			_, err = t.exec(expireSequenceSamples, minuteOf(s.clock().Add(-alloc.SampleRetention)), expireBeside)
		}
		return kept, err
	})
	return err
}

// PoolSamples returns at most limit samples of the pool, oldest first, taken at or after from and before until.
func (s *Store) PoolSamples(ctx context.Context, pool alloc.PoolName, from, until time.Time, limit int) ([]alloc.Sample, error) {
	return s.samples(ctx, poolSamples, string(pool), from, until, limit)
}

// SequenceSamples is to sequences what PoolSamples is to pools.
func (s *Store) SequenceSamples(ctx context.Context, name alloc.SequenceName, from, until time.Time, limit int) ([]alloc.Sample, error) {
	return s.samples(ctx, sequenceSamples, string(name), from, until, limit)
}

// samples reads those of the time asked for that are not too old to count.
func (s *Store) samples(ctx context.Context, query, name string, from, until time.Time, limit int) ([]alloc.Sample, error) {
	now := s.clock()
	if oldest := now.Add(-alloc.SampleRetention); from.Before(oldest) {
		from = oldest
	}
	if latest := now.Add(alloc.SampleRetention); until.After(latest) { // a column has no room for every time
		until = latest
	}
	return read(ctx, s.reader, func(t *tx) ([]alloc.Sample, error) {
		if !from.Before(until) {
			return nil, nil
		}
		return list(t, scanSample, query, name, minuteOf(from), minuteOf(until), instant(from), instant(until), limit)
	})
}

func scanSample(row scanner) (s alloc.Sample, err error) {
	var at int64
	err = row.Scan(&at, &s.Available, &s.Used)
	s.At = moment(at)
	return s, err
}
