package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"
)

// TestAVoucherExportIsSeededAndClaimedByManyClients is the main job on real input: codes.csv is a file as people send
// them. 64 clients take all of it, each code once, then the pool is exhausted.
func TestAVoucherExportIsSeededAndClaimedByManyClients(t *testing.T) {
	const clients, codes = 64, 2407
	file, err := os.ReadFile("../alloc/testdata/codes.csv")
	if err != nil {
		t.Fatal(err)
	}
	onEachEngine(t, func(t *testing.T, e engine) {
		p := launch(t, e.flags()...)
		must[poolSeen](t, p, http.StatusCreated, request{method: "PUT", path: "/v1/pools/vouchers"})
		seed := request{method: "POST", path: "/v1/pools/vouchers/seed", body: string(file), contentType: "text/csv"}
		if got, want := must[seedSeen](t, p, http.StatusOK, seed), (seedSeen{Added: codes, Duplicate: 37, Invalid: 3}); withoutCase(got) != want || got.CaseOnly == 0 {
			t.Fatalf("seeded %+v, want %+v and codes that differ only in case", got, want)
		}

		taken := claimAll(t, p, "vouchers", clients, 3)
		if len(taken) != codes {
			t.Errorf("%d codes were claimed, want %d", len(taken), codes)
		}

		if got := must[seedSeen](t, p, http.StatusOK, seed); got.Added != 0 || got.Duplicate+got.Conflict != codes+37 {
			t.Errorf("the same file again: %+v, want nothing added", got)
		}
		level := sweptLevel(t, p, "vouchers")
		if want := (levelSeen{Seeded: codes, Claimed: codes}); level != want {
			t.Errorf("level %+v, want %+v", level, want)
		}
		p.end(t)
	})
}

func withoutCase(s seedSeen) seedSeen {
	s.CaseOnly = 0
	return s
}

// claimAll lets clients claim 1 to most IDs at a time until the pool is exhausted, and returns the IDs. None may come
// twice.
func claimAll(t *testing.T, p *program, pool string, clients, most int) map[string]bool {
	t.Helper()
	var mu sync.Mutex
	taken := map[string]bool{}
	var running sync.WaitGroup
	for i := range clients {
		running.Go(func() {
			client := newClient(t)
			for n := most - 1; ; n++ {
				count := most - n%most
				r := request{method: "POST", path: "/v1/pools/" + pool + "/claims", body: fmt.Sprintf(`{"count": %d}`, count)}
				if i%2 == 0 {
					r.key = fmt.Sprintf("client-%d-%d", i, n)
				}
				a, ok := insist(t, client, p.url, r)
				if !ok || a.status == http.StatusConflict && count == 1 {
					return // exhausted
				}
				if a.status == http.StatusConflict {
					continue
				}
				var c claimSeen
				if err := json.Unmarshal(a.body, &c); err != nil || len(c.IDs) != count {
					t.Errorf("claim of %d: %d %s", count, a.status, a.body)
					return
				}
				mu.Lock()
				for _, id := range c.IDs {
					if taken[id] {
						t.Errorf("%q was handed out twice", id)
					}
					taken[id] = true
				}
				mu.Unlock()
			}
		})
	}
	running.Wait()
	return taken
}

// insist sends a claim until it is answered with its IDs or with pool_exhausted; anything else fails the test.
func insist(t *testing.T, client *http.Client, url string, r request) (answer, bool) {
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		a, err := r.do(t.Context(), client, url)
		switch {
		case err != nil:
			t.Errorf("claim: %v", err)
			return a, false
		case a.status == http.StatusCreated:
			return a, true
		case a.status == http.StatusConflict && a.code() == "pool_exhausted":
			return a, true
		case a.status != http.StatusServiceUnavailable:
			t.Errorf("claim: %d %s", a.status, a.body)
			return a, false
		case a.header.Get("Retry-After") == "":
			t.Errorf("503 without Retry-After: %s", a.body)
		}
		backOff()
	}
	t.Error("a claim was told to come back for 30 s")
	return answer{}, false
}

// sweptLevel sweeps the pool until nothing is left to do and returns its level.
func sweptLevel(t *testing.T, p *program, pool string) levelSeen {
	t.Helper()
	for range 100 {
		if !must[sweepSeen](t, p, http.StatusOK, request{method: "POST", path: "/v1/pools/" + pool + "/sweep"}).More {
			return must[poolSeen](t, p, http.StatusOK, request{method: "GET", path: "/v1/pools/" + pool}).Level
		}
	}
	t.Fatal("after 100 sweeps there is work left")
	return levelSeen{}
}
