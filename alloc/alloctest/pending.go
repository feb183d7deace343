package alloctest

import (
	"context"
	"time"

	"idpool/alloc"
)

// What is not built yet.

func pending() error { return alloc.Errorf(alloc.CodeInternal, "not built yet") }

// Watch implements alloc.Store.
func (m *Model) Watch(ctx context.Context, name alloc.SequenceName) (alloc.Sequence, error) {
	return alloc.Sequence{}, pending()
}

// Intend implements alloc.Store.
func (m *Model) Intend(ctx context.Context, r alloc.AuditRecord) error { return nil }

// Intended implements alloc.Store.
func (m *Model) Intended(ctx context.Context, before time.Time, limit int) ([]alloc.AuditRecord, error) {
	return nil, nil
}

// Months implements alloc.Store.
func (m *Model) Months(ctx context.Context) ([]alloc.TrailMonth, error) { return nil, pending() }

// Chain implements alloc.Store.
func (m *Model) Chain(ctx context.Context, month string, after int64, limit int) ([]alloc.AuditRecord, error) {
	return nil, pending()
}

// Rebuild implements alloc.Store.
func (m *Model) Rebuild(ctx context.Context, name alloc.SequenceName) (alloc.Rebuild, error) {
	return alloc.Rebuild{}, pending()
}

// ChangeRebuild implements alloc.Store.
func (m *Model) ChangeRebuild(ctx context.Context, from alloc.Version, r alloc.Rebuild) (alloc.Rebuild, error) {
	return alloc.Rebuild{}, pending()
}

// Evidence implements alloc.Store.
func (m *Model) Evidence(ctx context.Context, name alloc.SequenceName) (alloc.Evidence, error) {
	return alloc.Evidence{}, pending()
}

// WalkLedger implements alloc.Store.
func (m *Model) WalkLedger(ctx context.Context, name alloc.SequenceName, mark string, limit int) ([]alloc.LeaseRecord, string, error) {
	return nil, "", pending()
}

// Freeze implements alloc.Store.
func (m *Model) Freeze(ctx context.Context, name alloc.SequenceName, rebuild alloc.JobID) (alloc.Sequence, error) {
	return alloc.Sequence{}, pending()
}

// Restart implements alloc.Store.
func (m *Model) Restart(ctx context.Context, o alloc.RestartOrder) (alloc.Sequence, error) {
	return alloc.Sequence{}, pending()
}

// Thaw implements alloc.Store.
func (m *Model) Thaw(ctx context.Context, name alloc.SequenceName, rebuild alloc.JobID, to alloc.SequenceState, share int) (alloc.Sequence, error) {
	return alloc.Sequence{}, pending()
}

// PoolEvidence implements alloc.Store.
func (m *Model) PoolEvidence(ctx context.Context, pool alloc.PoolName) (alloc.PoolEvidence, error) {
	return alloc.PoolEvidence{}, pending()
}

// RebuildPool implements alloc.Store.
func (m *Model) RebuildPool(ctx context.Context, o alloc.PoolRebuildOrder) (alloc.PoolRebuilt, error) {
	return alloc.PoolRebuilt{}, pending()
}

// AbandonRebuild implements alloc.Store.
func (m *Model) AbandonRebuild(ctx context.Context, pool alloc.PoolName, job alloc.JobID) error {
	return pending()
}

// Stock implements alloc.Store.
func (m *Model) Stock(ctx context.Context, pool alloc.PoolName, mark string, limit int) ([]alloc.IDRecord, string, error) {
	return nil, "", pending()
}

// Carry implements alloc.Store.
func (m *Model) Carry(ctx context.Context, pool alloc.PoolName, taken []alloc.IDRecord) ([]alloc.CarryOutcome, error) {
	return nil, pending()
}

// CarryLeases implements alloc.Store.
func (m *Model) CarryLeases(ctx context.Context, name alloc.SequenceName, leases []alloc.LeaseRecord) (int, error) {
	return 0, pending()
}

// AuditPool implements alloc.Store.
func (m *Model) AuditPool(ctx context.Context, pool alloc.PoolName, o alloc.AuditOrder) (alloc.AuditStep, error) {
	return alloc.AuditStep{}, pending()
}

// AuditSequence implements alloc.Store.
func (m *Model) AuditSequence(ctx context.Context, name alloc.SequenceName, o alloc.AuditOrder) (alloc.AuditStep, error) {
	return alloc.AuditStep{}, pending()
}
