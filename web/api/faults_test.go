package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// faulty returns a client whose engine has a pool "p" with five IDs and a sequence "s", and then goes wrong by plan.
func faulty(t *testing.T, plan alloctest.Plan) (client, *alloctest.Faulty) {
	t.Helper()
	store := alloctest.NewFaulty(alloctest.NewModel(nil), nil)
	c := newClient(t, store)
	c.must(201, "PUT", "/v1/pools/p", "")
	c.must(200, "POST", "/v1/pools/p/seed", `{"ids": ["A-1", "A-2", "A-3", "A-4", "A-5"]}`)
	c.must(201, "PUT", "/v1/sequences/s", "")
	store.SetPlan(plan)
	return c, store
}

// always plans one fault for every call of the methods.
func always(fault alloctest.Fault, methods ...string) alloctest.Plan {
	return func(c alloctest.Call) alloctest.Fault {
		if slices.Contains(methods, c.Method) {
			return fault
		}
		return alloctest.Pass
	}
}

// C17, K19: an engine that does not answer is a 503 that says when to come again and whether anything may have happened.
func TestEnginesThatFail(t *testing.T) {
	tests := map[string]struct {
		fault   alloctest.Fault
		code    alloc.Code
		after   int
		unknown bool
	}{
		"refused":                 {alloctest.Refused, alloc.CodeUnavailable, 1, false},
		"refused, nobody knows":   {alloctest.RefusedUnknown, alloc.CodeUnavailable, 1, true},
		"applied, but not heard":  {alloctest.AppliedButFailed, alloc.CodeUnavailable, 1, true},
		"asked for less throttle": {alloctest.Throttled, alloc.CodeThrottled, int(alloctest.ThrottleHint.Seconds()), false},
	}
	const settle = `{"ids": ["A-1"], "token": "00000000000000000000000000"}`
	requests := map[string]struct{ method, call, body string }{
		"/v1/pools/p/claims":      {"POST", "Claim", ""},
		"/v1/pools/p/confirm":     {"POST", "Settle", settle},
		"/v1/pools/p/release":     {"POST", "Settle", settle},
		"/v1/pools/p/retire":      {"POST", "Settle", settle},
		"/v1/pools/p/sweep":       {"POST", "Sweep", ""},
		"/v1/pools/p/exports":     {"POST", "CreateJob", ""},
		"/v1/pools/p/seed":        {"POST", "Seed", `{"ids": ["A-9"]}`},
		"/v1/pools/p/seedings":    {"POST", "CreateJob", `{"format": "text"}`},
		"/v1/pools/p/count":       {"POST", "CreateJob", ""},
		"/v1/pools/p/refill":      {"GET", "Refill", ""},
		"/v1/pools/p/forecast":    {"GET", "PoolSamples", ""},
		"/v1/pools/p/samples":     {"GET", "PoolSamples", ""},
		"/v1/sequences/s/samples": {"GET", "SequenceSamples", ""},
		"/v1/pools/p/pause":       {"POST", "SetPoolState", ""},
		"/v1/pools/p/evidence":    {"GET", "PoolEvidence", ""},
		"/v1/pools/p/rebuild":     {"POST", "CreateJob", `{"confirm": "p"}`},
		"/v1/pools/p/audit":       {"POST", "CreateJob", ""},
		"/v1/pools/p/log":         {"POST", "CreateJob", ""},
		"/v1/pools/p/restore":     {"POST", "CreateJob", `{"source": "burn", "point": "2026-11-29T11:00:00Z", "confirm": "p"}`},
		"/v1/sequences/s/audit":   {"POST", "Evidence", ""},
		"/v1/audit/verify":        {"POST", "CreateJob", ""},
		"/v1/audit/acknowledge":   {"POST", "Months", `{"month": "2026-11", "position": "2", "seen": "0123456789abcdef", "why": "lost"}`},
		"/v1/sequences/s/rebuild": {"POST", "Freeze", `{"reported": "5"}`},
		"/v1/sequences/s/leases":  {"POST", "Lease", `{"count": 5}`},
		"/v1/credentials":         {"POST", "CreateCredential", `{"client": "shop", "scopes": ["claim:p"]}`},
		"/v1/credentials?limit=5": {"GET", "ListCredentials", ""},
		"/v1/jobs":                {"GET", "ListJobs", ""},
		"/v1/pools?limit=1":       {"GET", "ListPools", ""},
		"/v1/audit":               {"GET", "Records", ""},
	}
	for name, tt := range tests {
		for path, request := range requests {
			t.Run(name+path, func(t *testing.T) {
				c, store := faulty(t, nil)
				if strings.HasSuffix(path, "/restore") {
					c.must(200, "POST", "/v1/pools/p/pause", "")
				}
				store.SetPlan(always(tt.fault, request.call))
				w := c.do(request.method, path, request.body)
				if w.Code != http.StatusServiceUnavailable {
					t.Fatalf("%d, want 503: %s", w.Code, w.Body)
				}
				after, err := strconv.Atoi(w.Header().Get("Retry-After"))
				if err != nil || after < tt.after {
					t.Errorf("Retry-After %q, want at least %d", w.Header().Get("Retry-After"), tt.after)
				}
				if strings.Contains(w.Body.String(), "injected") {
					t.Errorf("the answer tells the cause: %s", w.Body)
				}
				p := problemOf(t, w)
				if p.Code != tt.code || p.OutcomeUnknown != tt.unknown {
					t.Errorf("got %s, outcome unknown %t; want %s, %t", p.Code, p.OutcomeUnknown, tt.code, tt.unknown)
				}
			})
		}
	}
}

// K12: the answer of a claim is lost, the client repeats with its key and gets the same ID; one ID is used.
func TestALostAnswerIsFoundByItsKey(t *testing.T) {
	c, _ := faulty(t, alloctest.Script("Claim", alloctest.AppliedButFailed))
	if w := c.do("POST", "/v1/pools/p/claims", "", "Idempotency-Key: k"); w.Code != http.StatusServiceUnavailable {
		t.Fatalf("%d, want the answer lost", w.Code)
	}
	first := c.must(201, "POST", "/v1/pools/p/claims", "", "Idempotency-Key: k")
	again := c.must(201, "POST", "/v1/pools/p/claims", "", `Idempotency-Key: "k"`)
	if first.Body.String() != again.Body.String() || again.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("got %s, then %s (%s)", first.Body, again.Body, again.Header())
	}
	level := c.must(200, "GET", "/v1/pools/p", "").Body.String()
	if !strings.Contains(level, `"available":4`) {
		t.Errorf("one claim should have used one ID: %s", level)
	}
}

func TestHealthDoesNotAskTheEngine(t *testing.T) {
	c, store := faulty(t, func(alloctest.Call) alloctest.Fault { return alloctest.Refused })
	before := len(store.Calls())
	c.must(200, "GET", "/healthz", "")
	if got := len(store.Calls()); got != before {
		t.Errorf("%d calls of the engine", got-before)
	}
	problemOf(t, c.must(503, "GET", "/readyz", ""))
}

// A level that cannot be read does not hide the configuration, nor one pool the others.
func TestALevelFailsAlone(t *testing.T) {
	c, _ := faulty(t, always(alloctest.Refused, "Level"))
	for path, want := range map[string]int{"/v1/pools/p": 1, "/v1/pools": 1} {
		body := c.must(200, "GET", path, "").Body.String()
		if strings.Count(body, `"level_error":{"code":"unavailable","detail":"`) != want || strings.Contains(body, `"level":`) {
			t.Errorf("%s: %s", path, body)
		}
	}
}

func TestAPoolThatFailsDoesNotStopTheSchedule(t *testing.T) {
	c, store := faulty(t, nil)
	c.must(201, "PUT", "/v1/pools/q", "")
	store.SetPlan(always(alloctest.Throttled, "Sweep"))
	type tended struct {
		Swept  []struct{ Pool string }
		Failed []struct{ Pool, Code, Detail string }
	}
	got := read[tended](t, c.must(200, "POST", "/v1/tend", "").Body)
	if len(got.Swept) != 0 || len(got.Failed) != 2 || got.Failed[0].Pool != "p" || got.Failed[1].Code != "throttled" || got.Failed[1].Detail == "" {
		t.Errorf("got %+v, want both pools failed, by name", got)
	}
}

// A run that was cut short says how many pools it has not come to.
func TestARunOfTheScheduleThatWasCutShortSaysSo(t *testing.T) {
	c, store := faulty(t, nil)
	c.must(201, "PUT", "/v1/pools/q", "")
	ctx, cancel := context.WithCancel(t.Context())
	store.SetPlan(func(call alloctest.Call) alloctest.Fault {
		if call.Method == "Sweep" {
			cancel()
			return alloctest.Throttled
		}
		return alloctest.Pass
	})
	w := c.in(ctx, "POST", "/v1/tend", "")
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"left":2`) {
		t.Errorf("%d %s, want 200 and two pools left", w.Code, w.Body)
	}
}

// A seeding that breaks off half-way says what was done.
func TestASeedingThatBreaksOffReports(t *testing.T) {
	c, store := faulty(t, nil)
	ids := make([]string, alloc.MaxSeedIDs+10)
	for i := range ids {
		ids[i] = "S-" + strconv.Itoa(i)
	}
	body, err := json.Marshal(map[string]any{"ids": ids})
	if err != nil {
		t.Fatal(err)
	}
	seeds := 0
	store.SetPlan(func(call alloctest.Call) alloctest.Fault {
		if call.Method != "Seed" {
			return alloctest.Pass
		}
		if seeds++; seeds == 2 {
			return alloctest.Refused
		}
		return alloctest.Pass
	})
	p := problemOf(t, c.must(503, "POST", "/v1/pools/p/seed", string(body)))
	report, _ := p.Report.(map[string]any)
	if report["added"] != float64(alloc.MaxSeedIDs) || !p.OutcomeUnknown {
		t.Errorf("got %+v, want a report of %d added", p, alloc.MaxSeedIDs)
	}
	again := c.must(200, "POST", "/v1/pools/p/seed", string(body)).Body.String()
	if !strings.Contains(again, `"added":10,"duplicate":`+strconv.Itoa(int(alloc.MaxSeedIDs))) {
		t.Errorf("the repeat should add what is missing: %.200s", again)
	}
}

// A context that has ended before the answer is never a 500.
func TestAClientThatWentAway(t *testing.T) {
	c, _ := faulty(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, path := range []string{"/v1/pools", "/v1/pools/p", "/v1/sequences/s", "/v1/audit"} {
		if w := c.in(ctx, "GET", path, ""); w.Code >= 500 && w.Code != http.StatusServiceUnavailable {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}
