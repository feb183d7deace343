//go:build !goonly

package functions_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"idpool/infra/dynamo"
)

// deliver gives the messages that were sent to the worker, twice each and in the reverse order, until none is left.
func (s *system) deliver(t *testing.T) {
	t.Helper()
	if failed := s.delivered(t); failed > 0 {
		t.Errorf("the worker failed at %d messages", failed)
	}
}

// delivered hands over all messages, and those that come of them, and returns at how many the worker failed.
func (s *system) delivered(t *testing.T) (failed int) {
	t.Helper()
	for range 100 {
		var bodies []string
		for _, q := range s.queues {
			bodies = append(bodies, q.Take()...)
		}
		if len(bodies) == 0 {
			return failed
		}
		var event events.SQSEvent
		slices.Reverse(bodies)
		for i, body := range append(bodies, bodies...) {
			event.Records = append(event.Records, events.SQSMessage{MessageId: fmt.Sprint(i), Body: body, EventSource: "aws:sqs"})
		}
		var said events.SQSEventResponse
		if err := json.Unmarshal(s.worker.invoke(t, event), &said); err != nil {
			t.Fatal(err)
		}
		failed += len(said.BatchItemFailures)
	}
	t.Error("there are more and more messages")
	return failed
}

// fill has pools filled by their generators: random ones, numbers of a period, and one that is dry after nine.
func (s *system) fill(t *testing.T) {
	json := func(kind string, low, target int) string {
		return fmt.Sprintf(`{"generator": %s, "refill": {"low": %d, "target": %d}}`, kind, low, target)
	}
	pools := map[string]string{
		"random":   json(`{"kind": "random"}`, 20, 30),
		"numbered": json(`{"kind": "sequence", "sequence": "bills", "format": "B-{yyyy}-{n:4}"}`, 5, 10),
		"nine":     json(`{"kind": "sequence", "sequence": "bills", "format": "N-{n:1}"}`, 5, 8),
	}
	call(t, s.admin, 201, httpEvent("PUT", path("sequences/bills"), ""))
	for pool, config := range pools {
		call(t, s.admin, 200, httpEvent("POST", path("pools/%s/preview", pool), config))
		call(t, s.admin, 201, httpEvent("PUT", path("pools/%s", pool), config))
	}
	s.tend(t)
	for pool := range pools {
		call(t, s.first, 201, httpEvent("POST", path("pools/%s/claims", pool), `{"count": 5}`))
	}
	call(t, s.admin, 200, httpEvent("POST", path("tend"), ""))
	for range 2 {
		for pool := range pools {
			call(t, s.second, 201, httpEvent("POST", path("pools/%s/claims", pool), `{"count": 1}`))
		}
		s.tend(t)
	}
	for pool := range pools {
		for _, what := range []string{"", "/refill", "/forecast", "/samples"} {
			call(t, s.admin, 200, httpEvent("GET", path("pools/%s%s", pool, what), ""))
		}
	}
	if refill := call(t, s.admin, 200, httpEvent("GET", path("pools/nine/refill"), "")); !strings.Contains(refill.Body, `"dry":"`) {
		t.Errorf("after nine the refill is %s, want it dry", refill.Body)
	}
	for _, what := range []string{"forecast", "samples"} {
		call(t, s.admin, 200, httpEvent("GET", path("sequences/bills/%s", what), ""))
	}
	change := strings.Replace(pools["random"], "30", "40", 1)
	call(t, s.admin, 200, matching(httpEvent("PUT", path("pools/random"), change), `"1"`))
}

// workOn has a file seeded, a pool counted and exported by the worker, by the schedule without a queue, and by admin's run of it.
func (s *system) workOn(t *testing.T) {
	for _, by := range []string{"worker", "refill", "admin"} {
		pool := "file-" + by
		call(t, s.admin, 201, httpEvent("PUT", path("pools/%s", pool), `{"policy": "forget"}`))
		jobs := []string{s.seedFile(t, pool), s.exported(t, pool)}
		switch by {
		case "worker":
			s.deliver(t)
		case "refill":
			s.tend(t)
		default:
			call(t, s.adminAlone, 200, httpEvent("POST", path("tend"), ""))
		}
		for _, job := range jobs {
			got := call(t, s.admin, 200, httpEvent("GET", path("jobs/%s", job), ""))
			if state := said(t, got, "state"); state != "done" {
				t.Errorf("by %s: %s", by, got.Body)
			}
			call(t, s.admin, 200, httpEvent("GET", path("jobs/%s/parts/0", job), ""))
		}
		call(t, s.admin, 200, httpEvent("POST", path("pools/%s/count", pool), ""))
		for _, q := range s.queues {
			q.Take() // what was done by somebody else
		}
	}
	call(t, s.admin, 201, httpEvent("PUT", path("pools/one"), ""))
	call(t, s.admin, 200, httpEvent("POST", path("pools/one/seed"), `{"ids": ["A"]}`))
	s.exported(t, "one") // a part of many that is one alone is read by itself
	s.deliver(t)
	s.standStill(t)
	opened := said(t, call(t, s.admin, 201, httpEvent("POST", path("pools/file-worker/seedings"), `{"format": "text"}`)), "id")
	call(t, s.admin, 200, httpEvent("POST", path("jobs/%s/cancel", opened), ""))
	call(t, s.admin, 200, httpEvent("GET", path("jobs"), ""))
}

// seedFile sends a file in two parts, with a line that comes twice and one that is no ID.
func (s *system) seedFile(t *testing.T, pool string) (job string) {
	t.Helper()
	job = said(t, call(t, s.admin, 201, httpEvent("POST", path("pools/%s/seedings", pool), `{"format": "text", "why": "a file"}`)), "id")
	for n, part := range []string{"A\nB\nC\n", "D\nA\n\x01\n"} {
		upload := httpEvent("PUT", path("jobs/%s/input/%d", job, n), part)
		upload.Headers["content-type"] = "text/plain"
		call(t, s.admin, 200, upload)
	}
	call(t, s.admin, 202, httpEvent("POST", path("jobs/%s/start", job), `{"parts": 2}`))
	return job
}

func (s *system) exported(t *testing.T, pool string) (job string) {
	t.Helper()
	return said(t, call(t, s.admin, 202, httpEvent("POST", path("pools/%s/exports", pool), `{"state": "", "format": "json"}`)), "id")
}

// standStill loses the word of a job, and has the schedule send it again when it has stood still for a while.
func (s *system) standStill(t *testing.T) {
	job := s.exported(t, "file-worker")
	for _, q := range s.queues {
		q.Take()
	}
	_, err := s.table.Update(t.Context(), dynamo.Key{PK: "J#" + job, SK: "H"}, dynamo.Update{Set: map[string]any{"upd": int64(1), "log": "[]"}}, dynamo.Exists("pk"))
	if err != nil {
		t.Fatal(err)
	}
	s.refillSending.invoke(t, map[string]string{"source": "schedule"})
	s.deliver(t)
	if got := call(t, s.admin, 200, httpEvent("GET", path("jobs/%s", job), "")); said(t, got, "state") != "done" {
		t.Errorf("a job whose word was lost: %s", got.Body)
	}
}
