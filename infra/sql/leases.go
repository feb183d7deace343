package sql

import (
	"context"
	dbsql "database/sql"
	"time"

	"idpool/alloc"
)

// Lease takes exactly o.Count consecutive numbers.
func (s *Store) Lease(ctx context.Context, o alloc.LeaseOrder) (alloc.Range, error) {
	type answer struct {
		leased  alloc.Range
		stopped bool // a refusal that has to be kept, so it must not undo the step
	}
	o.Key = keep(o.Key)
	a, err := write(ctx, s.writer, func(t *tx) (answer, error) {
		r, stopped, err := s.lease(t, o)
		return answer{r, stopped}, err
	})
	if err == nil && a.stopped {
		err = alloc.Stopped(o.Sequence)
	}
	return a.leased, contended(err)
}

func (s *Store) lease(t *tx, o alloc.LeaseOrder) (r alloc.Range, stopped bool, err error) {
	at := s.clock()
	if o.Key != nil {
		replay, found, err := t.replayLease(o, at)
		if err != nil || found {
			return replay, false, err
		}
	}
	q, err := t.sequence(o.Sequence)
	if err != nil {
		return alloc.Range{}, false, err
	}
	if !q.counter && q.State != alloc.SequenceDeleted {
		return alloc.Range{}, true, t.stop(q)
	}
	if err := q.CheckLease(o); err != nil {
		return alloc.Range{}, false, err
	}
	r = alloc.Range{Sequence: o.Sequence, Start: q.Next, End: q.Next + alloc.Number(o.Count) - 1, Epoch: q.Epoch, Token: alloc.NewToken(), At: at}
	proven, err := t.disjoint(q, r)
	if err != nil {
		return alloc.Range{}, false, err
	}
	if !proven {
		return alloc.Range{}, true, t.stop(q)
	}
	return r, false, t.enter(q, o, r)
}

// stop keeps it that the sequence is for a rebuild. Of one without a counter, which is stopped by that alone, it stays known that it was paused.
func (t *tx) stop(q sequenceRow) error {
	to := alloc.SequenceStopped
	if !q.counter && q.stored == alloc.SequencePaused {
		to = alloc.SequencePaused
	}
	_, err := t.setSequenceState(q, to)
	return err
}

// usedUpTo is up to where numbers are used as far as matters for a range: by the last lease that begins at or before its
// end, by those that a restore has carried and that end in it or above, and by the high-water mark. Of the leases that were
// not carried the last one reaches highest, because they are disjoint.
const usedUpTo = `SELECT max(high) FROM (
	SELECT * FROM (SELECT high FROM leases WHERE sequence = $1 AND low <= $3 AND carried = 0 ORDER BY low DESC LIMIT 1) AS own
	UNION ALL SELECT max(high) FROM leases WHERE sequence = $1 AND high >= $2 AND low <= $3 AND carried = 1
	UNION ALL SELECT high FROM marks WHERE sequence = $1) AS used`

// disjoint is the proof: the range begins at or after the sequence's start, overlaps nothing in the ledger, and is above
// the high-water mark.
func (t *tx) disjoint(q sequenceRow, r alloc.Range) (bool, error) {
	var used dbsql.Null[alloc.Number]
	if _, err := t.row(usedUpTo, []any{q.number, r.Start, r.End}, &used); err != nil {
		return false, err
	}
	return r.Start >= q.Config.Start && (!used.Valid || used.V < r.Start), nil
}

// enter writes the range to the ledger, moves the counter past it and keeps the key's record.
func (t *tx) enter(q sequenceRow, o alloc.LeaseOrder, r alloc.Range) error {
	_, err := t.exec(`INSERT INTO leases (sequence, low, high, token, client, at, epoch) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		q.number, r.Start, r.End, r.Token, o.By, instant(r.At), r.Epoch)
	if err != nil {
		return err
	}
	if _, err := t.exec(`UPDATE counters SET position = $2 WHERE sequence = $1`, q.number, r.End); err != nil {
		return err
	}
	if o.Key == nil {
		return nil
	}
	kept, err := t.exec(`INSERT INTO lease_keys (hash, fingerprint, sequence, low, high, epoch, token, at, expires)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (hash) DO UPDATE SET fingerprint = excluded.fingerprint, sequence = excluded.sequence, low = excluded.low, high = excluded.high,
			epoch = excluded.epoch, token = excluded.token, at = excluded.at, expires = excluded.expires WHERE lease_keys.expires <= excluded.at`,
		o.Key.Hash, o.Key.Fingerprint, q.number, r.Start, r.End, r.Epoch, r.Token, instant(r.At), instant(r.At.Add(alloc.KeyRetention)))
	if err = keptKey(kept, err); err != nil {
		return err
	}
	return t.expireSome(expireLeaseKeys, r.At)
}

const selectLeaseKey = `SELECT k.fingerprint, coalesce(s.name, n.name, ''), k.low, k.high, k.epoch, k.token, k.at
	FROM lease_keys k LEFT JOIN sequences s ON s.sequence = k.sequence LEFT JOIN sequence_names n ON n.sequence = k.sequence
	WHERE k.hash = $1 AND k.expires > $2`

// replayLease answers from the record of the order's key; found is false where there is none that has not expired.
func (t *tx) replayLease(o alloc.LeaseOrder, now time.Time) (r alloc.Range, found bool, err error) {
	var fingerprint string
	var name alloc.SequenceName
	var at int64
	found, err = t.row(selectLeaseKey, []any{o.Key.Hash, instant(now)}, &fingerprint, &name, &r.Start, &r.End, &r.Epoch, &r.Token, &at)
	if err != nil || !found {
		return alloc.Range{}, false, err
	}
	if fingerprint != o.Key.Fingerprint || name != o.Sequence {
		return alloc.Range{}, false, alloc.KeyMismatch()
	}
	r.Sequence, r.At, r.Replayed = o.Sequence, moment(at), true
	return r, true, nil
}

// Leases returns at most limit proven entries of the ledger, highest start first, below the start given.
func (s *Store) Leases(ctx context.Context, name alloc.SequenceName, below alloc.Number, limit int) ([]alloc.LeaseRecord, error) {
	const columns = `SELECT ` + leaseColumns + ` FROM leases WHERE sequence = $1 AND proven = 1 `
	return read(ctx, s.reader, func(t *tx) ([]alloc.LeaseRecord, error) {
		q, err := t.sequence(name)
		if err != nil {
			return nil, err
		}
		if below > alloc.MaxNumber { // it would not fit the column
			return list(t, scanLease, columns+`ORDER BY low DESC LIMIT $2`, q.number, limit)
		}
		return list(t, scanLease, columns+`AND low < $2 ORDER BY low DESC LIMIT $3`, q.number, below, limit)
	})
}

const leaseColumns = `low, high, token, client, at, epoch, proven, entered`

// scanLease reads an entry. All but what a restore has carried are proven: they were written in the transaction of their proof.
func scanLease(row scanner) (r alloc.LeaseRecord, err error) {
	var at int64
	var entered dbsql.NullInt64
	err = row.Scan(&r.Start, &r.End, &r.Token, &r.By, &at, &r.Epoch, &r.Proven, &entered)
	r.At, r.Carried = moment(at), momentOf(entered)
	return r, err
}
