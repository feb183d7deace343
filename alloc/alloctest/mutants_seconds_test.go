package alloctest

import (
	"context"
	"slices"
	"time"

	"idpool/alloc"
)

var secondMutants = []mutant{
	{"times are cut to whole seconds", []string{
		"a key of a claim is repeated to the end", "a key of a lease is repeated to the end", "a kept key stands to the end", "a hold lasts to its end",
		"a pool that forgets does so at its time",
	}, func(m *Model) alloc.Store {
		return m.Open(func() time.Time { return m.now().Truncate(time.Second) })
	}},
	{"what is to be forgotten is known until a sweep", []string{"a pool that forgets does so at its time", "a pool that forgets takes again"}, func(m *Model) alloc.Store {
		return untilSweep{m}
	}},
	{"a release of what comes back is answered as a retirement beside others", []string{"a release of what comes back and of what it would retire"}, func(m *Model) alloc.Store {
		return mixing{m}
	}},
	{"a release is unknown where releases retire by now", []string{"a release of what comes back and of what it would retire"}, func(m *Model) alloc.Store {
		return rewriting{m}
	}},
}

// untilSweep forgets by its sweeps only.
type untilSweep struct{ *Model }

// late puts off what a call would forget, and puts it back after it.
func (s untilSweep) late(pool alloc.PoolName) (back func()) {
	put := func(d time.Duration) {
		spoil(s.Model, pool, func(_ *modelPool, r *modelID) { r.forget = r.forget.Add(d) })
	}
	put(alloc.MaxHold)
	return func() { put(-alloc.MaxHold) }
}

func (s untilSweep) Inspect(ctx context.Context, pool alloc.PoolName, id alloc.ID) (alloc.IDRecord, error) {
	defer s.late(pool)()
	return s.Model.Inspect(ctx, pool, id)
}

func (s untilSweep) Seed(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
	defer s.late(b.Pool)()
	return s.Model.Seed(ctx, b)
}

// mixing settles what comes back beside the rest.
type mixing struct{ *Model }

func (s mixing) Settle(ctx context.Context, o alloc.SettleOrder) (alloc.Settled, error) {
	p, err := s.Pool(ctx, o.Pool)
	if err != nil || o.Event != alloc.EventRelease || p.Config.OnRelease != alloc.ReleaseRetires {
		return s.Model.Settle(ctx, o)
	}
	rest := o
	rest.IDs = slices.DeleteFunc(slices.Clone(o.IDs), func(id alloc.ID) bool {
		one := o
		one.IDs = []alloc.ID{id}
		s.data.mu.Lock()
		defer s.data.mu.Unlock()
		state, faults := s.data.pools[o.Pool].verdict(one)
		return len(faults) == 0 && state == alloc.StateReturning
	})
	if len(rest.IDs) == 0 {
		return s.Model.Settle(ctx, o)
	}
	settled, err := s.Model.Settle(ctx, rest)
	if err == nil {
		settled.IDs = slices.Clone(o.IDs)
	}
	return settled, err
}

// rewriting takes a release for what it is in the pool by now.
type rewriting struct{ *Model }

func (s rewriting) Settle(ctx context.Context, o alloc.SettleOrder) (alloc.Settled, error) {
	if p, err := s.Pool(ctx, o.Pool); err == nil {
		o.Event = p.Config.Settles(o.Event)
	}
	return s.Model.Settle(ctx, o)
}
