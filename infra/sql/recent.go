package sql

import (
	"context"

	"idpool/alloc"
)

// recentRows reads backwards from the ID that was taken last.
const recentRows = `SELECT ` + recordColumns + ` FROM ids i WHERE i.pool = $1 AND i.state IN ('held', 'claimed')
	ORDER BY i.taken DESC LIMIT $2`

// RecentClaims implements alloc.Claims. It misses none.
func (s *Store) RecentClaims(ctx context.Context, pool alloc.PoolName, limit int) (found []alloc.IDRecord, err error) {
	now := s.clock()
	records, err := read(ctx, s.reader, func(t *tx) ([]known, error) {
		p, err := t.pool(pool)
		if err != nil {
			return nil, err
		}
		return list(t, scanKnown, recentRows, p.number, limit)
	})
	for _, r := range records {
		if !r.forgotten(now) {
			r.Pool = pool
			found = append(found, r.IDRecord)
		}
	}
	return found, err
}
