package sql

import (
	"context"
	"time"

	"idpool/alloc"
)

// keepUse keeps the time unless a later one is kept, or one that is not before $3.
const keepUse = `INSERT INTO credential_uses (id, at) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET at = excluded.at WHERE at < $3`

const selectUse = `SELECT at FROM credential_uses WHERE id = $1`

// UseCredential keeps that the credential was used.
func (s *Store) UseCredential(ctx context.Context, id alloc.CredentialID, at time.Time) error {
	_, err := write(ctx, s.writer, func(t *tx) (int64, error) {
		return t.exec(keepUse, id, instant(at), instant(at.Add(-alloc.UsedEvery)))
	})
	return err
}

// CredentialUses returns when each was last used.
func (s *Store) CredentialUses(ctx context.Context, ids []alloc.CredentialID) ([]time.Time, error) {
	return read(ctx, s.reader, func(t *tx) ([]time.Time, error) {
		last := make([]time.Time, len(ids))
		for i, id := range ids {
			var at int64
			switch found, err := t.row(selectUse, []any{id}, &at); {
			case err != nil:
				return nil, err
			case found:
				last[i] = moment(at)
			}
		}
		return last, nil
	})
}
