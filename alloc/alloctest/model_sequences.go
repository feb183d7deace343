package alloctest

import (
	"context"
	"time"

	"idpool/alloc"
)

// modelSequence is a sequence with its ledger. The ledger decides whether a range may leave the house, and the mark.
type modelSequence struct {
	alloc.Sequence
	lost   bool // the counter is missing
	ledger []modelLease
	marked *modelMark  // nil for none
	copied alloc.Epoch // that the copy of the configuration knows of; 0 where there is none

	was   alloc.SequenceState // of a frozen one: before it was
	ended alloc.JobID         // the rebuild that was thawed last
}

// modelLease is an entry of the ledger.
type modelLease struct {
	alloc.LeaseRecord
	damaged bool
}

// modelMark is a high-water mark.
type modelMark struct {
	last  alloc.Number
	epoch alloc.Epoch
	at    time.Time
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
	config, born := config.Birth()
	err = m.step(ctx, func(d *modelData) error {
		if d.sequences[name] == nil {
			q := &modelSequence{copied: 1, Sequence: alloc.Sequence{
				Name: name, Config: config, State: born, Version: 1, Epoch: 1, Next: config.Start, Created: m.now(),
			}}
			d.sequences[name], made, created = q, q.Sequence, true
			return nil
		}
		q, err := d.sequence(name)
		if err != nil {
			return err
		}
		if err := q.CheckThere(); err != nil {
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
		if err := q.CheckThere(); err != nil {
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
