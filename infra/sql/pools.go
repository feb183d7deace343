package sql

import (
	"context"

	"idpool/alloc"
	"idpool/alloc/generator"
)

// poolRow is a pool with the number that other tables know it by.
type poolRow struct {
	number int64
	alloc.Pool
}

// selectPool reads pools; a condition follows.
const selectPool = `SELECT pool, name, description, policy, fold_case, max_batch, on_release, require_key,
		generator, low, target, low_hours, target_hours, state, version, created FROM pools `

func scanPool(row scanner) (p poolRow, err error) {
	var created int64
	var gen storedGenerator
	c, m := &p.Config, &p.Config.Marks
	err = row.Scan(&p.number, &p.Name, &c.Description, &c.Policy, &c.FoldCase, &c.MaxBatch, &c.OnRelease, &c.RequireKey,
		asJSON(&gen), &m.Low, &m.Target, &m.LowHours, &m.TargetHours, &p.State, &p.Version, &created)
	c.Generator, p.Created = generator.Config(gen), moment(created)
	return p, err
}

// pool reads a pool; CodePoolNotFound.
func (t *tx) pool(name alloc.PoolName) (poolRow, error) {
	found, err := list(t, scanPool, selectPool+`WHERE name = $1`, name)
	if err != nil {
		return poolRow{}, err
	}
	if len(found) == 0 {
		return poolRow{}, noPool(name)
	}
	return found[0], nil
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
		m := config.Marks
		inserted, err := t.exec(`INSERT INTO pools (name, description, policy, fold_case, max_batch, on_release, require_key,
				generator, low, target, low_hours, target_hours, state, version, created)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, 1, $14) ON CONFLICT (name) DO NOTHING`,
			name, config.Description, config.Policy, config.FoldCase, config.MaxBatch, config.OnRelease, config.RequireKey,
			generatorColumn(config.Generator), m.Low, m.Target, m.LowHours, m.TargetHours, alloc.PoolActive, instant(s.clock()))
		if err != nil {
			return answer{}, err
		}
		p, err := t.pool(name)
		if err != nil {
			return answer{}, err
		}
		if inserted == 1 {
			_, err := t.exec(`INSERT INTO levels (pool) VALUES ($1)`, p.number)
			return answer{p.Pool, true}, err
		}
		if err := p.CheckTo(p.State); err != nil {
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
		if err := p.CheckTo(p.State); err != nil {
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
			return p.Pool, err
		}, selectPool+`WHERE name > $1 ORDER BY name LIMIT $2`, after, limit)
	})
}
