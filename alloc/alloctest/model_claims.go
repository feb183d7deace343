package alloctest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

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
			claim, err = d.replayed(answer)
			return err
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
		if o.Hold > 0 {
			claim.State, claim.HeldUntil = alloc.StateHeld, now.Add(o.Hold)
		}
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

// replayed is the answer to a repeat: what was answered first, and which of the IDs its token has no longer.
func (d *modelData) replayed(first alloc.Claim) (alloc.Claim, error) {
	again := first
	again.IDs, again.Replayed = slices.Clone(first.IDs), true
	for _, id := range first.IDs {
		switch r := d.pools[first.Pool].ids[id]; {
		case r == nil, // it came back, and was forgotten when another had it: nothing of a key is before that has expired
			r.Token != first.Token, r.State == alloc.StateReturning:
			again.Ended = append(again.Ended, alloc.EndedID{ID: id, State: alloc.StateReturning})
		case r.State == alloc.StateRetired:
			again.Ended = append(again.Ended, alloc.EndedID{ID: id, State: alloc.StateRetired})
		}
	}
	if len(again.Ended) == len(again.IDs) {
		return alloc.Claim{}, alloc.KeyEnded()
	}
	return again, nil
}

// take marks the IDs of a claim as taken. A pool that forgets drops those of a keyless claim at once; those of a key are
// needed for its repeats, so Sweep drops them when the key has expired.
func (p *modelPool) take(o alloc.ClaimOrder, c alloc.Claim) {
	for _, id := range c.IDs {
		if p.Config.Policy == alloc.PolicyForget && o.Key == nil && c.State == alloc.StateClaimed {
			p.drop(id)
			continue
		}
		r := p.ids[id]
		r.State, r.Token, r.By, r.At, r.HeldUntil = c.State, c.Token, o.By, c.At, c.HeldUntil
		r.Owner, r.Metadata, r.forget = o.Owner, maps.Clone(o.Metadata), c.At.Add(alloc.KeyRetention)
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
		record = r.record()
		return nil
	})
	return record, err
}

// RecentClaims implements alloc.Claims: it misses none.
func (m *Model) RecentClaims(ctx context.Context, pool alloc.PoolName, limit int) (found []alloc.IDRecord, err error) {
	err = m.step(ctx, func(d *modelData) error {
		p, err := d.pool(pool)
		if err != nil {
			return err
		}
		for _, r := range p.ids {
			if r.State == alloc.StateHeld || r.State == alloc.StateClaimed {
				found = append(found, r.record())
			}
		}
		slices.SortFunc(found, func(a, b alloc.IDRecord) int {
			return cmp.Or(b.At.Compare(a.At), strings.Compare(string(a.ID), string(b.ID)))
		})
		found = found[:min(len(found), limit)]
		return nil
	})
	return found, err
}

// record is what a client sees.
func (r *modelID) record() alloc.IDRecord {
	seen := r.IDRecord
	seen.Metadata = maps.Clone(r.Metadata)
	return seen
}
