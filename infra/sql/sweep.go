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

// purges remove what has expired, of all pools: a bounded number of rows each, oldest first.
var purges = []struct {
	query string
	keep  time.Duration
}{
	{`DELETE FROM claim_keys WHERE hash IN (SELECT hash FROM claim_keys WHERE expires <= $1 ORDER BY expires LIMIT $2)`, 0},
	{`DELETE FROM lease_keys WHERE hash IN (SELECT hash FROM lease_keys WHERE expires <= $1 ORDER BY expires LIMIT $2)`, 0},
	{`DELETE FROM seed_batches WHERE (pool, job, digest) IN
		(SELECT pool, job, digest FROM seed_batches WHERE at <= $1 ORDER BY at LIMIT $2)`, seedRetention},
}

// Sweep removes what has expired. Here a step leaves nothing behind that would have to be found and finished, and the
// counts are kept as they change.
func (s *Store) Sweep(ctx context.Context, pool alloc.PoolName) (alloc.SweepReport, error) {
	return write(ctx, s.writer, func(t *tx) (alloc.SweepReport, error) {
		if _, err := t.pool(pool); err != nil {
			return alloc.SweepReport{}, err
		}
		report := alloc.SweepReport{Pool: pool}
		now := s.clock()
		for _, p := range purges {
			removed, err := t.exec(p.query, instant(now.Add(-p.keep)), sweepRows)
			if err != nil {
				return alloc.SweepReport{}, err
			}
			report.More = report.More || removed == sweepRows
		}
		return report, nil
	})
}
