package alloctest

import (
	"context"
	"maps"
	"slices"
	"time"

	"idpool/alloc"
)

// PoolEvidence implements alloc.Repairs.
func (m *Model) PoolEvidence(ctx context.Context, pool alloc.PoolName) (e alloc.PoolEvidence, err error) {
	err = m.step(ctx, func(d *modelData) error {
		p, err := d.poolAsIs(pool)
		if err != nil {
			return err
		}
		e = alloc.PoolEvidence{Pool: p.Pool, Head: !p.lost, Configured: !p.lost || !p.uncopied, Rebuilding: p.rebuilding}
		if p.lost {
			e.Damage = append(e.Damage, "the head is lost")
		}
		if !e.Configured {
			e.Pool = alloc.Pool{Name: pool}
		}
		return nil
	})
	return e, err
}

// workStep is the second step of the Model's rebuild, and the last. The first only marks the pool.
const workStep = "work"

// RebuildPool implements alloc.Repairs.
func (m *Model) RebuildPool(ctx context.Context, o alloc.PoolRebuildOrder) (done alloc.PoolRebuilt, err error) {
	err = m.step(ctx, func(d *modelData) error {
		p, err := d.poolAsIs(o.Pool)
		if err != nil {
			return err
		}
		if p.State == alloc.PoolDeleted {
			return p.CheckThere()
		}
		switch {
		case p.rebuilt == o.Job: // a step that comes late
			done.Tally.Missing = p.missing
		case p.abandoned == o.Job, p.rebuilding == "" && o.Step != "":
			return alloc.Errorf(alloc.CodeJobEnded, "the rebuild of the pool %q by this job is not on any more; begin another one", o.Pool)
		case p.rebuilding != "" && p.rebuilding != o.Job:
			return rebuildingPool(o.Pool)
		case p.lost && p.uncopied && o.Policy == "":
			return alloc.Errorf(alloc.CodeInvalidConfig, "the configuration of the pool %q is lost; say which policy it has", o.Pool)
		case o.Step == "":
			p.rebuilding = o.Job
			done = alloc.PoolRebuilt{Next: workStep, Total: p.size(), Left: p.size()}
		default:
			done = p.rebuild(o, m.now())
		}
		return nil
	})
	return done, err
}

// size is how many IDs a rebuild will meet.
func (p *modelPool) size() alloc.Count { return alloc.Count(len(p.ids) + len(p.gone)) }

// rebuild lists whatever is free, and knows again what is gone.
func (p *modelPool) rebuild(o alloc.PoolRebuildOrder, now time.Time) (done alloc.PoolRebuilt) {
	done.Met, done.Total, done.Looked = p.size(), p.size(), p.size()
	if p.lost && p.uncopied {
		p.Pool = alloc.Pool{
			Name: o.Pool, State: alloc.PoolActive, Version: 1, Created: now,
			Config: alloc.PoolConfig{Policy: o.Policy, FoldCase: o.FoldCase}.WithDefaults(),
		}
	}
	if p.Config.Policy != alloc.PolicyForget {
		done.Tally.Lost = alloc.Count(len(p.gone))
		done.Tally.Missing = max(0, p.seeded-p.size())
		for _, id := range slices.Sorted(maps.Keys(p.gone)) {
			if len(done.Gone) < alloc.MaxFindings {
				done.Gone = append(done.Gone, id)
			}
			p.add(&modelID{IDRecord: alloc.IDRecord{Pool: p.Name, ID: id, State: alloc.StateRetired}})
		}
		p.seeded = alloc.Count(len(p.ids))
	}
	p.forgotten = p.seeded - alloc.Count(len(p.ids))
	for _, r := range p.ids {
		r.unlisted = false
		tally(&done.Tally, r.State)
	}
	p.lost, p.uncopied, p.rebuilding, p.rebuilt, p.missing = false, false, "", o.Job, done.Tally.Missing
	clear(p.gone)
	return done
}

// tally counts an ID.
func tally(t *alloc.Tally, state alloc.State) {
	switch state {
	case alloc.StateFree:
		t.Free++
	case alloc.StateHeld:
		t.Held++
	case alloc.StateClaimed:
		t.Claimed++
	case alloc.StateReturning:
		t.Returning++
	case alloc.StateRetired:
		t.Retired++
	}
}

// AbandonRebuild implements alloc.Repairs.
func (m *Model) AbandonRebuild(ctx context.Context, pool alloc.PoolName, job alloc.JobID) error {
	return m.step(ctx, func(d *modelData) error {
		p, err := d.poolAsIs(pool)
		if err != nil {
			return err
		}
		if p.rebuilding == job {
			p.rebuilding, p.abandoned = "", job
		}
		return nil
	})
}
