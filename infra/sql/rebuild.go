package sql

import (
	"context"

	"idpool/alloc"
)

// live reads a sequence that is not deleted, whether its counter is there or not.
func (t *tx) live(name alloc.SequenceName) (sequenceRow, error) {
	q, err := t.sequence(name)
	if err == nil {
		err = q.checkThere()
	}
	return q, err
}

// Evidence reads where a sequence stands by its counter and its mark. Its configuration is never lost with the counter: where the
// row is, the copy has it, and a counter that is left over counts as a mark.
func (s *Store) Evidence(ctx context.Context, name alloc.SequenceName) (alloc.Evidence, error) {
	return read(ctx, s.reader, func(t *tx) (alloc.Evidence, error) {
		q, err := t.live(name)
		if err != nil {
			return alloc.Evidence{}, err
		}
		w, err := t.highWater(q)
		e := alloc.Evidence{Sequence: q.Sequence, Counter: q.counter, Configured: true, Marked: w.known, Mark: w.high, MarkedAt: w.at, Epoch: max(w.epoch, q.epoch)}
		if !q.counter {
			e.Sequence.State, e.Sequence.Next, e.Sequence.Epoch = q.stored, 0, 0
		}
		if q.lost && q.left.Valid {
			e.Epoch = max(e.Epoch, q.Epoch)
			if last := q.left.Int64; last >= int64(q.Config.Start) && (!w.known || last > int64(w.high)) {
				e.Marked, e.Mark, e.MarkedAt = true, alloc.Number(last), s.clock()
			}
		}
		return e, err
	})
}

// notAtStep refuses what a rebuild asks for of a sequence that it has not in hand, or not as it thinks.
func notAtStep(q sequenceRow, why string) error {
	return alloc.Errorf(alloc.CodeRebuildStep, "the sequence %q %s; look at its rebuild again", q.Name, why)
}

// Freeze makes the sequence frozen by the rebuild. The one that was thawed last freezes nothing more: a call of its first
// step that comes late is refused.
func (s *Store) Freeze(ctx context.Context, name alloc.SequenceName, rebuild alloc.JobID) (alloc.Sequence, error) {
	return write(ctx, s.writer, func(t *tx) (alloc.Sequence, error) {
		q, err := t.live(name)
		if err != nil {
			return alloc.Sequence{}, err
		}
		was := q.Sequence
		was.Rebuild, was.Share = "", 0
		switch {
		case !q.counter:
			return was, t.stop(q)
		case q.State == alloc.SequenceFrozen && q.Rebuild == rebuild:
			was.State = q.was
			return was, nil
		case q.State == alloc.SequenceFrozen:
			return alloc.Sequence{}, notAtStep(q, "is frozen by another rebuild")
		case q.thawed == rebuild, q.Rebuild == rebuild:
			return alloc.Sequence{}, notAtStep(q, "was frozen by this rebuild before, and is open again")
		}
		_, err = t.exec(`UPDATE sequences SET rebuild = $2, share = 0, was = $3 WHERE sequence = $1`, q.number, rebuild, q.State)
		return was, err
	})
}

const putCounter = `INSERT INTO counters (sequence, position, epoch) VALUES ($1, $2, $3)
	ON CONFLICT (sequence) DO UPDATE SET position = excluded.position, epoch = excluded.epoch`

// Restart puts the counter where a plan says.
func (s *Store) Restart(ctx context.Context, o alloc.RestartOrder) (alloc.Sequence, error) {
	return write(ctx, s.writer, func(t *tx) (alloc.Sequence, error) {
		q, err := t.live(o.Sequence)
		if err != nil {
			return alloc.Sequence{}, err
		}
		if q.counter && q.Epoch == o.To && (q.Rebuild == o.Rebuild || q.thawed == o.Rebuild) {
			return q.Sequence, nil // a repeat
		}
		if err := q.checkRestart(o); err != nil {
			return alloc.Sequence{}, err
		}
		if q.lost {
			if _, err := t.exec(restoreSequence, q.number); err != nil {
				return alloc.Sequence{}, err
			}
		}
		if !q.counter {
			q.was = alloc.SequenceStopped
		}
		if _, err := t.exec(putCounter, q.number, int64(o.Next)-1, o.To); err != nil {
			return alloc.Sequence{}, err
		}
		q.State, q.Rebuild, q.Share, q.Epoch, q.Next = alloc.SequenceFrozen, o.Rebuild, 0, o.To, o.Next
		_, err = t.exec(`UPDATE sequences SET rebuild = $2, share = 0, was = $3, epoch = $4 WHERE sequence = $1`, q.number, o.Rebuild, q.was, o.To)
		return q.Sequence, err
	})
}

// checkRestart refuses an order that is not about the counter as it stands.
func (q sequenceRow) checkRestart(o alloc.RestartOrder) error {
	switch {
	case !q.counter && o.From != 0:
		return notAtStep(q, "has lost its counter")
	case q.left.Valid && q.left.Int64 > int64(o.Next)-1: // of the number after the greatest one too
		return notAtStep(q, "stands above what the plan says, and no counter is lowered")
	case !q.counter:
		return nil
	case q.State != alloc.SequenceFrozen || q.Rebuild != o.Rebuild:
		return notAtStep(q, "is not frozen by this rebuild")
	case q.Epoch != o.From || o.To <= o.From:
		return notAtStep(q, "is in another epoch")
	}
	return nil
}

// Thaw ends what Freeze began, or serves a share of the callers. One that comes late, after more are served, changes nothing.
func (s *Store) Thaw(ctx context.Context, name alloc.SequenceName, rebuild alloc.JobID, to alloc.SequenceState, share int) (alloc.Sequence, error) {
	return write(ctx, s.writer, func(t *tx) (alloc.Sequence, error) {
		q, err := t.live(name)
		switch {
		case err != nil:
			return alloc.Sequence{}, err
		case !q.counter, q.thawed == rebuild && q.Rebuild == "":
			return q.Sequence, nil
		case q.Rebuild != rebuild:
			return alloc.Sequence{}, notAtStep(q, "is not frozen by this rebuild")
		case to == alloc.SequenceResuming:
			return t.serve(q, max(q.Share, share))
		}
		if _, err := t.exec(`UPDATE sequences SET thawed = $2 WHERE sequence = $1`, q.number, rebuild); err != nil {
			return alloc.Sequence{}, err
		}
		return t.setSequenceState(q, to)
	})
}

// serve opens the sequence to a share of the callers.
func (t *tx) serve(q sequenceRow, share int) (alloc.Sequence, error) {
	q.State, q.Share = alloc.SequenceResuming, share
	_, err := t.exec(`UPDATE sequences SET state = 'active', share = $2, was = '' WHERE sequence = $1`, q.number, share)
	return q.Sequence, err
}
