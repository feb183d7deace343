package sql

import (
	"context"
	"time"

	"idpool/alloc"
)

// quotaRetention is for how long an hour's use is kept at least: far longer than clocks may differ by.
const quotaRetention = 48 * time.Hour

const (
	useOfHour   = `SELECT used FROM quotas WHERE credential = $1 AND hour = $2`
	useLater    = `SELECT 1 FROM quotas WHERE credential = $1 AND hour > $2 LIMIT 1`
	forgetHours = `DELETE FROM quotas WHERE credential = $1 AND hour < $2`
	addToHour   = `INSERT INTO quotas (credential, hour, used) VALUES ($1, $2, $3)
		ON CONFLICT (credential, hour) DO UPDATE SET used = quotas.used + excluded.used`
)

// TakeQuota takes up to n of what the credential may use in the hour.
func (s *Store) TakeQuota(ctx context.Context, id alloc.CredentialID, hour time.Time, n, limit alloc.Count) (alloc.Count, error) {
	return write(ctx, s.writer, func(t *tx) (alloc.Count, error) {
		oldest := s.clock().Add(-quotaRetention)
		used, known, err := t.usedOf(id, hour, oldest)
		if err != nil || !known {
			return 0, err
		}
		got := min(n, limit-used)
		if got <= 0 {
			return 0, nil
		}
		if _, err := t.exec(addToHour, id, instant(hour), got); err != nil {
			return 0, err
		}
		if hour.Before(oldest) {
			oldest = hour // there is always a later one than what is removed
		}
		_, err = t.exec(forgetHours, id, instant(oldest))
		return got, err
	})
}

// usedOf reads what was used of the hour. known is false where the record may have been removed: for an old hour without
// one, of a credential that has gone on since. Nothing more is given of that.
func (t *tx) usedOf(id alloc.CredentialID, hour, oldest time.Time) (used alloc.Count, known bool, err error) {
	recorded, err := t.row(useOfHour, []any{id, instant(hour)}, &used)
	if err != nil || recorded || !hour.Before(oldest) {
		return used, true, err
	}
	var one int
	later, err := t.row(useLater, []any{id, instant(hour)}, &one)
	return 0, !later, err
}
