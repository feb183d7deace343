package sql

import (
	"context"
	"errors"
	"maps"
	"time"

	"idpool/alloc"
	"idpool/alloc/generator"
)

// Level reads the pool's counts: exact, and as of now.
func (s *Store) Level(ctx context.Context, name alloc.PoolName) (alloc.Level, error) {
	return read(ctx, s.reader, func(t *tx) (alloc.Level, error) { return t.level(name, s.clock()) })
}

// PoolLevels reads pools with their counts, all as of one moment.
func (s *Store) PoolLevels(ctx context.Context, names []alloc.PoolName) ([]alloc.PoolLevel, error) {
	return read(ctx, s.reader, func(t *tx) (list []alloc.PoolLevel, err error) {
		for _, name := range names {
			l := alloc.PoolLevel{Pool: alloc.Pool{Name: name}}
			p, err := t.pool(name)
			if err == nil {
				l.Level, err = t.level(name, s.clock())
			}
			var refused *alloc.Error
			switch {
			case err == nil:
				l.Pool = p.Pool
				l.Pool.Config.Generator, l.Pool.Config.Marks = generator.Config{}, alloc.Marks{}
			case errors.As(err, &refused):
				l.Err = err
			default:
				return nil, err
			}
			list = append(list, l)
		}
		return list, nil
	})
}

func (t *tx) level(name alloc.PoolName, now time.Time) (alloc.Level, error) {
	l := alloc.Level{CountedAt: now}
	var known bool
	found, err := t.row(`SELECT l.pool IS NOT NULL, coalesce(n_seeded, 0), coalesce(n_free, 0), coalesce(n_held, 0),
			coalesce(n_claimed, 0), coalesce(n_returning, 0), coalesce(n_retired, 0), coalesce(n_forgotten, 0)
		FROM pools p LEFT JOIN levels l ON l.pool = p.pool WHERE p.name = $1`, []any{name},
		&known, &l.Seeded, &l.Available, &l.Held, &l.Claimed, &l.Returning, &l.Retired, &l.Forgotten)
	switch {
	case err != nil:
		return alloc.Level{}, err
	case !found:
		return alloc.Level{}, t.absent(name)
	case !known:
		return alloc.Level{}, lostCounts(name)
	}
	return l, nil
}

// tally is by how much a step changes the counts of a pool's level: one count for each state, and these two.
type tally map[alloc.State]int

const (
	countForgotten alloc.State = "forgotten"
	countSeeded    alloc.State = "seeded"
)

// move counts n IDs that go from one state to another.
func (c tally) move(from, to alloc.State, n int) tally {
	c[from] -= n
	c[to] += n
	return c
}

// count brings the pool's level up to date with what a step has done. Where nothing has changed it writes nothing. CodePoolDamaged where the
// counts are lost, or say that there is less than the step has found.
func (t *tx) count(p poolRow, by tally) error {
	maps.DeleteFunc(by, func(_ alloc.State, n int) bool { return n == 0 })
	if len(by) == 0 {
		return nil
	}
	changed, err := t.exec(`UPDATE levels SET n_seeded = n_seeded + $2, n_free = n_free + $3, n_held = n_held + $4, n_claimed = n_claimed + $5,
			n_returning = n_returning + $6, n_retired = n_retired + $7, n_forgotten = n_forgotten + $8 WHERE pool = $1`,
		p.number, by[countSeeded], by[alloc.StateFree], by[alloc.StateHeld], by[alloc.StateClaimed],
		by[alloc.StateReturning], by[alloc.StateRetired], by[countForgotten])
	switch {
	case belowZero(err):
		return alloc.Errorf(alloc.CodePoolDamaged, "the counts of the pool %q contradict what is in it; an administrator must rebuild it", p.Name).Because(err)
	case err == nil && changed != 1:
		return lostCounts(p.Name)
	}
	return err
}

func lostCounts(name alloc.PoolName) error {
	return alloc.Errorf(alloc.CodePoolDamaged, "the counts of the pool %q are lost; an administrator must rebuild it", name)
}
