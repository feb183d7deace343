package sql

import (
	"context"
	"time"

	"idpool/alloc"
)

// Bounds of one sweep, and for how long a pool that forgets remembers what a seeding put.
const (
	sweepRows     = 1000
	seedRetention = 90 * 24 * time.Hour
)

// What has expired, oldest first.
const (
	oldestClaimKey  = `SELECT ` + claimKeyColumns + ` FROM claim_keys WHERE pool = $1 AND expires <= $2 ORDER BY expires LIMIT 1`
	expireLeaseKeys = `DELETE FROM lease_keys WHERE hash IN (SELECT hash FROM lease_keys WHERE expires <= $1 ORDER BY expires LIMIT $2)`
	expireBatches   = `DELETE FROM seed_batches WHERE (pool, job, digest) IN
		(SELECT pool, job, digest FROM seed_batches WHERE pool = $1 AND at <= $2 ORDER BY at LIMIT $3)`
)

// Sweep removes what has expired. Here a step leaves nothing behind that would have to be found and finished, and the
// counts are kept as they change.
func (s *Store) Sweep(ctx context.Context, pool alloc.PoolName) (alloc.SweepReport, error) {
	return write(ctx, s.writer, func(t *tx) (alloc.SweepReport, error) {
		p, err := t.pool(pool)
		if err != nil {
			return alloc.SweepReport{}, err
		}
		now := s.clock()
		more, err := t.expireClaims(p, now)
		if err != nil {
			return alloc.SweepReport{}, err
		}
		// Sequences have no sweep of their own: every pool's sweep does their part.
		leases, err := t.exec(expireLeaseKeys, instant(now), sweepRows)
		if err != nil {
			return alloc.SweepReport{}, err
		}
		batches, err := t.exec(expireBatches, p.number, instant(now.Add(-seedRetention)), sweepRows)
		if err != nil {
			return alloc.SweepReport{}, err
		}
		return alloc.SweepReport{Pool: pool, More: more || leases == sweepRows || batches == sweepRows}, nil
	})
}

// expireClaims removes the pool's expired idempotency records, oldest first; more says that some are left.
func (t *tx) expireClaims(p poolRow, now time.Time) (more bool, err error) {
	for rows := alloc.Count(0); rows < sweepRows; rows++ {
		oldest, err := list(t, scanClaimKey, oldestClaimKey, p.number, instant(now))
		if err != nil || len(oldest) == 0 {
			return false, err
		}
		forgotten, err := t.expire(oldest[0])
		if err != nil {
			return false, err
		}
		rows += forgotten
	}
	return true, nil
}
