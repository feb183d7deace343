package alloctest

import (
	"context"
	"time"

	"idpool/alloc"
)

// The steps of rebuild, restore and audit are planned like all others.

// Watch implements alloc.Sequences.
func (f *Faulty) Watch(ctx context.Context, name alloc.SequenceName) (alloc.Sequence, error) {
	return call(ctx, f, "Watch", func() (alloc.Sequence, error) { return f.store.Watch(ctx, name) })
}

// Intend implements alloc.Trail.
func (f *Faulty) Intend(ctx context.Context, r alloc.AuditRecord) error {
	_, err := call(ctx, f, "Intend", func() (struct{}, error) { return struct{}{}, f.store.Intend(ctx, r) })
	return err
}

// Intended implements alloc.Trail.
func (f *Faulty) Intended(ctx context.Context, before time.Time, limit int) ([]alloc.AuditRecord, error) {
	return call(ctx, f, "Intended", func() ([]alloc.AuditRecord, error) { return f.store.Intended(ctx, before, limit) })
}

// Months implements alloc.Trail.
func (f *Faulty) Months(ctx context.Context) ([]alloc.TrailMonth, error) {
	return call(ctx, f, "Months", func() ([]alloc.TrailMonth, error) { return f.store.Months(ctx) })
}

// Chain implements alloc.Trail.
func (f *Faulty) Chain(ctx context.Context, month string, after int64, limit int) ([]alloc.AuditRecord, error) {
	return call(ctx, f, "Chain", func() ([]alloc.AuditRecord, error) { return f.store.Chain(ctx, month, after, limit) })
}

// Rebuild implements alloc.Rebuilds.
func (f *Faulty) Rebuild(ctx context.Context, name alloc.SequenceName) (alloc.Rebuild, error) {
	return call(ctx, f, "Rebuild", func() (alloc.Rebuild, error) { return f.store.Rebuild(ctx, name) })
}

// ChangeRebuild implements alloc.Rebuilds.
func (f *Faulty) ChangeRebuild(ctx context.Context, from alloc.Version, r alloc.Rebuild) (alloc.Rebuild, error) {
	return call(ctx, f, "ChangeRebuild", func() (alloc.Rebuild, error) { return f.store.ChangeRebuild(ctx, from, r) })
}

// Evidence implements alloc.Rebuilds.
func (f *Faulty) Evidence(ctx context.Context, name alloc.SequenceName) (alloc.Evidence, error) {
	return call(ctx, f, "Evidence", func() (alloc.Evidence, error) { return f.store.Evidence(ctx, name) })
}

// WalkLedger implements alloc.Rebuilds.
func (f *Faulty) WalkLedger(ctx context.Context, name alloc.SequenceName, mark string, limit int) ([]alloc.LeaseRecord, string, error) {
	a, err := call(ctx, f, "WalkLedger", func() (a walked[alloc.LeaseRecord], err error) {
		a.page, a.next, err = f.store.WalkLedger(ctx, name, mark, limit)
		return a, err
	})
	return a.page, a.next, err
}

// Freeze implements alloc.Rebuilds.
func (f *Faulty) Freeze(ctx context.Context, name alloc.SequenceName, rebuild alloc.JobID) (alloc.Sequence, error) {
	return call(ctx, f, "Freeze", func() (alloc.Sequence, error) { return f.store.Freeze(ctx, name, rebuild) })
}

// Restart implements alloc.Rebuilds.
func (f *Faulty) Restart(ctx context.Context, o alloc.RestartOrder) (alloc.Sequence, error) {
	return call(ctx, f, "Restart", func() (alloc.Sequence, error) { return f.store.Restart(ctx, o) })
}

// Thaw implements alloc.Rebuilds.
func (f *Faulty) Thaw(ctx context.Context, name alloc.SequenceName, rebuild alloc.JobID, to alloc.SequenceState, share int) (alloc.Sequence, error) {
	return call(ctx, f, "Thaw", func() (alloc.Sequence, error) { return f.store.Thaw(ctx, name, rebuild, to, share) })
}

// PoolEvidence implements alloc.Repairs.
func (f *Faulty) PoolEvidence(ctx context.Context, pool alloc.PoolName) (alloc.PoolEvidence, error) {
	return call(ctx, f, "PoolEvidence", func() (alloc.PoolEvidence, error) { return f.store.PoolEvidence(ctx, pool) })
}

// RebuildPool implements alloc.Repairs.
func (f *Faulty) RebuildPool(ctx context.Context, o alloc.PoolRebuildOrder) (alloc.PoolRebuilt, error) {
	return call(ctx, f, "RebuildPool", func() (alloc.PoolRebuilt, error) { return f.store.RebuildPool(ctx, o) })
}

// AbandonRebuild implements alloc.Repairs.
func (f *Faulty) AbandonRebuild(ctx context.Context, pool alloc.PoolName, job alloc.JobID) error {
	_, err := call(ctx, f, "AbandonRebuild", func() (struct{}, error) { return struct{}{}, f.store.AbandonRebuild(ctx, pool, job) })
	return err
}

// Stock implements alloc.Restores.
func (f *Faulty) Stock(ctx context.Context, pool alloc.PoolName, mark string, limit int) ([]alloc.IDRecord, string, error) {
	a, err := call(ctx, f, "Stock", func() (a walked[alloc.IDRecord], err error) {
		a.page, a.next, err = f.store.Stock(ctx, pool, mark, limit)
		return a, err
	})
	return a.page, a.next, err
}

// Carry implements alloc.Restores.
func (f *Faulty) Carry(ctx context.Context, pool alloc.PoolName, point time.Time, taken []alloc.IDRecord) ([]alloc.CarryOutcome, error) {
	return call(ctx, f, "Carry", func() ([]alloc.CarryOutcome, error) { return f.store.Carry(ctx, pool, point, taken) })
}

// LookUp implements alloc.Restores.
func (f *Faulty) LookUp(ctx context.Context, pool alloc.PoolName, ids []alloc.ID) ([]alloc.IDRecord, error) {
	return call(ctx, f, "LookUp", func() ([]alloc.IDRecord, error) { return f.store.LookUp(ctx, pool, ids) })
}

// CarryLeases implements alloc.Restores.
func (f *Faulty) CarryLeases(ctx context.Context, name alloc.SequenceName, leases []alloc.LeaseRecord) ([]alloc.CarryOutcome, error) {
	return call(ctx, f, "CarryLeases", func() ([]alloc.CarryOutcome, error) { return f.store.CarryLeases(ctx, name, leases) })
}

// AuditPool implements alloc.Audits.
func (f *Faulty) AuditPool(ctx context.Context, pool alloc.PoolName, o alloc.AuditOrder) (alloc.AuditStep, error) {
	return call(ctx, f, "AuditPool", func() (alloc.AuditStep, error) { return f.store.AuditPool(ctx, pool, o) })
}

// AuditSequence implements alloc.Audits.
func (f *Faulty) AuditSequence(ctx context.Context, name alloc.SequenceName, o alloc.AuditOrder) (alloc.AuditStep, error) {
	return call(ctx, f, "AuditSequence", func() (alloc.AuditStep, error) { return f.store.AuditSequence(ctx, name, o) })
}
