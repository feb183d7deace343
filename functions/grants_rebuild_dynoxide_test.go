//go:build !goonly

package functions_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"idpool/infra/dynamo"
)

// carriers are who may carry a job on: the worker, the schedule without a queue, and an administrator's run of it.
var carriers = []string{"worker", "refill", "admin"}

// carriedOn has the jobs that are open carried on by one of the carriers, and checks that this one is done.
func (s *system) carriedOn(t *testing.T, by, job string) {
	t.Helper()
	switch by {
	case "worker":
		s.deliver(t)
	case "refill":
		s.tend(t)
	default:
		call(t, s.adminAlone, 200, httpEvent("POST", path("tend"), ""))
	}
	got := call(t, s.admin, 200, httpEvent("GET", path("jobs/%s", job), ""))
	if state := said(t, got, "state"); state != "done" {
		t.Errorf("by %s: %s", by, got.Body)
	}
	for _, q := range s.queues {
		q.Take() // what was done by somebody else
	}
}

// madeJob is the job that a request makes.
func (s *system) madeJob(t *testing.T, status int, at, body string) string {
	t.Helper()
	return said(t, call(t, s.admin, status, httpEvent("POST", at, body)), "id")
}

// age copies all that is there to the old table.
func (s *system) age(t *testing.T) {
	t.Helper()
	for sc := (dynamo.Scan{Total: 1}); ; {
		items, next, err := s.table.Scan(t.Context(), sc)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range items {
			if err := s.aged.Put(t.Context(), it, dynamo.All()); err != nil {
				t.Fatal(err)
			}
		}
		if sc.From = next; next == (dynamo.Key{}) {
			return
		}
	}
}

// loseLeases gives the first numbers of a lease to somebody else, and loses the one after it.
func (s *system) loseLeases(t *testing.T, sequence string) {
	t.Helper()
	page, err := s.table.Query(t.Context(), dynamo.Query{PK: "S#" + sequence + "#L"})
	if err != nil {
		t.Fatal(err)
	}
	for i, it := range page.Items[:len(page.Items)-1] {
		start, err := strconv.ParseInt(it.Str("sk"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if it.Int("end") < start+3 {
			continue
		}
		if _, err := s.table.Update(t.Context(), it.Key(), dynamo.Update{Set: map[string]any{"t": "somebody else", "end": start + 1}}, dynamo.Exists("pk")); err != nil {
			t.Fatal(err)
		}
		next := page.Items[i+1].Key()
		s.lose(t, next.PK, next.SK)
		return
	}
	t.Fatal("the ledger has no lease to be lost")
}

func (s *system) lose(t *testing.T, pk, sk string) {
	t.Helper()
	if _, err := s.table.Delete(t.Context(), dynamo.Key{PK: pk, SK: sk}, dynamo.Exists("pk")); err != nil {
		t.Fatal(err)
	}
}

// rebuildSequences rebuilds a sequence whose counter was set back, one whose head is lost, and one that the schedule rebuilds by itself.
func (s *system) rebuildSequences(t *testing.T) {
	setBack := func(sequence string) {
		_, err := s.table.Update(t.Context(), dynamo.Key{PK: "S#" + sequence, SK: "H"}, dynamo.Update{Set: map[string]any{"last": int64(1)}}, dynamo.Exists("pk"))
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, damage := range []struct {
		sequence, config string
		do               func(sequence string)
	}{
		{"set-back", `{"resume_share": 50}`, setBack},
		{"headless", "", func(sequence string) { s.lose(t, "S#"+sequence, "H") }},
	} {
		on := path("sequences/%s", damage.sequence)
		call(t, s.admin, 201, httpEvent("PUT", on, damage.config))
		for range 3 {
			call(t, s.first, 201, withKey(httpEvent("POST", on+"/leases", `{"count": 10}`), "lease-1"))
			call(t, s.first, 201, httpEvent("POST", on+"/leases", `{"count": 10}`))
		}
		s.tend(t) // with which the mark is raised
		call(t, s.admin, 200, httpEvent("POST", path("tend"), ""))
		call(t, s.admin, 200, httpEvent("POST", on+"/rebuild", `{"why": "a trial"}`))
		call(t, s.admin, 200, httpEvent("POST", on+"/rebuild/cancel", ""))
		damage.do(damage.sequence)
		call(t, s.first, 503, httpEvent("POST", on+"/leases", `{"count": 1}`))
		s.tend(t)
		s.carriedOn(t, "worker", s.madeJob(t, 202, on+"/audit", `{}`))
		call(t, s.admin, 200, httpEvent("GET", on+"/evidence", ""))
		plan := call(t, s.admin, 200, httpEvent("POST", on+"/rebuild", `{"why": "it is lost", "reported": "100"}`))
		_, id, _ := strings.Cut(plan.Body, `"plan":{"id":"`)
		id, _, _ = strings.Cut(id, `"`)
		call(t, s.admin, 200, httpEvent("GET", on+"/rebuild", ""))
		call(t, s.first, 503, httpEvent("POST", on+"/leases", `{"count": 1}`))
		apply := withKey(httpEvent("POST", on+"/rebuild/apply", fmt.Sprintf(`{"plan": %q, "confirm": %q}`, id, damage.sequence)), "apply-1")
		call(t, s.admin, 200, apply)
		call(t, s.admin, 200, apply)
		call(t, s.admin, 200, httpEvent("POST", on+"/rebuild/resume", ""))
		call(t, s.admin, 200, httpEvent("POST", on+"/rebuild/resume", `{"share": 100}`))
		call(t, s.first, 201, httpEvent("POST", on+"/leases", `{"count": 1}`))
		for _, by := range carriers {
			s.carriedOn(t, by, s.madeJob(t, 202, on+"/audit", `{}`))
		}
	}
	on := path("sequences/by-itself")
	call(t, s.admin, 201, httpEvent("PUT", on, `{"auto_rebuild": true}`))
	for range 2 {
		call(t, s.first, 201, httpEvent("POST", on+"/leases", `{"count": 10}`))
	}
	s.tend(t)
	for _, tend := range []func(){func() { s.tend(t) }, func() { call(t, s.admin, 200, httpEvent("POST", path("tend"), "")) }} {
		setBack("by-itself")
		call(t, s.first, 503, httpEvent("POST", on+"/leases", `{"count": 1}`))
		tend()
		if got := call(t, s.admin, 200, httpEvent("GET", on, "")); strings.Contains(got.Body, `"state":"stopped"`) {
			t.Errorf("the schedule left a sequence stopped that it may rebuild: %s", got.Body)
		}
		call(t, s.admin, 200, httpEvent("POST", on+"/rebuild/resume", `{"share": 100}`))
	}
}

// rebuildPools loses heads, chunks and return items, and has the pools audited, rebuilt, logged and restored by each of the carriers.
func (s *system) rebuildPools(t *testing.T) {
	for _, by := range carriers {
		for _, policy := range []string{"keep", "forget"} {
			pool := "lost-" + policy + "-" + by
			on := path("pools/%s", pool)
			call(t, s.admin, 201, httpEvent("PUT", on, fmt.Sprintf(`{"policy": %q}`, policy)))
			call(t, s.admin, 200, httpEvent("POST", on+"/seed", `{"ids": ["A", "B", "C", "D", "E", "F", "G", "H"]}`))
			call(t, s.first, 201, withKey(httpEvent("POST", on+"/claims", `{"count": 2}`), "order-1"))
			call(t, s.first, 201, httpEvent("POST", on+"/claims", `{"hold": 600, "count": 2}`))
			held := call(t, s.first, 201, httpEvent("POST", on+"/claims", `{"hold": 600}`))
			_, id, _ := strings.Cut(held.Body, `"ids":["`)
			id, _, _ = strings.Cut(id, `"`)
			call(t, s.first, 200, httpEvent("POST", on+"/release", fmt.Sprintf(`{"ids": [%q], "token": %q}`, id, said(t, held, "token"))))
			s.carriedOn(t, by, s.madeJob(t, 202, on+"/audit", `{"sample": 50}`))
			if by == "worker" { // of a pool without a head the sweep fails, as it should, and the schedule's run with it
				s.lose(t, "P#"+pool, "H")
			}
			call(t, s.admin, 200, httpEvent("GET", on+"/evidence", ""))
			s.carriedOn(t, "worker", s.madeJob(t, 202, on+"/audit", `{}`))
			s.carriedOn(t, by, s.madeJob(t, 202, on+"/rebuild", fmt.Sprintf(`{"why": "lost", "confirm": %q}`, pool)))
			call(t, s.admin, 200, httpEvent("POST", on+"/sweep", ""))
			call(t, s.second, 201, httpEvent("POST", on+"/claims", ""))
			s.carriedOn(t, by, s.madeJob(t, 202, on+"/audit", `{}`))
			s.age(t)
			s.restore(t, by, on)
		}
	}
	cancelled := s.madeJob(t, 202, path("pools/used/rebuild"), `{"why": "a trial", "confirm": "used"}`)
	call(t, s.admin, 200, httpEvent("POST", path("jobs/%s/cancel", cancelled), ""))
	for _, by := range carriers {
		s.carriedOn(t, by, s.madeJob(t, 202, path("audit/verify"), `{}`))
	}
}

// restore has logs written, and carries forward what was taken: by the log, from the old table, and by neither.
func (s *system) restore(t *testing.T, by, on string) {
	for _, what := range []string{on, path("sequences/set-back")} {
		call(t, s.admin, 200, httpEvent("POST", what+"/pause", ""))
		confirm := strings.TrimPrefix(strings.TrimPrefix(what, path("pools/")), path("sequences/"))
		body := func(source string) string {
			bound := ""
			if source != "table" && what == on {
				bound = `, "at_most": 1`
			}
			return fmt.Sprintf(`{"source": %q, "point": "2026-11-30T00:00:00Z", "confirm": %q%s}`, source, confirm, bound)
		}
		if strings.Contains(what, "-forget-") { // it has no log
			call(t, s.admin, 400, httpEvent("POST", what+"/log", `{}`))
			call(t, s.admin, 400, httpEvent("POST", what+"/restore", body("log")))
		} else {
			s.restoreByLog(t, by, what, body("log"))
		}
		s.carriedOn(t, by, s.madeJob(t, 202, what+"/restore", body("table")))
		s.carriedOn(t, by, s.madeJob(t, 202, what+"/restore", body("burn")))
	}
}

// restoreByLog has a log written, and sends it to a restore.
func (s *system) restoreByLog(t *testing.T, by, what, body string) {
	log := s.madeJob(t, 202, what+"/log", `{}`)
	s.carriedOn(t, by, log)
	if sequence, ok := strings.CutPrefix(what, path("sequences/")); ok {
		s.loseLeases(t, sequence)
	}
	lines := call(t, s.admin, 200, httpEvent("GET", path("jobs/%s/parts/0", log), "")).Body
	job := s.madeJob(t, 201, what+"/restore", body)
	upload := httpEvent("PUT", path("jobs/%s/input/0", job), lines)
	upload.Headers["content-type"] = "application/x-ndjson"
	call(t, s.admin, 200, upload)
	call(t, s.admin, 202, httpEvent("POST", path("jobs/%s/start", job), `{"parts": 1}`))
	s.carriedOn(t, by, job)
}
