package api_test

import (
	"fmt"
	"strings"
	"testing"
)

// What the contract says of a deleted pool: new work is refused, and what its owners and programs still need goes on.
func TestWhatADeletedPoolAnswers(t *testing.T) {
	w := newWorld(t)
	const key = "Idempotency-Key: before"
	before := read[claimed](t, w.must(201, "POST", "/v1/pools/p/claims", `{"count": 2}`, key).Body)
	if p := problemOf(t, w.must(409, "DELETE", "/v1/pools/p", "")); p.Code != "pool_active" || !strings.Contains(p.Detail, "pause or drain it first") {
		t.Errorf("while it is active: %+v", p)
	}
	w.remove("/v1/pools/p")

	for _, line := range [][3]string{
		{"GET", "/v1/pools/p", ""},
		{"PUT", "/v1/pools/p", ""},
		{"DELETE", "/v1/pools/p", ""},
		{"POST", "/v1/pools/p/pause", ""},
		{"POST", "/v1/pools/p/resume", ""},
		{"POST", "/v1/pools/p/drain", ""},
		{"POST", "/v1/pools/p/seed", `{"ids": ["B-1"]}`},
		{"POST", "/v1/pools/p/exports", ""},
		{"POST", "/v1/pools/p/claims", ""},
	} {
		if p := problemOf(t, w.must(410, line[0], line[1], line[2])); p.Code != "pool_deleted" {
			t.Errorf("%s %s: %s", line[0], line[1], p.Code)
		}
	}
	if list := read[struct{ Pools []any }](t, w.must(200, "GET", "/v1/pools", "").Body); len(list.Pools) != 0 {
		t.Errorf("it is listed: %v", list.Pools)
	}

	again := w.must(201, "POST", "/v1/pools/p/claims", `{"count": 2}`, key)
	if got := read[claimed](t, again.Body); got.Token != before.Token || again.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("the replay has %+v, the first answer had %+v", got, before)
	}
	settle := func(ids []string, token string) string {
		return fmt.Sprintf(`{"ids": [%q], "token": %q}`, ids[0], token)
	}
	w.must(200, "POST", "/v1/pools/p/confirm", settle(w.held.IDs[:1], w.held.Token))
	w.must(200, "POST", "/v1/pools/p/retire", settle(w.held.IDs[1:], w.held.Token))
	w.must(200, "POST", "/v1/pools/p/release", settle(before.IDs[:1], before.Token))
	w.must(200, "GET", "/v1/pools/p/ids?id="+before.IDs[1], "")
	w.must(200, "POST", "/v1/pools/p/sweep", "")
	w.must(200, "POST", "/v1/tend", "")
	w.must(200, "GET", "/v1/jobs/"+w.job, "")
	w.must(200, "GET", "/v1/jobs/"+w.job+"/parts/0", "")
	w.must(410, "POST", "/v1/pools/p/claims", "") // what came back is not handed out
}

func TestWhatADeletedSequenceAnswers(t *testing.T) {
	w := newWorld(t)
	w.must(201, "POST", "/v1/sequences/s/leases", `{"count": 5}`, "Idempotency-Key: lease")
	w.must(201, "POST", "/v1/sequences/s/next", "", "Idempotency-Key: next")
	if p := problemOf(t, w.must(409, "DELETE", "/v1/sequences/s", "")); p.Code != "sequence_active" || !strings.Contains(p.Detail, "pause it first") {
		t.Errorf("while it is active: %+v", p)
	}
	w.remove("/v1/sequences/s")

	for _, line := range [][2]string{
		{"GET", "/v1/sequences/s"},
		{"PUT", "/v1/sequences/s"},
		{"DELETE", "/v1/sequences/s"},
		{"POST", "/v1/sequences/s/pause"},
		{"POST", "/v1/sequences/s/resume"},
		{"POST", "/v1/sequences/s/leases"},
		{"POST", "/v1/sequences/s/next"},
	} {
		if p := problemOf(t, w.must(410, line[0], line[1], "")); p.Code != "sequence_deleted" {
			t.Errorf("%s %s: %s", line[0], line[1], p.Code)
		}
	}
	if list := read[struct{ Sequences []any }](t, w.must(200, "GET", "/v1/sequences", "").Body); len(list.Sequences) != 0 {
		t.Errorf("it is listed: %v", list.Sequences)
	}
	w.must(201, "POST", "/v1/sequences/s/leases", `{"count": 5}`, "Idempotency-Key: lease")
	w.must(201, "POST", "/v1/sequences/s/next", "", "Idempotency-Key: next")
	w.must(200, "GET", "/v1/sequences/s/leases", "")
}
