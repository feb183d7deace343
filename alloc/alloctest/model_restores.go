package alloctest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"idpool/alloc"
)

// Stock implements alloc.Restores: the mark is the place of the last ID that was given.
func (m *Model) Stock(ctx context.Context, pool alloc.PoolName, mark string, limit int) (found []alloc.IDRecord, next string, err error) {
	err = m.step(ctx, func(d *modelData) error {
		p, err := d.pool(pool)
		if err != nil {
			return err
		}
		after, _ := strconv.Atoi(mark) // 0 at the beginning
		inOrder := slices.SortedFunc(maps.Values(p.ids), func(a, b *modelID) int { return cmp.Compare(a.nth, b.nth) })
		for _, r := range inOrder {
			if r.State != alloc.StateFree || r.nth <= after {
				continue
			}
			if len(found) == limit {
				next = strconv.Itoa(p.ids[found[limit-1].ID].nth)
				return nil
			}
			found = append(found, r.record())
		}
		return nil
	})
	return found, next, err
}

// Carry implements alloc.Restores.
func (m *Model) Carry(ctx context.Context, pool alloc.PoolName, point time.Time, taken []alloc.IDRecord) (outcomes []alloc.CarryOutcome, err error) {
	err = m.step(ctx, func(d *modelData) error {
		p, err := d.queue(pool)
		if err != nil {
			return err
		}
		if p.State == alloc.PoolDeleted {
			return p.CheckThere()
		}
		for _, record := range taken {
			to, outcome := p.standing(record.ID).Carry(record, point)
			if outcome == alloc.CarryDone {
				p.carry(to, record.Generation, m.now())
			}
			outcomes = append(outcomes, outcome)
		}
		return nil
	})
	return outcomes, err
}

func (p *modelPool) standing(id alloc.ID) alloc.Standing {
	r := p.ids[id]
	if r == nil {
		return alloc.Standing{}
	}
	return alloc.Standing{IDRecord: r.IDRecord, Carried: r.carried, Ahead: r.ahead}
}

// carry makes an ID what the record says, which was said to be of that generation.
func (p *modelPool) carry(record alloc.IDRecord, said alloc.Generation, now time.Time) {
	r := p.ids[record.ID]
	if r == nil {
		r = &modelID{IDRecord: alloc.IDRecord{ID: record.ID, Job: record.Job}}
		p.add(r)
	}
	record.Pool, record.Job, record.Metadata, record.Changed = p.Name, r.Job, maps.Clone(record.Metadata), now
	r.IDRecord, r.last, r.unlisted, r.carried, r.forget = record, "", false, true, record.At.Add(alloc.KeyRetention)
	r.ahead = record.Generation - said
}

// LookUp implements alloc.Restores.
func (m *Model) LookUp(ctx context.Context, pool alloc.PoolName, ids []alloc.ID) (found []alloc.IDRecord, err error) {
	err = m.step(ctx, func(d *modelData) error {
		p, err := d.pool(pool)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if r := p.ids[id]; r != nil {
				found = append(found, r.record())
			}
		}
		return nil
	})
	return found, err
}

// CarryLeases implements alloc.Restores.
func (m *Model) CarryLeases(ctx context.Context, name alloc.SequenceName, leases []alloc.LeaseRecord) (outcomes []alloc.CarryOutcome, err error) {
	err = m.step(ctx, func(d *modelData) error {
		q, err := d.sequenceAsIs(name)
		if err != nil {
			return err
		}
		if !q.lost {
			if err := q.CheckCarry(); err != nil {
				return err
			}
		}
		outcomes = nil
		for _, l := range leases {
			outcomes = append(outcomes, q.enter(l, m.now()))
		}
		return nil
	})
	return outcomes, err
}

// enter carries a lease into the ledger.
func (q *modelSequence) enter(l alloc.LeaseRecord, now time.Time) alloc.CarryOutcome {
	var there []alloc.LeaseRecord
	for _, e := range q.ledger {
		if e.damaged {
			e.LeaseRecord = alloc.LeaseRecord{Start: e.Start}
		}
		there = append(there, e.LeaseRecord)
	}
	write, due, outcome := l.Carries(there)
	if due {
		write.Carried = now
		entry := modelLease{LeaseRecord: write, damaged: write.Token == ""}
		if i := slices.IndexFunc(q.ledger, func(e modelLease) bool { return e.Start == write.Start }); i >= 0 {
			q.ledger[i] = entry
		} else {
			q.ledger = append(q.ledger, entry)
		}
	}
	return outcome
}
