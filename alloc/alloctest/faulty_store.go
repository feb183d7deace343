package alloctest

import (
	"context"

	"idpool/alloc"
)

// Each method of the Store is one planned step.

// made is the answer of a creation.
type made[A any] struct {
	thing   A
	created bool
}

// CreatePool implements alloc.Pools.
func (f *Faulty) CreatePool(ctx context.Context, name alloc.PoolName, config alloc.PoolConfig) (alloc.Pool, bool, error) {
	a, err := call(ctx, f, "CreatePool", func() (a made[alloc.Pool], err error) {
		a.thing, a.created, err = f.store.CreatePool(ctx, name, config)
		return a, err
	})
	return a.thing, a.created, err
}

// Pool implements alloc.Pools.
func (f *Faulty) Pool(ctx context.Context, name alloc.PoolName) (alloc.Pool, error) {
	return call(ctx, f, "Pool", func() (alloc.Pool, error) { return f.store.Pool(ctx, name) })
}

// ChangePool implements alloc.Pools.
func (f *Faulty) ChangePool(ctx context.Context, name alloc.PoolName, from alloc.Version, config alloc.PoolConfig) (alloc.Pool, error) {
	return call(ctx, f, "ChangePool", func() (alloc.Pool, error) { return f.store.ChangePool(ctx, name, from, config) })
}

// SetPoolState implements alloc.Pools.
func (f *Faulty) SetPoolState(ctx context.Context, name alloc.PoolName, from alloc.Version, to alloc.PoolState) (alloc.Pool, error) {
	return call(ctx, f, "SetPoolState", func() (alloc.Pool, error) { return f.store.SetPoolState(ctx, name, from, to) })
}

// ListPools implements alloc.Pools.
func (f *Faulty) ListPools(ctx context.Context, after alloc.PoolName, limit int) ([]alloc.Pool, error) {
	return call(ctx, f, "ListPools", func() ([]alloc.Pool, error) { return f.store.ListPools(ctx, after, limit) })
}

// Level implements alloc.Pools.
func (f *Faulty) Level(ctx context.Context, name alloc.PoolName) (alloc.Level, error) {
	return call(ctx, f, "Level", func() (alloc.Level, error) { return f.store.Level(ctx, name) })
}

// Claim implements alloc.Claims.
func (f *Faulty) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	return call(ctx, f, "Claim", func() (alloc.Claim, error) { return f.store.Claim(ctx, o) })
}

// Inspect implements alloc.Claims.
func (f *Faulty) Inspect(ctx context.Context, pool alloc.PoolName, id alloc.ID) (alloc.IDRecord, error) {
	return call(ctx, f, "Inspect", func() (alloc.IDRecord, error) { return f.store.Inspect(ctx, pool, id) })
}

// RecentClaims implements alloc.Claims.
func (f *Faulty) RecentClaims(ctx context.Context, pool alloc.PoolName, limit int) ([]alloc.IDRecord, error) {
	return call(ctx, f, "RecentClaims", func() ([]alloc.IDRecord, error) { return f.store.RecentClaims(ctx, pool, limit) })
}

// Seed implements alloc.Claims.
func (f *Faulty) Seed(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
	return call(ctx, f, "Seed", func() ([]alloc.SeedOutcome, error) { return f.store.Seed(ctx, b) })
}

// Sweep implements alloc.Claims.
func (f *Faulty) Sweep(ctx context.Context, pool alloc.PoolName) (alloc.SweepReport, error) {
	return call(ctx, f, "Sweep", func() (alloc.SweepReport, error) { return f.store.Sweep(ctx, pool) })
}

// CreateSequence implements alloc.Sequences.
func (f *Faulty) CreateSequence(ctx context.Context, name alloc.SequenceName, config alloc.SequenceConfig) (alloc.Sequence, bool, error) {
	a, err := call(ctx, f, "CreateSequence", func() (a made[alloc.Sequence], err error) {
		a.thing, a.created, err = f.store.CreateSequence(ctx, name, config)
		return a, err
	})
	return a.thing, a.created, err
}

// Sequence implements alloc.Sequences.
func (f *Faulty) Sequence(ctx context.Context, name alloc.SequenceName) (alloc.Sequence, error) {
	return call(ctx, f, "Sequence", func() (alloc.Sequence, error) { return f.store.Sequence(ctx, name) })
}

// ChangeSequence implements alloc.Sequences.
func (f *Faulty) ChangeSequence(ctx context.Context, name alloc.SequenceName, from alloc.Version, config alloc.SequenceConfig) (alloc.Sequence, error) {
	return call(ctx, f, "ChangeSequence", func() (alloc.Sequence, error) {
		return f.store.ChangeSequence(ctx, name, from, config)
	})
}

// SetSequenceState implements alloc.Sequences.
func (f *Faulty) SetSequenceState(ctx context.Context, name alloc.SequenceName, from alloc.Version, to alloc.SequenceState) (alloc.Sequence, error) {
	return call(ctx, f, "SetSequenceState", func() (alloc.Sequence, error) { return f.store.SetSequenceState(ctx, name, from, to) })
}

// ListSequences implements alloc.Sequences.
func (f *Faulty) ListSequences(ctx context.Context, after alloc.SequenceName, limit int) ([]alloc.Sequence, error) {
	return call(ctx, f, "ListSequences", func() ([]alloc.Sequence, error) { return f.store.ListSequences(ctx, after, limit) })
}

// Lease implements alloc.Sequences.
func (f *Faulty) Lease(ctx context.Context, o alloc.LeaseOrder) (alloc.Range, error) {
	return call(ctx, f, "Lease", func() (alloc.Range, error) { return f.store.Lease(ctx, o) })
}

// Leases implements alloc.Sequences.
func (f *Faulty) Leases(ctx context.Context, name alloc.SequenceName, below alloc.Number, limit int) ([]alloc.LeaseRecord, error) {
	return call(ctx, f, "Leases", func() ([]alloc.LeaseRecord, error) { return f.store.Leases(ctx, name, below, limit) })
}

// Record implements alloc.Trail.
func (f *Faulty) Record(ctx context.Context, r alloc.AuditRecord) error {
	_, err := call(ctx, f, "Record", func() (struct{}, error) { return struct{}{}, f.store.Record(ctx, r) })
	return err
}

// Records implements alloc.Trail.
func (f *Faulty) Records(ctx context.Context, before string, limit int) ([]alloc.AuditRecord, error) {
	return call(ctx, f, "Records", func() ([]alloc.AuditRecord, error) { return f.store.Records(ctx, before, limit) })
}

// Ready implements alloc.Store.
func (f *Faulty) Ready(ctx context.Context) error {
	_, err := call(ctx, f, "Ready", func() (struct{}, error) { return struct{}{}, f.store.Ready(ctx) })
	return err
}
