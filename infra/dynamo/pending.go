package dynamo

import (
	"context"

	"idpool/alloc"
)

// What is not built yet.

func pending() error { return alloc.Errorf(alloc.CodeInternal, "not built yet") }

// Watch implements alloc.Store.
func (s *Store) Watch(ctx context.Context, name alloc.SequenceName) (alloc.Sequence, error) {
	return alloc.Sequence{}, pending()
}

// Rebuild implements alloc.Store.
func (s *Store) Rebuild(ctx context.Context, name alloc.SequenceName) (alloc.Rebuild, error) {
	return alloc.Rebuild{}, pending()
}

// ChangeRebuild implements alloc.Store.
func (s *Store) ChangeRebuild(ctx context.Context, from alloc.Version, r alloc.Rebuild) (alloc.Rebuild, error) {
	return alloc.Rebuild{}, pending()
}

// Evidence implements alloc.Store.
func (s *Store) Evidence(ctx context.Context, name alloc.SequenceName) (alloc.Evidence, error) {
	return alloc.Evidence{}, pending()
}

// WalkLedger implements alloc.Store.
func (s *Store) WalkLedger(ctx context.Context, name alloc.SequenceName, mark string, limit int) ([]alloc.LeaseRecord, string, error) {
	return nil, "", pending()
}

// Freeze implements alloc.Store.
func (s *Store) Freeze(ctx context.Context, name alloc.SequenceName, rebuild alloc.JobID) (alloc.Sequence, error) {
	return alloc.Sequence{}, pending()
}

// Restart implements alloc.Store.
func (s *Store) Restart(ctx context.Context, o alloc.RestartOrder) (alloc.Sequence, error) {
	return alloc.Sequence{}, pending()
}

// Thaw implements alloc.Store.
func (s *Store) Thaw(ctx context.Context, name alloc.SequenceName, rebuild alloc.JobID, to alloc.SequenceState, share int) (alloc.Sequence, error) {
	return alloc.Sequence{}, pending()
}

// Stock implements alloc.Store.
func (s *Store) Stock(ctx context.Context, pool alloc.PoolName, mark string, limit int) ([]alloc.IDRecord, string, error) {
	return nil, "", pending()
}

// Carry implements alloc.Store.
func (s *Store) Carry(ctx context.Context, pool alloc.PoolName, taken []alloc.IDRecord) ([]alloc.CarryOutcome, error) {
	return nil, pending()
}

// CarryLeases implements alloc.Store.
func (s *Store) CarryLeases(ctx context.Context, name alloc.SequenceName, leases []alloc.LeaseRecord) (int, error) {
	return 0, pending()
}

// AuditPool implements alloc.Store.
func (s *Store) AuditPool(ctx context.Context, pool alloc.PoolName, o alloc.AuditOrder) (alloc.AuditStep, error) {
	return alloc.AuditStep{}, pending()
}

// AuditSequence implements alloc.Store.
func (s *Store) AuditSequence(ctx context.Context, name alloc.SequenceName, o alloc.AuditOrder) (alloc.AuditStep, error) {
	return alloc.AuditStep{}, pending()
}
