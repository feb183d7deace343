package sql

import (
	"context"

	"idpool/alloc"
)

// counted is what a pool's rows are, by their states, and what its level says of them.
type counted struct {
	rows  alloc.Count
	tally alloc.Tally

	known   bool // there is a level
	level   alloc.Level
	rebuilt alloc.JobID // that counted last
	missing alloc.Count // and found so many gone
}

// countRows reads that in one statement, and so of one moment. It looks at indexes alone: at those of the states, and for all
// rows at that of the IDs; what is left are the claimed ones.
const countRows = `SELECT (SELECT count(*) FROM ids WHERE pool = $1),
		(SELECT count(*) FROM ids WHERE pool = $1 AND state = 'free'), (SELECT count(*) FROM ids WHERE pool = $1 AND state = 'held'),
		(SELECT count(*) FROM ids WHERE pool = $1 AND state = 'returning'), (SELECT count(*) FROM ids WHERE pool = $1 AND state = 'retired'),
		l.pool IS NOT NULL, coalesce(n_seeded, 0), coalesce(n_free, 0), coalesce(n_held, 0),
		coalesce(n_claimed, 0), coalesce(n_returning, 0), coalesce(n_retired, 0), coalesce(n_forgotten, 0), coalesce(rebuilt, ''), coalesce(missing, 0)
	FROM (SELECT $1 AS pool) AS p LEFT JOIN levels l ON l.pool = p.pool`

func (t *tx) countRows(p poolRow) (c counted, err error) {
	l, y := &c.level, &c.tally
	_, err = t.row(countRows, []any{p.number}, &c.rows, &y.Free, &y.Held, &y.Returning, &y.Retired,
		&c.known, &l.Seeded, &l.Available, &l.Held, &l.Claimed, &l.Returning, &l.Retired, &l.Forgotten, &c.rebuilt, &c.missing)
	y.Claimed = c.rows - y.Free - y.Held - y.Returning - y.Retired
	return c, err
}

// addsUp reports whether a level contradicts itself.
func addsUp(l alloc.Level) bool {
	return l.Seeded == l.Available+l.Held+l.Claimed+l.Returning+l.Retired+l.Forgotten
}

// PoolEvidence tells how the pool is at a glance: its rows are not counted for that.
func (s *Store) PoolEvidence(ctx context.Context, pool alloc.PoolName) (alloc.PoolEvidence, error) {
	p, err := read(ctx, s.reader, func(t *tx) (poolRow, error) { return t.poolAsIs(pool) })
	if err != nil {
		return alloc.PoolEvidence{}, err
	}
	e := alloc.PoolEvidence{Pool: p.Pool, Head: true, Configured: true}
	if p.lost {
		e.Head, e.Damage = false, []string{"the row that says what it is, is lost; a copy is there"}
	}
	if p.unreadable {
		e.Head, e.Damage = false, append(e.Damage, "its generator cannot be read")
	}
	l, err := s.Level(ctx, pool)
	switch {
	case p.lost: // its counts cannot be read before it is made anew
	case alloc.Is(err, alloc.CodePoolDamaged):
		e.Head, e.Damage = false, append(e.Damage, "its counts are lost")
	case err != nil:
		return alloc.PoolEvidence{}, err
	case !addsUp(l):
		e.Damage = append(e.Damage, "its counts contradict each other")
	}
	return e, nil
}

// putLevel puts the counts of a pool anew: only where they are put as a whole they need not add up to what they were.
const (
	dropLevel = `DELETE FROM levels WHERE pool = $1`
	putLevel  = `INSERT INTO levels (pool, n_seeded, n_free, n_held, n_claimed, n_returning, n_retired, n_forgotten, rebuilt, missing)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`
)

// RebuildPool makes the pool's row anew where it is lost, and counts the rows of its IDs, in one step: they are the truth, and all
// else that a pool has follows from them by itself. So there is no rebuild that is on.
func (s *Store) RebuildPool(ctx context.Context, o alloc.PoolRebuildOrder) (alloc.PoolRebuilt, error) {
	return write(ctx, s.writer, func(t *tx) (alloc.PoolRebuilt, error) {
		p, err := t.poolAsIs(o.Pool)
		if err != nil {
			return alloc.PoolRebuilt{}, err
		}
		if p.State == alloc.PoolDeleted {
			return alloc.PoolRebuilt{}, p.CheckThere()
		}
		if err := t.mendRow(p); err != nil {
			return alloc.PoolRebuilt{}, err
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
		c.tally.Missing = seeded.missing
		if c.rebuilt == o.Job { // a repeat: what it found missing is counted no more
			c.tally.Missing += c.missing
		}
		_, err = t.exec(putLevel, p.number, seeded.ever, c.tally.Free, c.tally.Held, c.tally.Claimed, c.tally.Returning, c.tally.Retired,
			seeded.ever-c.rows, o.Job, c.tally.Missing)
		return alloc.PoolRebuilt{Met: c.rows, Tally: c.tally, Total: c.rows, Looked: c.rows}, err
	})
}

// mendRow makes the row of a pool anew where it is lost, and puts the copy's generator in the place of one that cannot be read; none where
// that cannot be read either.
func (t *tx) mendRow(p poolRow) error {
	if p.lost {
		if _, err := t.exec(restorePool, p.number); err != nil {
			return err
		}
	}
	if !p.unreadable {
		return nil
	}
	copies, err := list(t, scanPool, poolCopy, p.number)
	if err != nil {
		return err
	}
	var gen any
	if len(copies) > 0 {
		gen = generatorColumn(copies[0].Config.Generator)
	}
	_, err = t.exec(`UPDATE pools SET generator = $2 WHERE pool = $1`, p.number, gen)
	return err
}

// seededCount is what is known of how many IDs were ever added to a pool.
type seededCount struct {
	ever    alloc.Count // that count as added from now on
	missing alloc.Count // that counted until now, and are gone without a trace
}

// seededEver takes that from the level, or where that is lost from the newest sample. In a pool that keeps its IDs what is gone counts
// no more; in one that forgets it cannot be told from what was forgotten since a sample, and counts as that.
func (t *tx) seededEver(p poolRow, c counted) (seededCount, error) {
	known, forgotten := c.level.Seeded, c.level.Forgotten
	if !c.known {
		_, err := t.row(newestSampled, []any{p.number}, &known)
		if err != nil {
			return seededCount{}, err
		}
	}
	if p.Config.Policy != alloc.PolicyForget {
		return seededCount{ever: c.rows, missing: max(0, known-c.rows)}, nil
	}
	s := seededCount{ever: max(c.rows, known)}
	if c.known {
		s.missing = max(0, known-forgotten-c.rows)
	}
	return s, nil
}

const newestSampled = `SELECT available + used FROM pool_samples WHERE pool = $1 ORDER BY minute DESC LIMIT 1`

// AbandonRebuild ends nothing: see RebuildPool.
func (s *Store) AbandonRebuild(ctx context.Context, pool alloc.PoolName, _ alloc.JobID) error {
	_, err := read(ctx, s.reader, func(t *tx) (poolRow, error) { return t.poolAsIs(pool) })
	return err
}
