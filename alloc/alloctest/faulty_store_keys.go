package alloctest

import (
	"context"
	"time"

	"idpool/alloc"
)

// Settle implements alloc.Claims.
func (f *Faulty) Settle(ctx context.Context, o alloc.SettleOrder) (alloc.Settled, error) {
	return call(ctx, f, "Settle", func() (alloc.Settled, error) { return f.store.Settle(ctx, o) })
}

// OpenKey implements alloc.Keys.
func (f *Faulty) OpenKey(ctx context.Context, key alloc.Key, token alloc.Token, answer []byte) (alloc.Kept, error) {
	return call(ctx, f, "OpenKey", func() (alloc.Kept, error) { return f.store.OpenKey(ctx, key, token, answer) })
}

// FindKey implements alloc.Keys.
func (f *Faulty) FindKey(ctx context.Context, key alloc.Key) (k alloc.Kept, ok bool, err error) {
	a, err := call(ctx, f, "FindKey", func() (a made[alloc.Kept], err error) {
		a.thing, a.created, err = f.store.FindKey(ctx, key)
		return a, err
	})
	return a.thing, a.created, err
}

// CloseKey implements alloc.Keys.
func (f *Faulty) CloseKey(ctx context.Context, key alloc.Key, token alloc.Token, answer []byte) (alloc.Kept, error) {
	return call(ctx, f, "CloseKey", func() (alloc.Kept, error) { return f.store.CloseKey(ctx, key, token, answer) })
}

// DropKey implements alloc.Keys.
func (f *Faulty) DropKey(ctx context.Context, key alloc.Key, token alloc.Token) (k alloc.Kept, ok bool, err error) {
	a, err := call(ctx, f, "DropKey", func() (a made[alloc.Kept], err error) {
		a.thing, a.created, err = f.store.DropKey(ctx, key, token)
		return a, err
	})
	return a.thing, a.created, err
}

// CreateCredential implements alloc.Credentials.
func (f *Faulty) CreateCredential(ctx context.Context, c alloc.Credential) error {
	_, err := call(ctx, f, "CreateCredential", func() (struct{}, error) { return struct{}{}, f.store.CreateCredential(ctx, c) })
	return err
}

// Credential implements alloc.Credentials.
func (f *Faulty) Credential(ctx context.Context, id alloc.CredentialID) (alloc.Credential, error) {
	return call(ctx, f, "Credential", func() (alloc.Credential, error) { return f.store.Credential(ctx, id) })
}

// ChangeCredential implements alloc.Credentials.
func (f *Faulty) ChangeCredential(ctx context.Context, from alloc.Version, c alloc.Credential) (alloc.Credential, error) {
	return call(ctx, f, "ChangeCredential", func() (alloc.Credential, error) { return f.store.ChangeCredential(ctx, from, c) })
}

// ListCredentials implements alloc.Credentials.
func (f *Faulty) ListCredentials(ctx context.Context, after alloc.CredentialID, limit int) ([]alloc.Credential, error) {
	return call(ctx, f, "ListCredentials", func() ([]alloc.Credential, error) { return f.store.ListCredentials(ctx, after, limit) })
}

// UseCredential implements alloc.Credentials.
func (f *Faulty) UseCredential(ctx context.Context, id alloc.CredentialID, at time.Time) error {
	_, err := call(ctx, f, "UseCredential", func() (struct{}, error) { return struct{}{}, f.store.UseCredential(ctx, id, at) })
	return err
}

// CredentialUses implements alloc.Credentials.
func (f *Faulty) CredentialUses(ctx context.Context, ids []alloc.CredentialID) ([]time.Time, error) {
	return call(ctx, f, "CredentialUses", func() ([]time.Time, error) { return f.store.CredentialUses(ctx, ids) })
}

// TakeQuota implements alloc.Credentials.
func (f *Faulty) TakeQuota(ctx context.Context, id alloc.CredentialID, hour time.Time, n, limit alloc.Count) (alloc.Count, error) {
	return call(ctx, f, "TakeQuota", func() (alloc.Count, error) { return f.store.TakeQuota(ctx, id, hour, n, limit) })
}

// SharedSecret implements alloc.Credentials.
func (f *Faulty) SharedSecret(ctx context.Context) ([]byte, error) {
	return call(ctx, f, "SharedSecret", func() ([]byte, error) { return f.store.SharedSecret(ctx) })
}

// CreateJob implements alloc.Jobs.
func (f *Faulty) CreateJob(ctx context.Context, j alloc.Job) error {
	_, err := call(ctx, f, "CreateJob", func() (struct{}, error) { return struct{}{}, f.store.CreateJob(ctx, j) })
	return err
}

// Job implements alloc.Jobs.
func (f *Faulty) Job(ctx context.Context, id alloc.JobID) (alloc.Job, error) {
	return call(ctx, f, "Job", func() (alloc.Job, error) { return f.store.Job(ctx, id) })
}

// ChangeJob implements alloc.Jobs.
func (f *Faulty) ChangeJob(ctx context.Context, from alloc.Version, j alloc.Job) (alloc.Job, error) {
	return call(ctx, f, "ChangeJob", func() (alloc.Job, error) { return f.store.ChangeJob(ctx, from, j) })
}

// ListJobs implements alloc.Jobs.
func (f *Faulty) ListJobs(ctx context.Context, before alloc.JobID, limit int) ([]alloc.Job, error) {
	return call(ctx, f, "ListJobs", func() ([]alloc.Job, error) { return f.store.ListJobs(ctx, before, limit) })
}

// PutPart implements alloc.Jobs.
func (f *Faulty) PutPart(ctx context.Context, job alloc.JobID, n int, p alloc.Part) error {
	_, err := call(ctx, f, "PutPart", func() (struct{}, error) { return struct{}{}, f.store.PutPart(ctx, job, n, p) })
	return err
}

// Part implements alloc.Jobs.
func (f *Faulty) Part(ctx context.Context, job alloc.JobID, n int) (alloc.Part, error) {
	return call(ctx, f, "Part", func() (alloc.Part, error) { return f.store.Part(ctx, job, n) })
}

// walked is the answer of a page of a walk.
type walked[A any] struct {
	page []A
	next string
}

// WalkIDs implements alloc.Jobs.
func (f *Faulty) WalkIDs(ctx context.Context, pool alloc.PoolName, state alloc.State, mark string, limit int) ([]alloc.IDRecord, string, error) {
	a, err := call(ctx, f, "WalkIDs", func() (a walked[alloc.IDRecord], err error) {
		a.page, a.next, err = f.store.WalkIDs(ctx, pool, state, mark, limit)
		return a, err
	})
	return a.page, a.next, err
}
