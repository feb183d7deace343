package alloctest

import (
	"context"
	"fmt"
	"slices"

	"idpool/alloc"
)

// Seed implements alloc.Claims.
func (m *Model) Seed(ctx context.Context, b alloc.SeedBatch) (outcomes []alloc.SeedOutcome, err error) {
	err = m.step(ctx, func(d *modelData) error {
		p, err := d.queue(b.Pool)
		if err != nil {
			return err
		}
		if err := p.CheckSeed(); err != nil {
			return err
		}
		batch := fmt.Sprintf("%q %q", b.Job, b.IDs)
		before, available := p.batches[batch], alloc.Count(len(p.free()))
		for i, id := range b.IDs {
			there := p.ids[id] != nil
			switch {
			case !there && before != nil && before[i] == alloc.SeedAdded: // claimed and forgotten since
				outcomes = append(outcomes, alloc.SeedAdded)
			case !there && b.UpTo > 0 && available >= b.UpTo:
				outcomes = append(outcomes, alloc.SeedUnneeded)
			default:
				outcomes = append(outcomes, p.seed(id, b, m.now().Unix()))
				if !there {
					available++
				}
			}
		}
		p.batches[batch] = slices.Clone(outcomes)
		return nil
	})
	return outcomes, err
}

func (p *modelPool) seed(id alloc.ID, b alloc.SeedBatch, second int64) alloc.SeedOutcome {
	r := p.ids[id]
	switch {
	case r == nil:
		r = &modelID{IDRecord: alloc.IDRecord{Pool: p.Name, ID: id, State: alloc.StateFree, Job: b.Job}}
		if p.Config.Policy == alloc.PolicyForget {
			r.Generation = alloc.Generation(second)
		}
		p.add(r)
		return alloc.SeedAdded
	case r.Job == b.Job && !b.Keyless:
		return alloc.SeedAdded
	case r.State == alloc.StateFree || r.State == alloc.StateReturning:
		return alloc.SeedDuplicate
	default:
		return alloc.SeedConflict
	}
}

// add puts an ID behind all others.
func (p *modelPool) add(r *modelID) {
	p.made++
	r.nth = p.made
	p.ids[r.ID] = r
	p.order = append(p.order, r.ID)
	p.seeded++
}
