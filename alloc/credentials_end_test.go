package alloc_test

import (
	"context"
	"testing"
	"time"

	"idpool/alloc"
)

// clerk is a caller that may make credentials of the shop until its end.
func (o *office) clerk(t testing.TB, end time.Time) context.Context {
	t.Helper()
	return alloc.WithCaller(t.Context(), alloc.Caller{Client: "clerk", Scopes: alloc.AllScopes(), Credential: "aaaabbbbcccc", Expires: end})
}

// Nobody gives, or takes over, what outlives him.
func TestACallerGivesNoLaterEndThanItHas(t *testing.T) {
	for _, c := range []struct {
		when    string
		end     time.Duration // of what is given; the caller has an hour. 0 for never
		allowed bool
	}{
		{"earlier", time.Minute, true},
		{"the same", time.Hour, true},
		{"a second later", time.Hour + time.Second, false},
		{"never", 0, false},
	} {
		t.Run(c.when, func(t *testing.T) {
			o := newOffice(t)
			until := func(d time.Duration) alloc.CredentialRequest {
				r := o.request()
				if r.Expires = o.clock.Now().Add(d); d == 0 {
					r.Expires = time.Time{}
				}
				return r
			}
			there, _, err := o.CreateCredential(o.ctx, until(c.end))
			if err != nil {
				t.Fatal(err)
			}
			short, _, err := o.CreateCredential(o.ctx, until(time.Second))
			if err != nil {
				t.Fatal(err)
			}
			ctx := o.clerk(t, o.clock.Now().Add(time.Hour))
			check := func(what string, told alloc.Secret, err error) {
				t.Helper()
				if c.allowed && err != nil || !c.allowed && (!alloc.Is(err, alloc.CodeForbidden) || told != "") {
					t.Errorf("%s: got %v, want it allowed: %t", what, err, c.allowed)
				}
			}
			_, secret, err := o.CreateCredential(ctx, until(c.end))
			check("create", secret, err)
			_, err = o.ChangeCredential(ctx, short.ID, 1, until(c.end))
			check("change to it", "", err)
			_, err = o.ChangeCredential(ctx, there.ID, 1, until(time.Minute))
			check("change from it", "", err)
			_, secret, err = o.RotateCredential(ctx, there.ID, 0, alloc.MaxOverlap, "")
			check("rotate", secret, err)
		})
	}
}

// A credential cannot take away its own end, nor can a secret that was replaced outlive its overlap by what it makes.
func TestNoCredentialProlongsItself(t *testing.T) {
	o := newOffice(t)
	r := alloc.CredentialRequest{Client: "ops", Scopes: alloc.AllScopes(), Expires: o.clock.Now().Add(48 * time.Hour)}
	c, first, err := o.CreateCredential(o.ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	by := func(secret alloc.Secret) context.Context {
		caller, err := o.Verify(t.Context(), string(secret))
		if err != nil {
			t.Fatal(err)
		}
		return alloc.WithCaller(t.Context(), caller)
	}
	r.Expires = time.Time{}
	_, err = o.ChangeCredential(by(first), c.ID, 1, r)
	wantCode(t, err, alloc.CodeForbidden)

	r.Expires = c.Expires
	if c, err = o.ChangeCredential(by(first), c.ID, 1, r); err != nil {
		t.Errorf("a change that leaves its end: %v", err)
	}
	c, second, err := o.RotateCredential(by(first), c.ID, 0, alloc.MaxOverlap, "")
	if err != nil || !c.PreviousUntil.Equal(c.Expires) {
		t.Fatalf("rotated to %+v, %v, want its overlap to end with it", c, err)
	}
	if c, second, err = o.RotateCredential(by(second), c.ID, 0, time.Hour, ""); err != nil {
		t.Fatal(err)
	}
	third := second // the one in use; the one before it works for an hour
	if _, second, err = o.RotateCredential(o.ctx, c.ID, 0, time.Hour, ""); err != nil {
		t.Fatal(err)
	}
	_, told, err := o.RotateCredential(by(third), c.ID, 0, 0, "")
	if wantCode(t, err, alloc.CodeForbidden); told != "" {
		t.Error("a secret in its overlap got itself another")
	}
	_, told, err = o.CreateCredential(by(third), r)
	if wantCode(t, err, alloc.CodeForbidden); told != "" {
		t.Error("a secret in its overlap made a credential that outlives it")
	}
	if _, _, err := o.RotateCredential(by(second), c.ID, 0, 0, ""); err != nil {
		t.Errorf("by the secret in use: %v", err)
	}
}

// Quotas would add up: whoever has one can make, change and rotate nothing, whatever quota it is to have.
func TestACallerWithAQuotaGivesNothing(t *testing.T) {
	o := newOffice(t)
	c, _ := o.create(t)
	ctx := alloc.WithCaller(t.Context(), alloc.Caller{Client: "shop", Scopes: alloc.AllScopes(), Credential: c.ID, Quota: 1000})
	_, told, err := o.CreateCredential(ctx, o.request())
	if wantCode(t, err, alloc.CodeForbidden); told != "" {
		t.Error("a secret was told")
	}
	r := o.request()
	r.Quota = 1
	_, err = o.ChangeCredential(ctx, c.ID, 1, r)
	wantCode(t, err, alloc.CodeForbidden)
	_, told, err = o.RotateCredential(ctx, c.ID, 0, 0, "")
	if wantCode(t, err, alloc.CodeForbidden); told != "" {
		t.Error("a secret was told")
	}
	if _, err := o.RevokeCredential(ctx, c.ID, 0); err != nil {
		t.Errorf("revoke: %v", err)
	}
}
