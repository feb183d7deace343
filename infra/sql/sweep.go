package sql

import (
	"context"
	"time"

	"idpool/alloc"
)

// Bounds of one sweep, and for how long a pool that forgets remembers what a seeding put.
const (
	sweepRows     = 1000
	sweepBlobs    = 50 // rows that may be large: answers and parts of results
	expireBeside  = 4  // records of keys, removed beside each new one
	seedRetention = 90 * 24 * time.Hour
)

// What has expired, oldest first.
const (
	expireClaimKeys = `DELETE FROM claim_keys WHERE hash IN
		(SELECT hash FROM claim_keys WHERE pool = $1 AND expires <= $2 ORDER BY expires LIMIT $3)`
	expireLeaseKeys = `DELETE FROM lease_keys WHERE hash IN (SELECT hash FROM lease_keys WHERE expires <= $1 ORDER BY expires LIMIT $2)`
	expireKeptKeys  = `DELETE FROM kept_keys WHERE hash IN (SELECT hash FROM kept_keys WHERE expires <= $1 ORDER BY expires LIMIT $2)`
	expireParts     = `DELETE FROM parts WHERE part IN
		(SELECT part FROM jobs JOIN parts ON job = id WHERE created <= $1 ORDER BY created LIMIT $2)`
	expireInputs = `DELETE FROM inputs WHERE piece IN
		(SELECT piece FROM jobs JOIN inputs ON job = id WHERE created <= $1 ORDER BY created LIMIT $2)`
	expireJobs = `DELETE FROM jobs WHERE id IN (SELECT id FROM jobs WHERE created <= $1
		AND NOT EXISTS (SELECT 1 FROM parts WHERE job = id) AND NOT EXISTS (SELECT 1 FROM inputs WHERE job = id) ORDER BY created LIMIT $2)`
	// A batch of which some IDs are still to be added is kept, however old: it is repeated when they are needed, and in a pool that
	// forgets nothing else tells which of its IDs were handed out before.
	expireBatches = `DELETE FROM seed_batches WHERE (pool, job, digest) IN
		(SELECT pool, job, digest FROM seed_batches WHERE pool = $1 AND at <= $2 AND outcomes NOT LIKE '%u%' ORDER BY at LIMIT $3)`
)

// Sweep brings back what is due or was released, and removes what has expired. Here a step leaves nothing behind that
// would have to be found and finished, and the counts are kept as they change.
func (s *Store) Sweep(ctx context.Context, pool alloc.PoolName) (alloc.SweepReport, error) {
	return write(ctx, s.writer, func(t *tx) (alloc.SweepReport, error) {
		p, err := t.pool(pool)
		if err != nil {
			return alloc.SweepReport{}, err
		}
		now := s.clock()
		if _, err := t.exec(keepPoolName, p.number); err != nil {
			return alloc.SweepReport{}, err
		}
		returned, late, err := t.bringBack(p, now)
		if err != nil {
			return alloc.SweepReport{}, err
		}
		due, err := t.forgetDue(p, now)
		if err != nil {
			return alloc.SweepReport{}, err
		}
		rest, err := t.expire(p, now)
		if err != nil {
			return alloc.SweepReport{}, err
		}
		if err := t.samplePool(p, now); err != nil {
			return alloc.SweepReport{}, err
		}
		return alloc.SweepReport{
			Pool: pool, Returned: returned, More: late || due || rest,
			Calls: t.calls, Writes: t.writes,
		}, nil
	})
}

// expire removes records that have expired; more says that some are left. Sequences, kept answers and jobs have no sweep
// of their own: every pool's sweep does their part, and see expireSome.
func (t *tx) expire(p poolRow, now time.Time) (more bool, err error) {
	for _, e := range []struct {
		query string
		args  []any
		limit int64
	}{
		{expireClaimKeys, []any{p.number, instant(now)}, sweepRows},
		{expireLeaseKeys, []any{instant(now)}, sweepRows},
		{expireKeptKeys, []any{instant(now)}, sweepBlobs},
		{expireParts, []any{instant(now.Add(-alloc.JobRetention))}, sweepBlobs},
		{expireInputs, []any{instant(now.Add(-alloc.JobRetention))}, sweepBlobs},
		{expireJobs, []any{instant(now.Add(-alloc.JobRetention))}, sweepRows},
		{expireBatches, []any{p.number, instant(now.Add(-seedRetention))}, sweepRows},
		{expirePoolSamples, []any{p.number, minuteOf(now.Add(-alloc.SampleRetention))}, sweepRows},
		{expireSequenceSamples, []any{minuteOf(now.Add(-alloc.SampleRetention))}, sweepRows},
	} {
		removed, err := t.exec(e.query, append(e.args, e.limit)...)
		if err != nil {
			return false, err
		}
		more = more || removed == e.limit
	}
	return more, nil
}

// expireSome is a part of each step that puts a record of a key: it removes a few that have expired, so that they do not
// pile up where there is no pool to be swept.
func (t *tx) expireSome(query string, now time.Time) error {
	_, err := t.exec(query, instant(now), expireBeside)
	return err
}
