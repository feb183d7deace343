package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/web/api"
)

// withKeys are the routes whose answers are kept under a key.
func withKeys() []api.Route {
	var routes []api.Route
	for _, rt := range api.Routes(nil) {
		if rt.Keys == api.KeysAnswered {
			routes = append(routes, rt)
		}
	}
	return routes
}

func TestEveryRouteThatChangesSomethingTakesAKey(t *testing.T) {
	for _, rt := range api.Routes(nil) {
		if rt.Operation == "previewPool" { // it changes nothing, and has a body
			continue
		}
		if takes := rt.Keys != api.KeysIgnored; takes != (rt.Method != http.MethodGet) {
			t.Errorf("%s takes a key: %t", rt.Operation, takes)
		}
	}
}

// send sends to a route what it is for.
func (w *world) send(rt api.Route, headers ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	body, good := w.good(rt)
	return w.do(rt.Method, w.path(rt), body, append(good, headers...)...)
}

// K06, K07: a repeat gets the first answer, whatever the spacing of its body; and without key it is another request.
func TestARepeatGetsTheFirstAnswer(t *testing.T) {
	for _, rt := range withKeys() {
		t.Run(rt.Operation, func(t *testing.T) {
			w := newWorldFor(t, rt)
			first := w.send(rt, "Idempotency-Key: k")
			if first.Code >= 300 || first.Header().Get("Idempotent-Replayed") != "" {
				t.Fatalf("the first: %d %v %s", first.Code, first.Header(), first.Body)
			}
			after := w.snapshot()
			body, headers := w.good(rt)
			again := w.do(rt.Method, w.path(rt), strings.ReplaceAll(body, `": `, "\" :\n\t"), append(headers, `Idempotency-Key:  "k"`)...)
			if again.Header().Get("Idempotent-Replayed") != "true" {
				t.Errorf("the repeat is not marked: %v", again.Header())
			}
			if first.Code != again.Code || first.Header().Get("ETag") != again.Header().Get("ETag") || withoutSecret(t, first) != withoutSecret(t, again) {
				t.Errorf("first %d %q %s, then %d %q %s", first.Code, first.Header().Get("ETag"), first.Body, again.Code, again.Header().Get("ETag"), again.Body)
			}
			for _, got := range []*httptest.ResponseRecorder{first, again} {
				if got.Header().Get("Idempotency-Key-Retention") != "86400" {
					t.Errorf("the retention is not published: %v", got.Header())
				}
			}
			if w.snapshot() != after {
				t.Error("the repeat has changed something")
			}
		})
	}
}

// withoutSecret is the body of an answer but for the secret, which a repeat says that it withholds.
func withoutSecret(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	body := w.Body.String()
	var made made
	if err := json.Unmarshal([]byte(body), &made); err != nil {
		t.Fatal(err)
	}
	if made.Secret == "" {
		return strings.Replace(body, `,"secret_withheld":true`, "", 1)
	}
	return strings.Replace(body, `,"secret":"`+made.Secret+`"`, "", 1)
}

// K08: another request with the key is refused, the first answer stays, and nothing is done.
func TestAKeyIsForOneRequest(t *testing.T) {
	for _, rt := range withKeys() {
		body, _ := (&world{}).changed(rt)
		if body == "" && !rt.Conditional {
			continue // there is but one request
		}
		t.Run(rt.Operation, func(t *testing.T) {
			w := newWorldFor(t, rt)
			w.send(rt, "Idempotency-Key: k")
			after := w.snapshot()
			body, headers := w.changed(rt)
			got := w.do(rt.Method, w.path(rt), body, append(headers, "Idempotency-Key: k")...)
			if got.Code != http.StatusUnprocessableEntity || problemOf(t, got).Code != alloc.CodeKeyMismatch {
				t.Errorf("%d %s, want 422 key_mismatch", got.Code, got.Body)
			}
			if w.snapshot() != after {
				t.Error("what was refused has changed something")
			}
			if again := w.send(rt, "Idempotency-Key: k"); again.Header().Get("Idempotent-Replayed") != "true" {
				t.Errorf("the first answer is gone: %d %s", again.Code, again.Body)
			}
		})
	}
}

// changed is a good request that differs from good in its body, or where there is none in its If-Match.
func (w *world) changed(rt api.Route) (body string, headers []string) {
	switch rt.Operation {
	case "confirm", "release", "retire":
		return fmt.Sprintf(`{"ids": ["A-1"], "token": %q}`, w.held.Token), nil
	case "releaseForOwner", "retireForOwner":
		return `{"id": "A-1", "generation": 0, "client": "default", "why": "another"}`, nil
	case "seedPool":
		return `{"ids": ["A-7"]}`, nil
	case "exportPool":
		return `{"state": "free"}`, nil
	case "openSeeding":
		return `{"format": "csv"}`, nil
	case "putJobInput":
		return "A-10\n", []string{textPlain}
	case "startJob":
		return `{"parts": 2}`, nil
	case "countPool":
		return `{"why": "month-end"}`, nil
	case "putPool", "putSequence":
		return `{"description": "otherwise"}`, []string{`If-Match: "1"`}
	case "createCredential":
		return `{"client": "shop", "scopes": ["claim:q"]}`, nil
	case "putCredential":
		return `{"scopes": ["claim:q"]}`, []string{`If-Match: "1"`}
	case "rotateCredential":
		return `{"overlap": 5}`, nil
	case "planRebuild":
		return `{"reported": "9"}`, nil
	case "applyRebuild":
		return `{"plan": "another", "confirm": "s"}`, nil
	case "resumeRebuild":
		return `{"share": 99}`, nil
	case "rebuildPool":
		return `{"confirm": "p", "why": "otherwise"}`, nil
	case "auditPool", "auditSequence", "verifyAudit", "logPool", "logSequence":
		return `{"why": "otherwise"}`, nil
	case "acknowledgeAudit":
		return `{"month": "2026-11", "position": "9", "seen": "0123456789abcdef", "why": "otherwise"}`, nil
	case "restorePool":
		return `{"source": "burn", "point": "2026-11-29T11:00:00Z", "confirm": "p"}`, nil
	case "restoreSequence":
		return `{"source": "log", "point": "2026-11-29T11:30:00Z", "confirm": "s"}`, nil
	}
	return "", []string{`If-Match: "1"`}
}

// Every member of a body counts: one that did not would let another request pass for a repeat.
func TestEveryMemberOfABodyIsInItsFingerprint(t *testing.T) {
	members := map[string][]string{
		"PUT /v1/pools/new": {
			`"description": "d"`, `"policy": "forget"`, `"fold_case": true`, `"max_batch": 7`, `"on_release": "retire"`, `"require_key": true`,
			`"generator": {"kind": "ulid"}`, `"refill": {"low": 5}`, `"refill": {"target": 5}`, `"refill": {"low_hours": 5}`, `"refill": {"target_hours": 5}`,
		},
		"PUT /v1/sequences/new": {
			`"description": "d"`, `"start": "5"`, `"start": "0"`, `"limit": "9"`, `"max_lease": 7`, `"segment": 7`, `"require_key": true`, `"auto_rebuild": true`, `"resume_share": 7`,
		},
		"POST /v1/pools/p/claims":     {`"count": 2`, `"owner": "o"`, `"metadata": {"a": "b"}`, `"hold": 60`},
		"POST /v1/sequences/s/leases": {`"count": 2`},
		"POST /v1/sequences/s/next":   {`"count": 2`},
		"POST /v1/pools/p/exports":    {`"state": "free"`, `"format": "json"`},
		"POST /v1/pools/p/count":      {`"why": "w"`},
		"POST /v1/pools/p/seedings": {
			`"format": "text"`, `"format": "csv", "column": "c"`, `"format": "csv", "header": true`, `"format": "csv", "header": false`, `"format": "csv", "why": "w"`,
		},
		"POST /v1/sequences/s/rebuild": {
			`"why": "w"`, `"reported": "5"`, `"reported": "0"`, `"margin": 5`, `"since": "2026-11-29T11:00:00Z"`, `"config": {}`, `"config": {"resume_share": 7}`, `"config": {"auto_rebuild": true}`,
		},
		"POST /v1/pools/p/rebuild":   {`"confirm": "p", "why": "w"`, `"confirm": "p", "policy": "keep"`, `"confirm": "p", "fold_case": true`},
		"POST /v1/pools/p/audit":     {`"sample": 99`, `"why": "w"`},
		"POST /v1/sequences/s/audit": {`"sample": 99`, `"why": "w"`},
		"POST /v1/audit/verify":      {`"why": "w"`, `"known": {"month": "2026-11", "position": "1", "hash": "` + strings.Repeat("a", 64) + `"}`},
		"POST /v1/pools/p/log":       {`"why": "w"`, `"since": "2026-11-29T11:00:00Z"`},
		"POST /v1/sequences/s/log":   {`"why": "w"`, `"since": "2026-11-29T11:00:00Z"`},
		"POST /v1/pools/p/restore": {
			`"source": "log", "point": "2026-11-29T11:00:00Z", "confirm": "p", "at_most": 5`, `"source": "burn", "point": "2026-11-29T11:00:01Z", "confirm": "p"`,
			`"source": "burn", "point": "2026-11-29T11:00:00Z", "confirm": "p", "why": "w"`, `"source": "burn", "point": "2026-11-29T11:00:00Z", "confirm": "p", "at_most": 5`,
		},
		"POST /v1/credentials": {
			`"client": "shop2", "scopes": ["claim:p"]`, `"client": "shop", "scopes": ["claim:p", "claim:q"]`, `"client": "shop", "scopes": ["claim:p"], "quota": 5`,
			`"client": "shop", "scopes": ["claim:p"], "description": "d"`, `"client": "shop", "scopes": ["claim:p"], "expires_at": "2039-01-01T00:00:00Z"`,
		},
	}
	firsts := map[string]string{
		"POST /v1/credentials": `"client": "shop", "scopes": ["claim:p"]`, "POST /v1/pools/p/seedings": `"format": "csv"`,
		"POST /v1/sequences/s/rebuild": `"reported": "9"`, "POST /v1/pools/p/rebuild": `"confirm": "p"`,
		"POST /v1/pools/p/restore": `"source": "burn", "point": "2026-11-29T11:00:00Z", "confirm": "p"`,
	}
	for line, others := range members {
		w := newWorld(t)
		method, path, _ := strings.Cut(line, " ")
		if strings.HasSuffix(path, "/restore") {
			w.must(200, "POST", "/v1/pools/p/pause", "")
		}
		if got := w.do(method, path, "{"+firsts[line]+"}", "Idempotency-Key: k"); got.Code >= 300 {
			t.Fatalf("%s: %d %s", line, got.Code, got.Body)
		}
		for _, member := range others {
			if got := w.do(method, path, "{"+member+"}", "Idempotency-Key: k"); got.Code != http.StatusUnprocessableEntity {
				t.Errorf("%s {%s} passes for {%s}: %d %s", line, member, firsts[line], got.Code, got.Body)
			}
		}
	}
}

// A seed file is another request with another reading of it: its type, column and header count.
func TestHowAFileIsReadIsInItsFingerprint(t *testing.T) {
	w := newWorld(t)
	const file = "code;n\nB-1;1\n"
	w.must(200, "POST", "/v1/pools/p/seed?column=code", file, "Content-Type: text/csv", "Idempotency-Key: k")
	w.must(200, "POST", "/v1/pools/p/seed?column=code", file, "Content-Type: text/csv; charset=utf-8", "Idempotency-Key: k")
	w.must(422, "POST", "/v1/pools/p/seed?column=code&header=true", file, "Content-Type: text/csv", "Idempotency-Key: k")
	w.must(422, "POST", "/v1/pools/p/seed?column=n", file, "Content-Type: text/csv", "Idempotency-Key: k")
	w.must(422, "POST", "/v1/pools/p/seed", file, "Content-Type: text/plain", "Idempotency-Key: k")
	w.must(422, "POST", "/v1/pools/p/seed?column=code", file+"\n", "Content-Type: text/csv", "Idempotency-Key: k")
}

// K05, C45: a key is its client's, its operation's and its pool's. Two credentials of one client share it.
func TestAKeyIsItsClientsOperationsAndPools(t *testing.T) {
	w := newWorld(t)
	w.must(201, "PUT", "/v1/pools/q", "")
	as := func(client string) client {
		return w.as(strings.TrimPrefix(w.secretOf(client, "*:*"), "Bearer "))
	}
	asked := 0
	ask := func(c client, method, path, body string, replayed bool) {
		t.Helper()
		asked++
		got := c.do(method, path, body, "Idempotency-Key: k")
		if got.Code >= 300 || (got.Header().Get("Idempotent-Replayed") == "true") != replayed {
			t.Errorf("request %d: %d, replayed %q, want %t: %s", asked, got.Code, got.Header().Get("Idempotent-Replayed"), replayed, got.Body)
		}
	}
	shop, shopToo, till := as("shop"), as("shop"), as("till")
	ask(shop, "POST", "/v1/pools/p/seed", `{"ids": ["B-1"]}`, false)
	ask(shop, "POST", "/v1/pools/q/seed", `{"ids": ["B-1"]}`, false)
	ask(shop, "POST", "/v1/pools/p/pause", "", false)
	ask(shop, "POST", "/v1/pools/p/resume", "", false)
	ask(till, "POST", "/v1/pools/p/seed", `{"ids": ["B-1"]}`, false)
	ask(shopToo, "POST", "/v1/pools/p/seed", `{"ids": ["B-1"]}`, true)
	first := read[claimed](t, shop.must(201, "POST", "/v1/pools/p/claims", "", "Idempotency-Key: c").Body)
	if other := read[claimed](t, till.must(201, "POST", "/v1/pools/p/claims", "", "Idempotency-Key: c").Body); other.IDs[0] == first.IDs[0] || other.Token == first.Token {
		t.Errorf("another client's key gave what is not its own: %+v, %+v", first, other)
	}
}

// secretOf is secretFor a client.
func (w *world) secretOf(client, scope string) string {
	w.t.Helper()
	return "Bearer " + w.makeCredential(fmt.Sprintf(`{"client": %q, "scopes": [%q]}`, client, scope)).Secret
}

// K20: a record that has expired is like none, whether or not it is still there.
func TestAKeyThatHasExpiredIsNew(t *testing.T) {
	w := newWorld(t)
	pause := func() bool {
		return w.must(200, "POST", "/v1/pools/p/pause", "", "Idempotency-Key: k").Header().Get("Idempotent-Replayed") == "true"
	}
	if pause() {
		t.Error("the first is a repeat")
	}
	w.clock.Advance(alloc.KeyRetention - time.Second)
	if !pause() {
		t.Error("a second before its end the key is not known")
	}
	w.clock.Advance(time.Second)
	if pause() {
		t.Error("at its end the key is still known")
	}
}

// K18: a refusal is not kept: the same key with a repaired request works.
func TestARefusalIsNotKept(t *testing.T) {
	w := newWorld(t)
	w.must(404, "POST", "/v1/pools/new/seed", `{"ids": ["A"]}`, "Idempotency-Key: k")
	w.must(412, "PUT", "/v1/pools/p", `{"max_batch": 9}`, `If-Match: "7"`, "Idempotency-Key: k")
	w.must(409, "POST", "/v1/pools/p/confirm", `{"ids": ["A-3"], "token": "00000000000000000000000000"}`, "Idempotency-Key: k")
	w.must(400, "POST", "/v1/pools/p/exports", `{"format": "xml"}`, "Idempotency-Key: k")

	w.must(201, "PUT", "/v1/pools/new", "")
	w.must(200, "POST", "/v1/pools/new/seed", `{"ids": ["B"]}`, "Idempotency-Key: k")
	w.must(200, "PUT", "/v1/pools/p", `{"max_batch": 9}`, `If-Match: "1"`, "Idempotency-Key: k")
	w.must(200, "POST", "/v1/pools/p/confirm", fmt.Sprintf(`{"ids": [%q], "token": %q}`, w.held.IDs[0], w.held.Token), "Idempotency-Key: k")
	w.must(202, "POST", "/v1/pools/p/exports", `{"format": "json"}`, "Idempotency-Key: k")
}

// A thousand IDs of the greatest length are more than what is kept of an answer: they are of the request.
func TestTheLongestSettlingIsKept(t *testing.T) {
	w := newWorld(t)
	w.must(201, "PUT", "/v1/pools/long", `{"max_batch": 1000}`)
	ids := make([]string, alloc.MaxBatchLimit)
	for part := range 2 {
		half := ids[part*500 : part*500+500]
		for i := range half {
			half[i] = fmt.Sprintf("%d-%03d-%s", part, i, strings.Repeat(`"`, alloc.MaxIDBytes-6))
		}
		body, err := json.Marshal(map[string]any{"ids": half})
		if err != nil {
			t.Fatal(err)
		}
		w.must(200, "POST", "/v1/pools/long/seed", string(body))
	}
	c := read[claimed](t, w.must(201, "POST", "/v1/pools/long/claims", `{"count": 1000, "hold": 60}`).Body)
	body, err := json.Marshal(map[string]any{"ids": c.IDs, "token": c.Token})
	if err != nil {
		t.Fatal(err)
	}
	first := w.must(200, "POST", "/v1/pools/long/confirm", string(body), "Idempotency-Key: k")
	again := w.must(200, "POST", "/v1/pools/long/confirm", string(body), "Idempotency-Key: k")
	if first.Body.Len() < 500_000 || first.Body.String() != again.Body.String() || again.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("first %d bytes, then %d, %v", first.Body.Len(), again.Body.Len(), again.Header())
	}
}
