package alloctest

import (
	"context"
	"crypto/rand"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
)

// modelHour is one hour of a credential.
type modelHour struct {
	id   alloc.CredentialID
	hour int64
}

// CreateCredential implements alloc.Credentials.
func (m *Model) CreateCredential(ctx context.Context, c alloc.Credential) error {
	return m.step(ctx, func(d *modelData) error {
		if there, used := d.credentials[c.ID]; used {
			if there.Hash != c.Hash {
				return alloc.Errorf(alloc.CodeInternal, "the ID of the new credential is another's; make it again")
			}
			return nil
		}
		c.Version, c.Scopes = 1, slices.Clone(c.Scopes)
		d.credentials[c.ID] = c
		return nil
	})
}

// Credential implements alloc.Credentials.
func (m *Model) Credential(ctx context.Context, id alloc.CredentialID) (found alloc.Credential, err error) {
	err = m.step(ctx, func(d *modelData) error {
		c, ok := d.credentials[id]
		if !ok {
			return alloc.CredentialNotFound(id)
		}
		found = c
		found.Scopes = slices.Clone(c.Scopes)
		return nil
	})
	return found, err
}

// ChangeCredential implements alloc.Credentials.
func (m *Model) ChangeCredential(ctx context.Context, from alloc.Version, c alloc.Credential) (changed alloc.Credential, err error) {
	err = m.step(ctx, func(d *modelData) error {
		before, ok := d.credentials[c.ID]
		if !ok {
			return alloc.CredentialNotFound(c.ID)
		}
		c.Client, c.Created, c.Version, c.Scopes = before.Client, before.Created, from+1, slices.Clone(c.Scopes)
		if repeat := cmp.Equal(before, c); !repeat {
			if before.Version != from {
				return alloc.VersionMismatch("credential", string(c.ID), before.Version)
			}
			d.credentials[c.ID] = c
		}
		changed = c
		changed.Scopes = slices.Clone(c.Scopes)
		return nil
	})
	return changed, err
}

// ListCredentials implements alloc.Credentials.
func (m *Model) ListCredentials(ctx context.Context, after alloc.CredentialID, limit int) (list []alloc.Credential, err error) {
	err = m.step(ctx, func(d *modelData) error {
		for _, id := range page(d.credentials, after, limit) {
			c := d.credentials[id]
			c.Scopes = slices.Clone(c.Scopes)
			list = append(list, c)
		}
		return nil
	})
	return list, err
}

// TakeQuota implements alloc.Credentials.
func (m *Model) TakeQuota(ctx context.Context, id alloc.CredentialID, hour time.Time, n, limit alloc.Count) (got alloc.Count, err error) {
	err = m.step(ctx, func(d *modelData) error {
		at := modelHour{id, hour.Unix()}
		got = max(0, min(n, limit-d.quotas[at]))
		d.quotas[at] += got
		return nil
	})
	return got, err
}

// SharedSecret implements alloc.Credentials.
func (m *Model) SharedSecret(ctx context.Context) (secret []byte, err error) {
	err = m.step(ctx, func(d *modelData) error {
		if d.secret == nil {
			d.secret = make([]byte, 32)
			rand.Read(d.secret) // never returns an error
		}
		secret = slices.Clone(d.secret)
		return nil
	})
	return secret, err
}

// UseCredential implements alloc.Credentials.
func (m *Model) UseCredential(ctx context.Context, id alloc.CredentialID, at time.Time) error {
	return m.step(ctx, func(d *modelData) error {
		if last, ok := d.uses[id]; !ok || at.Sub(last) > alloc.UsedEvery {
			d.uses[id] = at
		}
		return nil
	})
}

// CredentialUses implements alloc.Credentials.
func (m *Model) CredentialUses(ctx context.Context, ids []alloc.CredentialID) (last []time.Time, err error) {
	err = m.step(ctx, func(d *modelData) error {
		for _, id := range ids {
			last = append(last, d.uses[id])
		}
		return nil
	})
	return last, err
}
