package alloc_test

import (
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// kept counts how often the Store was asked to keep a use.
func (o *office) kept() (n int) {
	for _, c := range o.store.Calls() {
		if c.Method == "UseCredential" {
			n++
		}
	}
	return n
}

func TestAUseIsKeptOnceInSomeMinutes(t *testing.T) {
	o := newOffice(t)
	c, secret := o.create(t)
	first := o.clock.Now()
	lastUsed := func(want time.Time) {
		t.Helper()
		if got, err := o.Credential(o.ctx, c.ID); err != nil || !got.LastUsed.Equal(want) {
			t.Errorf("last used %v, want %v (%v)", got.LastUsed, want, err)
		}
		list, _, err := o.Credentials(o.ctx, "", 10)
		if err != nil || len(list) != 1 || !list[0].LastUsed.Equal(want) {
			t.Errorf("the list has %v, want %v (%v)", list, want, err)
		}
	}
	lastUsed(time.Time{})
	if o.works(t, alloc.NewSecret(c.ID)); o.kept() != 0 {
		t.Error("a wrong secret uses a credential")
	}
	for range 100 {
		if !o.works(t, secret) {
			t.Fatal("it does not work")
		}
	}
	if lastUsed(first); o.kept() != 1 {
		t.Errorf("%d writes for a hundred requests, want one", o.kept())
	}
	o.clock.Advance(alloc.UsedEvery + time.Second)
	o.works(t, secret)
	if lastUsed(o.clock.Now()); o.kept() != 2 {
		t.Errorf("%d writes, want one more", o.kept())
	}
}

// Whatever becomes of what is kept of it, a request is served.
func TestAUseThatCannotBeKeptRefusesNobody(t *testing.T) {
	for _, fault := range []alloctest.Fault{alloctest.Refused, alloctest.RefusedUnknown, alloctest.Throttled, alloctest.AppliedButFailed, alloctest.Delayed} {
		o := newOffice(t)
		_, secret := o.create(t)
		o.store.SetPlan(alloctest.Script("UseCredential", fault, fault))
		for range 3 {
			if !o.works(t, secret) {
				t.Errorf("%v: it does not work", fault)
			}
		}
		if o.kept() != 1 {
			t.Errorf("%v: %d attempts, want one in its time", fault, o.kept())
		}
	}
}
