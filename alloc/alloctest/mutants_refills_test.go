package alloctest

import (
	"context"
	"slices"
	"time"

	"idpool/alloc"
	"idpool/alloc/generator"
)

var refillMutants = []mutant{
	{"a refill is changed from whatever version", []string{"ChangeRefill from another version", "of many changes of a refill at once", "a change of a refill that differs"}, func(m *Model) alloc.Store {
		return refilling{m, func(ctx context.Context, _ alloc.Version, r alloc.Refill) (alloc.Refill, error) {
			there, err := m.Refill(ctx, r.Pool)
			if err != nil {
				return there, err
			}
			return m.ChangeRefill(ctx, there.Version, r)
		}}
	}},
	{"a refill that was never kept is changed from whatever version", []string{"ChangeRefill from another version"}, func(m *Model) alloc.Store {
		return refilling{m, func(ctx context.Context, from alloc.Version, r alloc.Refill) (alloc.Refill, error) {
			if there, err := m.Refill(ctx, r.Pool); err == nil && there.Version == 0 {
				from = 0
			}
			return m.ChangeRefill(ctx, from, r)
		}}
	}},
	{"from version 0 a refill's record replaces what is there", []string{"ChangeRefill from another version"}, func(m *Model) alloc.Store {
		return refilling{m, func(ctx context.Context, from alloc.Version, r alloc.Refill) (alloc.Refill, error) {
			if from == 0 {
				m.data.mu.Lock()
				delete(m.data.refills, r.Pool)
				m.data.mu.Unlock()
			}
			return m.ChangeRefill(ctx, from, r)
		}}
	}},
	{"a repeat of a refill's change is a mismatch", []string{
		"ChangeRefill raises the version", "of many equal changes of a refill", "a change of a refill whose answer", "a change of a refill is known again",
	}, func(m *Model) alloc.Store {
		return refilling{m, func(ctx context.Context, from alloc.Version, r alloc.Refill) (alloc.Refill, error) {
			if there, err := m.Refill(ctx, r.Pool); err == nil && there.Version != from {
				return alloc.Refill{}, alloc.VersionMismatch("refill", string(r.Pool), there.Version)
			}
			return m.ChangeRefill(ctx, from, r)
		}}
	}},
	{"what a refill's change leaves out stays", []string{"a refill's record is read back"}, func(m *Model) alloc.Store {
		return refilling{m, func(ctx context.Context, from alloc.Version, r alloc.Refill) (alloc.Refill, error) {
			if there, err := m.Refill(ctx, r.Pool); err == nil && there.Version == from && len(r.IDs) == 0 {
				r.IDs = there.IDs
			}
			return m.ChangeRefill(ctx, from, r)
		}}
	}},
	{"a refill's time is kept in seconds and compared as given", []string{"a change of a refill is known again"}, keepingRefill(func(r *alloc.Refill) {
		r.Updated = r.Updated.Truncate(time.Second)
	})},
	{"a refill says the version that it was told", []string{"a refill's record is read back"}, func(m *Model) alloc.Store {
		return refilling{m, func(ctx context.Context, from alloc.Version, r alloc.Refill) (alloc.Refill, error) {
			changed, err := m.ChangeRefill(ctx, from, r)
			if r.Version > 0 {
				changed.Version = r.Version
			}
			return changed, err
		}}
	}},
	{"a refill keeps the first hundred IDs", []string{"a refill's record is read back"}, keepingRefill(func(r *alloc.Refill) {
		r.IDs = r.IDs[:min(100, len(r.IDs))]
	})},
	{"a refill keeps its IDs in the order of their names", []string{"a change of a refill that differs", "a refill's record is read back"}, keepingRefill(func(r *alloc.Refill) {
		r.IDs = slices.Sorted(slices.Values(r.IDs))
	})},
	{"a refill keeps the kind of its generator alone", []string{"a refill's record is read back"}, keepingRefill(func(r *alloc.Refill) {
		r.Generator = generator.Config{Kind: r.Generator.Kind}
	})},
	{"a refill keeps no time zone", []string{"a refill's record is read back"}, keepingRefill(func(r *alloc.Refill) { r.Generator.TimeZone = "" })},
	{"a refill keeps no level", []string{"a refill's record is read back"}, keepingRefill(func(r *alloc.Refill) { r.UpTo = 0 })},
	{"a refill is always dry since its change", []string{"a refill's record is read back"}, keepingRefill(func(r *alloc.Refill) {
		r.DrySince = r.Updated
	})},
	{"a refill's repeat is known by its batch", []string{"a change of a refill that differs"}, func(m *Model) alloc.Store {
		return refilling{m, func(ctx context.Context, from alloc.Version, r alloc.Refill) (alloc.Refill, error) {
			if there, err := m.Refill(ctx, r.Pool); err == nil && there.Version == from+1 && there.Batch == r.Batch {
				return there, nil
			}
			return m.ChangeRefill(ctx, from, r)
		}}
	}},
	{"all pools have one refill", []string{"C51 the refills of pools", "a refill of which no record"}, func(m *Model) alloc.Store { return oneRefill{m} }},
	{"a refill is dropped with its pool", []string{"a refill's record stays for good"}, func(m *Model) alloc.Store { return droppingRefill{m} }},
}

// refilling is a Model that changes refills in another way.
type refilling struct {
	*Model
	by func(ctx context.Context, from alloc.Version, r alloc.Refill) (alloc.Refill, error)
}

func (s refilling) ChangeRefill(ctx context.Context, from alloc.Version, r alloc.Refill) (alloc.Refill, error) {
	return s.by(ctx, from, r)
}

// keepingRefill keeps something else than what it answers.
func keepingRefill(change func(r *alloc.Refill)) func(m *Model) alloc.Store {
	return func(m *Model) alloc.Store {
		return refilling{m, func(ctx context.Context, from alloc.Version, r alloc.Refill) (alloc.Refill, error) {
			changed, err := m.ChangeRefill(ctx, from, r)
			if err == nil {
				m.data.mu.Lock()
				kept := m.data.refill(r.Pool)
				change(&kept)
				m.data.refills[r.Pool] = kept
				m.data.mu.Unlock()
			}
			return changed, err
		}}
	}
}

type oneRefill struct{ *Model }

func (s oneRefill) Refill(ctx context.Context, pool alloc.PoolName) (alloc.Refill, error) {
	r, err := s.Model.Refill(ctx, "the one")
	r.Pool = pool
	return r, err
}

func (s oneRefill) ChangeRefill(ctx context.Context, from alloc.Version, r alloc.Refill) (alloc.Refill, error) {
	pool := r.Pool
	r.Pool = "the one"
	changed, err := s.Model.ChangeRefill(ctx, from, r)
	changed.Pool = pool
	return changed, err
}

type droppingRefill struct{ *Model }

func (s droppingRefill) Sweep(ctx context.Context, pool alloc.PoolName) (alloc.SweepReport, error) {
	s.data.mu.Lock()
	if p := s.data.pools[pool]; p != nil && p.State == alloc.PoolDeleted {
		delete(s.data.refills, pool)
	}
	s.data.mu.Unlock()
	return s.Model.Sweep(ctx, pool)
}
