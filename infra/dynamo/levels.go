package dynamo

import (
	"context"

	"idpool/alloc"
)

// PoolLevels implements alloc.Boards: all heads in one read of many, then the first chunks that are not leased in another.
func (s *Store) PoolLevels(ctx context.Context, names []alloc.PoolName) ([]alloc.PoolLevel, error) {
	list := make([]alloc.PoolLevel, len(names))
	heads, err := s.headsByName(ctx, names, list)
	if err != nil {
		return nil, err
	}
	var chunks []Key
	var of []int
	for i, h := range heads {
		if h == nil {
			continue
		}
		list[i].Pool = h.pool
		if h.nx < h.tl {
			chunks, of = append(chunks, h.nextChunk()), append(of, i)
			continue
		}
		list[i].Level = h.level(h.available(0))
	}
	found, err := s.getAll(ctx, chunks)
	if err != nil {
		return nil, err
	}
	for k, it := range found {
		i := of[k]
		unleased, err := heads[i].unleasedFrom(it)
		if err != nil {
			list[i] = alloc.PoolLevel{Pool: alloc.Pool{Name: names[i]}, Err: err}
			continue
		}
		list[i].Level = heads[i].level(heads[i].available(unleased))
	}
	return list, nil
}

// headsByName reads heads; of one that cannot be read it says why in the list, which has the names from here on.
func (s *Store) headsByName(ctx context.Context, names []alloc.PoolName, list []alloc.PoolLevel) ([]*head, error) {
	keys := make([]Key, len(names))
	for i, name := range names {
		keys[i], list[i].Pool.Name = headKey(name), name
	}
	items, err := s.getAll(ctx, keys)
	if err != nil {
		return nil, err
	}
	heads := make([]*head, len(names))
	for i, it := range items {
		if it != nil {
			heads[i], list[i].Err = headOf(names[i], it)
		} else {
			heads[i], list[i].Err = s.poolHead(ctx, names[i]) // which tells one that was never made from one that is lost
		}
	}
	return heads, nil
}
