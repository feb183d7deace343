package api_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"idpool/alloc"
	"idpool/web"
)

// exportJob is a job as it is answered.
type exportJob struct {
	ID, State   string
	Done, Parts int
}

// Whoever may read a pool sees single IDs, and gets no list of those that are free.
func TestAReaderGetsNoFreeCodes(t *testing.T) {
	w := newWorld(t)
	w.must(200, "POST", "/v1/tend", "")
	reader := w.as(w.makeCredential(`{"client": "monitor", "scopes": ["read:*"]}`).Secret)
	reader.must(200, "GET", "/v1/pools/p/ids?id=A-1", "")
	reader.must(403, "POST", "/v1/pools/p/exports", `{"state": "free"}`)
	reader.must(403, "GET", "/v1/jobs/"+w.job, "")
	reader.must(403, "GET", "/v1/jobs/"+w.job+"/parts/0", "")
	if body := reader.must(200, "GET", "/v1/jobs", "").Body.String(); strings.Contains(body, w.job) {
		t.Errorf("it sees %s", body)
	}
}

// An export is cancelled by the client that made it, or by whoever manages the pool, with and without a key; a refusal leaves
// its record either way.
func TestWhoCancelsAnExport(t *testing.T) {
	for _, headers := range [][]string{nil, {"Idempotency-Key: k"}} {
		w := newWorld(t)
		as := func(name string, scopes ...string) client {
			return w.as(w.makeCredential(fmt.Sprintf(`{"client": %q, "scopes": ["%s"]}`, name, strings.Join(scopes, `", "`))).Secret)
		}
		maker, other := as("maker", "export:p"), as("other", "export:p", "read:*")
		manager := as("manager", "manage:p")
		records := func() int {
			return strings.Count(w.must(200, "GET", "/v1/audit?limit=100", "").Body.String(), "cancel-export")
		}
		for _, by := range []client{maker, manager} {
			job := read[exportJob](t, maker.must(202, "POST", "/v1/pools/p/exports", "").Body).ID
			path := "/v1/jobs/" + job + "/cancel"
			before := records()
			other.must(403, "POST", path, "", headers...)
			if n := records() - before; n != 1 {
				t.Errorf("the refusal left %d records, want one", n)
			}
			if got := read[exportJob](t, by.must(200, "POST", path, "", headers...).Body); got.State != string(alloc.JobCancelled) {
				t.Errorf("the job is %+v", got)
			}
			by.must(200, "POST", path, "", headers...)
		}
	}
}

// An export without IDs is a file all the same: a head where the format has one, and nothing else.
func TestAnExportWithoutIDs(t *testing.T) {
	w := newWorld(t)
	for format, want := range map[string]string{
		"csv": "id,state,generation,job,client,owner,metadata,claimed_at,held_until\r\n", "json": "",
	} {
		job := read[exportJob](t, w.must(202, "POST", "/v1/pools/p/exports", fmt.Sprintf(`{"state": "retired", "format": %q}`, format)).Body).ID
		w.must(404, "GET", "/v1/jobs/"+job+"/parts/0", "")
		w.must(200, "POST", "/v1/tend", "")
		if got := read[exportJob](t, w.must(200, "GET", "/v1/jobs/"+job, "").Body); got.State != "done" || got.Parts != 1 || got.Done != 0 {
			t.Errorf("%s: the job is %+v", format, got)
		}
		if got := w.must(200, "GET", "/v1/jobs/"+job+"/parts/0", "").Body.String(); got != want {
			t.Errorf("%s: %q, want %q", format, got, want)
		}
		w.must(404, "GET", "/v1/jobs/"+job+"/parts/1", "")
	}
}

// A client that has too many jobs is told when to come again, and that it is no fault of ours.
func TestTooManyJobsAreTheClients(t *testing.T) {
	w := newWorld(t) // with two jobs of this client
	for range 8 {
		w.must(202, "POST", "/v1/pools/p/exports", "")
	}
	for path, body := range map[string]string{"/v1/pools/p/exports": "", "/v1/pools/p/count": "", "/v1/pools/p/seedings": `{"format": "text"}`} {
		got := w.must(429, "POST", path, body)
		if p := read[web.Problem](t, got.Body); p.Code != alloc.CodeTooManyJobs || got.Header().Get("Retry-After") != "60" {
			t.Errorf("%s: %s, Retry-After %q", path, p.Code, got.Header().Get("Retry-After"))
		}
	}
}

// Where a list goes on is told to nobody: it may be after an entry that its reader may not see.
func TestCursorsTellNothing(t *testing.T) {
	w := newWorld(t)
	for i := range 1000 {
		config := alloc.PoolConfig{}.WithDefaults()
		if _, _, err := w.store.CreatePool(t.Context(), alloc.PoolName(fmt.Sprintf("merger-with-acme-%04d", i)), config); err != nil {
			t.Fatal(err)
		}
	}
	some := w.as(strings.TrimPrefix(w.secretFor("read:zzz"), "Bearer "))
	next := read[struct {
		Next string `json:"next_cursor"`
	}](t, some.must(200, "GET", "/v1/pools", "").Body).Next
	text, err := base64.RawURLEncoding.DecodeString(next)
	if err != nil || len(text) == 0 || strings.Contains(string(text), "acme") {
		t.Errorf("the cursor is %q, %v", text, err)
	}
}
