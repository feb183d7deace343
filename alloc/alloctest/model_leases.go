package alloctest

import (
	"context"
	"slices"
	"time"

	"idpool/alloc"
)

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
		if !q.disjoint(r) || q.marked != nil && r.Start <= q.marked.last {
			q.State = alloc.SequenceStopped
			return alloc.Stopped(o.Sequence)
		}
		q.Next = r.End + 1
		q.ledger = append(q.ledger, modelLease{LeaseRecord: alloc.LeaseRecord{
			Start: r.Start, End: r.End, Token: r.Token, By: o.By, At: r.At, Epoch: r.Epoch, Proven: true,
		}})
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
	return !slices.ContainsFunc(q.ledger, func(l modelLease) bool { return l.Start <= r.End && r.Start <= l.End })
}

// Leases implements alloc.Sequences.
func (m *Model) Leases(ctx context.Context, name alloc.SequenceName, below alloc.Number, limit int) (entries []alloc.LeaseRecord, err error) {
	err = m.step(ctx, func(d *modelData) error {
		q := d.sequences[name]
		if q == nil {
			return alloc.Errorf(alloc.CodeSequenceNotFound, "there is no sequence %q; create it first", name)
		}
		for _, l := range q.ledger {
			if l.Start < below && l.Proven && !l.damaged {
				entries = append(entries, l.LeaseRecord)
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

// Watch implements alloc.Sequences.
func (m *Model) Watch(ctx context.Context, name alloc.SequenceName) (seen alloc.Sequence, err error) {
	err = m.step(ctx, func(d *modelData) error {
		q := d.sequences[name]
		switch {
		case q == nil:
			return alloc.Errorf(alloc.CodeSequenceNotFound, "there is no sequence %q; create it first", name)
		case q.lost && q.State != alloc.SequenceDeleted:
			seen = q.asLost()
			return nil
		case q.State == alloc.SequenceDeleted, q.State == alloc.SequenceFrozen:
			seen = q.Sequence
			return nil
		}
		behind := q.isBehind()
		switch {
		case behind && q.State != alloc.SequencePaused:
			q.State, q.Share = alloc.SequenceStopped, 0
		case !behind && q.State != alloc.SequenceStopped:
			q.raiseMark(m.now())
		}
		q.copied = q.Epoch
		seen = q.Sequence
		seen.Behind = behind && q.State == alloc.SequencePaused
		return nil
	})
	return seen, err
}

// isBehind reports whether the counter is below what the ledger of its epoch, or the mark, shows to be used.
func (q *modelSequence) isBehind() bool {
	if q.marked != nil && q.Next <= q.marked.last {
		return true
	}
	return slices.ContainsFunc(q.ledger, func(l modelLease) bool { return !l.damaged && l.Epoch == q.Epoch && l.End >= q.Next })
}

// raiseMark puts the mark to the last number that is used, where there is any.
func (q *modelSequence) raiseMark(now time.Time) {
	if q.Next > q.Config.Start && (q.marked == nil || q.marked.last < q.Next-1 || q.marked.epoch < q.Epoch) {
		q.marked = &modelMark{last: q.Next - 1, epoch: q.Epoch, at: now}
	}
}

// asLost is the sequence as one that has lost its counter is told.
func (q *modelSequence) asLost() alloc.Sequence {
	s := q.Sequence
	s.State, s.Next, s.Epoch, s.Share, s.Rebuild = alloc.SequenceStopped, 0, 0, 0, ""
	return s
}
