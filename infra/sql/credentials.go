package sql

import (
	"context"
	"crypto/rand"
	dbsql "database/sql"
	"encoding/json"
	"slices"

	"idpool/alloc"
)

const credentialColumns = `id, client, description, scopes, quota, version, created, expires, revoked, hash, rotated, rotated_for, previous_hash, previous_until`

func scanCredential(row scanner) (c alloc.Credential, err error) {
	var scopes string
	var created int64
	var expires, revoked, rotated, previous dbsql.NullInt64
	err = row.Scan(&c.ID, &c.Client, &c.Description, &scopes, &c.Quota, &c.Version, &created, &expires, &revoked,
		&c.Hash, &rotated, &c.RotatedFor, &c.PreviousHash, &previous)
	if err != nil {
		return c, err
	}
	c.Created = moment(created)
	c.Expires, c.Revoked, c.Rotated, c.PreviousUntil = momentOf(expires), momentOf(revoked), momentOf(rotated), momentOf(previous)
	return c, json.Unmarshal([]byte(scopes), &c.Scopes)
}

// credential reads one; CodeCredentialNotFound.
func (t *tx) credential(id alloc.CredentialID) (alloc.Credential, error) {
	found, err := list(t, scanCredential, `SELECT `+credentialColumns+` FROM credentials WHERE id = $1`, id)
	if err != nil {
		return alloc.Credential{}, err
	}
	if len(found) == 0 {
		return alloc.Credential{}, alloc.CredentialNotFound(id)
	}
	return found[0], nil
}

// CreateCredential puts it at version 1 if its ID is unused.
func (s *Store) CreateCredential(ctx context.Context, c alloc.Credential) error {
	c.Scopes = slices.Clone(c.Scopes) // the step may outlive this call
	_, err := write(ctx, s.writer, func(t *tx) (alloc.Credential, error) {
		scopes, err := json.Marshal(c.Scopes)
		if err != nil {
			return c, err
		}
		inserted, err := t.exec(`INSERT INTO credentials (`+credentialColumns+`)
			VALUES ($1, $2, $3, $4, $5, 1, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT (id) DO NOTHING`,
			c.ID, c.Client, c.Description, string(scopes), c.Quota, instant(c.Created), optional(c.Expires), optional(c.Revoked),
			c.Hash, optional(c.Rotated), c.RotatedFor, c.PreviousHash, optional(c.PreviousUntil))
		if err != nil || inserted == 1 {
			return c, err
		}
		present, err := t.credential(c.ID)
		if err == nil && present.Hash != c.Hash {
			err = alloc.Errorf(alloc.CodeInternal, "the new credential's ID is that of another; repeat the request")
		}
		return present, err
	})
	return err
}

// Credential reads one.
func (s *Store) Credential(ctx context.Context, id alloc.CredentialID) (alloc.Credential, error) {
	return read(ctx, s.reader, func(t *tx) (alloc.Credential, error) { return t.credential(id) })
}

// ChangeCredential replaces all but ID, Client and Created of the one at version from.
func (s *Store) ChangeCredential(ctx context.Context, from alloc.Version, c alloc.Credential) (alloc.Credential, error) {
	c.Scopes = slices.Clone(c.Scopes)
	return write(ctx, s.writer, func(t *tx) (alloc.Credential, error) {
		present, err := t.credential(c.ID)
		if err != nil {
			return alloc.Credential{}, err
		}
		changed := c
		changed.Client, changed.Created, changed.Version = present.Client, present.Created, from+1
		if repeatedChange(present.Version, from) && sameCredential(present, changed) {
			return present, nil
		}
		if present.Version != from {
			return alloc.Credential{}, alloc.VersionMismatch("credential", string(c.ID), present.Version)
		}
		scopes, err := json.Marshal(c.Scopes)
		if err != nil {
			return alloc.Credential{}, err
		}
		_, err = t.exec(`UPDATE credentials SET description = $2, scopes = $3, quota = $4, version = $5, expires = $6, revoked = $7,
				hash = $8, rotated = $9, rotated_for = $10, previous_hash = $11, previous_until = $12 WHERE id = $1`,
			c.ID, c.Description, string(scopes), c.Quota, changed.Version, optional(c.Expires), optional(c.Revoked),
			c.Hash, optional(c.Rotated), c.RotatedFor, c.PreviousHash, optional(c.PreviousUntil))
		if err != nil {
			return alloc.Credential{}, err
		}
		return t.credential(c.ID)
	})
}

// sameCredential compares what two have, times as instants.
func sameCredential(a, b alloc.Credential) bool {
	return a.ID == b.ID && a.Client == b.Client && a.Description == b.Description && slices.Equal(a.Scopes, b.Scopes) &&
		a.Quota == b.Quota && a.Version == b.Version && a.Hash == b.Hash && a.PreviousHash == b.PreviousHash &&
		a.Created.Equal(b.Created) && a.Expires.Equal(b.Expires) && a.Revoked.Equal(b.Revoked) &&
		a.Rotated.Equal(b.Rotated) && a.RotatedFor == b.RotatedFor && a.PreviousUntil.Equal(b.PreviousUntil)
}

// ListCredentials returns at most limit, in the order of their IDs, after the ID given.
func (s *Store) ListCredentials(ctx context.Context, after alloc.CredentialID, limit int) ([]alloc.Credential, error) {
	return read(ctx, s.reader, func(t *tx) ([]alloc.Credential, error) {
		return list(t, scanCredential, `SELECT `+credentialColumns+` FROM credentials WHERE id > $1 ORDER BY id LIMIT $2`, after, limit)
	})
}

// SharedSecret returns what all processes share; the first call ever makes it.
func (s *Store) SharedSecret(ctx context.Context) ([]byte, error) {
	const query = `SELECT value FROM shared_secret`
	secret, err := read(ctx, s.reader, func(t *tx) (secret []byte, err error) {
		_, err = t.row(query, nil, &secret)
		return secret, err
	})
	if err != nil || secret != nil {
		return secret, err
	}
	fresh := make([]byte, 32)
	rand.Read(fresh) // never returns an error
	return write(ctx, s.writer, func(t *tx) (secret []byte, err error) {
		if _, err := t.exec(`INSERT INTO shared_secret (one, value) VALUES (1, $1) ON CONFLICT (one) DO NOTHING`, fresh); err != nil {
			return nil, err
		}
		_, err = t.row(query, nil, &secret)
		return secret, err
	})
}
