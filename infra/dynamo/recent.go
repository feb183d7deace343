package dynamo

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"idpool/alloc"
)

// What RecentClaims looks at, at most: so many of the chunks that were leased last, and of these as many as list so many IDs. One process leases
// eight chunks of twenty at once.
const (
	recentChunks   = 32
	recentListings = 200
)

// RecentClaims implements alloc.Claims. The IDs that were claimed last are, most of them, listed by the chunks that were leased last.
func (s *Store) RecentClaims(ctx context.Context, pool alloc.PoolName, limit int) (found []alloc.IDRecord, err error) {
	h, err := s.poolHead(ctx, pool)
	if err != nil {
		return nil, err
	}
	ids, err := s.leasedLast(ctx, h)
	if err != nil {
		return nil, err
	}
	states := make(map[alloc.ID]Item, len(ids))
	if err := s.readIDs(ctx, pool, ids, states); err != nil {
		return nil, err
	}
	for id, it := range states {
		r := decodeID(pool, id, it)
		if (r.State == alloc.StateHeld || r.State == alloc.StateClaimed) && !expired(it, s.now()) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b alloc.IDRecord) int {
		return cmp.Or(b.At.Compare(a.At), strings.Compare(string(a.ID), string(b.ID)))
	})
	return found[:min(len(found), limit)], nil
}

// leasedLast are the IDs that the chunks list which were leased last, each once.
func (s *Store) leasedLast(ctx context.Context, h *head) (ids []alloc.ID, err error) {
	var keys []Key
	for n := h.nx - 1; n >= max(0, h.nx-recentChunks); n-- {
		keys = append(keys, chunkKey(h.pool.Name, h.series, n))
	}
	if len(keys) == 0 {
		return nil, nil
	}
	items, err := s.getAll(ctx, keys)
	if err != nil {
		return nil, err
	}
	met := map[alloc.ID]bool{}
	for i, it := range items {
		if it == nil {
			return nil, poolDamaged(h.pool.Name)
		}
		for _, l := range decodeChunk(h.nx-1-int64(i), it).listings {
			if !met[l.id] {
				met[l.id] = true
				ids = append(ids, l.id)
			}
		}
		if len(ids) >= recentListings {
			break
		}
	}
	return ids, nil
}
