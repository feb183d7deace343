package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"idpool/alloc/alloctest"
)

func TestKeysAtEveryDoor(t *testing.T) { atEveryDoor(t, keyDoorCases) }

var keyDoorCases = []doorCase{
	{"K01 the key in quotes and bare is one key", func(w *doorWorld) {
		w.pool("p", "", 5)
		first := w.want(w.door(w.TB, claimWith("p", `"abc"`, "")), 201, "quoted")
		w.replayed(w.door(w.TB, claimWith("p", "abc", "")), first, "bare")
		w.replayed(w.door(w.TB, claimWith("p", ` "abc" `, "")), first, "with space around it")
	}},
	{"K02 C48 what is no key is refused and takes nothing", func(w *doorWorld) {
		w.pool("p", "", 5)
		for name, keys := range map[string][]string{
			"empty": {""}, "empty quotes": {`""`}, "256 characters": {strings.Repeat("k", 256)}, "no closing quote": {`"abc`},
			"text after it": {`"abc"d`}, "a quote inside": {`a"b`}, "no ASCII": {"schlüssel"}, "emoji": {"🔑"}, "two lines": {"abc", "abc"},
			"two quoted lines": {`"abc"`, `"abc"`}, "a bare comma": {"a,b"}, "a bad escape": {`"a\b"`},
		} {
			p := w.refused(w.door(w.TB, withKey(claimWith("p", "", ""), keys...)), 400, "invalid_key", name)
			if !strings.Contains(p.Detail, "Idempotency-Key") {
				w.Errorf("%s: the problem %q does not name the header", name, p.Detail)
			}
		}
		first := w.want(w.door(w.TB, claimWith("p", strings.Repeat("k", 255), "")), 201, "255 characters")
		w.replayed(w.door(w.TB, claimWith("p", strings.Repeat("k", 255), "")), first, "255 characters again")
		w.want(w.door(w.TB, claimWith("p", "k", "")), 201, "1 character")
		if got := w.available("p"); got != 3 {
			w.Errorf("%d IDs are free, want 3: what is refused takes nothing", got)
		}
	}},
	{"K03 A01 a comma in a quoted key is part of it", func(w *doorWorld) {
		w.pool("p", "", 5)
		first := w.want(w.door(w.TB, claimWith("p", `"a,b"`, "")), 201, "a,b")
		w.want(w.door(w.TB, claimWith("p", `"a"`, "")), 201, "a")
		w.replayed(w.door(w.TB, claimWith("p", `"a,b"`, "")), first, "a,b again")
		if got := w.available("p"); got != 3 {
			w.Errorf("%d IDs are free, want 3", got)
		}
	}},
	{"K04 a pool that requires a key refuses a claim without one", func(w *doorWorld) {
		w.pool("p", `{"require_key": true}`, 2)
		w.admin("PUT", "/v1/sequences/s", `{"require_key": true}`)
		for _, path := range []string{"/v1/pools/p/claims", "/v1/sequences/s/leases", "/v1/sequences/s/next"} {
			if p := w.refused(w.door(w.TB, sent{method: "POST", path: path}), 400, "key_required", path); p.Doc == "" {
				w.Errorf("%s: the problem has no link to the documentation", path)
			}
			w.want(w.door(w.TB, withKey(sent{method: "POST", path: path}, "k")), 201, path+" with a key")
		}
		if got := w.available("p"); got != 1 {
			w.Errorf("%d IDs are free, want 1", got)
		}
	}},
	{"K05 C45 the same key of another client or in another pool is another request", func(w *doorWorld) {
		w.pool("p", "", 5)
		w.pool("q", "", 5)
		first := into[claimed](w.TB, w.want(w.door(w.TB, claimWith("p", "k", "")), 201, "the first"))
		other := into[claimed](w.TB, w.want(w.door(w.TB, claimWith("q", "k", "")), 201, "another pool"))
		stranger := claimWith("p", "k", "")
		stranger.secret = w.client("shop")
		theirs := w.want(w.door(w.TB, stranger), 201, "another client")
		if got := into[claimed](w.TB, theirs); got.IDs[0] == first.IDs[0] || got.Token == first.Token || theirs.header.Get("Idempotent-Replayed") != "" {
			w.Errorf("another client got %+v of %+v", got, first)
		}
		if !strings.HasPrefix(other.IDs[0], "q-") {
			w.Errorf("another pool gave %+v", other)
		}
		w.replayed(w.process().door(w.TB, stranger), theirs, "the other client's repeat")
	}},
	{"K06 K12 K22 C43 a repeat gets the same answer, also from a process with nothing in memory", func(w *doorWorld) {
		w.pool("p", "", 3)
		w.admin("PUT", "/v1/sequences/s", "")
		for _, s := range []sent{
			claimWith("p", "k", `{"count": 2, "owner": "o", "metadata": {"a": "b"}}`),
			withKey(sent{method: "POST", path: "/v1/sequences/s/leases", body: `{"count": 10}`}, "k"),
			withKey(sent{method: "POST", path: "/v1/sequences/s/next", body: `{"count": 3}`}, "k"),
		} {
			first := w.want(w.door(w.TB, s), 201, s.path)
			if got := first.header.Get("Idempotency-Key-Retention"); got != "86400" {
				w.Errorf("%s: the retention is %q, want 86400", s.path, got)
			}
			for range 2 {
				w.replayed(w.door(w.TB, s), first, s.path+" again")
				w.replayed(w.process().door(w.TB, s), first, s.path+" elsewhere")
			}
		}
		if got := w.available("p"); got != 1 {
			w.Errorf("%d IDs are free, want 1", got)
		}
	}},
	{"K07 order of fields, white space and what is left out do not make another request", func(w *doorWorld) {
		w.pool("p", "", 5)
		first := w.want(w.door(w.TB, claimWith("p", "k", `{"count":1,"owner":"o","metadata":{"a":"1","b":"2"}}`)), 201, "the first")
		for _, body := range []string{
			"{\n  \"metadata\": {\"b\": \"2\", \"a\": \"1\"},\n  \"owner\": \"o\", \"count\": 1\n}", `{"owner":"o","metadata":{"a":"1","b":"2"}}`,
			`{"owner":"\u006f","metadata":{"a":"1","b":"2"}}`,
		} {
			w.replayed(w.door(w.TB, claimWith("p", "k", body)), first, body)
		}
		w.admin("PUT", "/v1/pools/r", "")
		put := withKey(sent{method: "PUT", path: "/v1/pools/new", body: `{"max_batch": 7, "description": "d"}`}, "k")
		made := w.want(w.door(w.TB, put), 201, "PUT")
		put.body = "{ \"description\": \"d\",\t\"max_batch\": 7 }"
		w.replayed(w.process().door(w.TB, put), made, "PUT in another order")
	}},
	{"K08 K26 C45 the same key for another request is refused, in a warm process and a cold one, and changes nothing", func(w *doorWorld) {
		w.pool("p", "", 5)
		w.admin("PUT", "/v1/sequences/s", "")
		for _, s := range []sent{
			claimWith("p", "k", `{"count": 1}`),
			withKey(sent{method: "POST", path: "/v1/sequences/s/leases", body: `{"count": 1}`}, "k"),
			withKey(sent{method: "POST", path: "/v1/sequences/s/next", body: `{"count": 1}`}, "k"),
			withKey(sent{method: "POST", path: "/v1/pools/p/seed", body: `{"ids": ["more"]}`}, "k"),
			withKey(sent{method: "PUT", path: "/v1/pools/new", body: `{"max_batch": 5}`}, "k"),
		} {
			other := s
			if strings.HasSuffix(s.path, "seed") {
				other.body = `{"ids": ["another"]}`
			} else {
				other.body = strings.NewReplacer(`"count": 1`, `"count": 2`, "5}", "6}").Replace(s.body)
			}
			first := w.door(w.TB, s)
			if first.status >= 300 {
				w.Fatalf("%s: %d %s", s.path, first.status, first.body)
			}
			w.refused(w.door(w.TB, other), 422, "key_mismatch", s.path+", warm")
			w.refused(w.process().door(w.TB, other), 422, "key_mismatch", s.path+", cold")
			w.replayed(w.door(w.TB, s), first, s.path+" again")
		}
		if got := w.available("p"); got != 5 {
			w.Errorf("%d IDs are free, want 5", got)
		}
	}},
	{"K10 C44 64 requests with one key at once get one ID", func(w *doorWorld) {
		w.pool("p", "", 70)
		w.oneAnswer(claimWith("p", "k", ""))
		if got := w.available("p"); got != 69 {
			w.Errorf("%d IDs are free, want 69", got)
		}
	}},
	{"K10 K24 64 requests with one key at once get one range, and one set of numbers", func(w *doorWorld) {
		w.admin("PUT", "/v1/sequences/s", "")
		w.oneAnswer(withKey(sent{method: "POST", path: "/v1/sequences/s/leases", body: `{"count": 10}`}, "k"))
		w.oneAnswer(withKey(sent{method: "POST", path: "/v1/sequences/s/next", body: `{"count": 3}`}, "k"))
	}},
	{"K10 64 requests with one key at once make one pool and one sequence, and all have made it", func(w *doorWorld) {
		for _, path := range []string{"/v1/pools/p", "/v1/sequences/s"} {
			w.oneAnswer(withKey(sent{method: "PUT", path: path}, "k"))
			w.clock.Advance(time.Second)
			w.want(w.door(w.TB, withKey(sent{method: "PUT", path: path}, "a third")), 200, "another key later")
		}
	}},
	{"K11 64 requests with a key each at once get 64 IDs", func(w *doorWorld) {
		w.pool("p", "", 64)
		got := map[string]bool{}
		for _, a := range w.together(64, func(i int) sent { return claimWith("p", fmt.Sprint(i), "") }) {
			got[into[claimed](w.TB, w.want(a, 201, "one of many")).IDs[0]] = true
		}
		if len(got) != 64 {
			w.Errorf("%d different IDs, want 64", len(got))
		}
	}},
	{"K13 K14 C46 whatever call of the store fails, refused or applied, a repeat with the key has one answer", func(w *doorWorld) {
		w.pool("p", "", 40)
		w.admin("PUT", "/v1/sequences/s", "")
		for _, fault := range []alloctest.Fault{alloctest.Refused, alloctest.RefusedUnknown, alloctest.AppliedButFailed} {
			for n := range 4 {
				key := fmt.Sprint(fault, n)
				for _, s := range []sent{
					claimWith("p", key, `{"count": 2}`),
					withKey(sent{method: "POST", path: "/v1/sequences/s/leases", body: `{"count": 2}`}, key),
					withKey(sent{method: "POST", path: "/v1/sequences/s/next", body: `{"count": 2}`}, key),
				} {
					faulty := w.process()
					faulty.store.SetPlan(failOnce(n, fault))
					hit := faulty.door(w.TB, s)
					faulty.store.SetPlan(nil)
					again := w.insist(faulty.door, s)
					w.want(again, 201, s.path+" after the fault")
					if hit.status == 201 && hit.body != again.body {
						w.Errorf("%s: first %s, then %s", s.path, hit.body, again.body)
					}
					w.replayed(w.insist(w.process().door, s), again, s.path+" elsewhere")
				}
			}
		}
		if got := w.available("p"); got != 40-3*4*2 {
			w.Errorf("%d IDs are free, want 16: each key has two", got)
		}
	}},
	{"K16 C46 a request that was cut off does not block its key", func(w *doorWorld) {
		w.pool("p", "", 5)
		for i := range 10 {
			ctx, cancel := context.WithTimeout(w.Context(), time.Duration(i)*300*time.Microsecond)
			s := claimWith("p", "k", `{"count": 3}`)
			s.ctx = ctx
			w.process().door(w.TB, s)
			cancel()
		}
		s := claimWith("p", "k", `{"count": 3}`)
		first := w.want(w.insist(w.process().door, s), 201, "the repeat")
		again := w.insist(w.door, s)
		w.replayed(again, seen{status: 201, body: first.body}, "once more")
		if got := w.available("p"); got != 2 {
			w.Errorf("%d IDs are free, want 2", got)
		}
	}},
	{"K17 an attempt that goes on after a later one was answered changes nothing of it", func(w *doorWorld) {
		w.pool("p", "", 5)
		s := claimWith("p", "k", `{"count": 2}`)
		slow := w.process()
		slow.store.SetPlan(alloctest.Script("Claim", alloctest.Delayed))
		late := make(chan seen)
		go func() { late <- slow.door(w.TB, s) }()
		<-slow.store.Held()
		first := w.want(w.door(w.TB, s), 201, "the later one")
		slow.store.Release()
		w.replayed(<-late, first, "the one that was late")
		w.replayed(w.process().door(w.TB, s), first, "again")
		if got := w.available("p"); got != 3 {
			w.Errorf("%d IDs are free, want 3", got)
		}
	}},
	{"K18 a request that was not valid or not permitted is not kept: repaired, its key works", func(w *doorWorld) {
		w.pool("p", `{"max_batch": 3}`, 5)
		w.refused(w.door(w.TB, claimWith("p", "k", `{"count": 0}`)), 400, "invalid_count", "none")
		w.refused(w.door(w.TB, claimWith("p", "k", `{"count": 4}`)), 400, "invalid_count", "too many")
		w.refused(w.door(w.TB, claimWith("p", "k", `{"cuont": 1}`)), 400, "invalid_request", "mistyped")
		first := w.want(w.door(w.TB, claimWith("p", "k", `{"count": 3}`)), 201, "repaired")
		w.replayed(w.door(w.TB, claimWith("p", "k", `{"count": 3}`)), first, "again")
		put := withKey(sent{method: "PUT", path: "/v1/pools/new", body: `{"max_batch": -1}`}, "k")
		if a := w.door(w.TB, put); a.status != 400 {
			w.Fatalf("PUT: %d %s, want 400", a.status, a.body)
		}
		put.body = `{"max_batch": 10}`
		w.want(w.door(w.TB, put), 201, "PUT repaired")
	}},
	{"K19 C50 exhaustion is not kept: after a seeding the same key claims", func(w *doorWorld) {
		w.pool("p", "", 1)
		s := claimWith("p", "k", `{"count": 3}`)
		for range 2 {
			w.refused(w.insist(w.door, s), 409, "pool_exhausted", "too few")
		}
		w.seed("p", "more-", 4)
		first := w.want(w.insist(w.process().door, s), 201, "after the seeding")
		w.replayed(w.door(w.TB, s), first, "again")
	}},
	{"K20 a key counts until its retention ends, and not a second longer", func(w *doorWorld) {
		w.pool("p", "", 9)
		w.admin("PUT", "/v1/sequences/s", "")
		for _, s := range []sent{
			claimWith("p", "k", ""),
			withKey(sent{method: "POST", path: "/v1/sequences/s/leases"}, "k"),
			withKey(sent{method: "POST", path: "/v1/sequences/s/next"}, "k"),
			withKey(sent{method: "POST", path: "/v1/pools/p/seed", body: `{"ids": ["x"]}`}, "k"),
		} {
			first := w.door(w.TB, s)
			w.clock.Advance(24*time.Hour - time.Second)
			w.replayed(w.door(w.TB, s), first, s.path+" a second before")
			w.clock.Advance(2 * time.Second)
			second := w.want(w.process().door(w.TB, s), first.status, s.path+" a second after")
			if second.header.Get("Idempotent-Replayed") != "" || second.body == first.body {
				w.Errorf("%s: %s is the answer of the key that has expired", s.path, second.body)
			}
			w.replayed(w.door(w.TB, s), second, s.path+" again")
		}
	}},
	{"K25 a batch is repeated as the same set in the same order", func(w *doorWorld) {
		w.pool("p", "", 90)
		s := claimWith("p", "k", `{"count": 60}`)
		first := w.want(w.door(w.TB, s), 201, "the batch")
		w.replayed(w.process().door(w.TB, s), first, "elsewhere")
		w.available("p")
		w.replayed(w.process().door(w.TB, s), first, "after a sweep")
	}},
	{"K28 K29 the log has the outcome of each request, and no key, body, ID, token or secret", func(w *doorWorld) {
		w.pool("p", "", 2)
		s := claimWith("p", "a-key-of-mine", `{"owner": "an-owner-of-mine"}`)
		s.secret = w.client("shop")
		first := into[claimed](w.TB, w.want(w.door(w.TB, s), 201, "the first"))
		w.want(w.door(w.TB, s), 201, "the repeat")
		other := s
		other.body = `{"owner": "another-owner"}`
		w.want(w.door(w.TB, other), 422, "another request")
		w.want(w.insist(w.door, claimWith("p", "another-key", `{"count": 2}`)), 409, "too few")
		log := w.log.String()
		for _, outcome := range []string{"first", "replay", "mismatch", "exhausted"} {
			if !strings.Contains(log, `"outcome":"`+outcome+`"`) {
				w.Errorf("no event has the outcome %s", outcome)
			}
		}
		for what, text := range map[string]string{
			"key": "a-key-of-mine", "body": "owner-of-mine", "ID": first.IDs[0], "token": first.Token, "secret": s.secret, "bootstrap token": testToken,
		} {
			if strings.Contains(log, text) {
				w.Errorf("the log has the %s", what)
			}
		}
	}},
	{"K30 without a key each request is a new claim, with the token that settling asks for", func(w *doorWorld) {
		w.pool("p", "", 3)
		s := sent{method: "POST", path: "/v1/pools/p/claims"}
		first := into[claimed](w.TB, w.want(w.door(w.TB, s), 201, "the first"))
		second := into[claimed](w.TB, w.want(w.door(w.TB, s), 201, "the second"))
		if first.IDs[0] == second.IDs[0] || first.Token == second.Token {
			w.Errorf("two claims: %+v and %+v", first, second)
		}
		w.settle(200, "retire", first.Token, first.IDs...)
	}},
}

// oneAnswer sends the request 64 times at once; all get one answer, and so does a repeat.
func (w *doorWorld) oneAnswer(s sent) {
	w.Helper()
	answers := w.together(64, func(int) sent { return s })
	for _, a := range answers {
		w.want(a, 201, "one of many with one key")
		if a.body != answers[0].body {
			w.Fatalf("%s: one got %s, another %s", s.path, answers[0].body, a.body)
		}
	}
	w.replayed(w.process().door(w.TB, s), answers[0], "afterwards")
}

// failOnce lets the n-th call of the store from now on go wrong.
func failOnce(n int, fault alloctest.Fault) alloctest.Plan {
	calls := 0
	return func(alloctest.Call) alloctest.Fault {
		calls++
		if calls == n+1 {
			return fault
		}
		return alloctest.Pass
	}
}
