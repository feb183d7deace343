package alloctest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"idpool/alloc"
)

var credentialCases = []testCase{
	{"a credential is read back as it was made, at version 1", func(w *world) {
		full, bare := w.credential("aaaaaaaaaaaa"), alloc.Credential{
			ID: "bbbbbbbbbbbb", Client: "bare", Created: w.clock.Now(), Hash: someHash("bare"), Rotated: w.clock.Now(),
		}
		for _, c := range []alloc.Credential{full, bare} {
			c.Version = 7 // is the Store's to set
			w.ok(w.open().CreateCredential(w.Context(), c), "CreateCredential")
			c.Version = 1
			w.sameCredential(w.readCredential(c.ID), c)
		}
	}},
	{"a repeat of a creation with the same hash succeeds and changes nothing", func(w *world) {
		c := w.credential("aaaaaaaaaaaa")
		w.ok(w.open().CreateCredential(w.Context(), c), "CreateCredential")
		again := c
		again.Description, again.Quota, again.Scopes = "another", 7, nil
		w.ok(w.open().CreateCredential(w.Context(), again), "CreateCredential again")
		c.Version = 1
		w.sameCredential(w.readCredential(c.ID), c)
	}},
	{"a creation with the ID of another is refused as internal and changes nothing", func(w *world) {
		c := w.credential("aaaaaaaaaaaa")
		w.ok(w.open().CreateCredential(w.Context(), c), "CreateCredential")
		other := c
		other.Hash = someHash("other")
		w.want(w.open().CreateCredential(w.Context(), other), alloc.CodeInternal, "CreateCredential with the ID of another")
		c.Version = 1
		w.sameCredential(w.readCredential(c.ID), c)
	}},
	{"a credential that is not there is credential_not_found", func(w *world) {
		w.ok(w.open().CreateCredential(w.Context(), w.credential("aaaaaaaaaaaa")), "CreateCredential")
		_, err := w.open().Credential(w.Context(), "aaaaaaaaaaab")
		w.want(err, alloc.CodeCredentialNotFound, "Credential")
		_, err = w.open().ChangeCredential(w.Context(), 1, w.credential("aaaaaaaaaaab"))
		w.want(err, alloc.CodeCredentialNotFound, "ChangeCredential")
		_, err = w.open().Credential(w.Context(), "aaaaaaaaaaab")
		w.want(err, alloc.CodeCredentialNotFound, "Credential after the change")
	}},
	{"ChangeCredential replaces all but ID, client and creation, and raises the version", func(w *world) {
		c := w.credential("aaaaaaaaaaaa")
		w.ok(w.open().CreateCredential(w.Context(), c), "CreateCredential")
		w.clock.Advance(time.Hour)
		next := alloc.Credential{
			ID: c.ID, Client: "somebody else", Created: w.clock.Now(), Description: "changed, ä", Scopes: alloc.AllScopes(), Quota: alloc.MaxQuota,
			Version: 99, Expires: w.clock.Now().Add(time.Hour), Revoked: w.clock.Now(), Hash: someHash("next"), Rotated: w.clock.Now(), RotatedFor: "NEXT",
			PreviousHash: c.Hash, PreviousUntil: w.clock.Now().Add(time.Minute),
		}
		want := next
		want.Client, want.Created, want.Version = c.Client, c.Created, 2
		for range 3 { // the others are repeats
			got, err := w.open().ChangeCredential(w.Context(), 1, next)
			w.ok(err, "ChangeCredential")
			w.sameCredential(got, want)
			w.sameCredential(w.readCredential(c.ID), want)
		}
		bare := alloc.Credential{ID: c.ID, Hash: someHash("bare"), Rotated: w.clock.Now()}
		got, err := w.open().ChangeCredential(w.Context(), 2, bare)
		w.ok(err, "ChangeCredential to the least")
		bare.Client, bare.Created, bare.Version = c.Client, c.Created, 3
		w.sameCredential(got, bare)
		w.sameCredential(w.readCredential(c.ID), bare)
	}},
	{"a change is known again in its repeat whatever the fractions of its times", func(w *world) {
		c := w.credential("aaaaaaaaaaaa")
		w.ok(w.open().CreateCredential(w.Context(), c), "CreateCredential")
		c.Expires = time.Unix(w.clock.Now().Unix()+3600, 123_456_789).In(time.FixedZone("far", 7*3600))
		c.Rotated = time.Unix(w.clock.Now().Unix(), 999_999_999)
		for range 2 {
			got, err := w.open().ChangeCredential(w.Context(), 1, c)
			w.ok(err, "ChangeCredential")
			equal(w, got.Version, 2, "version")
		}
	}},
	{"ChangeCredential from another version is version_mismatch with the present one, and changes nothing", func(w *world) {
		c := w.credential("aaaaaaaaaaaa")
		w.ok(w.open().CreateCredential(w.Context(), c), "CreateCredential")
		c.Description = "second"
		_, err := w.open().ChangeCredential(w.Context(), 1, c)
		w.ok(err, "ChangeCredential")
		want := w.readCredential(c.ID)
		for i, change := range []func(c *alloc.Credential){
			func(c *alloc.Credential) { c.Description = "third" },
			func(c *alloc.Credential) { c.Scopes = alloc.AllScopes() },
			func(c *alloc.Credential) { c.Quota++ },
			func(c *alloc.Credential) { c.Expires = c.Expires.Add(time.Second) },
			func(c *alloc.Credential) { c.Revoked = c.Created },
			func(c *alloc.Credential) { c.Hash = someHash("third") },
			func(c *alloc.Credential) { c.RotatedFor = "THIRD" },
			func(c *alloc.Credential) { c.PreviousHash = someHash("fourth") },
			func(c *alloc.Credential) { c.PreviousUntil = c.PreviousUntil.Add(time.Second) },
		} {
			other := c
			change(&other)
			for _, from := range []alloc.Version{1, 3, 1 << 40} {
				_, err := w.open().ChangeCredential(w.Context(), from, other)
				e := w.wantError(err, alloc.CodeVersionMismatch, fmt.Sprintf("change %d from version %d", i, from))
				equal(w, e.Current, 2, "Current")
			}
		}
		w.sameCredential(w.readCredential(c.ID), want)
	}},
	{"of many changes at once from one version, one wins", func(w *world) {
		c := w.credential("aaaaaaaaaaaa")
		w.ok(w.open().CreateCredential(w.Context(), c), "CreateCredential")
		n := w.callers() / 5
		var winner atomic.Pointer[alloc.Credential]
		stores := w.processes(n)
		w.together(n, func(i int) {
			mine := c
			mine.Description = fmt.Sprint("change ", i)
			got, err := stores[i].ChangeCredential(w.Context(), 1, mine)
			switch {
			case err == nil && !winner.CompareAndSwap(nil, &got):
				w.Errorf("two changes of one version succeeded")
			case err != nil && !alloc.Is(err, alloc.CodeVersionMismatch):
				w.Errorf("ChangeCredential beside others: got %v, want success or version_mismatch", err)
			}
		})
		if winner.Load() == nil {
			w.Fatalf("no change succeeded, want one")
		}
		w.sameCredential(w.readCredential(c.ID), *winner.Load())
	}},
	{"ListCredentials lists in the order of the IDs, page by page, revoked and expired ones too", func(w *world) {
		ids := []alloc.CredentialID{"22222222222a", "a2222222222a", "a22222222222", "aaaaaaaaaaaa", "b77777777777", "zzzzzzzzzzzz"}
		var want []string
		shuffled(len(ids), func(i int) {
			c := w.credential(ids[i])
			if i%3 == 0 {
				c.Revoked, c.Expires = w.clock.Now(), w.clock.Now()
			}
			w.ok(w.open().CreateCredential(w.Context(), c), "CreateCredential")
			want = append(want, string(ids[i]))
		})
		slices.Sort(want)
		w.clock.Advance(400 * 24 * time.Hour)
		for _, limit := range []int{1, 2, 5, 6, 100} {
			var got []string
			for _, c := range pages(w, "ListCredentials", limit, func(after alloc.CredentialID) ([]alloc.Credential, error) {
				return w.elsewhere().ListCredentials(w.Context(), after, limit)
			}, func(c alloc.Credential) alloc.CredentialID { return c.ID }) {
				w.sameCredential(c, w.readCredential(c.ID))
				got = append(got, string(c.ID))
			}
			equal(w, strings.Join(got, " "), strings.Join(want, " "), fmt.Sprintf("IDs in pages of %d", limit))
		}
	}},
	{"no credentials are an empty list", func(w *world) {
		list, err := w.open().ListCredentials(w.Context(), "", 10)
		w.ok(err, "ListCredentials")
		equal(w, len(list), 0, "credentials")
	}},
	{"a creation and a change whose answers are lost are repeated and stand once", func(w *world) {
		f := NewFaulty(w.open(), nil)
		for i, faults := range faultSeries() {
			c := w.credential(alloc.CredentialID(fmt.Sprintf("a%011d", i)))
			f.SetPlan(Script("CreateCredential", faults...))
			w.untilDone("CreateCredential", func() error { return f.CreateCredential(w.Context(), c) })
			c.Description = "changed"
			f.SetPlan(Script("ChangeCredential", faults...))
			w.untilDone("ChangeCredential", func() error { _, err := f.ChangeCredential(w.Context(), 1, c); return err })
			c.Version = 2
			w.sameCredential(w.readCredential(c.ID), c)
		}
	}},
	{"the shared secret is 32 random bytes, one for all who ask for it first at once, and for good", func(w *world) {
		const callers = 20
		stores := w.processes(callers)
		var mu sync.Mutex
		var got [][]byte
		w.together(callers, func(i int) {
			secret, err := stores[i].SharedSecret(w.Context())
			if err != nil {
				w.Errorf("SharedSecret beside others: got %v, want it", err)
			}
			mu.Lock()
			defer mu.Unlock()
			got = append(got, secret)
		})
		w.clock.Advance(400 * 24 * time.Hour)
		for _, s := range []alloc.Store{stores[0], w.open()} {
			secret, err := s.SharedSecret(w.Context())
			w.ok(err, "SharedSecret")
			got = append(got, secret)
		}
		for _, secret := range got {
			if len(secret) != 32 || !bytes.Equal(secret, got[0]) {
				w.Fatalf("shared secrets: got ones of %d and of %d bytes, equal: %t; want one of 32", len(secret), len(got[0]), bytes.Equal(secret, got[0]))
			}
		}
		if slices.Max(got[0]) == slices.Min(got[0]) {
			w.Fatalf("the shared secret is %x, want random bytes", got[0])
		}
	}},
	{"a shared secret whose answer was lost is the one that stays", func(w *world) {
		f := NewFaulty(w.open(), Script("SharedSecret", AppliedButFailed, Refused))
		w.untilDone("SharedSecret", func() error { _, err := f.SharedSecret(w.Context()); return err })
		first, err := f.SharedSecret(w.Context())
		w.ok(err, "SharedSecret")
		again, err := w.open().SharedSecret(w.Context())
		w.ok(err, "SharedSecret")
		equal(w, fmt.Sprintf("%x", again), fmt.Sprintf("%x", first), "the shared secret")
	}},
}

// credential is one with something in every field but the one that says it is revoked.
func (w *world) credential(id alloc.CredentialID) alloc.Credential {
	now := w.clock.Now()
	return alloc.Credential{
		ID: id, Client: "client", Description: "größer \"x\"", Quota: 1000, Version: 1, Created: now, Expires: now.Add(48 * time.Hour),
		Scopes: []alloc.Scope{{Action: alloc.ActionClaim, Pattern: "vouchers-*"}, {Action: alloc.ActionRead, Pattern: "*"}},
		Hash:   someHash(string(id)), Rotated: now.Add(-time.Hour), RotatedFor: "INTENT", PreviousHash: someHash("before"), PreviousUntil: now.Add(time.Hour),
	}
}

// someHash is what looks like a SHA-256 in hexadecimal.
func someHash(of string) string { return fmt.Sprintf("%064x", of)[:64] }

func (w *world) readCredential(id alloc.CredentialID) alloc.Credential {
	w.Helper()
	c, err := w.elsewhere().Credential(w.Context(), id)
	w.ok(err, "Credential")
	return c
}

func (w *world) sameCredential(got, want alloc.Credential) {
	w.Helper()
	if diff := cmp.Diff(want, got, cmp.Comparer(sameTime), cmpopts.EquateEmpty()); diff != "" {
		w.Fatalf("credential (-want +got):\n%s", diff)
	}
}
