package sql

import (
	"context"

	"idpool/alloc"
)

// Record appends to the trail.
func (s *Store) Record(ctx context.Context, r alloc.AuditRecord) error {
	_, err := write(ctx, s.writer, func(t *tx) (int64, error) {
		return t.exec(`INSERT INTO trail (id, at, client, action, target, detail, result, request, address)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (id) DO NOTHING`,
			r.ID, instant(r.At), r.Client, r.Action, r.Target, r.Detail, r.Result, r.Request, r.Address)
	})
	return err
}

// Records returns at most limit records, newest first, older than the one given.
func (s *Store) Records(ctx context.Context, before string, limit int) ([]alloc.AuditRecord, error) {
	const columns = `SELECT id, at, client, action, target, detail, result, request, address FROM trail `
	return read(ctx, s.reader, func(t *tx) ([]alloc.AuditRecord, error) {
		if before == "" {
			return list(t, scanAudit, columns+`ORDER BY id DESC LIMIT $1`, limit)
		}
		return list(t, scanAudit, columns+`WHERE id < $1 ORDER BY id DESC LIMIT $2`, before, limit)
	})
}

func scanAudit(row scanner) (r alloc.AuditRecord, err error) {
	var at int64
	err = row.Scan(&r.ID, &at, &r.Client, &r.Action, &r.Target, &r.Detail, &r.Result, &r.Request, &r.Address)
	r.At = moment(at)
	return r, err
}
