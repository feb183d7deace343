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

	failing := s.madeJob(t, 202, path("pools/billed/restore"), burn)
	call(t, s.admin, 200, httpEvent("POST", path("pools/billed/resume"), ""))
	if failed := s.delivered(t); failed != 1 { // which its queue gives again, and finds ended
		t.Errorf("the worker failed at %d messages, want the one of the job that fails", failed)
	}
	if got := call(t, s.admin, 200, httpEvent("GET", path("jobs/%s", failing), "")); said(t, got, "state") != "failed" {
		t.Errorf("%s", got.Body)
	}
}
