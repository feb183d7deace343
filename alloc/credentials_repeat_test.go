package alloc_test

import (
	"sync"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// faults are those after which a client repeats what it asked for.
var faults = map[string]alloctest.Fault{
	"refused": alloctest.Refused, "refused unknown": alloctest.RefusedUnknown, "applied but failed": alloctest.AppliedButFailed, "throttled": alloctest.Throttled,
}

// cutOff runs do with each fault at each of its calls of the Store, in a world of its own.
func cutOff(t *testing.T, do func(t *testing.T, o *office, arm func())) {
	t.Helper()
	for how, fault := range faults {
		for at := 0; ; at++ {
			o := newOffice(t)
			hit := false
			arm := func() {
				n := 0
				o.store.SetPlan(func(alloctest.Call) alloctest.Fault {
					if n++; n == at+1 {
						hit = true
						return fault
					}
					return alloctest.Pass
				})
			}
			do(t, o, arm)
			if t.Failed() {
				t.Fatalf("with call %d %s", at, how)
			}
			if !hit {
				break
			}
			if at > 50 {
				t.Fatal("the calls do not end")
			}
		}
	}
}

// However a creation is cut off, its repeats make one credential, and a secret that is told works.
func TestARepeatedCreationMakesOneCredential(t *testing.T) {
	cutOff(t, func(t *testing.T, o *office, arm func()) {
		r := o.request()
		r.Intent = "INTENT"
		arm()
		var told alloc.Secret
		for range 3 {
			_, secret, err := o.CreateCredential(o.ctx, r)
			if secret != "" && (err != nil || told != "") {
				t.Errorf("a secret was told with %v, or twice", err)
			}
			if secret != "" {
				told = secret
			}
			if err != nil && !alloctest.Injected(err) {
				t.Errorf("got %v", err)
			}
		}
		o.store.SetPlan(nil)
		list, _, err := o.Credentials(o.ctx, "", 10)
		if err != nil || len(list) != 1 || list[0].Version != 1 {
			t.Errorf("there are %+v, %v, want one", list, err)
		}
		if told != "" && !o.works(t, told) {
			t.Error("the secret that was told does not work")
		}
	})
}

// However a rotation is cut off, its repeats rotate once: the secret in use works through the overlap.
func TestARepeatedRotationRotatesOnce(t *testing.T) {
	for _, from := range []alloc.Version{0, 1} {
		cutOff(t, func(t *testing.T, o *office, arm func()) {
			c, first := o.create(t)
			arm()
			var told alloc.Secret
			for range 3 {
				rotated, secret, err := o.RotateCredential(o.ctx, c.ID, from, time.Hour, "INTENT")
				if err != nil && !alloctest.Injected(err) {
					t.Errorf("got %v", err)
				}
				if err == nil && (rotated.Version != 2 || secret != "" && told != "") {
					t.Errorf("it is at version %d, want 2, and the secret told once", rotated.Version)
				}
				if secret != "" {
					told = secret
				}
			}
			o.store.SetPlan(nil)
			if !o.works(t, first) || told != "" && !o.works(t, told) {
				t.Errorf("the first works: %t, the one that was told: %t", o.works(t, first), told == "" || o.works(t, told))
			}
			if told == "" { // the client rotates again, by another intent
				_, again, err := o.RotateCredential(o.ctx, c.ID, 0, time.Hour, "ANOTHER")
				if err != nil || !o.works(t, again) {
					t.Errorf("rotated again: %v", err)
				}
			}
		})
	}
}

// An answer that is lost on its way from the Store does not lose the secret.
func TestASecretOutlivesALostAnswer(t *testing.T) {
	o := newOffice(t)
	o.store.SetPlan(alloctest.Script("CreateCredential", alloctest.AppliedButFailed))
	c, secret := o.create(t)
	if !o.works(t, secret) {
		t.Error("the secret does not work")
	}
	o.store.SetPlan(alloctest.Script("ChangeCredential", alloctest.AppliedButFailed))
	rotated, secret, err := o.RotateCredential(o.ctx, c.ID, 0, 0, "")
	if err != nil || rotated.Version != 2 || !o.works(t, secret) {
		t.Errorf("rotated to %+v, %v", rotated, err)
	}
	o.store.SetPlan(alloctest.Script("ChangeCredential", alloctest.AppliedButFailed, alloctest.Refused))
	_, secret, err = o.RotateCredential(o.ctx, c.ID, 0, 0, "")
	if e := wantCode(t, err, alloc.CodeUnavailable); !e.Unknown || secret != "" {
		t.Errorf("an unknown outcome and a refusal are together %+v, want it unknown", e)
	}
}

// Attempts with one intent at once make one credential and rotate it once.
func TestAttemptsAtOnceAreOne(t *testing.T) {
	o := newOffice(t)
	r := o.request()
	r.Intent = "INTENT"
	secrets := make(chan alloc.Secret, 40)
	var all sync.WaitGroup
	var id alloc.CredentialID
	var mu sync.Mutex
	for range 20 {
		all.Go(func() {
			c, secret, err := o.CreateCredential(o.ctx, r)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			id = c.ID
			mu.Unlock()
			secrets <- secret
		})
	}
	all.Wait()
	one := func() (told alloc.Secret) {
		t.Helper()
		for range 20 {
			if s := <-secrets; s != "" && told != "" {
				t.Error("two secrets were told")
			} else if s != "" {
				told = s
			}
		}
		if !o.works(t, told) {
			t.Error("the secret does not work")
		}
		return told
	}
	first := one()
	for range 20 {
		all.Go(func() {
			_, secret, err := o.RotateCredential(o.ctx, id, 0, time.Hour, "TURN")
			if err != nil {
				t.Error(err)
			}
			secrets <- secret
		})
	}
	all.Wait()
	one()
	if c, err := o.Credential(o.ctx, id); err != nil || c.Version != 2 || !o.works(t, first) {
		t.Errorf("it is %+v, %v, and the first secret works: %t", c, err, o.works(t, first))
	}
}

// Changes of whatever version there is come through beside others.
func TestRotationsAndRevocationsBesideOthers(t *testing.T) {
	o := newOffice(t)
	c, _ := o.create(t)
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			_, _, err := o.RotateCredential(o.ctx, c.ID, 0, time.Hour, "")
			if err != nil && !alloc.Is(err, alloc.CodeCredentialRevoked) && !alloc.Is(err, alloc.CodeBusy) {
				t.Error(err)
			}
		})
	}
	all.Go(func() {
		_, err := o.RevokeCredential(o.ctx, c.ID, 0)
		for alloc.Is(err, alloc.CodeBusy) {
			_, err = o.RevokeCredential(o.ctx, c.ID, 0)
		}
		if err != nil {
			t.Error(err)
		}
	})
	all.Wait()
	if c, err := o.Credential(o.ctx, c.ID); err != nil || c.Revoked.IsZero() {
		t.Errorf("it is %+v, %v, want it revoked", c, err)
	}
}
