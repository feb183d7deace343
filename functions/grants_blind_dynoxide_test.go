//go:build !goonly

package functions_test

import (
	"strings"
	"testing"
)

// What a blind restore calls where a worker carries it: it ends a seeding that the backup has as open, and makes and pauses the counters of periods. And a
// restore that fails says so in the trail.
func TestABlindRestoreIsGrantedToTheWorker(t *testing.T) {
	s := startSystem(t)
	call(t, s.admin, 201, httpEvent("PUT", path("sequences/bills"), ""))
	call(t, s.admin, 201, httpEvent("PUT", path("pools/p"), `{"generator": {"kind": "sequence", "sequence": "bills", "format": "B-{yyyy}-{n:4}"}, "refill": {"low": 5, "target": 10}}`))
	call(t, s.admin, 201, httpEvent("POST", path("pools/p/seedings"), `{"format": "text"}`))
	call(t, s.admin, 200, httpEvent("POST", path("sequences/bills/pause"), ""))
	call(t, s.admin, 200, httpEvent("POST", path("pools/p/pause"), ""))
	s.carriedOn(t, "worker", s.madeJob(t, 202, path("pools/p/restore"), `{"source": "burn", "point": "2026-11-30T00:00:00Z", "confirm": "p"}`))

	failing := s.madeJob(t, 202, path("pools/p/restore"), `{"source": "burn", "point": "2026-11-30T00:00:00Z", "confirm": "p"}`)
	call(t, s.admin, 200, httpEvent("POST", path("pools/p/resume"), ""))
	if failed := s.delivered(t); failed != 1 { // which its queue gives again, and finds ended
		t.Errorf("the worker failed at %d messages, want the one of the job that fails", failed)
	}
	if got := call(t, s.admin, 200, httpEvent("GET", path("jobs/%s", failing), "")); said(t, got, "state") != "failed" {
		t.Errorf("%s", got.Body)
	}
	for _, fault := range grantFaults(templateGrants(t, "WorkerFunction"), s.toWorker.recorded()) {
		if strings.Contains(fault, "not granted") {
			t.Error(fault)
		}
	}
}
