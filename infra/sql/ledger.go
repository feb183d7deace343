package sql

import (
	"context"
	"slices"
	"strconv"

	"idpool/alloc"
)

const (
	walkLedger = `SELECT ` + leaseColumns + ` FROM leases WHERE sequence = $1 AND low > $2 ORDER BY low LIMIT $3`

	// carryLease enters a lease, unless there is one that begins there and ends no sooner. Of one that cannot be read it is said anew
	// whose it is, and it ends no sooner than before.
	carryLease = `INSERT INTO leases (sequence, low, high, token, client, at, epoch, proven, carried) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1)
		ON CONFLICT (sequence, low) DO UPDATE SET high = CASE WHEN leases.high > excluded.high THEN leases.high ELSE excluded.high END, token = excluded.token, client = excluded.client, at = excluded.at,
			epoch = excluded.epoch, proven = excluded.proven, carried = 1
		WHERE leases.high < excluded.high OR leases.token = '' AND excluded.token <> ''`
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

// CarryLeases enters leases into the ledger that it does not have.
func (s *Store) CarryLeases(ctx context.Context, name alloc.SequenceName, leases []alloc.LeaseRecord) (int, error) {
	leases = slices.Clone(leases) // the step may outlive this call
	return write(ctx, s.writer, func(t *tx) (int, error) {
		q, err := t.live(name)
		if err == nil && q.lost {
			if _, err = t.exec(restoreSequence, q.number); err == nil { // its leases stand by it; it is for a rebuild all the same
				err = t.stop(q)
			}
		}
		if err != nil {
			return 0, err
		}
		entered := 0
		for _, l := range leases {
			if l.End > alloc.MaxNumber {
				return 0, alloc.Errorf(alloc.CodeInvalidRequest, "the lease that begins at %d ends above every number that there is", l.Start)
			}
			if !readable(l) { // nor was it where it comes from; its start is known to be used
				l.End, l.Token = max(l.Start, l.End), ""
			}
			changed, err := t.exec(carryLease, q.number, l.Start, l.End, l.Token, l.By, instant(l.At), l.Epoch, l.Proven)
			if err != nil {
				return 0, err
			}
			entered += int(changed)
		}
		return entered, nil
	})
}
