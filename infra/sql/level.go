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

// column is a count of a pool's level.
type column string

const columnForgotten column = "n_forgotten"

// columnOf is where the IDs of a state are counted.
var columnOf = map[alloc.State]column{
	alloc.StateFree: "n_free", alloc.StateHeld: "n_held", alloc.StateClaimed: "n_claimed",
	alloc.StateReturning: "n_returning", alloc.StateRetired: "n_retired",
}

// shift is the way of IDs from one count to another, and tally how many went which way.
type (
	shift struct{ from, to column }
	tally map[shift]int
)

func (c tally) add(from, to alloc.State, n int) {
	if n > 0 {
		c[shift{columnOf[from], columnOf[to]}] += n
	}
}

// count brings the pool's counts up to date with what a step has moved.
func (t *tx) count(p poolRow, moved tally) error {
	for way, n := range moved {
		changed, err := t.exec(`UPDATE levels SET `+string(way.from)+` = `+string(way.from)+` - $2, `+string(way.to)+` = `+string(way.to)+` + $2 WHERE pool = $1`,
			p.number, n)
		if err := counted(p, changed, err); err != nil {
			return err
		}
	}
	return nil
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
