package alloctest

import (
	"context"
	"slices"

	"idpool/alloc"
)

// modelSequence is a sequence with its ledger. The ledger alone decides whether a range may leave the house.
type modelSequence struct {
	alloc.Sequence
	lost   bool // the counter is missing
	ledger []alloc.LeaseRecord
}

// sequence finds a sequence, deleted or not, whose counter is there.
func (d *modelData) sequence(name alloc.SequenceName) (*modelSequence, error) {
	q := d.sequences[name]
	switch {
	case q == nil:
		return nil, alloc.Errorf(alloc.CodeSequenceNotFound, "there is no sequence %q; create it first", name)
	case q.lost && q.State != alloc.SequenceDeleted:
		return nil, alloc.Stopped(name)
	}
	return q, nil
}

// CreateSequence implements alloc.Sequences.
func (m *Model) CreateSequence(ctx context.Context, name alloc.SequenceName, config alloc.SequenceConfig) (made alloc.Sequence, created bool, err error) {
	err = m.step(ctx, func(d *modelData) error {
		if d.sequences[name] == nil {
			q := &modelSequence{Sequence: alloc.Sequence{
				Name: name, Config: config, State: alloc.SequenceActive, Version: 1, Epoch: 1, Next: config.Start, Created: m.now(),
			}}
			d.sequences[name], made, created = q, q.Sequence, true
			return nil
		}
		q, err := d.sequence(name)
		if err != nil {
			return err
		}
		if err := q.CheckTo(alloc.SequenceDeleted); err != nil {
			return err
		}
		if q.Config != config {
			return alloc.Errorf(alloc.CodeSequenceExists, "the sequence %q exists with another configuration; read it, then change it", name)
		}
		made = q.Sequence
		return nil
	})
	return made, created, err
}

// Sequence implements alloc.Sequences.
func (m *Model) Sequence(ctx context.Context, name alloc.SequenceName) (found alloc.Sequence, err error) {
	err = m.step(ctx, func(d *modelData) error {
		q, err := d.sequence(name)
		if err != nil {
			return err
		}
		found = q.Sequence
		return nil
	})
	return found, err
}

// ChangeSequence implements alloc.Sequences.
func (m *Model) ChangeSequence(ctx context.Context, name alloc.SequenceName, from alloc.Version, config alloc.SequenceConfig) (changed alloc.Sequence, err error) {
	err = m.step(ctx, func(d *modelData) error {
		q, err := d.sequence(name)
		if err != nil {
			return err
		}
		if err := q.CheckTo(alloc.SequenceDeleted); err != nil {
			return err
		}
		if repeat := q.Version == from+1 && q.Config == config; !repeat {
			if q.Version != from {
				return alloc.VersionMismatch("sequence", string(name), q.Version)
			}
			if err := q.Config.CheckChange(config, q.Next); err != nil {
				return err
			}
			q.Config, q.Version = config, from+1
		}
		changed = q.Sequence
		return nil
	})
	return changed, err
}

// SetSequenceState implements alloc.Sequences.
func (m *Model) SetSequenceState(ctx context.Context, name alloc.SequenceName, from alloc.Version, to alloc.SequenceState) (changed alloc.Sequence, err error) {
	err = m.step(ctx, func(d *modelData) error {
		q, err := d.sequence(name)
		if err != nil {
			return err
		}
		if err := q.CheckTo(to); err != nil {
			return err
		}
		if from != 0 && from != q.Version {
			return alloc.VersionMismatch("sequence", string(name), q.Version)
		}
		q.State = to
		changed = q.Sequence
		return nil
	})
	return changed, err
}

// ListSequences implements alloc.Sequences.
func (m *Model) ListSequences(ctx context.Context, after alloc.SequenceName, limit int) (sequences []alloc.Sequence, err error) {
	err = m.step(ctx, func(d *modelData) error {
		for _, name := range page(d.sequences, after, limit) {
			q := d.sequences[name].Sequence
			if d.sequences[name].lost && q.State != alloc.SequenceDeleted {
				q.State = alloc.SequenceStopped
			}
			sequences = append(sequences, q)
		}
		return nil
	})
	return sequences, err
}

// Lease implements alloc.Sequences.
func (m *Model) Lease(ctx context.Context, o alloc.LeaseOrder) (answer alloc.Range, err error) {
	err = m.step(ctx, func(d *modelData) error {
		now := m.now()
		kept, found, err := lookup(d.leases, o.Key, now)
		if err != nil {
			return err
		}
		if found {
			answer = kept
			answer.Replayed = true
			return nil
		}
		q, err := d.sequence(o.Sequence)
		if err != nil {
			return err
		}
		if err := q.CheckLease(o); err != nil {
			return err
		}
		r := alloc.Range{
			Sequence: o.Sequence, Start: q.Next, End: q.Next + alloc.Number(o.Count) - 1,
			Epoch: q.Epoch, Token: alloc.NewToken(), At: now,
		}
		if !q.disjoint(r) {
			q.State = alloc.SequenceStopped
			return alloc.Stopped(o.Sequence)
		}
		q.Next = r.End + 1
		q.ledger = append(q.ledger, alloc.LeaseRecord{
			Start: r.Start, End: r.End, Token: r.Token, By: o.By, At: r.At, Epoch: r.Epoch, Proven: true,
		})
		if o.Key != nil {
			d.leases[o.Key.Hash] = keyed[alloc.Range]{fingerprint: o.Key.Fingerprint, born: now, answer: r}
		}
		answer = r
		return nil
	})
	return answer, err
}

// disjoint reports whether the range overlaps nothing that was leased before.
func (q *modelSequence) disjoint(r alloc.Range) bool {
	return !slices.ContainsFunc(q.ledger, func(l alloc.LeaseRecord) bool { return l.Start <= r.End && r.Start <= l.End })
}

// Leases implements alloc.Sequences.
func (m *Model) Leases(ctx context.Context, name alloc.SequenceName, below alloc.Number, limit int) (entries []alloc.LeaseRecord, err error) {
	err = m.step(ctx, func(d *modelData) error {
		q := d.sequences[name]
		if q == nil {
			return alloc.Errorf(alloc.CodeSequenceNotFound, "there is no sequence %q; create it first", name)
		}
		for _, l := range q.ledger {
			if l.Start < below {
				entries = append(entries, l)
			}
		}
		slices.SortFunc(entries, func(a, b alloc.LeaseRecord) int {
			if a.Start > b.Start {
				return -1
			}
			return 1
		})
		entries = entries[:min(limit, len(entries))]
		return nil
	})
	return entries, err
}
