package sql

import (
	"context"

	"idpool/alloc"
)

// counted is what a pool's rows are, by their states, and what its level says of them.
type counted struct {
	rows  alloc.Count
	tally alloc.Tally

	known bool // there is a level
	level alloc.Level
}

// countRows reads that in one statement, and so of one moment. It looks at indexes alone: at those of the states, and for all
// rows at that of the IDs; what is left are the claimed ones.
const countRows = `SELECT (SELECT count(*) FROM ids WHERE pool = $1),
		(SELECT count(*) FROM ids WHERE pool = $1 AND state = 'free'), (SELECT count(*) FROM ids WHERE pool = $1 AND state = 'held'),
		(SELECT count(*) FROM ids WHERE pool = $1 AND state = 'returning'), (SELECT count(*) FROM ids WHERE pool = $1 AND state = 'retired'),
		l.pool IS NOT NULL, coalesce(n_seeded, 0), coalesce(n_free, 0), coalesce(n_held, 0),
		coalesce(n_claimed, 0), coalesce(n_returning, 0), coalesce(n_retired, 0), coalesce(n_forgotten, 0)
	FROM pools p LEFT JOIN levels l ON l.pool = p.pool WHERE p.pool = $1`

func (t *tx) countRows(p poolRow) (c counted, err error) {
	l, y := &c.level, &c.tally
	_, err = t.row(countRows, []any{p.number}, &c.rows, &y.Free, &y.Held, &y.Returning, &y.Retired,
		&c.known, &l.Seeded, &l.Available, &l.Held, &l.Claimed, &l.Returning, &l.Retired, &l.Forgotten)
	y.Claimed = c.rows - y.Free - y.Held - y.Returning - y.Retired
	return c, err
}

// addsUp reports whether a level contradicts itself.
func addsUp(l alloc.Level) bool {
	return l.Seeded == l.Available+l.Held+l.Claimed+l.Returning+l.Retired+l.Forgotten
}

// PoolEvidence tells how the pool is at a glance: its rows are not counted for that.
func (s *Store) PoolEvidence(ctx context.Context, pool alloc.PoolName) (alloc.PoolEvidence, error) {
	p, err := s.Pool(ctx, pool)
	if err != nil {
		return alloc.PoolEvidence{}, err
	}
	e := alloc.PoolEvidence{Pool: p, Head: true, Configured: true}
	l, err := s.Level(ctx, pool)
	switch {
	case alloc.Is(err, alloc.CodePoolDamaged):
		e.Head, e.Damage = false, []string{"its counts are lost"}
	case err != nil:
		return alloc.PoolEvidence{}, err
	case !addsUp(l):
		e.Damage = []string{"its counts contradict each other"}
	}
	return e, nil
}

// putLevel puts the counts of a pool anew: only where they are put as a whole they need not add up to what they were.
const (
	dropLevel = `DELETE FROM levels WHERE pool = $1`
	putLevel  = `INSERT INTO levels (pool, n_seeded, n_free, n_held, n_claimed, n_returning, n_retired, n_forgotten) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`
)

// RebuildPool counts the pool's rows anew, in one step: they are the truth, and all else that a pool has follows from them by
// itself. So there is no rebuild that is on.
func (s *Store) RebuildPool(ctx context.Context, o alloc.PoolRebuildOrder) (alloc.PoolRebuilt, error) {
	return write(ctx, s.writer, func(t *tx) (alloc.PoolRebuilt, error) {
		p, err := t.pool(o.Pool)
		if err != nil {
			return alloc.PoolRebuilt{}, err
		}
		if p.State == alloc.PoolDeleted {
			return alloc.PoolRebuilt{}, p.CheckTo(p.State)
		}
		c, err := t.countRows(p)
		if err != nil {
			return alloc.PoolRebuilt{}, err
		}
		seeded, err := t.seededEver(p, c)
		if err != nil {
			return alloc.PoolRebuilt{}, err
		}
		if _, err := t.exec(dropLevel, p.number); err != nil {
			return alloc.PoolRebuilt{}, err
		}
		_, err = t.exec(putLevel, p.number, seeded, c.tally.Free, c.tally.Held, c.tally.Claimed, c.tally.Returning, c.tally.Retired, seeded-c.rows)
		return alloc.PoolRebuilt{Met: c.rows, Tally: c.tally, Total: c.rows}, err
	})
}

// seededEver is how many IDs were ever added: a pool that keeps has them all; of one that forgets the level, or where that
// is lost a sample, knows how many.
func (t *tx) seededEver(p poolRow, c counted) (alloc.Count, error) {
	if p.Config.Policy != alloc.PolicyForget {
		return c.rows, nil
	}
	var sampled alloc.Count
	_, err := t.row(`SELECT coalesce(max(available + used), 0) FROM pool_samples WHERE pool = $1`, []any{p.number}, &sampled)
	return max(c.rows, c.level.Seeded, sampled), err
}

// AbandonRebuild ends nothing: see RebuildPool.
func (s *Store) AbandonRebuild(ctx context.Context, pool alloc.PoolName, _ alloc.JobID) error {
	_, err := s.Pool(ctx, pool)
	return err
}
