package alloctest

import (
	"context"
	"time"

	"idpool/alloc"
)

// What the contract has and this package not yet: each of these goes as its real one comes.

var errPending = alloc.Errorf(alloc.CodeInternal, "not built yet")

func (m *Model) Settle(ctx context.Context, o alloc.SettleOrder) (alloc.Settled, error) {
	return alloc.Settled{}, errPending
}
func (m *Model) OpenKey(ctx context.Context, key alloc.Key, token alloc.Token, answer []byte) (alloc.Kept, error) {
	return alloc.Kept{}, errPending
}
func (m *Model) FindKey(ctx context.Context, key alloc.Key) (k alloc.Kept, ok bool, err error) {
	return k, ok, errPending
}
func (m *Model) CloseKey(ctx context.Context, key alloc.Key, token alloc.Token, answer []byte) (alloc.Kept, error) {
	return alloc.Kept{}, errPending
}
func (m *Model) DropKey(ctx context.Context, key alloc.Key, token alloc.Token) error {
	return errPending
}
func (m *Model) CreateCredential(ctx context.Context, c alloc.Credential) error { return errPending }
func (m *Model) Credential(ctx context.Context, id alloc.CredentialID) (alloc.Credential, error) {
	return alloc.Credential{}, errPending
}
func (m *Model) ChangeCredential(ctx context.Context, from alloc.Version, c alloc.Credential) (alloc.Credential, error) {
	return c, errPending
}
func (m *Model) ListCredentials(ctx context.Context, after alloc.CredentialID, limit int) ([]alloc.Credential, error) {
	return nil, errPending
}
func (m *Model) TakeQuota(ctx context.Context, id alloc.CredentialID, hour time.Time, n, limit alloc.Count) (alloc.Count, error) {
	return 0, errPending
}
func (m *Model) SharedSecret(ctx context.Context) ([]byte, error) { return nil, errPending }
func (m *Model) CreateJob(ctx context.Context, j alloc.Job) error { return errPending }
func (m *Model) Job(ctx context.Context, id alloc.JobID) (alloc.Job, error) {
	return alloc.Job{}, errPending
}
func (m *Model) ChangeJob(ctx context.Context, from alloc.Version, j alloc.Job) (alloc.Job, error) {
	return j, errPending
}
func (m *Model) ListJobs(ctx context.Context, before alloc.JobID, limit int) ([]alloc.Job, error) {
	return nil, errPending
}
func (m *Model) PutPart(ctx context.Context, job alloc.JobID, n int, p alloc.Part) error {
	return errPending
}
func (m *Model) Part(ctx context.Context, job alloc.JobID, n int) (alloc.Part, error) {
	return alloc.Part{}, errPending
}
func (m *Model) WalkIDs(ctx context.Context, pool alloc.PoolName, state alloc.State, mark string, limit int) (page []alloc.IDRecord, next string, err error) {
	return nil, "", errPending
}
