package alloctest

import (
	"context"
	"slices"

	"idpool/alloc"
)

var deletedMutants = []mutant{
	{"a deleted pool is not swept", []string{"Sweep of a deleted pool"}, func(m *Model) alloc.Store {
		return unswept{m}
	}},
	{"a sweep of a deleted pool throws its keys away", []string{"a deleted pool repeats the answer"}, func(m *Model) alloc.Store {
		return keyClearing{m}
	}},
	{"deleted pools are not listed", []string{"ListPools keeps deleted pools"}, func(m *Model) alloc.Store {
		return shortened{m}
	}},
	{"a list ends at a deleted pool", []string{"ListPools keeps deleted pools", "Pools and Sequences leave out"}, func(m *Model) alloc.Store {
		return endingEarly{m}
	}},
	{"a batch of a pool that forgets is not known again", []string{"a repeat of a batch by its job"}, func(m *Model) alloc.Store {
		return batchless{m}
	}},
}

// isDeleted reports whether the pool is there and deleted.
func (m *Model) isDeleted(name alloc.PoolName) bool {
	m.data.mu.Lock()
	defer m.data.mu.Unlock()
	p := m.data.pools[name]
	return p != nil && p.State == alloc.PoolDeleted
}

type unswept struct{ *Model }

func (s unswept) Sweep(ctx context.Context, pool alloc.PoolName) (alloc.SweepReport, error) {
	if s.isDeleted(pool) {
		return alloc.SweepReport{}, alloc.Errorf(alloc.CodePoolDeleted, "it was deleted")
	}
	return s.Model.Sweep(ctx, pool)
}

type keyClearing struct{ *Model }

func (s keyClearing) Sweep(ctx context.Context, pool alloc.PoolName) (alloc.SweepReport, error) {
	if s.isDeleted(pool) {
		s.data.mu.Lock()
		clear(s.data.claims)
		s.data.mu.Unlock()
	}
	return s.Model.Sweep(ctx, pool)
}

func deletedPool(p alloc.Pool) bool { return p.State == alloc.PoolDeleted }

type shortened struct{ *Model }

func (s shortened) ListPools(ctx context.Context, after alloc.PoolName, limit int) ([]alloc.Pool, error) {
	pools, err := s.Model.ListPools(ctx, after, 1000)
	pools = slices.DeleteFunc(pools, deletedPool)
	return pools[:min(limit, len(pools))], err
}

type endingEarly struct{ *Model }

func (s endingEarly) ListPools(ctx context.Context, after alloc.PoolName, limit int) ([]alloc.Pool, error) {
	pools, err := s.Model.ListPools(ctx, after, limit)
	if i := slices.IndexFunc(pools, deletedPool); i >= 0 {
		pools = pools[:i]
	}
	return pools, err
}

type batchless struct{ *Model }

func (s batchless) Seed(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
	s.data.mu.Lock()
	if p := s.data.pools[b.Pool]; p != nil {
		clear(p.batches)
	}
	s.data.mu.Unlock()
	return s.Model.Seed(ctx, b)
}
