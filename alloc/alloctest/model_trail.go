package alloctest

import (
	"context"
	"maps"
	"slices"
	"time"

	"idpool/alloc"
)

// modelTrail is the chains of all months, and what is beside them.
type modelTrail struct {
	chains  map[string][]alloc.AuditRecord // by month, in their order
	ends    map[string]alloc.TrailMonth    // by month
	known   map[string]bool                // IDs of all that was recorded
	intents map[string]modelIntent         // by the ID
}

// modelIntent is a step that was begun.
type modelIntent struct {
	record alloc.AuditRecord
	at     time.Time
}

func newModelTrail() modelTrail {
	return modelTrail{
		chains: map[string][]alloc.AuditRecord{}, ends: map[string]alloc.TrailMonth{},
		known: map[string]bool{}, intents: map[string]modelIntent{},
	}
}

// Intend implements alloc.Trail.
func (m *Model) Intend(ctx context.Context, r alloc.AuditRecord) error {
	return m.step(ctx, func(d *modelData) error {
		if _, there := d.trail.intents[r.ID]; !there && !d.trail.known[r.ID] {
			r.Link = alloc.Link{}
			d.trail.intents[r.ID] = modelIntent{r, m.now()}
		}
		return nil
	})
}

// Record implements alloc.Trail.
func (m *Model) Record(ctx context.Context, r alloc.AuditRecord) error {
	return m.step(ctx, func(d *modelData) error {
		delete(d.trail.intents, r.ID)
		if !d.trail.known[r.ID] {
			d.trail.append(r, alloc.MonthOf(m.now()))
		}
		return nil
	})
}

// append puts a record behind all others: in the month given, or the last that has a record, where that is a later one.
func (t *modelTrail) append(r alloc.AuditRecord, month string) {
	var last alloc.TrailMonth
	for _, end := range t.ends {
		if end.Month > last.Month {
			last = end
		}
	}
	position := int64(1)
	if last.Month >= month {
		month, position = last.Month, last.Last+1
	}
	sealed := r.Seal(month, position, last.Hash)
	t.chains[month] = append(t.chains[month], sealed)
	t.ends[month] = alloc.TrailMonth{Month: month, Last: position, Hash: sealed.Hash}
	t.known[r.ID] = true
}

// Intended implements alloc.Trail.
func (m *Model) Intended(ctx context.Context, before time.Time, limit int) (records []alloc.AuditRecord, err error) {
	err = m.step(ctx, func(d *modelData) error {
		for _, id := range slices.Sorted(maps.Keys(d.trail.intents)) {
			if i := d.trail.intents[id]; i.at.Before(before) && len(records) < limit {
				records = append(records, i.record)
			}
		}
		return nil
	})
	return records, err
}

// Records implements alloc.Trail.
func (m *Model) Records(ctx context.Context, before string, limit int) (records []alloc.AuditRecord, err error) {
	err = m.step(ctx, func(d *modelData) error {
		months := slices.Sorted(maps.Keys(d.trail.chains))
		for _, month := range slices.Backward(months) {
			for _, r := range slices.Backward(d.trail.chains[month]) {
				if (before == "" || r.Place() < before) && len(records) < limit {
					records = append(records, r)
				}
			}
		}
		return nil
	})
	return records, err
}

// Months implements alloc.Trail.
func (m *Model) Months(ctx context.Context) (months []alloc.TrailMonth, err error) {
	err = m.step(ctx, func(d *modelData) error {
		for _, month := range slices.Sorted(maps.Keys(d.trail.ends)) {
			months = append(months, d.trail.ends[month])
		}
		return nil
	})
	return months, err
}

// Chain implements alloc.Trail.
func (m *Model) Chain(ctx context.Context, month string, after int64, limit int) (records []alloc.AuditRecord, err error) {
	err = m.step(ctx, func(d *modelData) error {
		for _, r := range d.trail.chains[month] {
			if r.Position > after && len(records) < limit {
				records = append(records, r)
			}
		}
		return nil
	})
	return records, err
}
