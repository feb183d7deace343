//go:build !goonly

package functions_test

import "testing"

// blindRestore is what a blind restore calls where a worker carries it: it ends a seeding that the backup has as open, and makes and pauses the counters
// of periods. And a restore that fails says so in the trail.
func (s *system) blindRestore(t *testing.T) {
	t.Helper()
	call(t, s.admin, 201, httpEvent("PUT", path("sequences/billings"), ""))
	call(t, s.admin, 201, httpEvent("PUT", path("pools/billed"), `{"generator": {"kind": "sequence", "sequence": "billings", "format": "B-{yyyy}-{n:4}"}, "refill": {"low": 5, "target": 10}}`))
	call(t, s.admin, 201, httpEvent("POST", path("pools/billed/seedings"), `{"format": "text"}`))
	call(t, s.admin, 200, httpEvent("POST", path("sequences/billings/pause"), ""))
	call(t, s.admin, 200, httpEvent("POST", path("pools/billed/pause"), ""))
	const burn = `{"source": "burn", "point": "2026-11-30T00:00:00Z", "confirm": "billed"}`
	s.carriedOn(t, "worker", s.madeJob(t, 202, path("pools/billed/restore"), burn))

	for _, by := range carriers {
		s.failsBy(t, by, burn)
	}
}

// failsBy has a restore fail that one of the carriers carries on: the pool is open by then.
func (s *system) failsBy(t *testing.T, by, burn string) {
	t.Helper()
	failing := s.madeJob(t, 202, path("pools/billed/restore"), burn)
	call(t, s.admin, 200, httpEvent("POST", path("pools/billed/resume"), ""))
	switch by {
	case "worker":
		if failed := s.delivered(t); failed != 1 { // which its queue gives again, and finds ended
			t.Errorf("the worker failed at %d messages, want the one of the job that fails", failed)
		}
	case "refill":
		if run := s.refill.ask(t, map[string]string{"source": "schedule"}); !run.failed {
			t.Errorf("a run in which a job fails says %s", run.body)
		}
	default:
		s.adminAlone.invoke(t, httpEvent("POST", path("tend"), ""))
	}
	if got := call(t, s.admin, 200, httpEvent("GET", path("jobs/%s", failing), "")); said(t, got, "state") != "failed" {
		t.Errorf("by %s: %s", by, got.Body)
	}
	for _, q := range s.queues {
		q.Take() // what was done by somebody else
	}
	call(t, s.admin, 200, httpEvent("POST", path("pools/billed/pause"), ""))
}
