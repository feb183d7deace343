package sql

import (
	"context"
	dbsql "database/sql"
	"time"

	"idpool/alloc"
)

// raiseMark raises a high-water mark, or puts it. It is never lowered.
const raiseMark = `INSERT INTO marks (sequence, high, epoch, at) VALUES ($1, $2, $3, $4)
	ON CONFLICT (sequence) DO UPDATE SET high = excluded.high, epoch = CASE WHEN marks.epoch > excluded.epoch THEN marks.epoch ELSE excluded.epoch END, at = excluded.at
	WHERE marks.high < excluded.high OR marks.high = excluded.high AND marks.epoch < excluded.epoch`

// highWater is a sequence's high-water mark.
type highWater struct {
	known bool
	high  alloc.Number
	epoch alloc.Epoch
	at    time.Time
}

func (t *tx) highWater(q sequenceRow) (w highWater, err error) {
	var at int64
	w.known, err = t.row(`SELECT high, epoch, at FROM marks WHERE sequence = $1`, []any{q.number}, &w.high, &w.epoch, &at)
	if w.known {
		w.at = moment(at)
	}
	return w, err
}

// reachOfEpoch is the greatest end of the sequence's leases as far as it matters to a counter in the epoch: of the last one
// that was not carried, if it is of the epoch, and of all of the epoch that were. NULL for none.
const reachOfEpoch = `SELECT max(high) FROM (
	SELECT high FROM (SELECT high, epoch FROM leases WHERE sequence = $1 AND carried = 0 ORDER BY low DESC LIMIT 1) AS own WHERE epoch = $2
	UNION ALL SELECT * FROM (SELECT high FROM leases WHERE sequence = $1 AND carried = 1 AND epoch = $2 ORDER BY high DESC LIMIT 1) AS carried) AS both`

// fault is what is wrong with the counter of a sequence that has one: in words, "" for nothing.
func (q sequenceRow) fault(reach dbsql.Null[alloc.Number], w highWater) (counter, mark string) {
	switch {
	case q.Next < q.Config.Start:
		counter = "the counter is below the start of the sequence"
	case reach.Valid && q.Next <= reach.V:
		counter = "the counter is behind the leases"
	}
	if w.known && q.Next <= w.high {
		mark = "the counter is below the high-water mark"
	}
	return counter, mark
}

// Watch stops the sequence if its counter is not where it must be, else it raises the high-water mark to it.
func (s *Store) Watch(ctx context.Context, name alloc.SequenceName) (alloc.Sequence, error) {
	return write(ctx, s.writer, func(t *tx) (alloc.Sequence, error) {
		q, err := t.sequence(name)
		if err == nil {
			_, err = t.exec(keepSequenceName, q.number)
		}
		if err != nil || q.State == alloc.SequenceDeleted || q.State == alloc.SequenceFrozen {
			return q.Sequence, err
		}
		if !q.counter {
			return q.Sequence, t.stop(q)
		}
		w, err := t.highWater(q)
		if err != nil {
			return alloc.Sequence{}, err
		}
		var reach dbsql.Null[alloc.Number]
		if _, err := t.row(reachOfEpoch, []any{q.number, q.Epoch}, &reach); err != nil {
			return alloc.Sequence{}, err
		}
		if counter, mark := q.fault(reach, w); counter != "" || mark != "" {
			if q.State == alloc.SequencePaused {
				q.Behind = true
				return q.Sequence, nil
			}
			return t.setSequenceState(q, alloc.SequenceStopped)
		}
		if q.State == alloc.SequenceStopped || q.Next == q.Config.Start {
			return q.Sequence, nil // it is for a rebuild, or nothing is used yet
		}
		_, err = t.exec(raiseMark, q.number, q.Next-1, q.Epoch, instant(s.clock()))
		return q.Sequence, err
	})
}
