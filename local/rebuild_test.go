package main

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"
)

// rebuildSeen is the rebuild of a sequence as its clients see it.
type rebuildSeen struct {
	Step    string
	Plan    struct{ ID, Next string }
	Sources []struct {
		Kind  string
		Known bool
		Last  string
	}
}

// TestALostCounterIsRebuiltByWhoeverComes loses a sequence's counter and rebuilds it step by step; the program is killed after each
// step, and the step asked for again by another program, as by another person. No number comes twice, and every step is in the trail as
// often as it was asked for.
func TestALostCounterIsRebuiltByWhoeverComes(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		taken := numbersTaken{}
		p := launch(t, e.flags()...)
		must[poolSeen](t, p, http.StatusCreated, request{method: "PUT", path: "/v1/sequences/s", body: `{"resume_share": 100}`})
		for range 3 {
			taken.lease(t, p)
			taken.next(t, p)
		}
		p.kill()
		e.loseCounter(t, "s")

		again := func() {
			p.kill()
			p = launch(t, e.flags()...)
		}
		again()
		if a := doOnce(t, p, request{method: "POST", path: "/v1/sequences/s/leases", body: `{"count": 1}`}); a.code() != "sequence_stopped" || a.header.Get("Retry-After") == "" {
			t.Errorf("a lease without a counter: %d %s", a.status, a.body)
		}
		const path = "/v1/sequences/s/rebuild"
		plan := request{method: "POST", path: path, body: `{"why": "the counter is gone", "reported": "40", "margin": 50}`}
		var first rebuildSeen
		for range 2 {
			seen := must[rebuildSeen](t, p, http.StatusOK, plan)
			if seen.Step != "planned" || first.Plan.ID != "" && seen.Plan != first.Plan {
				t.Fatalf("the plan is %+v, then %+v", first, seen)
			}
			first = seen
			again()
		}
		if next, err := strconv.ParseUint(first.Plan.Next, 10, 64); err != nil || next <= taken.highest()+50 {
			t.Errorf("the plan goes on at %s, and %d was taken", first.Plan.Next, taken.highest())
		}
		for _, step := range []struct{ path, body, after string }{
			{"/apply", fmt.Sprintf(`{"plan": %q, "confirm": "s"}`, first.Plan.ID), "verified"},
			{"/resume", `{"share": 100}`, "done"},
		} {
			for range 2 {
				if seen := must[rebuildSeen](t, p, http.StatusOK, request{method: "POST", path: path + step.path, body: step.body}); seen.Step != step.after {
					t.Fatalf("after %s the rebuild is %s, want %s", step.path, seen.Step, step.after)
				}
				again()
			}
		}
		for range 3 {
			taken.lease(t, p)
			taken.next(t, p)
		}
		trail := must[struct {
			Records []struct{ Action, Target, Result string }
		}](t, p, http.StatusOK, request{method: "GET", path: "/v1/audit?limit=100"})
		count := map[string]int{}
		for _, r := range trail.Records {
			if r.Target == "sequence/s" && r.Result == "ok" {
				count[r.Action]++
			}
		}
		for action, n := range map[string]int{"sequence.plan-rebuild": 2, "sequence.apply-rebuild": 2, "sequence.resume-rebuild": 2} {
			if count[action] != n {
				t.Errorf("%s is in the trail %d times, want %d: %v", action, count[action], n, count)
			}
		}
	})
}

// TestADamagedPoolIsRebuiltAndAudited loses what a pool is handed out by, with IDs in every state, finds that by an audit, rebuilds the pool in a
// program that is killed in the middle, and finds nothing more. No ID comes twice.
func TestADamagedPoolIsRebuiltAndAudited(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		given := idsGiven{}
		p := launch(t, e.flags()...)
		given.fill(t, p, 300, "keep")
		given.claim(t, p, 20, "")
		held := given.claim(t, p, 5, `"hold": 3600`)
		must[any](t, p, http.StatusOK, request{method: "POST", path: "/v1/pools/p/retire", body: held.settling(1)})
		p.kill()
		e.loseHead(t, "p")
		p = launch(t, e.flags()...)
		if a := doOnce(t, p, request{method: "POST", path: "/v1/pools/p/claims"}); a.status == http.StatusCreated && e.old() == "" || a.status == http.StatusInternalServerError {
			t.Errorf("a claim of a damaged pool: %d %s", a.status, a.body)
		}
		if job := audit(t, p, "/v1/pools/p/audit"); job.Verdict != "findings" {
			t.Errorf("the audit of a damaged pool: %+v", job)
		}
		job := must[jobSeen](t, p, http.StatusAccepted, request{method: "POST", path: "/v1/pools/p/rebuild", body: `{"why": "the head is gone", "confirm": "p"}`})
		p.kill()
		p = launch(t, append(e.flags(), "-refill-every", "300ms")...)
		if done := jobEnd(t, p, job.ID); done.State != "done" {
			t.Fatalf("the rebuild: %+v", done)
		}
		must[any](t, p, http.StatusOK, request{method: "POST", path: "/v1/pools/p/sweep"})
		verified := must[jobSeen](t, p, http.StatusAccepted, request{method: "POST", path: "/v1/pools/p/audit"})
		log := must[jobSeen](t, p, http.StatusAccepted, request{method: "POST", path: "/v1/pools/p/log"})
		p.kill()
		p = launch(t, append(e.flags(), "-refill-every", "300ms")...)
		if done := jobEnd(t, p, verified.ID); done.Verdict != "healthy" {
			t.Errorf("the audit of a rebuilt pool: %+v %s", done, mustText(t, p, "/v1/jobs/"+done.ID+"/parts/0"))
		}
		if done := jobEnd(t, p, log.ID); done.State != "done" || done.Done != 25 {
			t.Errorf("the log of what 20 claimed, 4 hold and 1 retired: %+v", done)
		}
		given.claim(t, p, 275, "")
		if a := doOnce(t, p, request{method: "POST", path: "/v1/pools/p/claims"}); a.code() != "pool_exhausted" {
			t.Errorf("a claim of a pool that is used up: %d %s", a.status, a.body)
		}
	})
}

// audit has something verified, and returns the job when it is done.
func audit(t *testing.T, p *program, path string) jobSeen {
	t.Helper()
	return jobEnd(t, p, must[jobSeen](t, p, http.StatusAccepted, request{method: "POST", path: path, body: `{}`}).ID)
}

// jobEnd waits for the end of a job.
func jobEnd(t *testing.T, p *program, id string) jobSeen {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		job := must[jobSeen](t, p, http.StatusOK, request{method: "GET", path: "/v1/jobs/" + id})
		if job.State == "done" || job.State == "failed" || job.State == "cancelled" {
			return job
		}
		if time.Now().After(deadline) {
			t.Fatalf("the job does not end: %+v", job)
		}
		backOff()
	}
}

// doOnce sends a request that is not repeated whatever it leads to.
func doOnce(t *testing.T, p *program, r request) answer {
	t.Helper()
	a, err := r.do(t.Context(), newClient(t), p.url)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
