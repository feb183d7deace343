package dynamo_test

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

func aCredential(id alloc.CredentialID, hash string) alloc.Credential {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)
	return alloc.Credential{
		ID: id, Client: "shop", Description: "words", Scopes: []alloc.Scope{{Action: alloc.ActionClaim, Pattern: "v-*"}, {Action: "*", Pattern: "*"}},
		Quota: 1000, Created: at, Expires: at.AddDate(1, 0, 0), Hash: hash, Rotated: at,
	}
}

func TestACredentialIsKeptAsItIsAndListed(t *testing.T) {
	onTables(t, func(t *testing.T, table dynamo.Table) {
		s := process(t, table)
		var want []alloc.Credential
		for i := range 7 {
			c := aCredential(alloc.CredentialID(fmt.Sprint("id", i)), fmt.Sprint("hash", i))
			refused(t, s.CreateCredential(t.Context(), c), "")
			refused(t, s.CreateCredential(t.Context(), c), "") // a repeat
			c.Version = 1
			want = append(want, c)
		}
		refused(t, s.CreateCredential(t.Context(), aCredential("id0", "another")), alloc.CodeInternal)

		c := want[3]
		c.Scopes, c.Quota, c.Expires, c.Revoked = nil, 0, time.Time{}, c.Created.Add(time.Hour)
		c.Hash, c.PreviousHash, c.PreviousUntil = "fresh", c.Hash, c.Created.Add(2*time.Hour)
		for range 2 { // the second is a repeat
			got, err := s.ChangeCredential(t.Context(), 1, c)
			want[3] = c
			want[3].Version = 2
			if diff := cmp.Diff(want[3], got); err != nil || diff != "" {
				t.Errorf("changed: %v, -want +got:\n%s", err, diff)
			}
		}
		c.Quota = 5
		_, err := s.ChangeCredential(t.Context(), 1, c)
		if e := asError(t, err); e.Code != alloc.CodeVersionMismatch || e.Current != 2 {
			t.Errorf("a change of an old version: %v, want a mismatch with version 2", err)
		}
		refused(t, s.CreateCredential(t.Context(), aCredential("id3", "hash3")), "") // its hash is another since
		_, err = s.ChangeCredential(t.Context(), 1, aCredential("none", "h"))
		refused(t, err, alloc.CodeCredentialNotFound)
		_, err = s.Credential(t.Context(), "none")
		refused(t, err, alloc.CodeCredentialNotFound)

		cut := dynamotest.NewFaults(table, dynamotest.Nth(1, anyCall, dynamotest.Refused))
		refused(t, process(t, cut).CreateCredential(t.Context(), aCredential("id1-half", "h")), alloc.CodeUnavailable)
		for _, limit := range []int{1, 2, 3, 7, 100} {
			var got []alloc.Credential
			for after := alloc.CredentialID(""); ; {
				page, err := process(t, table).ListCredentials(t.Context(), after, limit)
				refused(t, err, "")
				got = append(got, page...)
				if len(page) < limit {
					break
				}
				after = page[len(page)-1].ID
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("in pages of %d: -want +got:\n%s", limit, diff)
			}
		}
	})
}

// What is stored of a scope is never read as less or more.
func TestAScopeThatWasEditedIsAnError(t *testing.T) {
	b := newBench(t)
	refused(t, b.open().CreateCredential(t.Context(), aCredential("id", "h")), "")
	b.edit(dynamo.Key{PK: "T#id", SK: "H"}, func(it dynamo.Item) { it["sc"] = []string{"everything"} })
	_, err := b.open().Credential(t.Context(), "id")
	refused(t, err, alloc.CodeInternal)
}

func TestACredentialSurvivesAFaultAtEveryWrite(t *testing.T) {
	atEachWrite(t, func(t *testing.T, b *bench) {
		c := aCredential("id", "hash")
		insist(b, func(s *dynamo.Store) (bool, error) { return true, s.CreateCredential(t.Context(), c) })
		c.Hash, c.PreviousHash = "fresh", "hash"
		got := insist(b, func(s *dynamo.Store) (alloc.Credential, error) { return s.ChangeCredential(t.Context(), 1, c) })
		c.Version = 2
		if diff := cmp.Diff(c, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		list, err := b.open().ListCredentials(t.Context(), "", 10)
		if diff := cmp.Diff([]alloc.Credential{c}, list); err != nil || diff != "" {
			t.Errorf("listed: %v, -want +got:\n%s", err, diff)
		}
	})
}

func TestTheSharedSecretIsOneForAllAndForGood(t *testing.T) {
	onTables(t, func(t *testing.T, table dynamo.Table) {
		got := make([][]byte, callers)
		errs := make([]error, callers)
		together(callers, func(i int) { got[i], errs[i] = process(t, table).SharedSecret(t.Context()) })
		for i, secret := range got {
			refused(t, errs[i], "")
			if len(secret) != 32 || !bytes.Equal(secret, got[0]) || bytes.Equal(secret, make([]byte, 32)) {
				t.Errorf("caller %d got %x, another %x", i, secret, got[0])
			}
		}
	})
	atEachWrite(t, func(t *testing.T, b *bench) {
		get := func(s *dynamo.Store) ([]byte, error) { return s.SharedSecret(t.Context()) }
		if first, second := insist(b, get), insist(b, get); !bytes.Equal(first, second) || len(first) != 32 {
			t.Errorf("got %x, then %x", first, second)
		}
	})
}

// Quotas are the only counters of the table that decide something. All takers together never get more than there is, and
// with no fault exactly that.
func TestAllTakersOfAQuotaTogetherGetWhatThereIs(t *testing.T) {
	onTables(t, func(t *testing.T, table dynamo.Table) {
		hour := time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)
		const limit = 1000
		var sum atomic.Int64
		errs := make([]error, callers)
		together(callers, func(i int) {
			s := process(t, table)
			for {
				n, err := s.TakeQuota(t.Context(), "id", hour, 7, limit)
				if sum.Add(int64(n)); n == 0 || err != nil {
					errs[i] = err
					return
				}
			}
		})
		for _, err := range errs {
			refused(t, err, "")
		}
		if sum.Load() != limit {
			t.Errorf("together they got %d, want %d", sum.Load(), limit)
		}
		s := process(t, table)
		for _, take := range []struct {
			id       alloc.CredentialID
			hour     time.Time
			n, limit alloc.Count
			want     alloc.Count
		}{
			{"id", hour, 1, limit, 0},
			{"id", hour, 100, limit - 100, 0}, // the quota was lowered
			{"id", hour, 100, limit + 60, 60}, // or raised
			{"id", hour.Add(time.Hour), 5, 3, 3},
			{"another", hour, 5, limit, 5},
			{"another", hour, 0, limit, 0},
			{"another", hour, 5, 0, 0},
		} {
			got, err := s.TakeQuota(t.Context(), take.id, take.hour, take.n, take.limit)
			if err != nil || got != take.want {
				t.Errorf("%+v: got %d, %v", take, got, err)
			}
		}
	})
}

// With a fault at each write nobody ever gets too much, and what a failed call took is all that is lost. A call that the
// SDK repeats after a lost answer counts once.
func TestAQuotaIsNeverOvershotByAFaultAtAnyWrite(t *testing.T) {
	hour := time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)
	const limit, block = 20, 6
	atEachWrite(t, func(t *testing.T, b *bench) {
		var got, lost alloc.Count
		for range 6 {
			n, err := b.open().TakeQuota(t.Context(), "id", hour, block, limit)
			if got += n; err != nil {
				lost += block
				if n != 0 {
					t.Errorf("got %d with the error %v", n, err)
				}
			}
		}
		if got > limit || got < limit-lost {
			t.Errorf("got %d of %d, of which at most %d are lost", got, limit, lost)
		}
	})
}

// Of a quota's item another takes between a lost answer and its repeat: then the first block is lost, and never given
// twice.
func TestAQuotaTakenByAnotherBetweenALostAnswerAndItsRepeat(t *testing.T) {
	hour := time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)
	mem := dynamotest.NewMemory()
	other := process(t, mem)
	take := func(s *dynamo.Store, want alloc.Count) {
		t.Helper()
		if n, err := s.TakeQuota(t.Context(), "id", hour, 4, 20); err != nil || n != want {
			t.Fatalf("got %d, %v; want %d", n, err, want)
		}
	}
	take(other, 4)
	take(process(t, dynamotest.Through(func(ctx context.Context, c dynamotest.Call) dynamotest.Answer {
		c.Do(ctx, mem)
		take(other, 4)
		return c.Do(ctx, mem)
	})), 4)
	take(other, 4) // of which 4 were used by the attempt whose answer was lost
	take(other, 0)
}
