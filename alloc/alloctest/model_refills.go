package alloctest

import (
	"context"
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"idpool/alloc"
)

// Refill implements alloc.Refills.
func (m *Model) Refill(ctx context.Context, pool alloc.PoolName) (found alloc.Refill, err error) {
	err = m.step(ctx, func(d *modelData) error {
		found = d.refill(pool)
		return nil
	})
	return found, err
}

// ChangeRefill implements alloc.Refills.
func (m *Model) ChangeRefill(ctx context.Context, from alloc.Version, r alloc.Refill) (changed alloc.Refill, err error) {
	err = m.step(ctx, func(d *modelData) error {
		there := d.refill(r.Pool)
		r.Version = from + 1
		if repeat := cmp.Equal(there, r, cmpopts.EquateEmpty()); !repeat {
			if there.Version != from {
				return alloc.VersionMismatch("refill of pool", string(r.Pool), there.Version)
			}
			r.IDs = slices.Clone(r.IDs)
			d.refills[r.Pool] = r
		}
		changed = d.refill(r.Pool)
		return nil
	})
	return changed, err
}

// refill is a pool's record, of version 0 where none was kept. It shares no memory with what the Model has.
func (d *modelData) refill(pool alloc.PoolName) alloc.Refill {
	r := d.refills[pool]
	r.Pool, r.IDs = pool, slices.Clone(r.IDs)
	return r
}
