package alloctest

import (
	"context"

	"idpool/alloc"
)

// Freeze implements alloc.Rebuilds. The rebuild that was thawed last freezes nothing more: a call of its first step that
// comes late is refused.
func (m *Model) Freeze(ctx context.Context, name alloc.SequenceName, rebuild alloc.JobID) (was alloc.Sequence, err error) {
	err = m.step(ctx, func(d *modelData) error {
		q, err := d.sequenceAsIs(name)
		switch {
		case err != nil:
			return err
		case q.lost:
			was = q.asLost()
			return nil
		case q.State == alloc.SequenceFrozen && q.Rebuild != rebuild, q.ended == rebuild,
			q.State == alloc.SequenceResuming && q.Rebuild == rebuild:
			return notAtStep(name)
		}
		if q.State != alloc.SequenceFrozen {
			q.was = q.State
		}
		q.State, q.Rebuild, q.Share = alloc.SequenceFrozen, rebuild, 0
		was = q.Sequence
		was.State, was.Rebuild = q.was, ""
		return nil
	})
	return was, err
}

func notAtStep(name alloc.SequenceName) *alloc.Error {
	return alloc.Errorf(alloc.CodeRebuildStep, "the rebuild of the sequence %q is not at the step that this needs; look at it again", name)
}

// Restart implements alloc.Rebuilds.
func (m *Model) Restart(ctx context.Context, o alloc.RestartOrder) (s alloc.Sequence, err error) {
	err = m.step(ctx, func(d *modelData) error {
		q, err := d.sequenceAsIs(o.Sequence)
		if err != nil {
			return err
		}
		restarted := !q.lost && q.Epoch == o.To && (q.Rebuild == o.Rebuild || q.ended == o.Rebuild)
		switch {
		case restarted: // a repeat
		case q.lost && o.From == 0:
			q.makeAnew(o)
		case q.lost, q.State != alloc.SequenceFrozen, q.Rebuild != o.Rebuild, q.Epoch != o.From, o.To <= o.From, q.Next > o.Next:
			return notAtStep(o.Sequence)
		default:
			q.Epoch, q.Next, q.copied = o.To, o.Next, o.To
		}
		s = q.Sequence
		return nil
	})
	return s, err
}

// makeAnew makes the counter that was lost.
func (q *modelSequence) makeAnew(o alloc.RestartOrder) {
	if q.copied == 0 {
		q.Version = 1
	}
	q.lost, q.was, q.copied = false, alloc.SequenceStopped, o.To
	q.State, q.Rebuild, q.Share = alloc.SequenceFrozen, o.Rebuild, 0
	q.Config, q.Epoch, q.Next = o.Config, o.To, o.Next
}

// Thaw implements alloc.Rebuilds. One that comes late, after more of the callers are served, changes nothing.
func (m *Model) Thaw(ctx context.Context, name alloc.SequenceName, rebuild alloc.JobID, to alloc.SequenceState, share int) (s alloc.Sequence, err error) {
	err = m.step(ctx, func(d *modelData) error {
		q, err := d.sequenceAsIs(name)
		switch {
		case err != nil:
			return err
		case q.lost:
			s = q.asLost()
			return nil
		case q.ended == rebuild && q.State != alloc.SequenceFrozen && q.State != alloc.SequenceResuming: // a repeat
		case q.Rebuild != rebuild || q.State != alloc.SequenceFrozen && q.State != alloc.SequenceResuming:
			return notAtStep(name)
		case to == alloc.SequenceResuming:
			q.State, q.Share = to, max(q.Share, share)
		default:
			q.State, q.Share, q.Rebuild, q.ended = to, 0, "", rebuild
		}
		s = q.Sequence
		return nil
	})
	return s, err
}
