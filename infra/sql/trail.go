package sql

import (
	"context"
	"strconv"
	"strings"
	"time"

	"idpool/alloc"
)

const (
	auditFields  = `at, client, role, action, target, detail, plan, reason, was, became, result, request, address`
	auditColumns = `id, ` + auditFields + `, month, position, previous, hash`

	insertRecord = `INSERT INTO trail (` + auditColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`
	lastRecord   = `SELECT month, position, hash FROM trail WHERE month <> '' ORDER BY month DESC, position DESC LIMIT 1`
	lastMonth    = `SELECT month, last, hash FROM months ORDER BY month DESC LIMIT 1`
	raiseMonth   = `INSERT INTO months (month, last, hash) VALUES ($1, $2, $3) ON CONFLICT (month) DO UPDATE SET last = excluded.last, hash = excluded.hash`

	newestChained  = `SELECT ` + auditColumns + ` FROM trail WHERE month <> '' ORDER BY month DESC, position DESC LIMIT $1`
	olderChained   = `SELECT ` + auditColumns + ` FROM trail WHERE month <> '' AND (month, position) < ($1, $2) ORDER BY month DESC, position DESC LIMIT $3`
	newestUnlinked = `SELECT ` + auditColumns + ` FROM trail WHERE month = '' ORDER BY id DESC LIMIT $1`
	olderUnlinked  = `SELECT ` + auditColumns + ` FROM trail WHERE month = '' AND id < $1 ORDER BY id DESC LIMIT $2`
	chain          = `SELECT ` + auditColumns + ` FROM trail WHERE month = $1 AND month <> '' AND position > $2 ORDER BY position LIMIT $3`
)

// auditRow returns the values of auditColumns.
func auditRow(r alloc.AuditRecord) []any {
	return []any{
		r.ID, instant(r.At), r.Client, r.Role, r.Action, r.Target, r.Detail, r.Plan, r.Reason, r.Before, r.After, r.Result, r.Request, r.Address,
		r.Month, r.Position, r.Previous, r.Hash,
	}
}

func scanAudit(row scanner) (r alloc.AuditRecord, err error) {
	var at int64
	err = row.Scan(&r.ID, &at, &r.Client, &r.Role, &r.Action, &r.Target, &r.Detail, &r.Plan, &r.Reason, &r.Before, &r.After, &r.Result, &r.Request, &r.Address,
		&r.Month, &r.Position, &r.Previous, &r.Hash)
	r.At = moment(at)
	return r, err
}

// recorded reports whether the trail has a record of the ID.
func (t *tx) recorded(id string) (bool, error) {
	var one int
	return t.row(`SELECT 1 FROM trail WHERE id = $1`, []any{id}, &one)
}

// Intend keeps the record of a step that is about to begin.
func (s *Store) Intend(ctx context.Context, r alloc.AuditRecord) error {
	r.At = plainTime(r.At)
	_, err := write(ctx, s.writer, func(t *tx) (int64, error) {
		there, err := t.recorded(r.ID)
		if err != nil || there {
			return 0, err
		}
		return t.exec(`INSERT INTO intents (id, at, record) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING`,
			r.ID, instant(s.clock()), asJSON(new(storedIntent(r))))
	})
	return err
}

// Record appends to the chain of the present month, and ends the intent.
func (s *Store) Record(ctx context.Context, r alloc.AuditRecord) error {
	r.At = plainTime(r.At)
	_, err := write(ctx, s.writer, func(t *tx) (int64, error) {
		there, err := t.recorded(r.ID)
		if err != nil || there {
			return 0, err
		}
		end, err := t.trailEnd()
		if err != nil {
			return 0, err
		}
		sealed := sealAfter(end, r, alloc.MonthOf(s.clock()))
		if _, err := t.exec(insertRecord, auditRow(sealed)...); err != nil {
			return 0, err
		}
		if _, err := t.exec(raiseMonth, sealed.Month, sealed.Position, sealed.Hash); err != nil {
			return 0, err
		}
		return t.exec(`DELETE FROM intents WHERE id = $1`, r.ID)
	})
	return err
}

// sealAfter gives the record its place behind the trail's end, in the month, or in the last one if that is later.
func sealAfter(end alloc.TrailMonth, r alloc.AuditRecord, month string) alloc.AuditRecord {
	if end.Month >= month {
		return r.Seal(end.Month, end.Last+1, end.Hash)
	}
	return r.Seal(month, 1, end.Hash)
}

// trailEnd is where the trail ends: by the record that stands last, or by the end of its month that is kept apart, whichever
// is further on. So where the last records were removed or changed by hand, what comes after does not hide it.
func (t *tx) trailEnd() (alloc.TrailMonth, error) {
	var last, kept alloc.TrailMonth
	if _, err := t.row(lastRecord, nil, &last.Month, &last.Last, &last.Hash); err != nil {
		return alloc.TrailMonth{}, err
	}
	if _, err := t.row(lastMonth, nil, &kept.Month, &kept.Last, &kept.Hash); err != nil {
		return alloc.TrailMonth{}, err
	}
	if last.Month > kept.Month || last.Month == kept.Month && last.Last > kept.Last {
		return last, nil
	}
	return kept, nil
}

// Intended returns at most limit records that were intended before the time and not recorded since. One that cannot be read is among
// them, with what is known of it, and does not hide the others.
func (s *Store) Intended(ctx context.Context, before time.Time, limit int) ([]alloc.AuditRecord, error) {
	return read(ctx, s.reader, func(t *tx) ([]alloc.AuditRecord, error) {
		return list(t, scanIntent, `SELECT id, at, record FROM intents WHERE at < $1 ORDER BY id LIMIT $2`, instant(before), limit)
	})
}

func scanIntent(row scanner) (alloc.AuditRecord, error) {
	var (
		id, text string
		at       int64
		r        storedIntent
	)
	if err := row.Scan(&id, &at, &text); err != nil {
		return alloc.AuditRecord{}, err
	}
	if err := asJSON(&r).Scan(text); err != nil || r.ID != id {
		return alloc.AuditRecord{ID: id, At: moment(at), Detail: "what was kept of this step cannot be read"}, nil //nolint:nilerr // see Intended
	}
	return alloc.AuditRecord(r), nil
}

// Records returns at most limit records, newest first, that stand before the place given: those of the chains, and behind them
// those from before there were any.
func (s *Store) Records(ctx context.Context, before string, limit int) ([]alloc.AuditRecord, error) {
	month, rest, _ := strings.Cut(before, "/")
	return read(ctx, s.reader, func(t *tx) ([]alloc.AuditRecord, error) {
		if before != "" && month == "" {
			return list(t, scanAudit, olderUnlinked, rest, limit)
		}
		records, err := t.chained(month, rest, limit)
		if err != nil || len(records) == limit {
			return records, err
		}
		unlinked, err := list(t, scanAudit, newestUnlinked, limit-len(records))
		return append(records, unlinked...), err
	})
}

// chained reads records of the chains that stand before the position in the month, as AuditRecord.Place writes it, or
// the newest for no month.
func (t *tx) chained(month, position string, limit int) ([]alloc.AuditRecord, error) {
	if month == "" {
		return list(t, scanAudit, newestChained, limit)
	}
	n, err := strconv.ParseInt(position, 10, 64)
	if err != nil {
		n = 0 // no place that a record has
	}
	return list(t, scanAudit, olderChained, month, n, limit)
}

// Months returns the ends of the chains, the oldest first.
func (s *Store) Months(ctx context.Context) ([]alloc.TrailMonth, error) {
	return read(ctx, s.reader, func(t *tx) ([]alloc.TrailMonth, error) {
		return list(t, func(row scanner) (m alloc.TrailMonth, err error) {
			err = row.Scan(&m.Month, &m.Last, &m.Hash)
			return m, err
		}, `SELECT month, last, hash FROM months ORDER BY month`)
	})
}

// Chain returns at most limit records of a month's chain, after the position given, in their order.
func (s *Store) Chain(ctx context.Context, month string, after int64, limit int) ([]alloc.AuditRecord, error) {
	return read(ctx, s.reader, func(t *tx) ([]alloc.AuditRecord, error) {
		return list(t, scanAudit, chain, month, after, limit)
	})
}
