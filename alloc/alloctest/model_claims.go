package alloctest

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"idpool/alloc"
)

// Claim implements alloc.Claims: the IDs seeded first are claimed first.
func (m *Model) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	return m.claim(ctx, o, func(free []alloc.ID) []alloc.ID { return free[:o.Count] })
}

// claim lets choose take o.Count of the free IDs, of which there are enough: which ones is an engine's own affair.
func (m *Model) claim(ctx context.Context, o alloc.ClaimOrder, choose func(free []alloc.ID) []alloc.ID) (claim alloc.Claim, err error) {
	err = m.step(ctx, func(d *modelData) error {
		now := m.now()
		answer, found, err := lookup(d.claims, o.Key, now)
		if err != nil {
			return err
		}
		if found {
			claim = answer
			claim.IDs, claim.Replayed = slices.Clone(answer.IDs), true
			return nil
		}
		p, err := d.pool(o.Pool)
		if err != nil {
			return err
		}
		if err := p.CheckClaim(o); err != nil {
			return err
		}
		free := p.free()
		if alloc.Count(len(free)) < o.Count {
			return alloc.Exhausted(o.Pool, o.Count)
		}
		claim = alloc.Claim{Pool: o.Pool, IDs: choose(free), State: alloc.StateClaimed, Token: alloc.NewToken(), At: now}
		p.take(o, claim)
		if o.Key != nil {
			kept := claim
			kept.IDs = slices.Clone(claim.IDs)
			d.claims[o.Key.Hash] = keyed[alloc.Claim]{fingerprint: o.Key.Fingerprint, born: now, answer: kept}
		}
		return nil
	})
	return claim, err
}

// take marks the IDs of a claim as taken. A pool that forgets drops those of a keyless claim at once; those of a key
// are needed for its repeats, so Sweep drops them when the key has expired.
func (p *modelPool) take(o alloc.ClaimOrder, c alloc.Claim) {
	for _, id := range c.IDs {
		if p.Config.Policy == alloc.PolicyForget && o.Key == nil {
			p.drop(id)
			continue
		}
		r := p.ids[id]
		r.State, r.Token, r.By, r.At = alloc.StateClaimed, c.Token, o.By, c.At
		r.Owner, r.Metadata = o.Owner, maps.Clone(o.Metadata)
	}
}

// Inspect implements alloc.Claims.
func (m *Model) Inspect(ctx context.Context, pool alloc.PoolName, id alloc.ID) (record alloc.IDRecord, err error) {
	err = m.step(ctx, func(d *modelData) error {
		p, err := d.pool(pool)
		if err != nil {
			return err
		}
		r := p.ids[id]
		if r == nil {
			return alloc.Errorf(alloc.CodeIDNotFound, "the pool %q does not know this ID", pool)
		}
		record = *r
		record.Metadata = maps.Clone(r.Metadata)
		return nil
	})
	return record, err
}

// Seed implements alloc.Claims.
func (m *Model) Seed(ctx context.Context, b alloc.SeedBatch) (outcomes []alloc.SeedOutcome, err error) {
	err = m.step(ctx, func(d *modelData) error {
		p, err := d.pool(b.Pool)
		if err != nil {
			return err
		}
		if err := p.CheckSeed(); err != nil {
			return err
		}
		batch := fmt.Sprintf("%q %q", b.Job, b.IDs)
		for i, id := range b.IDs {
			before := p.batches[batch]
			if p.ids[id] == nil && before != nil && before[i] == alloc.SeedAdded {
				outcomes = append(outcomes, alloc.SeedAdded) // claimed and forgotten since
				continue
			}
			outcomes = append(outcomes, p.seed(id, b, m.now().Unix()))
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
		r = &alloc.IDRecord{Pool: p.Name, ID: id, State: alloc.StateFree, Job: b.Job}
		if p.Config.Policy == alloc.PolicyForget {
			r.Generation = alloc.Generation(second)
		}
		p.ids[id] = r
		p.order = append(p.order, id)
		p.seeded++
		return alloc.SeedAdded
	case r.Job == b.Job && !b.Keyless:
		return alloc.SeedAdded
	case r.State == alloc.StateFree || r.State == alloc.StateReturning:
		return alloc.SeedDuplicate
	default:
		return alloc.SeedConflict
	}
}

// Sweep implements alloc.Claims. The Model keeps nothing anywhere else, so a sweep only forgets what is due and counts.
func (m *Model) Sweep(ctx context.Context, pool alloc.PoolName) (report alloc.SweepReport, err error) {
	report.Pool = pool
	err = m.step(ctx, func(d *modelData) error {
		p, err := d.pool(pool)
		if err != nil {
			return err
		}
		now := m.now()
		if p.Config.Policy == alloc.PolicyForget {
			for id, r := range p.ids {
				if r.State == alloc.StateClaimed && !now.Before(r.At.Add(alloc.KeyRetention)) {
					p.drop(id)
				}
			}
		}
		p.counted = alloc.Level{Seeded: p.seeded, Forgotten: p.forgotten, CountedAt: now}
		for _, r := range p.ids {
			if r.State == alloc.StateClaimed {
				p.counted.Claimed++
			}
		}
		return nil
	})
	return report, err
}
