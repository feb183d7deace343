package alloctest

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"idpool/alloc"
)

// Rebuild implements alloc.Rebuilds.
func (m *Model) Rebuild(ctx context.Context, name alloc.SequenceName) (found alloc.Rebuild, err error) {
	err = m.step(ctx, func(d *modelData) error {
		found = d.rebuild(name)
		return nil
	})
	return found, err
}

// ChangeRebuild implements alloc.Rebuilds.
func (m *Model) ChangeRebuild(ctx context.Context, from alloc.Version, r alloc.Rebuild) (changed alloc.Rebuild, err error) {
	err = m.step(ctx, func(d *modelData) error {
		there := d.rebuild(r.Sequence)
		if repeat := there.Version == from+1 && there.Change == r.Change; !repeat {
			if there.Version != from {
				return alloc.VersionMismatch("rebuild of sequence", string(r.Sequence), there.Version)
			}
			r.Version = from + 1
			d.rebuilds[r.Sequence] = copyOfRebuild(r)
		}
		changed = d.rebuild(r.Sequence)
		return nil
	})
	return changed, err
}

// rebuild is a sequence's record, of version 0 where none was kept.
func (d *modelData) rebuild(name alloc.SequenceName) alloc.Rebuild {
	r := copyOfRebuild(d.rebuilds[name])
	r.Sequence = name
	return r
}

// copyOfRebuild shares no memory with what it is a copy of.
func copyOfRebuild(r alloc.Rebuild) alloc.Rebuild {
	r.Sources, r.Tested, r.Autos, r.Log = slices.Clone(r.Sources), slices.Clone(r.Tested), slices.Clone(r.Autos), slices.Clone(r.Log)
	return r
}

// sequenceAsIs finds a sequence that is not deleted, whether its counter is there or not.
func (d *modelData) sequenceAsIs(name alloc.SequenceName) (*modelSequence, error) {
	q := d.sequences[name]
	if q == nil {
		return nil, alloc.Errorf(alloc.CodeSequenceNotFound, "there is no sequence %q; create it first", name)
	}
	if q.State == alloc.SequenceDeleted {
		return nil, q.CheckThere()
	}
	return q, nil
}

// Evidence implements alloc.Rebuilds.
func (m *Model) Evidence(ctx context.Context, name alloc.SequenceName) (e alloc.Evidence, err error) {
	err = m.step(ctx, func(d *modelData) error {
		q, err := d.sequenceAsIs(name)
		if err != nil {
			return err
		}
		e = alloc.Evidence{Sequence: q.Sequence, Counter: !q.lost, Configured: !q.lost || q.copied > 0, Epoch: q.copied}
		switch {
		case !e.Configured:
			e.Sequence = alloc.Sequence{Name: name}
		case q.lost:
			e.Sequence = q.asLost()
			e.Sequence.State = q.State
		}
		if q.marked != nil {
			e.Marked, e.Mark, e.MarkedAt, e.Epoch = true, q.marked.last, q.marked.at, max(e.Epoch, q.marked.epoch)
		}
		return nil
	})
	return e, err
}

// WalkLedger implements alloc.Rebuilds: the mark is the last start that was given.
func (m *Model) WalkLedger(ctx context.Context, name alloc.SequenceName, mark string, limit int) (found []alloc.LeaseRecord, next string, err error) {
	err = m.step(ctx, func(d *modelData) error {
		q := d.sequences[name]
		if q == nil {
			return alloc.Errorf(alloc.CodeSequenceNotFound, "there is no sequence %q; create it first", name)
		}
		rising := slices.SortedFunc(slices.Values(q.ledger), func(a, b modelLease) int { return cmp.Compare(a.Start, b.Start) })
		for _, l := range rising {
			if startMark(l.Start) <= mark {
				continue
			}
			if len(found) == limit {
				next = startMark(found[limit-1].Start)
				return nil
			}
			if l.damaged {
				l.LeaseRecord = alloc.LeaseRecord{Start: l.Start}
			}
			found = append(found, l.LeaseRecord)
		}
		return nil
	})
	return found, next, err
}

func startMark(start alloc.Number) string { return fmt.Sprintf("%020d", start) }
