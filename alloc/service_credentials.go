package alloc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// CreateCredential makes a credential and its secret, which is given this once; "" in a repeat, when it cannot be told
// any more. Needs ActionCredentials, every scope that it is to have, no quota, and no earlier end: CodeForbidden.
func (s *Service) CreateCredential(ctx context.Context, r CredentialRequest) (c Credential, secret Secret, err error) {
	id := newCredentialID(r.Intent)
	st := step{need: ActionCredentials, on: aCredential, name: string(id), verb: "create", detail: r.words}
	err = s.administer(ctx, st, func() (err error) {
		c, secret, err = s.createCredential(ctx, id, r)
		return err
	})
	if err != nil {
		return Credential{}, "", err
	}
	return c.public(), secret, nil
}

func (s *Service) createCredential(ctx context.Context, id CredentialID, r CredentialRequest) (Credential, Secret, error) {
	caller, err := s.someone(ctx)
	if err != nil {
		return Credential{}, "", err
	}
	if r.Intent != "" {
		if c, err := s.store.Credential(ctx, id); !Is(err, CodeCredentialNotFound) {
			return c, "", err
		}
	}
	now := s.second()
	r.Expires = wholeSeconds(r.Expires)
	if err := r.Check(now); err != nil {
		return Credential{}, "", err
	}
	secret := newSecret(id)
	c := Credential{
		ID: id, Client: r.Client, Description: r.Description, Scopes: slices.Clone(r.Scopes), Quota: r.Quota,
		Version: 1, Created: now, Expires: r.Expires, Hash: secret.hash(), Rotated: now, RotatedFor: r.Intent,
	}
	if err := c.within(caller); err != nil {
		return Credential{}, "", err
	}
	err = insist(func() error { return s.store.CreateCredential(ctx, c) })
	if r.Intent != "" && Is(err, CodeInternal) { // most likely another attempt was faster
		if there, rerr := s.store.Credential(ctx, id); rerr == nil && there.RotatedFor == r.Intent {
			return there, "", nil
		}
	}
	return c, secret, err
}

// Credential returns one, without its hashes. Needs ActionCredentials.
func (s *Service) Credential(ctx context.Context, id CredentialID) (Credential, error) {
	if _, err := s.permit(ctx, ActionCredentials, everything); err != nil {
		return Credential{}, err
	}
	if err := id.check(); err != nil {
		return Credential{}, err
	}
	c, err := s.store.Credential(ctx, id)
	if err != nil {
		return Credential{}, err
	}
	found := []Credential{c.public()}
	err = s.withUses(ctx, found)
	return found[0], err
}

// Credentials returns at most limit, 1 to 100, without their hashes, from the cursor on; next is what to give to go on, ""
// at the end. Needs ActionCredentials.
func (s *Service) Credentials(ctx context.Context, c Cursor, limit int) (credentials []Credential, next Cursor, err error) {
	if _, err := s.permit(ctx, ActionCredentials, everything); err != nil {
		return nil, "", err
	}
	read := func(ctx context.Context, after string, limit int) ([]Credential, error) {
		return s.store.ListCredentials(ctx, CredentialID(after), limit)
	}
	credentials, next, err = paged(ctx, s, listCredentials, c, limit, read, func(c Credential) string { return string(c.ID) })
	for i := range credentials {
		credentials[i] = credentials[i].public()
	}
	if err == nil {
		err = s.withUses(ctx, credentials)
	}
	return credentials, next, err
}

// ChangeCredential replaces description, scopes, quota and expiry of the one at version from; r.Client may be left out,
// as it cannot be changed. Needs ActionCredentials, every scope that it has and is to have, no quota, and no end that is
// earlier than the one that it has or is to have: CodeForbidden. CodeVersionMismatch, CodeCredentialNotFound, CodeCredentialRevoked.
func (s *Service) ChangeCredential(ctx context.Context, id CredentialID, from Version, r CredentialRequest) (c Credential, err error) {
	st := step{need: ActionCredentials, on: aCredential, name: string(id), verb: "change", detail: func() string {
		return fmt.Sprintf("from version %d to %s", from, r.words())
	}}
	err = s.administer(ctx, st, func() (err error) {
		defer s.verified.forget(id) // after a failure too: the outcome may be unknown
		c, err = s.changeCredential(ctx, id, from, &r)
		return err
	})
	if err != nil {
		return Credential{}, err
	}
	return c.public(), nil
}

func (s *Service) changeCredential(ctx context.Context, id CredentialID, from Version, r *CredentialRequest) (Credential, error) {
	present, err := s.own(ctx, id)
	if err != nil {
		return Credential{}, err
	}
	if r.Client != "" && r.Client != present.Client {
		return Credential{}, Errorf(CodeInvalidRequest, "the client of a credential is fixed, this one's is %q; make another credential", present.Client)
	}
	r.Client = present.Client
	checked := *r
	if checked.Expires = wholeSeconds(r.Expires); checked.Expires.Equal(present.Expires) {
		checked.Expires = time.Time{} // it may be over, and stay so
	}
	if err := checked.Check(s.now()); err != nil {
		return Credential{}, err
	}
	c := present
	c.Description, c.Scopes, c.Quota, c.Expires = r.Description, slices.Clone(r.Scopes), r.Quota, wholeSeconds(r.Expires)
	caller, err := s.someone(ctx)
	if err != nil {
		return Credential{}, err
	}
	if err := c.within(caller); err != nil {
		return Credential{}, err
	}
	return s.store.ChangeCredential(ctx, from, c)
}

// RotateCredential gives it another secret; the one before works for overlap (whole seconds, 0 to MaxOverlap) more, at most
// until the credential ends, the one before that no longer. from 0 is whatever version it is at. In a repeat of an intent the secret is "": the one that
// was made cannot be told any more. Without an intent a repeat rotates again.
//
// Needs ActionCredentials, every scope that it has, no quota, and no earlier end: CodeForbidden. CodeVersionMismatch, CodeCredentialNotFound,
// CodeCredentialRevoked.
func (s *Service) RotateCredential(ctx context.Context, id CredentialID, from Version, overlap time.Duration, intent Token) (c Credential, secret Secret, err error) {
	st := step{need: ActionCredentials, on: aCredential, name: string(id), verb: "rotate", detail: func() string {
		return fmt.Sprintf("from version %d, the secret before works for %s more", from, overlap)
	}}
	err = s.administer(ctx, st, func() (err error) {
		if overlap < 0 || overlap > MaxOverlap || overlap%time.Second != 0 {
			return Errorf(CodeInvalidRequest, "the overlap must be 0 to %d whole seconds", int(MaxOverlap/time.Second))
		}
		secret = newSecret(id)
		c, err = s.alter(ctx, id, from, func(c *Credential) (bool, error) {
			if intent != "" && c.RotatedFor == intent {
				secret = ""
				return false, nil
			}
			return true, s.rotate(ctx, c, secret, overlap, intent)
		})
		return err
	})
	if err != nil {
		return Credential{}, "", err
	}
	return c.public(), secret, nil
}

// rotate puts the secret in the place of the credential's.
func (s *Service) rotate(ctx context.Context, c *Credential, secret Secret, overlap time.Duration, intent Token) error {
	if err := s.checkOwn(ctx, *c); err != nil {
		return err
	}
	now := s.second()
	c.PreviousHash, c.PreviousUntil = "", time.Time{}
	if overlap > 0 {
		c.PreviousHash, c.PreviousUntil = c.Hash, earlier(c.Expires, now.Add(overlap))
	}
	c.Hash, c.Rotated, c.RotatedFor = secret.hash(), now, intent
	return nil
}

// RevokeCredential ends it for good, for whoever verifies it afresh at once. from 0 is whatever version it is at. One that
// was revoked before is a success. Needs ActionCredentials, whatever scopes it has. CodeVersionMismatch,
// CodeCredentialNotFound.
func (s *Service) RevokeCredential(ctx context.Context, id CredentialID, from Version) (c Credential, err error) {
	st := step{need: ActionCredentials, on: aCredential, name: string(id), verb: "revoke", detail: func() string {
		return fmt.Sprintf("from version %d", from)
	}}
	err = s.administer(ctx, st, func() (err error) {
		c, err = s.alter(ctx, id, from, func(c *Credential) (bool, error) {
			if !c.Revoked.IsZero() {
				return false, nil
			}
			c.Revoked = s.second()
			return true, nil
		})
		return err
	})
	if err != nil {
		return Credential{}, err
	}
	return c.public(), nil
}

// changeTries is how often a change is tried that goes from whatever version there is, while others change it too.
const changeTries = 5

// alter reads the credential, lets edit change it, and puts it in the place of what was read, which is at version from (0:
// whatever it is at). edit says whether there is anything to do; it may be asked again.
func (s *Service) alter(ctx context.Context, id CredentialID, from Version, edit func(c *Credential) (todo bool, err error)) (Credential, error) {
	defer s.verified.forget(id) // after a failure too: the outcome may be unknown
	var last error
	for range changeTries {
		c, err := s.store.Credential(ctx, id)
		if err != nil {
			return Credential{}, err
		}
		at := c.Version
		todo, err := edit(&c)
		if err != nil || !todo {
			return c, err
		}
		if from != 0 && from != at {
			if last != nil {
				return Credential{}, last
			}
			return Credential{}, VersionMismatch("credential", string(id), at)
		}
		var changed Credential
		err = insist(func() (err error) {
			changed, err = s.store.ChangeCredential(ctx, at, c)
			return err
		})
		if !Is(err, CodeVersionMismatch) {
			return changed, err
		}
		last = err
	}
	return Credential{}, Errorf(CodeBusy, "others are changing the same thing all the time; repeat the request").Because(last).After(retrySoon)
}

// own reads a credential that the caller may change: see checkOwn.
func (s *Service) own(ctx context.Context, id CredentialID) (Credential, error) {
	c, err := s.store.Credential(ctx, id)
	if err != nil {
		return Credential{}, err
	}
	return c, s.checkOwn(ctx, c)
}

// checkOwn refuses to change a credential that was revoked, or that can do more than the caller: CodeCredentialRevoked,
// CodeForbidden.
func (s *Service) checkOwn(ctx context.Context, c Credential) error {
	caller, err := s.someone(ctx)
	if err != nil {
		return err
	}
	if err := c.within(caller); err != nil {
		return err
	}
	return c.checkRevoked()
}

// insist makes a call of the Store once more if its outcome is unknown, with the same arguments: a repeat. What it makes
// may be lost with the answer, as a secret is, which cannot be told again.
func insist(call func() error) error {
	err := call()
	if e, ok := errors.AsType[*Error](err); !ok || !e.Unknown {
		return err
	}
	if err = call(); err == nil {
		return nil
	}
	e := *asError(err)
	e.Unknown = true // of the first call
	return &e
}

// second is the present time in whole seconds, as Stores keep it.
func (s *Service) second() time.Time { return s.now().UTC().Truncate(time.Second) }

// wholeSeconds is a time as Stores keep it. Zero, which is never, stays zero, and nothing else becomes it.
func wholeSeconds(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	whole := t.UTC().Truncate(time.Second)
	if whole.IsZero() {
		return whole.Add(time.Second)
	}
	return whole
}
