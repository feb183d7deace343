package sql

import (
	"context"
	dbsql "database/sql"
	"encoding/json"
	"time"

	"idpool/alloc"
	"idpool/alloc/generator"
)

// poolRow is a pool with the number that other tables know it by.
type poolRow struct {
	number     int64
	lost       bool // its row is; this is the copy that stands with its name
	unreadable bool // its generator is; here it is without
	alloc.Pool
}

// damaged reports whether the pool can be used for nothing before it is rebuilt. A deleted one is never anything else again.
func (p poolRow) damaged() bool { return (p.lost || p.unreadable) && p.State != alloc.PoolDeleted }

const (
	poolColumns = `pool, name, description, policy, fold_case, max_batch, on_release, require_key,
		generator, low, target, low_hours, target_hours, state, version, created`

	allPools  = `SELECT 0, ` + poolColumns + ` FROM pools `
	lostPools = `SELECT 1, ` + poolColumns + ` FROM pool_names AS n WHERE NOT EXISTS (SELECT 1 FROM pools WHERE pools.pool = n.pool) `

	// selectPool and listPools read pools, and of those whose row is lost the copy, in one statement: each was made with its name. In a
	// list one without counts is lost too.
	selectPool = allPools + `WHERE name = $1 UNION ALL ` + lostPools + `AND name = $1`
	listPools  = `SELECT NOT EXISTS (SELECT 1 FROM levels WHERE levels.pool = pools.pool), ` + poolColumns + ` FROM pools WHERE name > $1 UNION ALL ` + lostPools + `AND name > $1 ORDER BY name LIMIT $2`

	poolCopy = `SELECT 1, ` + poolColumns + ` FROM pool_names WHERE pool = $1`

	// insertPool takes a number that nothing has, not even what a lost pool has left behind.
	insertPool = `INSERT INTO pools (` + poolColumns + `) VALUES ((SELECT coalesce(max(taken), 0) + 1 FROM (
			SELECT max(pool) AS taken FROM pools UNION ALL SELECT max(pool) FROM pool_names UNION ALL SELECT max(pool) FROM levels UNION ALL SELECT max(pool) FROM ids
		) AS numbers), $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, 1, $14)`

	// keepPoolName writes a name anew that is lost while its row is there; restorePool does it the other way round.
	keepPoolName = `INSERT INTO pool_names (` + poolColumns + `) SELECT ` + poolColumns + ` FROM pools WHERE pool = $1 ON CONFLICT (pool) DO NOTHING`
	restorePool  = `INSERT INTO pools (` + poolColumns + `) SELECT ` + poolColumns + ` FROM pool_names WHERE pool = $1`
)

func scanPool(row scanner) (p poolRow, err error) {
	var created int64
	var gen storedGenerator
	var text dbsql.NullString
	c, m := &p.Config, &p.Config.Marks
	err = row.Scan(&p.lost, &p.number, &p.Name, &c.Description, &c.Policy, &c.FoldCase, &c.MaxBatch, &c.OnRelease, &c.RequireKey,
		&text, &m.Low, &m.Target, &m.LowHours, &m.TargetHours, &p.State, &p.Version, &created)
	if text.Valid && json.Unmarshal([]byte(text.String), &gen) != nil {
		gen, p.unreadable = storedGenerator{}, true
	}
	c.Generator, p.Created = generator.Config(gen), moment(created)
	return p, err
}

// pool reads a pool; CodePoolNotFound, CodePoolDamaged.
func (t *tx) pool(name alloc.PoolName) (poolRow, error) {
	p, err := t.poolAsIs(name)
	if err == nil && p.damaged() {
		return poolRow{}, lostPool(name)
	}
	return p, err
}

// poolAsIs reads a pool, or where its row is lost the copy of it; CodePoolNotFound.
func (t *tx) poolAsIs(name alloc.PoolName) (poolRow, error) {
	found, err := list(t, scanPool, selectPool, name)
	switch {
	case err != nil:
		return poolRow{}, err
	case len(found) == 0:
		return poolRow{}, noPool(name)
	}
	return found[0], nil
}

// absent is why no row of a pool was read.
func (t *tx) absent(name alloc.PoolName) error {
	p, err := t.poolAsIs(name)
	switch {
	case err != nil:
		return err
	case p.lost:
		return lostPool(name)
	}
	return noPool(name) // it was made since
}

func lostPool(name alloc.PoolName) error {
	return alloc.Errorf(alloc.CodePoolDamaged, "the pool %q has lost what says what it is; an administrator must rebuild it; nothing was taken", name)
}

func noPool(name alloc.PoolName) error {
	return alloc.Errorf(alloc.CodePoolNotFound, "there is no pool %q; create it first", name)
}

// CreatePool makes the pool if its name is unused.
func (s *Store) CreatePool(ctx context.Context, name alloc.PoolName, config alloc.PoolConfig) (alloc.Pool, bool, error) {
	type answer struct {
		pool    alloc.Pool
		created bool
	}
	a, err := write(ctx, s.writer, func(t *tx) (answer, error) {
		p, err := t.pool(name)
		switch {
		case alloc.Is(err, alloc.CodePoolNotFound):
			p, err = t.makePool(name, config, s.clock())
			return answer{p.Pool, true}, err
		case err != nil:
			return answer{}, err
		}
		if err := p.CheckThere(); err != nil {
			return answer{}, err
		}
		if p.Config != config {
			return answer{}, alloc.Errorf(alloc.CodePoolExists,
				"the pool %q is there with another configuration; choose another name, or change that pool", name)
		}
		return answer{p.Pool, false}, nil
	})
	return a.pool, a.created, err
}

// makePool makes a pool of a name that is unused.
func (t *tx) makePool(name alloc.PoolName, config alloc.PoolConfig, now time.Time) (poolRow, error) {
	m := config.Marks
	_, err := t.exec(insertPool, name, config.Description, config.Policy, config.FoldCase, config.MaxBatch, config.OnRelease, config.RequireKey,
		generatorColumn(config.Generator), m.Low, m.Target, m.LowHours, m.TargetHours, alloc.PoolActive, instant(now))
	if err != nil {
		return poolRow{}, err
	}
	p, err := t.pool(name)
	if err != nil {
		return poolRow{}, err
	}
	_, err = t.exec(`INSERT INTO levels (pool) VALUES ($1)`, p.number)
	return p, err
}

// Pool reads configuration and state.
func (s *Store) Pool(ctx context.Context, name alloc.PoolName) (alloc.Pool, error) {
	p, err := read(ctx, s.reader, func(t *tx) (poolRow, error) { return t.pool(name) })
	return p.Pool, err
}

// ChangePool replaces the configuration of the pool at version from.
func (s *Store) ChangePool(ctx context.Context, name alloc.PoolName, from alloc.Version, config alloc.PoolConfig) (alloc.Pool, error) {
	return write(ctx, s.writer, func(t *tx) (alloc.Pool, error) {
		p, err := t.pool(name)
		if err != nil {
			return alloc.Pool{}, err
		}
		if err := p.CheckThere(); err != nil {
			return alloc.Pool{}, err
		}
		if repeatedChange(p.Version, from) && p.Config == config {
			return p.Pool, nil
		}
		if p.Version != from {
			return alloc.Pool{}, alloc.VersionMismatch("pool", string(name), p.Version)
		}
		if err := p.Config.CheckChange(config); err != nil {
			return alloc.Pool{}, err
		}
		p.Config, p.Version = config, p.Version+1
		m := config.Marks
		_, err = t.exec(`UPDATE pools SET description = $2, max_batch = $3, on_release = $4, require_key = $5, version = $6,
				generator = $7, low = $8, target = $9, low_hours = $10, target_hours = $11 WHERE pool = $1`,
			p.number, config.Description, config.MaxBatch, config.OnRelease, config.RequireKey, p.Version,
			generatorColumn(config.Generator), m.Low, m.Target, m.LowHours, m.TargetHours)
		return p.Pool, err
	})
}

// repeatedChange reports whether the change last made was made from that version. Version 1 is not the work of a change.
func repeatedChange(present, from alloc.Version) bool { return present == from+1 && from >= 1 }

// SetPoolState moves the pool to the state.
func (s *Store) SetPoolState(ctx context.Context, name alloc.PoolName, from alloc.Version, to alloc.PoolState) (alloc.Pool, error) {
	return write(ctx, s.writer, func(t *tx) (alloc.Pool, error) {
		p, err := t.pool(name)
		if err != nil {
			return alloc.Pool{}, err
		}
		if err := p.CheckTo(to); err != nil {
			return alloc.Pool{}, err
		}
		if from != 0 && p.Version != from {
			return alloc.Pool{}, alloc.VersionMismatch("pool", string(name), p.Version)
		}
		if p.State == to {
			return p.Pool, nil
		}
		p.State = to
		_, err = t.exec(`UPDATE pools SET state = $2 WHERE pool = $1`, p.number, to)
		return p.Pool, err
	})
}

// ListPools returns at most limit pools in the order of their names, after the name given.
func (s *Store) ListPools(ctx context.Context, after alloc.PoolName, limit int) ([]alloc.Pool, error) {
	return read(ctx, s.reader, func(t *tx) ([]alloc.Pool, error) {
		return list(t, func(row scanner) (alloc.Pool, error) {
			p, err := scanPool(row)
			if p.damaged() {
				p.State = alloc.PoolDamaged
			}
			return p.Pool, err
		}, listPools, after, limit)
	})
}
