package alloctest

import (
	"context"
	"sync"
	"testing"

	"idpool/alloc"
)

// TestLinearizabilityCatches shows that a history of a broken Store is found to be that of no order.
func TestLinearizabilityCatches(t *testing.T) {
	for _, mu := range []mutant{
		{"two callers at once are given one ID: read, then write", nil, func(m *Model) alloc.Store { return readThenWrite{m} }},
		{"the token is not looked at", nil, func(m *Model) alloc.Store { return blind{m} }},
		{"a hold never ends", nil, func(m *Model) alloc.Store { return endless{m} }},
		{"a claimed ID is free again after a sweep", nil, func(m *Model) alloc.Store { return sweepingFree{m} }},
		{"a released ID is free at once", nil, func(m *Model) alloc.Store { return prompt{m} }},
		{"a released ID never comes back", nil, func(m *Model) alloc.Store { return losing{m} }},
		{"a retired ID comes back", nil, func(m *Model) alloc.Store { return unretiring{m} }},
		{"settling reads, then writes", nil, func(m *Model) alloc.Store { return settleLater{m} }},
		{"a confirmation is written without a condition", nil, func(m *Model) alloc.Store { return unconditional{m} }},
		{"keys are ignored", nil, func(m *Model) alloc.Store { return keyless{m} }},
		{"a key that has ended claims anew at once", nil, func(m *Model) alloc.Store { return reborn{m} }},
		{"a process that has found a pool empty remembers it", nil, func(m *Model) alloc.Store {
			return &despairing{Model: m}
		}},
		{"an inspection shows what was", nil, func(m *Model) alloc.Store {
			return &outdated{Model: m, seen: map[alloc.ID]alloc.IDRecord{}}
		}},
	} {
		t.Run(mu.name, func(t *testing.T) {
			failures := verdict(t, func(tb testing.TB) { runLinearizable(tb, mu.fixture(), 60) })
			if len(failures) == 0 {
				t.Error("the histories passed, want one that is that of no order")
			}
		})
	}
}

// despairing refuses for ever after it has met an empty pool.
type despairing struct {
	*Model
	mu    sync.Mutex
	empty bool
}

func (s *despairing) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.empty {
		return alloc.Claim{}, alloc.Exhausted(o.Pool, o.Count)
	}
	c, err := s.Model.Claim(ctx, o)
	s.empty = alloc.Is(err, alloc.CodePoolExhausted)
	return c, err
}

// outdated shows of an ID what it has read of it first.
type outdated struct {
	*Model
	mu   sync.Mutex
	seen map[alloc.ID]alloc.IDRecord
}

func (s *outdated) Inspect(ctx context.Context, pool alloc.PoolName, id alloc.ID) (alloc.IDRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.seen[id]; ok {
		return r, nil
	}
	r, err := s.Model.Inspect(ctx, pool, id)
	if err == nil {
		s.seen[id] = r
	}
	return r, err
}
