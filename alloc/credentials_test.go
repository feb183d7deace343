package alloc_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// office is a Service with a clock, and a context of an administrator.
type office struct {
	*alloc.Service
	ctx   context.Context
	model *alloctest.Model
	store *alloctest.Faulty
	clock *alloctest.Clock
}

func newOffice(t testing.TB) *office {
	t.Helper()
	o := &office{ctx: asAdmin(t.Context()), clock: alloctest.NewClock()}
	o.model = alloctest.NewModel(o.clock.Now)
	o.store = alloctest.NewFaulty(o.model, nil)
	o.Service = o.another(t, 0)
	return o
}

// another is another process, which trusts what it verified for a time.
func (o *office) another(t testing.TB, trusts time.Duration) *alloc.Service {
	t.Helper()
	s, err := alloc.NewService(alloc.Config{Store: o.store, Now: o.clock.Now, VerifyFor: trusts, Encoders: encoders})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// request is one that is allowed.
func (o *office) request() alloc.CredentialRequest {
	return alloc.CredentialRequest{
		Client: "shop", Description: "the web shop", Scopes: []alloc.Scope{{Action: alloc.ActionClaim, Pattern: "team-a.*"}, {Action: alloc.ActionRead, Pattern: "x"}},
		Quota: 1000, Expires: o.clock.Now().Add(48 * time.Hour),
	}
}

func (o *office) create(t testing.TB) (alloc.Credential, alloc.Secret) {
	t.Helper()
	c, secret, err := o.CreateCredential(o.ctx, o.request())
	if err != nil {
		t.Fatal(err)
	}
	return c, secret
}

// works reports whether the secret is verified.
func (o *office) works(t testing.TB, secret alloc.Secret) bool {
	t.Helper()
	_, err := o.Verify(t.Context(), string(secret))
	if err != nil {
		wantCode(t, err, alloc.CodeUnauthenticated)
	}
	return err == nil
}

func TestACredentialIsMadeOnceAndShownWithoutItsHashes(t *testing.T) {
	o := newOffice(t)
	c, secret := o.create(t)
	r := o.request()
	want := alloc.Credential{
		ID: c.ID, Client: r.Client, Description: r.Description, Scopes: r.Scopes, Quota: r.Quota, Expires: r.Expires,
		Version: 1, Created: o.clock.Now(), Rotated: o.clock.Now(),
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("the credential (-want +got):\n%s", diff)
	}
	if id, ok := secret.Credential(); !ok || id != c.ID || !o.works(t, secret) {
		t.Errorf("its secret is %s", secret)
	}
	want.LastUsed = o.clock.Now() // just now, to see that it works
	read, err := o.Credential(o.ctx, c.ID)
	if diff := cmp.Diff(want, read); diff != "" || err != nil {
		t.Errorf("read again (-want +got): %v\n%s", err, diff)
	}
	list, _, err := o.Credentials(o.ctx, "", 10)
	if diff := cmp.Diff([]alloc.Credential{want}, list); diff != "" || err != nil {
		t.Errorf("the list (-want +got): %v\n%s", err, diff)
	}
	stored, err := o.model.Credential(t.Context(), c.ID)
	if err != nil || len(stored.Hash) != 64 || strings.Contains(fmt.Sprintf("%+v", stored), string(secret)[20:]) {
		t.Errorf("stored is %+v, %v", stored, err)
	}
	for _, r := range trail(t, o.model) {
		if text := fmt.Sprintf("%+v", r); strings.Contains(text, string(secret)[20:]) || strings.Contains(text, stored.Hash) {
			t.Errorf("the trail tells the secret: %s", text)
		}
	}
}

func TestWhatNoCredentialCanBeIsRefused(t *testing.T) {
	o := newOffice(t)
	kept, _ := o.create(t)
	for what, edit := range map[string]func(r *alloc.CredentialRequest){
		"no client":             func(r *alloc.CredentialRequest) { r.Client = "" },
		"a client with a space": func(r *alloc.CredentialRequest) { r.Client = "the shop" },
		"the reserved client":   func(r *alloc.CredentialRequest) { r.Client = "default" },
		"the schedule's client": func(r *alloc.CredentialRequest) { r.Client = "schedule" },
		"the pages' client":     func(r *alloc.CredentialRequest) { r.Client = "local" },
		"a long description":    func(r *alloc.CredentialRequest) { r.Description = strings.Repeat("x", 201) },
		"a description of ours": func(r *alloc.CredentialRequest) { r.Description = "a\x00b" },
		"no scope":              func(r *alloc.CredentialRequest) { r.Scopes = nil },
		"too many scopes":       func(r *alloc.CredentialRequest) { r.Scopes = slices.Repeat(r.Scopes, 26) },
		"a scope of nothing":    func(r *alloc.CredentialRequest) { r.Scopes = []alloc.Scope{{Action: "claims", Pattern: "*"}} },
		"a pattern of nothing":  func(r *alloc.CredentialRequest) { r.Scopes = []alloc.Scope{{Action: "claim", Pattern: ""}} },
		"a negative quota":      func(r *alloc.CredentialRequest) { r.Quota = -1 },
		"too high a quota":      func(r *alloc.CredentialRequest) { r.Quota = alloc.MaxQuota + 1 },
		"an end now":            func(r *alloc.CredentialRequest) { r.Expires = o.clock.Now() },
		"an end past":           func(r *alloc.CredentialRequest) { r.Expires = o.clock.Now().Add(-time.Second) },
		"an end in the year 1":  func(r *alloc.CredentialRequest) { r.Expires = time.Time{}.Add(time.Nanosecond) },
		"an end far away":       func(r *alloc.CredentialRequest) { r.Expires = o.clock.Now().Add(alloc.MaxExpiry + time.Second) },
	} {
		t.Run(what, func(t *testing.T) {
			r := o.request()
			edit(&r)
			_, secret, err := o.CreateCredential(o.ctx, r)
			wantCode(t, err, alloc.CodeInvalidRequest)
			if secret != "" {
				t.Error("it was told a secret")
			}
			if strings.Contains(what, "no client") {
				return // left out in a change: it stays
			}
			_, err = o.ChangeCredential(o.ctx, kept.ID, 1, r)
			wantCode(t, err, alloc.CodeInvalidRequest)
		})
	}
	if list, _, err := o.Credentials(o.ctx, "", 100); err != nil || len(list) != 1 || list[0].Version != 1 {
		t.Errorf("there are %+v, %v, want the first one as it was", list, err)
	}
}

// Nobody gives, or takes over, what he does not have.
func TestACallerGivesWhatItHas(t *testing.T) {
	manager := func(quota alloc.Count, scopes ...alloc.Scope) alloc.Caller { // one with a quota gives nothing at all
		scopes = append(scopes, alloc.Scope{Action: alloc.ActionCredentials, Pattern: "*"})
		return alloc.Caller{Client: "manager", Scopes: scopes, Quota: quota}
	}
	claim := func(pattern string) alloc.Scope { return alloc.Scope{Action: alloc.ActionClaim, Pattern: pattern} }
	all := func(pattern string) alloc.Scope { return alloc.Scope{Action: "*", Pattern: pattern} }
	tests := []struct {
		caller  alloc.Caller
		scope   alloc.Scope
		quota   alloc.Count
		allowed bool
	}{
		{manager(0, all("*")), all("*"), 0, true},
		{manager(0, claim("*")), claim("*"), 0, true},
		{manager(0, claim("*")), claim("a*"), 0, true},
		{manager(0, claim("a*")), claim("a*"), 0, true},
		{manager(0, claim("a*")), claim("a"), 0, true},
		{manager(0, claim("a*")), claim("ab"), 0, true},
		{manager(0, claim("a*")), claim("ab*"), 0, true},
		{manager(0, all("a*")), claim("ab*"), 0, true},
		{manager(0, claim("b"), claim("a")), claim("a"), 0, true},
		{manager(0), alloc.Scope{Action: alloc.ActionCredentials, Pattern: "*"}, 0, true},
		{manager(0), claim("a"), 0, false},
		{manager(0, claim("a")), claim("a*"), 0, false},
		{manager(0, claim("a")), claim("ab"), 0, false},
		{manager(0, claim("ab*")), claim("a*"), 0, false},
		{manager(0, claim("ab*")), claim("*"), 0, false},
		{manager(0, claim("a*")), all("a*"), 0, false},
		{manager(0, claim("*")), all("*"), 0, false},
		{manager(0, claim("*")), alloc.Scope{Action: alloc.ActionRead, Pattern: "a"}, 0, false},
		{manager(0, all("*")), claim("a"), 10, true},
		{manager(10, all("*")), claim("a"), 10, false},
		{manager(10, all("*")), claim("a"), 1, false},
		{manager(10, all("*")), claim("a"), 11, false},
		{manager(10, all("*")), claim("a"), 0, false},
	}
	for _, c := range tests {
		t.Run(fmt.Sprintf("%v of %d gives %v of %d", c.caller.Scopes, c.caller.Quota, c.scope, c.quota), func(t *testing.T) {
			o := newOffice(t)
			ctx := alloc.WithCaller(t.Context(), c.caller)
			r := alloc.CredentialRequest{Client: "shop", Scopes: []alloc.Scope{c.scope}, Quota: c.quota}
			narrow := alloc.CredentialRequest{Client: "shop", Scopes: []alloc.Scope{{Action: alloc.ActionCredentials, Pattern: "*"}}, Quota: 1}
			there, _, err := o.CreateCredential(o.ctx, r) // by somebody who may
			if err != nil {
				t.Fatal(err)
			}
			small, _, err := o.CreateCredential(o.ctx, narrow)
			if err != nil {
				t.Fatal(err)
			}
			_, secret, err := o.CreateCredential(ctx, r)
			check := func(what string, err error) {
				t.Helper()
				if c.allowed && err != nil || !c.allowed && !alloc.Is(err, alloc.CodeForbidden) {
					t.Errorf("%s: got %v, want it allowed: %t", what, err, c.allowed)
				}
			}
			check("create", err)
			if (secret != "") != c.allowed {
				t.Errorf("told a secret: %t, want %t", secret != "", c.allowed)
			}
			_, err = o.ChangeCredential(ctx, small.ID, 1, r)
			check("change to it", err)
			_, secret, err = o.RotateCredential(ctx, there.ID, 0, 0, "")
			check("rotate", err)
			if (secret != "") != c.allowed {
				t.Errorf("told a secret: %t, want %t", secret != "", c.allowed)
			}
			_, err = o.ChangeCredential(ctx, there.ID, there.Version+map[bool]alloc.Version{true: 1}[c.allowed], narrow)
			check("change from it", err)
			if _, err = o.RevokeCredential(ctx, there.ID, 0); err != nil {
				t.Errorf("revoke takes nothing over: %v", err)
			}
		})
	}
}

func TestChangeCredential(t *testing.T) {
	o := newOffice(t)
	c, secret := o.create(t)
	r := o.request()
	r.Client, r.Description, r.Quota, r.Expires = "", "another", 0, time.Time{}
	changed, err := o.ChangeCredential(o.ctx, c.ID, 1, r)
	want := c
	want.Version, want.Description, want.Quota, want.Expires = 2, "another", 0, time.Time{}
	if diff := cmp.Diff(want, changed); diff != "" || err != nil {
		t.Fatalf("changed (-want +got): %v\n%s", err, diff)
	}
	if again, err := o.ChangeCredential(o.ctx, c.ID, 1, r); err != nil || again.Version != 2 {
		t.Errorf("the repeat: %+v, %v, want the same", again, err)
	}
	if !o.works(t, secret) {
		t.Error("its secret should work as before")
	}
	r.Description = "a third"
	for _, from := range []alloc.Version{0, 1, 3} {
		_, err := o.ChangeCredential(o.ctx, c.ID, from, r)
		if e := wantCode(t, err, alloc.CodeVersionMismatch); e.Current != 2 {
			t.Errorf("from %d: the current version is told as %d, want 2", from, e.Current)
		}
	}
	r.Client = "other"
	_, err = o.ChangeCredential(o.ctx, c.ID, 2, r)
	wantCode(t, err, alloc.CodeInvalidRequest)
	for _, id := range []alloc.CredentialID{"aaaaaaaaaaaa", "", "A", "../../x", alloc.CredentialID(strings.Repeat("a", 300))} {
		_, err := o.ChangeCredential(o.ctx, id, 1, o.request())
		wantCode(t, err, alloc.CodeCredentialNotFound)
		_, err = o.Credential(o.ctx, id)
		wantCode(t, err, alloc.CodeCredentialNotFound)
		_, _, err = o.RotateCredential(o.ctx, id, 0, 0, "")
		wantCode(t, err, alloc.CodeCredentialNotFound)
		_, err = o.RevokeCredential(o.ctx, id, 0)
		wantCode(t, err, alloc.CodeCredentialNotFound)
	}
}

func TestAnExpiredCredentialMayBeChanged(t *testing.T) {
	o := newOffice(t)
	c, secret := o.create(t)
	o.clock.Advance(48 * time.Hour)
	if o.works(t, secret) {
		t.Fatal("it should have expired")
	}
	r := o.request()
	r.Description, r.Expires = "over", c.Expires
	if c, err := o.ChangeCredential(o.ctx, c.ID, 1, r); err != nil || !c.Expires.Equal(r.Expires) {
		t.Fatalf("as it has expired: %+v, %v", c, err)
	}
	r.Expires = o.clock.Now().Add(time.Hour)
	if _, err := o.ChangeCredential(o.ctx, c.ID, 2, r); err != nil || !o.works(t, secret) {
		t.Errorf("with another end: %v, it works: %t", err, o.works(t, secret))
	}
}

func TestRotation(t *testing.T) {
	o := newOffice(t)
	c, first := o.create(t)
	o.clock.Advance(time.Minute)
	c, second, err := o.RotateCredential(o.ctx, c.ID, 1, time.Hour, "")
	if err != nil || c.Version != 2 || second == first || second == "" || !c.PreviousUntil.Equal(o.clock.Now().Add(time.Hour)) || !c.Rotated.Equal(o.clock.Now()) {
		t.Fatalf("got %+v, %v", c, err)
	}
	if !o.works(t, first) || !o.works(t, second) {
		t.Error("in the overlap both should work")
	}
	if caller, err := o.Verify(t.Context(), string(first)); err != nil || !caller.Expires.Equal(c.PreviousUntil) {
		t.Errorf("by the first secret the caller is %+v, %v, want it to end with the overlap", caller, err)
	}
	_, _, err = o.RotateCredential(o.ctx, c.ID, 1, 0, "")
	wantCode(t, err, alloc.CodeVersionMismatch)
	o.clock.Advance(time.Hour - time.Second)
	if !o.works(t, first) {
		t.Error("the overlap has a second left")
	}
	o.clock.Advance(time.Second)
	if o.works(t, first) || !o.works(t, second) {
		t.Error("after the overlap the second alone should work")
	}
	_, third, err := o.RotateCredential(o.ctx, c.ID, 0, 30*time.Hour, "")
	if err != nil {
		t.Fatal(err)
	}
	_, fourth, err := o.RotateCredential(o.ctx, c.ID, 0, time.Hour, "")
	if err != nil || o.works(t, second) || !o.works(t, third) || !o.works(t, fourth) {
		t.Errorf("of four secrets the last two should work: %v", err)
	}
	if _, fifth, err := o.RotateCredential(o.ctx, c.ID, 0, 0, ""); err != nil || o.works(t, fourth) || !o.works(t, fifth) {
		t.Errorf("without an overlap the last alone should work: %v", err)
	}
	for _, overlap := range []time.Duration{-1, -time.Second, alloc.MaxOverlap + time.Second, time.Millisecond} {
		_, _, err := o.RotateCredential(o.ctx, c.ID, 0, overlap, "")
		wantCode(t, err, alloc.CodeInvalidRequest)
	}
}

func TestARevokedCredentialStaysSo(t *testing.T) {
	o := newOffice(t)
	c, secret := o.create(t)
	_, _, err := o.RotateCredential(o.ctx, c.ID, 1, time.Hour, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = o.RevokeCredential(o.ctx, c.ID, 1)
	if e := wantCode(t, err, alloc.CodeVersionMismatch); e.Current != 2 || !o.works(t, secret) {
		t.Errorf("the current version is told as %d, want 2 and nothing done", e.Current)
	}
	c, err = o.RevokeCredential(o.ctx, c.ID, 2)
	if err != nil || c.Version != 3 || !c.Revoked.Equal(o.clock.Now()) || o.works(t, secret) {
		t.Fatalf("got %+v, %v", c, err)
	}
	o.clock.Advance(time.Minute)
	for _, from := range []alloc.Version{0, 2, 3} {
		if again, err := o.RevokeCredential(o.ctx, c.ID, from); err != nil || !again.Revoked.Equal(c.Revoked) || again.Version != 3 {
			t.Errorf("revoked again from %d: %+v, %v", from, again, err)
		}
	}
	_, err = o.ChangeCredential(o.ctx, c.ID, 3, o.request())
	wantCode(t, err, alloc.CodeCredentialRevoked)
	_, revived, err := o.RotateCredential(o.ctx, c.ID, 0, 0, "")
	if wantCode(t, err, alloc.CodeCredentialRevoked); revived != "" {
		t.Error("a secret was told")
	}
}
