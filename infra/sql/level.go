package sql

import (
	"context"

	"idpool/alloc"
)

// Level reads the pool's counts: exact, and as of now.
func (s *Store) Level(ctx context.Context, name alloc.PoolName) (alloc.Level, error) {
	return read(ctx, s.reader, func(t *tx) (alloc.Level, error) {
		l := alloc.Level{CountedAt: s.clock()}
		var known bool
		found, err := t.row(`SELECT l.pool IS NOT NULL, coalesce(n_seeded, 0), coalesce(n_free, 0), coalesce(n_held, 0),
				coalesce(n_claimed, 0), coalesce(n_returning, 0), coalesce(n_retired, 0), coalesce(n_forgotten, 0)
			FROM pools p LEFT JOIN levels l ON l.pool = p.pool WHERE p.name = $1`, []any{name},
			&known, &l.Seeded, &l.Available, &l.Held, &l.Claimed, &l.Returning, &l.Retired, &l.Forgotten)
		switch {
		case err != nil:
			return alloc.Level{}, err
		case !found:
			return alloc.Level{}, noPool(name)
		case !known:
			return alloc.Level{}, lostCounts(name)
		}
		return l, nil
	})
}

// countSeeded adds n new free IDs to the pool's counts.
func (t *tx) countSeeded(p poolRow, n int) error {
	changed, err := t.exec(`UPDATE levels SET n_seeded = n_seeded + $2, n_free = n_free + $2 WHERE pool = $1`, p.number, n)
	return counted(p, changed, err)
}

// countTaken moves n IDs of the pool from free to claimed, or to forgotten.
func (t *tx) countTaken(p poolRow, n int, forget bool) error {
	query := `UPDATE levels SET n_free = n_free - $2, n_claimed = n_claimed + $2 WHERE pool = $1`
	if forget {
		query = `UPDATE levels SET n_free = n_free - $2, n_forgotten = n_forgotten + $2 WHERE pool = $1`
	}
	changed, err := t.exec(query, p.number, n)
	return counted(p, changed, err)
}

func counted(p poolRow, changed int64, err error) error {
	if err == nil && changed != 1 {
		return lostCounts(p.Name)
	}
	return err
}

func lostCounts(name alloc.PoolName) error {
	return alloc.Errorf(alloc.CodePoolDamaged, "the counts of the pool %q are lost; an administrator must rebuild it", name)
}
