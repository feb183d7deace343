package dynamo

import (
	"context"

	"idpool/alloc"
)

// A pool that has lost its head is known by its catalogue item; one that has lost both, by what only a pool has that was used. It is damaged
// then, and not a pool that there never was: a new one in its place would hand out IDs that were handed out before. All of this is
// read only where the head is missing.

// wasMade reports whether the pool, whose head is missing, was ever made. entry is its catalogue item.
func (s *Store) wasMade(ctx context.Context, name alloc.PoolName, entry Item) (bool, error) {
	if state := entry.Str(AttrState); entry != nil && state != catalogueCreating {
		return state == catalogueLive, nil
	}
	return s.wasUsed(ctx, name)
}

// wasUsed reports whether anything is left of a pool that was seeded, filled, swept or rebuilt, or of whose IDs one was to come back.
func (s *Store) wasUsed(ctx context.Context, name alloc.PoolName) (bool, error) {
	items, err := s.table.GetMany(ctx, []Key{sweepLockKey(name), rebuildKey(name), refillKey(name), chunkKey(name, 1, 0)})
	if err != nil {
		return false, err
	}
	for _, it := range items {
		if it != nil {
			return true, nil
		}
	}
	for _, pk := range []string{samplesPK(name), returnsPK(name)} {
		page, err := s.table.Query(ctx, Query{PK: pk, Limit: 1})
		if err != nil || len(page.Items) > 0 {
			return err == nil, err
		}
	}
	return false, nil
}

// checkNew refuses to make a pool where one has lost its head and its catalogue item, or was cut off behind its head and has lost that.
func (s *Store) checkNew(ctx context.Context, name alloc.PoolName) error {
	keys := []Key{headKey(name), catalogueKey(name)}
	items, err := s.table.GetMany(ctx, keys)
	if err != nil || items[0] != nil || items[1] != nil && items[1].Str(AttrState) != catalogueCreating {
		return err
	}
	if used, err := s.wasUsed(ctx, name); err != nil || !used {
		return err
	}
	// Another may have made it, and filled it, meanwhile.
	if items, err = s.table.GetMany(ctx, keys); err != nil || items[0] != nil {
		return err
	}
	return poolDamaged(name)
}
