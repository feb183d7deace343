package api_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// A break of the trail is a finding of the trail alone, until somebody acknowledges it.
func TestABreakOfTheTrailIsAcknowledged(t *testing.T) {
	w := newWorld(t)
	w.harm(alloctest.Damage{Kind: alloctest.ChangeRecord, Month: alloc.MonthOf(w.clock.Now()), Position: 2})
	job := w.jobDone("/v1/pools/p/audit", "")
	found := read[struct{ Kind, On, Seen string }](t, strings.NewReader(w.parts(job)))
	if job.Verdict != "healthy" || job.Trail != "findings" || job.Tally["trail_findings"] != 1 || found.Kind != "trail" {
		t.Fatalf("broken: %+v, %+v", job, found)
	}
	month := alloc.MonthOf(w.clock.Now())
	body := fmt.Sprintf(`{"month": %q, "position": "2", "seen": %q, "why": "a test"}`, month, found.Seen)
	for bad, code := range map[string]alloc.Code{
		strings.Replace(body, `"2"`, `"3"`, 1):                            alloc.CodeBreakNotFound,
		strings.Replace(body, month, "2026-10", 1):                        alloc.CodeBreakNotFound,
		strings.Replace(body, found.Seen, "0123456789abcdef", 1):          alloc.CodeBreakNotFound,
		strings.Replace(body, "a test", "", 1):                            alloc.CodeInvalidRequest,
		strings.Replace(body, `"why"`, `"known": {"month": 5}, "why"`, 1): alloc.CodeInvalidRequest,
		"{}": alloc.CodeInvalidRequest,
	} {
		refusedBy(t, w.do("POST", "/v1/audit/acknowledge", bad), code)
	}
	w.must(200, "POST", "/v1/audit/acknowledge", body)
	job = w.jobDone("/v1/pools/p/audit", "")
	found = read[struct{ Kind, On, Seen string }](t, strings.NewReader(w.parts(job)))
	if job.Verdict != "healthy" || job.Trail != "healthy" || job.Tally["information"] != 1 || job.Tally["trail_findings"] != 0 || found.Kind != "acknowledged" {
		t.Errorf("acknowledged: %+v, %+v", job, found)
	}
}

// The end of the trail that an audit says is found again later, and another one is not.
func TestTheEndOfTheTrailIsNotedElsewhere(t *testing.T) {
	w := newWorld(t)
	job := w.jobDone("/v1/audit/verify", "")
	var noted struct {
		End json.RawMessage `json:"trail_end"`
	}
	if err := json.Unmarshal(w.must(200, "GET", "/v1/jobs/"+job.ID, "").Body.Bytes(), &noted); err != nil || len(noted.End) == 0 {
		t.Fatalf("no end: %v", err)
	}
	if got := w.jobDone("/v1/audit/verify", fmt.Sprintf(`{"known": %s}`, noted.End)); got.Trail != "healthy" {
		t.Errorf("with its own end: %+v", got)
	}
	digit, zero := read[struct{ Hash string }](t, strings.NewReader(string(noted.End))).Hash, "0"
	if digit[:1] == zero {
		zero = "1"
	}
	other := strings.Replace(string(noted.End), digit, zero+digit[1:], 1)
	if got := w.jobDone("/v1/audit/verify", fmt.Sprintf(`{"known": %s}`, other)); got.Trail != "findings" || got.Verdict != "findings" {
		t.Errorf("with another end: %+v", got)
	}
	for _, bad := range []string{`{}`, `{"month": "2026-13", "position": "1", "hash": "x"}`, `{"month": "2026-11", "position": "0", "hash": "x"}`, `{"month": "2026-11", "position": "1"}`, `[]`} {
		refusedBy(t, w.do("POST", "/v1/audit/verify", fmt.Sprintf(`{"known": %s}`, bad)), alloc.CodeInvalidRequest)
	}
}

// The trail is filtered, and exported page by page, as lines too.
func TestTheTrailIsFilteredAndExported(t *testing.T) {
	w := newWorld(t)
	for range 5 {
		w.must(200, "POST", "/v1/pools/p/pause", "")
		w.must(200, "POST", "/v1/pools/p/resume", "")
	}
	lines := func(query string) (actions []string) {
		for path := "/v1/audit?format=lines&limit=2" + query; ; {
			got := w.must(200, "GET", path, "")
			if kind, name := got.Header().Get("Content-Type"), got.Header().Get("Content-Disposition"); kind != "application/x-ndjson" || !strings.Contains(name, "audit.jsonl") {
				t.Fatalf("%s: %s, %s", path, kind, name)
			}
			for line := range strings.Lines(got.Body.String()) {
				actions = append(actions, read[struct{ Action string }](t, strings.NewReader(line)).Action)
			}
			next := nextOf(t, got.Header().Get("Link"))
			if next == nil {
				return actions
			}
			path = "/v1/audit?" + next.Encode()
		}
	}
	all := len(lines(""))
	day := func(n int) string { return w.clock.Now().AddDate(0, 0, n).UTC().Format(time.RFC3339) }
	for query, want := range map[string]int{
		"&action=pool.pause": 5, "&action=pool.*&target=pool/p&result=ok&client=" + url.QueryEscape("nobody"): 0, "&target=sequence/*": 1, "&month=" + alloc.MonthOf(w.clock.Now()): all, "&month=2026-10": 0,
		"&from=" + day(-1): all, "&until=" + day(-1): 0, "&from=" + day(1): 0, "&until=" + day(1): all, "&result=forbidden": 0, "&action=": all,
	} {
		if got := lines(query); len(got) != want {
			t.Errorf("%s: %v, want %d", query, got, want)
		}
	}
	for _, bad := range []string{"month=11", "month=", "target=" + strings.Repeat("0", 201), "from=yesterday", "until=x", "format=xml", "from=2026-11-29T00:00:00Z&until=2026-11-28T00:00:00Z", "who=x", "client=" + strings.Repeat("x", 2000)} {
		refusedBy(t, w.do("GET", "/v1/audit?"+bad, ""), alloc.CodeInvalidRequest)
	}
}
