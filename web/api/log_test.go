package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc/alloctest"
	"idpool/web"
	"idpool/web/api"
)

// marks are texts that stand for what no log may have: each is sent somewhere that only the client and the store know.
var marks = []string{"mark-id", "mark-owner", "mark-metadata", "mark-description", "mark-key", "mark-query", "mark-file", "mark-header", "mark-token", "MARK-PREFIX", "mark-word", "mark-why"}

// TestNoSecretIsInTheLog sends to every route good requests and bad ones with marks in them, with a store that works and
// with one that fails, and searches the log: no key, token, secret, body or ID is in it. Each request has left one event.
func TestNoSecretIsInTheLog(t *testing.T) {
	w := newWorld(t)
	store := alloctest.NewFaulty(w.store, nil)
	w.client = clientAt(t, store, w.clock.Now)
	w.must(200, "POST", "/v1/pools/p/seed", `{"ids": ["mark-id-1", "mark-id-2", "mark-id-3", "mark-id-4", "mark-id-5", "mark-id-6"]}`)
	secrets := append(slices.Clone(marks), token, w.held.Token, w.held.IDs[0], w.held.IDs[1], w.credential.Secret)
	mine := w.makeCredential(`{"client": "asker", "scopes": ["*:*"]}`)
	secrets = append(secrets, mine.Secret, mine.Secret[20:])
	shop := w.as(mine.Secret)
	shop.must(201, "POST", "/v1/pools/p/claims", `{"owner": "mark-owner", "metadata": {"mark-metadata": "mark-metadata"}, "hold": 60}`, "Idempotency-Key: mark-key")
	sent := strings.Count(w.log.take(), "\n")
	if sent != 3 {
		t.Fatalf("%d events of three requests", sent)
	}

	routes := api.Routes(nil)
	slices.SortStableFunc(routes, func(a, b api.Route) int { // what deletes comes last
		return strings.Count(a.Method, http.MethodDelete) - strings.Count(b.Method, http.MethodDelete)
	})
	for _, rt := range routes {
		for _, fault := range []alloctest.Fault{alloctest.Refused, alloctest.AppliedButFailed, alloctest.Throttled, alloctest.Pass} {
			store.SetPlan(func(c alloctest.Call) alloctest.Fault {
				if c.Method == "Credential" || c.Nth > 0 { // let it in, and fail at the first call of each method
					return alloctest.Pass
				}
				return fault
			})
			for _, r := range w.marked(rt) {
				got := shop.do(rt.Method, r.path, r.body, append(r.headers, "Idempotency-Key: mark-key-"+rt.Operation, "X-Request-Id: mark-header")...)
				log := w.log.take()
				if strings.Count(log, "\n") != 1 {
					t.Errorf("%s: %d events of one request: %s", rt.Operation, strings.Count(log, "\n"), log)
				}
				for _, secret := range append(secretsIn(got.Body.Bytes()), secrets...) {
					if strings.Contains(log, secret) {
						t.Errorf("%s, %d: %q is in the log: %s", rt.Operation, got.Code, secret, log)
					}
				}
			}
		}
	}
}

// markedRequest is a request with marks in it.
type markedRequest struct {
	path, body string
	headers    []string
}

// marked are requests to a route, good and bad, with marks in them.
func (w *world) marked(rt api.Route) []markedRequest {
	body, headers := w.good(rt)
	path := w.path(rt) + query(rt)
	requests := []markedRequest{
		{path, body, headers},
		{path + "?mark-query=mark-query", body, headers},
		{w.path(api.Route{Path: strings.NewReplacer("{pool}", "mark-id%2F", "{sequence}", "mark-id%2F", "{credential}", "mark-token", "{job}", "mark-token", "{session}", "mark-token").Replace(rt.Path)}), body, headers},
		{path, `{"mark-id": 1}`, headers},
		{path, `{"ids": ["mark-id-1", "mark-id-9"], "token": "mark-token"}`, headers},
		{path, `{"owner": "mark-owner\u0000"}`, headers},
		{path, `{"metadata": {"mark-metadata": 5}}`, headers},
		{path, `{"description": " mark-description"}`, headers},
		{path, `{"client": "mark-id A", "scopes": ["mark-id"]}`, headers},
		{path, `{"mark-file`, headers},
		{path, "mark-file", []string{"Content-Type: text/mark-file"}},
		{path, `{"generator": {"kind": "random", "prefix": "MARK-PREFIX-", "length": 20}, "refill": {"low": 5, "target": 10}}`, headers},
		{path, `{"generator": {"kind": "random", "block": ["mark-word", "mark-word x"]}}`, headers},
		{path, `{"why": "mark-why", "format": "text"}`, headers},
		{path, body, append(headers, "If-Match: mark-header")},
	}
	switch rt.Operation {
	case "inspectID":
		requests = append(requests, markedRequest{w.path(rt) + "?id=mark-id-1", "", nil}, markedRequest{w.path(rt) + "?id=mark-id-unknown", "", nil})
	case "putJobInput":
		requests = append(requests, markedRequest{path, "mark-id-8\nmark-file\n", []string{textPlain}}, markedRequest{path, "mark-file;\"", []string{"Content-Type: text/csv"}})
	case "seedPool":
		requests = append(requests, markedRequest{path, "mark-id-7\nmark-id-7\nmark-file\x01\n", []string{"Content-Type: text/plain"}})
	}
	return requests
}

// secretsIn are the tokens, secrets and IDs of an answer.
func secretsIn(body []byte) []string {
	var a struct {
		Token, Secret string
		IDs           []json.RawMessage
	}
	if json.Unmarshal(body, &a) != nil {
		return nil
	}
	var secrets []string
	for _, s := range []string{a.Token, a.Secret} {
		if s != "" {
			secrets = append(secrets, s)
		}
	}
	for _, id := range a.IDs {
		secrets = append(secrets, string(id))
	}
	return secrets
}

// K29: the event of a request says what became of it, in one word.
func TestOutcomes(t *testing.T) {
	w := newWorld(t)
	store := alloctest.NewFaulty(w.store, nil)
	w.client = clientAt(t, store, w.clock.Now)
	w.must(201, "PUT", "/v1/pools/few", "")
	w.must(200, "POST", "/v1/pools/few/seed", `{"ids": ["F-1", "F-2"]}`)
	limited := w.makeCredential(`{"client": "limited", "scopes": ["claim:p"], "quota": 1}`)
	w.log.take()
	outcome := func(c client, want web.Outcome, status int, method, path, body string, headers ...string) {
		t.Helper()
		c.must(status, method, path, body, headers...)
		if got := event(t, w.log.take())[web.KeyOutcome]; got != string(want) {
			t.Errorf("%s %s: %v, want %s", method, path, got, want)
		}
	}
	c := w.client
	outcome(c, web.OutcomeFirst, 200, "GET", "/v1/pools/few", "")
	outcome(c, web.OutcomeFirst, 201, "POST", "/v1/pools/few/claims", "", "Idempotency-Key: k")
	outcome(c, web.OutcomeReplay, 201, "POST", "/v1/pools/few/claims", "", "Idempotency-Key: k")
	outcome(c, web.OutcomeMismatch, 422, "POST", "/v1/pools/few/claims", `{"count": 2}`, "Idempotency-Key: k")
	outcome(c, web.OutcomeExhausted, 409, "POST", "/v1/pools/few/claims", `{"count": 2}`)
	got := read[claimed](t, c.must(201, "POST", "/v1/pools/few/claims", "", "Idempotency-Key: e").Body)
	c.must(200, "POST", "/v1/pools/few/retire", fmt.Sprintf(`{"ids": [%q], "token": %q}`, got.IDs[0], got.Token))
	w.log.take()
	outcome(c, web.OutcomeEnded, 410, "POST", "/v1/pools/few/claims", "", "Idempotency-Key: e")
	outcome(c, web.OutcomeRefused, 404, "POST", "/v1/pools/none/claims", "")
	outcome(c, web.OutcomeRefused, 404, "GET", "/v1/nothing", "")
	outcome(c.as(""), web.OutcomeRefused, 401, "GET", "/v1/pools", "")
	outcome(c.as(limited.Secret), web.OutcomeFirst, 201, "POST", "/v1/pools/p/claims", "")
	outcome(c.as(limited.Secret), web.OutcomeQuota, 429, "POST", "/v1/pools/p/claims", "")

	outcome(c, web.OutcomeFirst, 200, "POST", "/v1/pools/few/count", "", "Idempotency-Key: n")
	outcome(c, web.OutcomeReplay, 200, "POST", "/v1/pools/few/count", "", "Idempotency-Key: n")
	outcome(c, web.OutcomeFirst, 200, "POST", "/v1/pools/few/preview", `{"generator": {"kind": "ulid"}, "refill": {"low": 1, "target": 2}}`, "Idempotency-Key: n")
	outcome(c, web.OutcomeRefused, 400, "POST", "/v1/pools/few/preview", "", "Idempotency-Key: n")
	outcome(c, web.OutcomeRefused, 413, "POST", "/v1/pools/few/seed", lines(web.MaxUpload/40+1), textPlain)
	outcome(c, web.OutcomeFirst, 202, "POST", "/v1/pools/few/seed", lines(27_000), textPlain, "Idempotency-Key: l")
	outcome(c, web.OutcomeReplay, 202, "POST", "/v1/pools/few/seed", lines(27_000), textPlain, "Idempotency-Key: l")

	store.SetPlan(alloctest.Script("Claim", alloctest.Throttled, alloctest.Refused))
	outcome(c, web.OutcomeThrottled, 503, "POST", "/v1/pools/p/claims", "")
	outcome(c, web.OutcomeFailed, 503, "POST", "/v1/pools/p/claims", "")

	store.SetPlan(alloctest.Script("CloseKey", alloctest.Refused))
	outcome(c, web.OutcomeFailed, 503, "POST", "/v1/pools/p/pause", "", "Idempotency-Key: k")
	outcome(c, web.OutcomeCarriedOut, 200, "POST", "/v1/pools/p/pause", "", "Idempotency-Key: k")
	outcome(c, web.OutcomeReplay, 200, "POST", "/v1/pools/p/pause", "", "Idempotency-Key: k")
}

// event is the one event of a log.
func event(t testing.TB, log string) map[string]any {
	t.Helper()
	if strings.Count(log, "\n") != 1 {
		t.Fatalf("not one event: %s", log)
	}
	return read[map[string]any](t, strings.NewReader(log))
}

// K28: the whole of the events of a conversation.
func TestEventsOfAConversation(t *testing.T) {
	w := newWorld(t)
	shop := w.as(w.makeCredential(`{"client": "shop", "scopes": ["claim:p", "lease:s"], "quota": 100}`).Secret)
	w.log.take()
	shop.do("POST", "/v1/pools/p/claims", `{"count": 2}`, "Idempotency-Key: k")
	shop.do("POST", "/v1/pools/p/claims", `{"count": 2}`, `Idempotency-Key: "k"`)
	shop.do("POST", "/v1/pools/p/confirm", `{"ids": ["A-1"], "token": "00000000000000000000000000"}`, "Idempotency-Key: c")
	shop.do("POST", "/v1/sequences/s/next", "")
	shop.do("GET", "/v1/pools/p", "")
	shop.do("GET", "/v1/nothing", "")
	w.as("").do(http.MethodGet, "/healthz", "")

	log := []byte(w.log.take())
	for name, form := range map[string]string{
		"time": `"[^"]+"`, "request_id": `"[A-Z2-7]{26}"`, "credential": `"[a-z2-7]{12}"`,
	} {
		log = regexp.MustCompile(`"`+name+`":`+form).ReplaceAll(log, []byte(`"`+name+`":"…"`))
	}
	const file = "testdata/events.log"
	if *update {
		if err := os.WriteFile(file, log, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(bytes.TrimSpace(log))+"\n", "\n")); diff != "" {
		t.Errorf("%s (-want +got), write it anew with -update:\n%s", file, diff)
	}
}
