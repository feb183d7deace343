package sql

import (
	"context"
	"slices"
	"strconv"

	"idpool/alloc"
)

const (
	walkLedger = `SELECT ` + leaseColumns + ` FROM leases WHERE sequence = $1 AND low > $2 ORDER BY low LIMIT $3`

	// besideLeases reads the entries that begin within a stretch of numbers, or reach into it.
	besideLeases = `SELECT ` + leaseColumns + ` FROM leases WHERE sequence = $1 AND low <= $3 AND (low >= $2 OR high >= $2) ORDER BY low`

	// carryLease enters a lease. An entry that begins there is one that ends sooner, or cannot be read: of such a one it is said anew
	// whose it is, and it ends no sooner than before.
	carryLease = `INSERT INTO leases (sequence, low, high, token, client, at, epoch, proven, carried, entered) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1, $9)
		ON CONFLICT (sequence, low) DO UPDATE SET high = CASE WHEN leases.high > excluded.high THEN leases.high ELSE excluded.high END, token = excluded.token, client = excluded.client, at = excluded.at,
			epoch = excluded.epoch, proven = excluded.proven, carried = 1, entered = excluded.entered`
)

// readable reports whether an entry of the ledger says whose it is. What else could be wrong with it its columns do not allow.
func readable(r alloc.LeaseRecord) bool { return r.Token != "" && r.Start <= r.End }

// ledgerMark and ledgerAfter are where a walk over a ledger goes on, and what it reads: the start of the last entry.
func ledgerMark(start alloc.Number) string { return strconv.FormatUint(uint64(start), 10) }

func ledgerAfter(mark string) (start int64, err error) {
	if mark == "" {
		return -1, nil
	}
	if start, err = strconv.ParseInt(mark, 10, 64); err != nil {
		err = alloc.Errorf(alloc.CodeInvalidRequest, "this is no mark of a walk over a ledger; begin it again").Because(err)
	}
	return start, err
}

// WalkLedger returns entries of the whole ledger, the lowest start first.
func (s *Store) WalkLedger(ctx context.Context, name alloc.SequenceName, mark string, limit int) (page []alloc.LeaseRecord, next string, err error) {
	after, err := ledgerAfter(mark)
	if err != nil {
		return nil, "", err
	}
	page, err = read(ctx, s.reader, func(t *tx) ([]alloc.LeaseRecord, error) {
		q, err := t.sequence(name)
		if err != nil {
			return nil, err
		}
		return list(t, scanLease, walkLedger, q.number, after, limit)
	})
	if n := len(page); n > 0 && n == limit {
		next = ledgerMark(page[n-1].Start)
	}
	for i, r := range page {
		if !readable(r) {
			page[i] = alloc.LeaseRecord{Start: r.Start}
		}
	}
	return page, next, err
}

// CarryLeases enters leases into the ledger as the entries decide that are there.
func (s *Store) CarryLeases(ctx context.Context, name alloc.SequenceName, leases []alloc.LeaseRecord) ([]alloc.CarryOutcome, error) {
	leases = slices.Clone(leases) // the step may outlive this call
	return write(ctx, s.writer, func(t *tx) ([]alloc.CarryOutcome, error) {
		q, err := t.live(name)
		if err == nil && q.lost {
			if _, err = t.exec(restoreSequence, q.number); err == nil { // its leases stand by it; it is for a rebuild all the same
				err = t.stop(q)
			}
		}
		if err != nil {
			return nil, err
		}
		if err := q.CheckCarry(); err != nil {
			return nil, err
		}
		now := s.clock()
		there, err := t.besideLeases(q, leases)
		if err != nil {
			return nil, err
		}
		outcomes := make([]alloc.CarryOutcome, 0, len(leases))
		for _, l := range leases {
			if l.End > alloc.MaxNumber {
				return nil, alloc.Errorf(alloc.CodeInvalidRequest, "the lease that begins at %d ends above every number that there is", l.Start)
			}
			entry, due, outcome := l.Carries(slices.DeleteFunc(slices.Clone(there), func(e alloc.LeaseRecord) bool { return e.Start > max(l.Start, l.End) || max(e.Start, e.End) < l.Start }))
			outcomes = append(outcomes, outcome)
			if !due {
				continue
			}
			there = append(slices.DeleteFunc(there, func(e alloc.LeaseRecord) bool { return e.Start == entry.Start }), entry)
			if !readable(entry) { // nor was it where it comes from; its start is known to be used
				entry.End, entry.Token = max(entry.Start, entry.End), ""
			}
			if err := changedOne(t.exec(carryLease, q.number, entry.Start, entry.End, entry.Token, entry.By, instant(entry.At), entry.Epoch, entry.Proven, instant(now))); err != nil {
				return nil, err
			}
		}
		return outcomes, nil
	})
}

// besideLeases reads the entries of the ledger beside which the leases are to stand.
func (t *tx) besideLeases(q sequenceRow, leases []alloc.LeaseRecord) ([]alloc.LeaseRecord, error) {
	if len(leases) == 0 {
		return nil, nil
	}
	from, to := alloc.MaxNumber, alloc.Number(0)
	for _, l := range leases {
		from, to = min(from, l.Start), max(to, l.Start, min(l.End, alloc.MaxNumber))
	}
	return list(t, scanLease, besideLeases, q.number, from, to)
}
