package alloctest

import (
	"context"
	"time"

	"idpool/alloc"
)

// The steps of rebuild, restore and audit pass through to the Store, with the faults of all others.

// Watch implements alloc.Store.
func (f *Faulty) Watch(ctx context.Context, name alloc.SequenceName) (alloc.Sequence, error) {
	return f.store.Watch(ctx, name)
}

// Intend implements alloc.Store.
func (f *Faulty) Intend(ctx context.Context, r alloc.AuditRecord) error {
	return f.store.Intend(ctx, r)
}

// Intended implements alloc.Store.
func (f *Faulty) Intended(ctx context.Context, before time.Time, limit int) ([]alloc.AuditRecord, error) {
	return f.store.Intended(ctx, before, limit)
}

// Months implements alloc.Store.
func (f *Faulty) Months(ctx context.Context) ([]alloc.TrailMonth, error) { return f.store.Months(ctx) }

// Chain implements alloc.Store.
func (f *Faulty) Chain(ctx context.Context, month string, after int64, limit int) ([]alloc.AuditRecord, error) {
	return f.store.Chain(ctx, month, after, limit)
}

// Rebuild implements alloc.Store.
func (f *Faulty) Rebuild(ctx context.Context, name alloc.SequenceName) (alloc.Rebuild, error) {
	return f.store.Rebuild(ctx, name)
}

// ChangeRebuild implements alloc.Store.
func (f *Faulty) ChangeRebuild(ctx context.Context, from alloc.Version, r alloc.Rebuild) (alloc.Rebuild, error) {
	return f.store.ChangeRebuild(ctx, from, r)
}

// Evidence implements alloc.Store.
func (f *Faulty) Evidence(ctx context.Context, name alloc.SequenceName) (alloc.Evidence, error) {
	return f.store.Evidence(ctx, name)
}

// WalkLedger implements alloc.Store.
func (f *Faulty) WalkLedger(ctx context.Context, name alloc.SequenceName, mark string, limit int) ([]alloc.LeaseRecord, string, error) {
	return f.store.WalkLedger(ctx, name, mark, limit)
}

// Freeze implements alloc.Store.
func (f *Faulty) Freeze(ctx context.Context, name alloc.SequenceName, rebuild alloc.JobID) (alloc.Sequence, error) {
	return f.store.Freeze(ctx, name, rebuild)
}

// Restart implements alloc.Store.
func (f *Faulty) Restart(ctx context.Context, o alloc.RestartOrder) (alloc.Sequence, error) {
	return f.store.Restart(ctx, o)
}

// Thaw implements alloc.Store.
func (f *Faulty) Thaw(ctx context.Context, name alloc.SequenceName, rebuild alloc.JobID, to alloc.SequenceState, share int) (alloc.Sequence, error) {
	return f.store.Thaw(ctx, name, rebuild, to, share)
}

// PoolEvidence implements alloc.Store.
func (f *Faulty) PoolEvidence(ctx context.Context, pool alloc.PoolName) (alloc.PoolEvidence, error) {
	return f.store.PoolEvidence(ctx, pool)
}

// RebuildPool implements alloc.Store.
func (f *Faulty) RebuildPool(ctx context.Context, o alloc.PoolRebuildOrder) (alloc.PoolRebuilt, error) {
	return f.store.RebuildPool(ctx, o)
}

// AbandonRebuild implements alloc.Store.
func (f *Faulty) AbandonRebuild(ctx context.Context, pool alloc.PoolName, job alloc.JobID) error {
	return f.store.AbandonRebuild(ctx, pool, job)
}

// Stock implements alloc.Store.
func (f *Faulty) Stock(ctx context.Context, pool alloc.PoolName, mark string, limit int) ([]alloc.IDRecord, string, error) {
	return f.store.Stock(ctx, pool, mark, limit)
}

// Carry implements alloc.Store.
func (f *Faulty) Carry(ctx context.Context, pool alloc.PoolName, taken []alloc.IDRecord) ([]alloc.CarryOutcome, error) {
	return f.store.Carry(ctx, pool, taken)
}

// CarryLeases implements alloc.Store.
func (f *Faulty) CarryLeases(ctx context.Context, name alloc.SequenceName, leases []alloc.LeaseRecord) (int, error) {
	return f.store.CarryLeases(ctx, name, leases)
}

// AuditPool implements alloc.Store.
func (f *Faulty) AuditPool(ctx context.Context, pool alloc.PoolName, o alloc.AuditOrder) (alloc.AuditStep, error) {
	return f.store.AuditPool(ctx, pool, o)
}

// AuditSequence implements alloc.Store.
func (f *Faulty) AuditSequence(ctx context.Context, name alloc.SequenceName, o alloc.AuditOrder) (alloc.AuditStep, error) {
	return f.store.AuditSequence(ctx, name, o)
}
