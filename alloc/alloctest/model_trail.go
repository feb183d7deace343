package alloctest

import (
	"context"
	"maps"
	"slices"

	"idpool/alloc"
)

// Record implements alloc.Trail.
func (m *Model) Record(ctx context.Context, r alloc.AuditRecord) error {
	return m.step(ctx, func(d *modelData) error {
		if _, there := d.trail[r.ID]; !there {
			d.trail[r.ID] = r
		}
		return nil
	})
}

// Records implements alloc.Trail.
func (m *Model) Records(ctx context.Context, before string, limit int) (records []alloc.AuditRecord, err error) {
	err = m.step(ctx, func(d *modelData) error {
		ids := slices.Sorted(maps.Keys(d.trail))
		slices.Reverse(ids)
		for _, id := range ids {
			if (before == "" || id < before) && len(records) < limit {
				records = append(records, d.trail[id])
			}
		}
		return nil
	})
	return records, err
}
