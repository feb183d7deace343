package dynamo

import (
	"context"
	"time"

	"idpool/alloc"
)

// What the contract has and this package not yet: each of these goes as its real one comes.

var errPending = alloc.Errorf(alloc.CodeInternal, "not built yet")

func (s *Store) OpenKey(ctx context.Context, key alloc.Key, token alloc.Token, answer []byte) (alloc.Kept, error) {
	return alloc.Kept{}, errPending
}
func (s *Store) FindKey(ctx context.Context, key alloc.Key) (k alloc.Kept, ok bool, err error) {
	return k, ok, errPending
}
func (s *Store) CloseKey(ctx context.Context, key alloc.Key, token alloc.Token, answer []byte) (alloc.Kept, error) {
	return alloc.Kept{}, errPending
}
func (s *Store) DropKey(ctx context.Context, key alloc.Key, token alloc.Token) error {
	return errPending
}
func (s *Store) CreateCredential(ctx context.Context, c alloc.Credential) error { return errPending }
func (s *Store) Credential(ctx context.Context, id alloc.CredentialID) (alloc.Credential, error) {
	return alloc.Credential{}, errPending
}
func (s *Store) ChangeCredential(ctx context.Context, from alloc.Version, c alloc.Credential) (alloc.Credential, error) {
	return c, errPending
}
func (s *Store) ListCredentials(ctx context.Context, after alloc.CredentialID, limit int) ([]alloc.Credential, error) {
	return nil, errPending
}
func (s *Store) TakeQuota(ctx context.Context, id alloc.CredentialID, hour time.Time, n, limit alloc.Count) (alloc.Count, error) {
	return 0, errPending
}
func (s *Store) SharedSecret(ctx context.Context) ([]byte, error) { return nil, errPending }
func (s *Store) CreateJob(ctx context.Context, j alloc.Job) error { return errPending }
func (s *Store) Job(ctx context.Context, id alloc.JobID) (alloc.Job, error) {
	return alloc.Job{}, errPending
}
func (s *Store) ChangeJob(ctx context.Context, from alloc.Version, j alloc.Job) (alloc.Job, error) {
	return j, errPending
}
func (s *Store) ListJobs(ctx context.Context, before alloc.JobID, limit int) ([]alloc.Job, error) {
	return nil, errPending
}
func (s *Store) PutPart(ctx context.Context, job alloc.JobID, n int, p alloc.Part) error {
	return errPending
}
func (s *Store) Part(ctx context.Context, job alloc.JobID, n int) (alloc.Part, error) {
	return alloc.Part{}, errPending
}
func (s *Store) WalkIDs(ctx context.Context, pool alloc.PoolName, state alloc.State, mark string, limit int) (page []alloc.IDRecord, next string, err error) {
	return nil, "", errPending
}
