package main

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// sample is the value of a line of /metrics, -1 where there is none.
func sample(t *testing.T, p *program, name string) float64 {
	t.Helper()
	a, err := request{method: "GET", path: "/metrics"}.do(t.Context(), newClient(t), p.url)
	if err != nil || a.status != http.StatusOK {
		t.Fatalf("/metrics: %d %v", a.status, err)
	}
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindSubmatch(a.body)
	if found == nil {
		return -1
	}
	v, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// until waits for a value, which a run of the schedule brings.
func until(t *testing.T, p *program, name string, want float64) {
	t.Helper()
	var got float64
	for begin := time.Now(); time.Since(begin) < 30*time.Second; {
		if got = sample(t, p, name); got == want {
			return
		}
		time.Sleep(50 * time.Millisecond) // between looks
	}
	t.Errorf("%s is %v, want %v", name, got, want)
}

func TestMetricsShowRequestsPoolsAndRuns(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		p := launch(t, append(e.flags(), "-refill-every", "200ms")...)
		until(t, p, "idpool_pools", 0) // idle: data all the same
		until(t, p, "idpool_runway_hours", 87600)
		must[poolSeen](t, p, http.StatusCreated, request{method: "PUT", path: "/v1/pools/p", body: `{"refill": {"low": 10}}`, contentType: "application/json"})
		must[seedSeen](t, p, http.StatusOK, request{method: "POST", path: "/v1/pools/p/seed", body: "A\nB\nC\nD\n", contentType: "text/plain"})
		for range 2 {
			must[claimSeen](t, p, http.StatusCreated, request{method: "POST", path: "/v1/pools/p/claims"})
		}
		until(t, p, `idpool_pool_available{pool="p"}`, 2)
		until(t, p, "idpool_pools_low", 1)
		until(t, p, `idpool_requests_total{operation="claim",outcome="first"}`, 2)
		until(t, p, `idpool_request_duration_seconds_count{operation="claim"}`, 2)
		until(t, p, "idpool_queue_waiting", 0)
		until(t, p, "idpool_audits_total", 0)
		must[struct{}](t, p, http.StatusAccepted, request{method: "POST", path: "/v1/pools/p/audit"})
		until(t, p, "idpool_audits_total", 1)
		until(t, p, "idpool_audits_ill_total", 0)
		if runs := sample(t, p, "idpool_runs_total"); runs < 2 {
			t.Errorf("%v runs were counted", runs)
		}
		if at := sample(t, p, "idpool_last_run_timestamp_seconds"); time.Since(time.UnixMilli(int64(at*1000))) > time.Minute {
			t.Errorf("the last run was at %v", at)
		}
	})
}

// As on every path of the API, another method is told which ones there are.
func TestMetricsAreOnlyLookedAt(t *testing.T) {
	p := launch(t, newSQLite(t).flags()...)
	for method, want := range map[string]int{"GET": http.StatusOK, "HEAD": http.StatusOK, "POST": http.StatusMethodNotAllowed, "DELETE": http.StatusMethodNotAllowed} {
		r, err := http.NewRequestWithContext(t.Context(), method, p.url+"/metrics", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := newClient(t).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if allow := resp.Header.Get("Allow"); resp.StatusCode != want || (want == http.StatusMethodNotAllowed) != (allow == "GET, HEAD") {
			t.Errorf("%s: %d, Allow %q", method, resp.StatusCode, allow)
		}
		if media := resp.Header.Get("Content-Type"); want == http.StatusMethodNotAllowed && media != "application/problem+json" {
			t.Errorf("%s is refused in %s", method, media)
		}
	}
}

// /metrics names every pool: it is guarded as the pages are, and needs read on all.
func TestMetricsAreGuarded(t *testing.T) {
	p := launch(t, newSQLite(t).flags()...)
	made := must[struct{ Secret string }](t, p, http.StatusCreated, request{method: "POST", path: "/v1/credentials", body: `{"client": "x", "scopes": ["read:p"]}`, contentType: "application/json"})
	whole := must[struct{ Secret string }](t, p, http.StatusCreated, request{method: "POST", path: "/v1/credentials", body: `{"client": "x", "scopes": ["read:*"]}`, contentType: "application/json"})
	tests := []struct {
		name, host, token string
		status            int
	}{
		{"from this machine", "", "", http.StatusOK},
		{"by another name, without a credential", "ids.example.com", "", http.StatusUnauthorized},
		{"by another name, with a wrong one", "ids.example.com", "wrong-credential", http.StatusUnauthorized},
		{"by another name, with one for one pool", "ids.example.com", made.Secret, http.StatusForbidden},
		{"by another name, with one for all", "ids.example.com", whole.Secret, http.StatusOK},
	}
	for _, tt := range tests {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+"/metrics", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if r.Host = tt.host; tt.token != "" {
			r.Header.Set("Authorization", "Bearer "+tt.token)
		}
		resp, err := newClient(t).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != tt.status {
			t.Errorf("%s: %d, want %d", tt.name, resp.StatusCode, tt.status)
		}
		if tt.status == http.StatusOK && !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") {
			t.Errorf("%s: type %q", tt.name, resp.Header.Get("Content-Type"))
		}
	}
}
