package alloc_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

func TestVerifyTellsWhoItIs(t *testing.T) {
	o := newOffice(t)
	c, secret := o.create(t)
	got, err := o.Verify(t.Context(), string(secret))
	want := alloc.Caller{Client: c.Client, Scopes: c.Scopes, Credential: c.ID, Quota: c.Quota, Expires: c.Expires}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("the caller (-want +got): %v\n%s", err, diff)
	}
	o.clock.Advance(48*time.Hour - time.Second)
	if !o.works(t, secret) {
		t.Error("it has a second left")
	}
	o.clock.Advance(time.Second)
	if o.works(t, secret) {
		t.Error("it has expired")
	}
}

// What cannot be a secret costs nothing; what can costs one read, whoever's it is, when it was used a moment before.
func TestVerifyReadsOnce(t *testing.T) {
	o := newOffice(t)
	c, secret := o.create(t)
	if !o.works(t, secret) {
		t.Fatal("it does not work")
	}
	before := len(o.store.Calls())
	for _, text := range []string{"", "x", "idpool_", string(secret) + "a", string(secret)[:58], strings.ToUpper(string(secret)), string(secret)[:58] + "1"} {
		_, err := o.Verify(t.Context(), text)
		wantCode(t, err, alloc.CodeUnauthenticated)
	}
	if n := len(o.store.Calls()) - before; n != 0 {
		t.Errorf("%d calls of the Store for what is no secret", n)
	}
	for i, other := range []alloc.Secret{secret, alloc.NewSecret(c.ID), alloc.NewSecret("aaaaaaaaaaaa")} {
		before := len(o.store.Calls())
		if works := o.works(t, other); works != (i == 0) {
			t.Errorf("secret %d works: %t", i, works)
		}
		if calls := o.store.Calls()[before:]; len(calls) != 1 || calls[0].Method != "Credential" {
			t.Errorf("secret %d made the calls %+v, want one read", i, calls)
		}
	}
}

// A Store that does not answer is no reason to turn anybody away for good.
func TestAStoreThatFailsRefusesNobody(t *testing.T) {
	for _, trusts := range []time.Duration{0, time.Minute} {
		o := newOffice(t)
		_, secret := o.create(t)
		s := o.another(t, trusts)
		for fault, code := range map[alloctest.Fault]alloc.Code{
			alloctest.Refused: alloc.CodeUnavailable, alloctest.RefusedUnknown: alloc.CodeUnavailable, alloctest.Throttled: alloc.CodeThrottled,
		} {
			o.store.SetPlan(alloctest.Script("Credential", fault))
			_, err := s.Verify(t.Context(), string(secret))
			wantCode(t, err, code)
		}
		if _, err := s.Verify(t.Context(), string(secret)); err != nil {
			t.Errorf("when it answers again: %v", err)
		}
	}
}

// Whatever a stored credential lacks, nobody gets in by that.
func TestAStoredCredentialWithoutHashesIsNobodys(t *testing.T) {
	o := newOffice(t)
	secret := alloc.NewSecret("aaaaaaaaaaaa")
	for i, c := range []alloc.Credential{
		{}, {Hash: strings.Repeat("-", 64)}, {Hash: string(secret)}, {PreviousHash: strings.Repeat("0", 64), PreviousUntil: o.clock.Now().Add(time.Hour)},
	} {
		c.ID, c.Client, c.Scopes = "aaaaaaaaaaaa", "shop", alloc.AllScopes()
		m := alloctest.NewModel(o.clock.Now)
		if err := m.CreateCredential(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		_, err := newService(t, m).Verify(t.Context(), string(secret))
		if !alloc.Is(err, alloc.CodeUnauthenticated) {
			t.Errorf("%d: got %v", i, err)
		}
	}
}

func TestAnOverlapWithoutAnEndIsOver(t *testing.T) {
	o := newOffice(t)
	c, first := o.create(t)
	if _, _, err := o.RotateCredential(o.ctx, c.ID, 0, time.Hour, ""); err != nil {
		t.Fatal(err)
	}
	stored, err := o.model.Credential(t.Context(), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	stored.PreviousUntil = time.Time{}
	if _, err := o.model.ChangeCredential(t.Context(), 2, stored); err != nil {
		t.Fatal(err)
	}
	if o.works(t, first) {
		t.Error("a secret without an end of its overlap works")
	}
}

// A process that trusts what it verified reads once in a while, knows its own changes at once, and others' in time.
func TestVerifiedForATime(t *testing.T) {
	o := newOffice(t)
	o.Service = o.another(t, time.Minute)
	other := o.another(t, 0)
	c, secret := o.create(t)
	reads := func() int { return called(o.store, "Credential") }
	verified := func(works bool, reading int) {
		t.Helper()
		before := reads()
		if got := o.works(t, secret); got != works || reads()-before != reading {
			t.Errorf("it works: %t, after %d reads; want %t after %d", got, reads()-before, works, reading)
		}
	}
	verified(true, 1)
	verified(true, 0)
	o.clock.Advance(59 * time.Second)
	verified(true, 0)
	o.clock.Advance(time.Second)
	verified(true, 1)

	r := o.request()
	r.Scopes = r.Scopes[:1]
	if _, err := o.ChangeCredential(o.ctx, c.ID, 1, r); err != nil {
		t.Fatal(err)
	}
	if caller, err := o.Verify(t.Context(), string(secret)); err != nil || len(caller.Scopes) != 1 {
		t.Errorf("after a change: %+v, %v", caller, err)
	}
	if _, err := other.RevokeCredential(o.ctx, c.ID, 0); err != nil {
		t.Fatal(err)
	}
	verified(true, 0) // revoked by another process
	o.clock.Advance(time.Minute)
	verified(false, 1)
	verified(false, 1) // what is refused is not remembered

	c, secret = o.create(t)
	verified(true, 1)
	if _, err := o.RevokeCredential(o.ctx, c.ID, 0); err != nil {
		t.Fatal(err)
	}
	verified(false, 1)

	c, secret = o.create(t)
	verified(true, 1)
	if _, _, err := o.RotateCredential(o.ctx, c.ID, 0, 30*time.Second, ""); err != nil {
		t.Fatal(err)
	}
	verified(true, 1)
	o.clock.Advance(30 * time.Second) // less than a minute, but the overlap is over
	verified(false, 1)

	_, secret = o.create(t)
	o.clock.Advance(48*time.Hour - 10*time.Second)
	verified(true, 1)
	o.clock.Advance(10 * time.Second) // less than a minute, but it has expired
	verified(false, 1)
}

// A change that is made while the credential is being read is not covered by what was read before it.
func TestAChangeWhileVerifyingIsNotForgotten(t *testing.T) {
	o := newOffice(t)
	o.Service = o.another(t, time.Minute)
	c, secret := o.create(t)
	late := &lateRead{Store: o.store}
	s, err := alloc.NewService(alloc.Config{Store: late, Now: o.clock.Now, VerifyFor: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	late.after = func() {
		late.after = nil
		if _, err := s.RevokeCredential(o.ctx, c.ID, 0); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Verify(t.Context(), string(secret)); err != nil {
		t.Errorf("what was read before the revocation: %v", err)
	}
	_, err = s.Verify(t.Context(), string(secret))
	wantCode(t, err, alloc.CodeUnauthenticated)
}

func TestWhatIsVerifiedIsBounded(t *testing.T) {
	o := newOffice(t)
	o.Service = o.another(t, time.Minute)
	for i := range 2500 {
		_, secret := o.create(t)
		for range 2 { // read, then remembered
			if !o.works(t, secret) {
				t.Fatal("it should work")
			}
		}
		if n := o.Verified(); n > 1000 || n == 0 {
			t.Fatalf("%d are remembered after %d", n, i+1)
		}
	}
}

func TestVerifyForIsChecked(t *testing.T) {
	m := alloctest.NewModel(nil)
	for trusts, ok := range map[time.Duration]bool{0: true, time.Second: true, time.Minute: true, -1: false, time.Minute + 1: false, time.Hour: false} {
		if _, err := alloc.NewService(alloc.Config{Store: m, VerifyFor: trusts}); (err == nil) != ok {
			t.Errorf("%s: got %v, want it allowed: %t", trusts, err, ok)
		}
	}
}

// Who was verified may come back later: an authorizer's answer is kept by the gateway.
func TestACallerEndsWithItsCredential(t *testing.T) {
	for name, op := range operations {
		s, store, _ := newWorld(t, nil)
		for _, end := range []time.Duration{-time.Hour, 0} {
			caller := alloc.Caller{Client: "c", Scopes: alloc.AllScopes(), Expires: time.Now().Add(end)}
			if err := op.run(alloc.WithCaller(t.Context(), caller), s); !alloc.Is(err, alloc.CodeUnauthenticated) {
				t.Errorf("%s: got %v, want it refused", name, err)
			}
		}
		if calls := store.Calls(); len(calls) > 0 {
			t.Errorf("%s called the Store: %+v", name, calls)
		}
		caller := alloc.Caller{Client: "c", Scopes: alloc.AllScopes(), Expires: time.Now().Add(time.Hour)}
		err := op.run(alloc.WithCaller(t.Context(), caller), s)
		switch name {
		case "CreateCredential", "ChangeCredential", "RotateCredential": // of ones that never end
			if !alloc.Is(err, alloc.CodeForbidden) {
				t.Errorf("%s before the end: %v, want it forbidden", name, err)
			}
		default:
			if err != nil {
				t.Errorf("%s before the end: %v", name, err)
			}
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	for _, trusts := range []time.Duration{0, time.Minute} {
		b.Run(fmt.Sprintf("trusted for %s", trusts), func(b *testing.B) {
			o := newOffice(b)
			_, secret := o.create(b)
			s := o.another(b, trusts)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Verify(b.Context(), string(secret)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// lateRead is a Store in which something happens between a read of a credential and its answer.
type lateRead struct {
	alloc.Store
	after func()
}

func (l *lateRead) Credential(ctx context.Context, id alloc.CredentialID) (alloc.Credential, error) {
	c, err := l.Store.Credential(ctx, id)
	if l.after != nil {
		l.after()
	}
	return c, err
}
