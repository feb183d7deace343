package alloctest

import (
	"context"
	"time"

	"idpool/alloc"
)

// modelID is an ID with what no client sees of it.
type modelID struct {
	alloc.IDRecord
	last   alloc.Token // of whoever gave it back last
	forget time.Time   // when a pool that forgets does so with it, while it is claimed

	nth      int  // in the order in which they were seeded
	unlisted bool // it is free, and a damage has taken it out of the queue
	carried  bool // a Carry has brought whoever has it, and nothing was done to it here since

	ahead alloc.Generation // by how many generations it has it later than was said then
}

// modelPool is a pool with all that was ever seeded into it.
type modelPool struct {
	alloc.Pool
	ids       map[alloc.ID]*modelID
	order     []alloc.ID                     // as seeded, so that claims come out in a repeatable order; may name IDs that are taken or gone
	batches   map[string][]alloc.SeedOutcome // what became of a job's batch
	made      int                            // IDs that were ever put in their place
	seeded    alloc.Count
	forgotten alloc.Count
	counted   alloc.Level // by the last sweep
	samples   minutes

	lost       bool              // the head is missing
	uncopied   bool              // the copy of the configuration is missing
	gone       map[alloc.ID]bool // IDs whose records are missing; they are listed still
	rebuilding alloc.JobID
	rebuilt    alloc.JobID // the last that came to its end
	missing    alloc.Count // that it found
	abandoned  alloc.JobID // the last that did not
}

// pool finds a pool, deleted or not, whose head is there.
func (d *modelData) pool(name alloc.PoolName) (*modelPool, error) {
	p, err := d.poolAsIs(name)
	if err != nil {
		return nil, err
	}
	if p.lost {
		return nil, alloc.Errorf(alloc.CodePoolDamaged, "the pool %q has lost a part of its data and must be rebuilt by an administrator; nothing was taken", name)
	}
	return p, nil
}

// poolAsIs finds a pool, deleted, damaged or not.
func (d *modelData) poolAsIs(name alloc.PoolName) (*modelPool, error) {
	p := d.pools[name]
	if p == nil {
		return nil, alloc.Errorf(alloc.CodePoolNotFound, "there is no pool %q; create it first", name)
	}
	return p, nil
}

// queue finds a pool whose queue nobody rebuilds: for what changes it.
func (d *modelData) queue(name alloc.PoolName) (*modelPool, error) {
	p, err := d.pool(name)
	if err != nil {
		return nil, err
	}
	if p.rebuilding != "" && p.State != alloc.PoolDeleted {
		return nil, rebuildingPool(name)
	}
	return p, nil
}

func rebuildingPool(name alloc.PoolName) *alloc.Error {
	return alloc.Errorf(alloc.CodePoolRebuilding, "the pool %q is being rebuilt; try again in a moment", name).After(5 * time.Second)
}

// CreatePool implements alloc.Pools.
func (m *Model) CreatePool(ctx context.Context, name alloc.PoolName, config alloc.PoolConfig) (made alloc.Pool, created bool, err error) {
	err = m.step(ctx, func(d *modelData) error {
		if d.pools[name] == nil {
			p := &modelPool{
				Pool: alloc.Pool{Name: name, Config: config, State: alloc.PoolActive, Version: 1, Created: m.now()},
				ids:  map[alloc.ID]*modelID{}, batches: map[string][]alloc.SeedOutcome{}, samples: minutes{},
				gone: map[alloc.ID]bool{},
			}
			d.pools[name], made, created = p, p.Pool, true
			return nil
		}
		p, err := d.pool(name)
		if err != nil {
			return err
		}
		if err := p.CheckThere(); err != nil {
			return err
		}
		if p.Config != config {
			return alloc.Errorf(alloc.CodePoolExists, "the pool %q exists with another configuration; read it, then change it", name)
		}
		made = p.Pool
		return nil
	})
	return made, created, err
}

// Pool implements alloc.Pools.
func (m *Model) Pool(ctx context.Context, name alloc.PoolName) (found alloc.Pool, err error) {
	err = m.step(ctx, func(d *modelData) error {
		p, err := d.pool(name)
		if err != nil {
			return err
		}
		found = p.Pool
		return nil
	})
	return found, err
}

// ChangePool implements alloc.Pools.
func (m *Model) ChangePool(ctx context.Context, name alloc.PoolName, from alloc.Version, config alloc.PoolConfig) (changed alloc.Pool, err error) {
	err = m.step(ctx, func(d *modelData) error {
		p, err := d.pool(name)
		if err != nil {
			return err
		}
		if err := p.CheckThere(); err != nil {
			return err
		}
		if repeat := p.Version == from+1 && p.Config == config; !repeat {
			if p.Version != from {
				return alloc.VersionMismatch("pool", string(name), p.Version)
			}
			if err := p.Config.CheckChange(config); err != nil {
				return err
			}
			p.Config, p.Version = config, from+1
		}
		changed = p.Pool
		return nil
	})
	return changed, err
}

// SetPoolState implements alloc.Pools.
func (m *Model) SetPoolState(ctx context.Context, name alloc.PoolName, from alloc.Version, to alloc.PoolState) (changed alloc.Pool, err error) {
	err = m.step(ctx, func(d *modelData) error {
		p, err := d.pool(name)
		if err != nil {
			return err
		}
		if err := p.CheckTo(to); err != nil {
			return err
		}
		if from != 0 && from != p.Version {
			return alloc.VersionMismatch("pool", string(name), p.Version)
		}
		p.State = to
		changed = p.Pool
		return nil
	})
	return changed, err
}

// ListPools implements alloc.Pools.
func (m *Model) ListPools(ctx context.Context, after alloc.PoolName, limit int) (pools []alloc.Pool, err error) {
	err = m.step(ctx, func(d *modelData) error {
		for _, name := range page(d.pools, after, limit) {
			p := d.pools[name]
			pool := p.Pool
			switch {
			case p.lost && p.uncopied:
				pool = alloc.Pool{Name: name, State: alloc.PoolDamaged}
			case p.lost && pool.State != alloc.PoolDeleted:
				pool.State = alloc.PoolDamaged
			}
			pools = append(pools, pool)
		}
		return nil
	})
	return pools, err
}

// Level implements alloc.Pools.
func (m *Model) Level(ctx context.Context, name alloc.PoolName) (level alloc.Level, err error) {
	err = m.step(ctx, func(d *modelData) error {
		p, err := d.pool(name)
		if err != nil {
			return err
		}
		level = p.level()
		return nil
	})
	return level, err
}

func (p *modelPool) level() alloc.Level {
	level := p.counted
	level.Available = alloc.Count(len(p.free()))
	return level
}

// free lists the IDs that can be claimed, oldest first.
func (p *modelPool) free() []alloc.ID {
	var free []alloc.ID
	for _, id := range p.order {
		if r := p.ids[id]; r != nil && r.State == alloc.StateFree && !r.unlisted {
			free = append(free, id)
		}
	}
	return free
}

// drop makes the pool forget an ID.
func (p *modelPool) drop(id alloc.ID) {
	delete(p.ids, id)
	kept := p.order[:0]
	for _, other := range p.order {
		if other != id {
			kept = append(kept, other)
		}
	}
	p.order = kept
	p.forgotten++
}
