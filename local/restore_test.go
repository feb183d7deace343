package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestTimeTravel restores the backup of a pool and of a sequence, of which much was taken after it, and makes them fit for use again: by the log
// that was written, by the old store that is still there, and by neither. What was given before the restore is never given again.
func TestTimeTravel(t *testing.T) {
	for _, c := range []struct{ source, policy string }{{"log", "keep"}, {"table", "keep"}, {"burn", "keep"}, {"table", "forget"}} {
		t.Run(c.source+" "+c.policy, func(t *testing.T) {
			onEachEngine(t, func(t *testing.T, before engine) { travel(t, before, c.source, c.policy) })
		})
	}
}

func travel(t *testing.T, before engine, source, policy string) {
	given, taken := idsGiven{}, numbersTaken{}
	p := launch(t, before.flags()...)
	given.fill(t, p, 400, policy)
	must[poolSeen](t, p, http.StatusCreated, request{method: "PUT", path: "/v1/sequences/s", body: `{"resume_share": 100}`})
	given.claim(t, p, 30, "")
	held := given.claim(t, p, 8, `"hold": 3600`)
	released := given.claim(t, p, 4, `"hold": 3600`)
	taken.lease(t, p)
	p.end(t)
	backup := before.snapshot(t)
	point := time.Now()

	p = launch(t, before.flags()...)
	given.claim(t, p, 40, "")
	must[any](t, p, http.StatusOK, request{method: "POST", path: "/v1/pools/p/confirm", body: held.settling(8)})
	must[any](t, p, http.StatusOK, request{method: "POST", path: "/v1/pools/p/release", body: released.settling(4)})
	given.forget(released) // whoever gets one now has it rightly
	must[any](t, p, http.StatusOK, request{method: "POST", path: "/v1/pools/p/sweep"})
	must[any](t, p, http.StatusOK, request{method: "POST", path: "/v1/pools/p/seed", body: "LATE-1\nLATE-2\n", contentType: "text/plain"})
	for range 3 {
		taken.lease(t, p)
		taken.next(t, p)
	}
	logs := map[string]string{}
	if source == "log" {
		for _, on := range []string{"pools/p", "sequences/s"} {
			logs[on] = writtenLog(t, p, on)
		}
	}
	last := given.claim(t, p, 1, "") // after the log was written: only the old store knows of it, or nobody
	if source == "log" {
		given.forget(last)
	}
	p.end(t)

	flags := backup.flags()
	if source == "table" {
		flags = append(flags, "-old", before.old())
	}
	p = launch(t, flags...)
	refused := doOnce(t, p, request{method: "POST", path: "/v1/pools/p/restore", body: fmt.Sprintf(`{"source": "burn", "point": %q, "confirm": "p"}`, point.UTC().Format(time.RFC3339))})
	if refused.code() != "rebuild_step" {
		t.Errorf("the restore of a pool that is not paused: %d %s", refused.status, refused.body)
	}
	must[any](t, p, http.StatusOK, request{method: "POST", path: "/v1/pools/p/pause"})
	for _, on := range []string{"pools/p", "sequences/s"} {
		must[any](t, p, http.StatusOK, request{method: "POST", path: "/v1/" + on + "/pause"})
		restore(t, p, on, source, point, logs[on])
	}
	plan := must[rebuildSeen](t, p, http.StatusOK, request{method: "POST", path: "/v1/sequences/s/rebuild", body: fmt.Sprintf(
		`{"why": "restored", "since": %q}`, point.UTC().Format(time.RFC3339))})
	must[rebuildSeen](t, p, http.StatusOK, request{method: "POST", path: "/v1/sequences/s/rebuild/apply", body: fmt.Sprintf(`{"plan": %q, "confirm": "s"}`, plan.Plan.ID)})
	must[rebuildSeen](t, p, http.StatusOK, request{method: "POST", path: "/v1/sequences/s/rebuild/resume", body: `{"share": 100}`})
	job := must[jobSeen](t, p, http.StatusAccepted, request{method: "POST", path: "/v1/pools/p/rebuild", body: `{"why": "restored", "confirm": "p"}`})
	if done := jobEnd(t, p, job.ID); done.State != "done" {
		t.Fatalf("the rebuild: %+v", done)
	}
	must[any](t, p, http.StatusOK, request{method: "POST", path: "/v1/pools/p/sweep"})
	if job := audit(t, p, "/v1/pools/p/audit"); job.Verdict != "healthy" {
		t.Errorf("the audit of a restored pool: %+v %s", job, mustText(t, p, "/v1/jobs/"+job.ID+"/parts/0"))
	}

	for _, on := range []string{"pools/p", "sequences/s"} {
		must[any](t, p, http.StatusOK, request{method: "POST", path: "/v1/" + on + "/resume"})
	}
	must[any](t, p, http.StatusOK, request{method: "POST", path: "/v1/pools/p/seed", body: "NEW-1\nNEW-2\n", contentType: "text/plain"})
	for n := 0; ; n++ {
		a := doOnce(t, p, request{method: "POST", path: "/v1/pools/p/claims"})
		if a.code() == "pool_exhausted" {
			if source != "burn" && n < 300 {
				t.Errorf("only %d IDs are left after a restore that knew what was taken", n)
			}
			break
		}
		if a.status != http.StatusCreated {
			t.Fatalf("a claim after the restore: %d %s", a.status, a.body)
		}
		given.enter(t, a.body)
	}
	for range 3 {
		taken.lease(t, p)
		taken.next(t, p)
	}
}

// writtenLog has a log written, and returns it.
func writtenLog(t *testing.T, p *program, on string) string {
	t.Helper()
	job := jobEnd(t, p, must[jobSeen](t, p, http.StatusAccepted, request{method: "POST", path: "/v1/" + on + "/log", body: `{"why": "each hour"}`}).ID)
	var log strings.Builder
	for n := range job.Parts {
		log.WriteString(mustText(t, p, fmt.Sprintf("/v1/jobs/%s/parts/%d", job.ID, n)))
	}
	return log.String()
}

// restore carries forward what was taken, twice: a repeat changes nothing.
func restore(t *testing.T, p *program, on, source string, point time.Time, log string) {
	t.Helper()
	_, name, _ := strings.Cut(on, "/")
	for range 2 {
		body := fmt.Sprintf(`{"source": %q, "point": %q, "why": "the table is gone", "confirm": %q}`, source, point.UTC().Format(time.RFC3339), name)
		status := http.StatusAccepted
		if source == "log" && strings.HasPrefix(on, "pools/") {
			body = strings.Replace(body, "{", `{"at_most": 0, `, 1)
		}
		if source == "log" {
			status = http.StatusCreated
		}
		job := must[jobSeen](t, p, status, request{method: "POST", path: "/v1/" + on + "/restore", body: body})
		if source == "log" {
			must[any](t, p, http.StatusOK, request{method: "PUT", path: "/v1/jobs/" + job.ID + "/input/0", body: log, contentType: "application/x-ndjson"})
			must[any](t, p, http.StatusAccepted, request{method: "POST", path: "/v1/jobs/" + job.ID + "/start", body: `{"parts": 1}`})
		}
		if done := jobEnd(t, p, job.ID); done.State != "done" {
			t.Fatalf("the restore of %s: %+v", on, done)
		}
	}
}

// idsGiven are the IDs of the pool "p" that clients were given and did not give back.
type idsGiven map[string]bool

// given is the answer of a claim.
type given struct {
	IDs   []string
	Token string
}

// settling is the body of a request about the first n of its IDs.
func (g given) settling(n int) string {
	body, err := json.Marshal(map[string]any{"ids": g.IDs[:n], "token": g.Token})
	if err != nil {
		panic(err) // texts can be written
	}
	return string(body)
}

func (s idsGiven) fill(t *testing.T, p *program, n int, policy string) {
	t.Helper()
	must[poolSeen](t, p, http.StatusCreated, request{method: "PUT", path: "/v1/pools/p", body: fmt.Sprintf(`{"policy": %q}`, policy)})
	var ids strings.Builder
	for i := range n {
		fmt.Fprintf(&ids, "ID-%d\n", i)
	}
	must[seedSeen](t, p, http.StatusOK, request{method: "POST", path: "/v1/pools/p/seed", body: ids.String(), contentType: "text/plain"})
}

// claim claims n IDs, at most 50 at once; the answer is the last one's.
func (s idsGiven) claim(t *testing.T, p *program, n int, more string) (last given) {
	t.Helper()
	for ; n > 0; n -= 50 {
		body := fmt.Sprintf(`{"count": %d`, min(n, 50))
		if more != "" {
			body += ", " + more
		}
		last = must[given](t, p, http.StatusCreated, request{method: "POST", path: "/v1/pools/p/claims", body: body + "}"})
		s.note(t, last.IDs)
	}
	return last
}

func (s idsGiven) enter(t *testing.T, body []byte) {
	t.Helper()
	s.note(t, decode[given](t, body).IDs)
}

func (s idsGiven) note(t *testing.T, ids []string) {
	t.Helper()
	for _, id := range ids {
		if s[id] {
			t.Errorf("the ID %s was given twice", id)
		}
		s[id] = true
	}
}

// forget leaves out IDs of which nothing that is left can know.
func (s idsGiven) forget(g given) {
	for _, id := range g.IDs {
		delete(s, id)
	}
}

// numbersTaken are the numbers of the sequence "s" that clients were given.
type numbersTaken map[uint64]bool

func (s numbersTaken) lease(t *testing.T, p *program) {
	t.Helper()
	r := must[rangeSeen](t, p, http.StatusCreated, request{method: "POST", path: "/v1/sequences/s/leases", body: `{"count": 7}`})
	for n, end := s.number(t, fmt.Sprint(r.Start)), s.number(t, fmt.Sprint(r.End)); n <= end; n++ {
		s.note(t, n)
	}
}

func (s numbersTaken) next(t *testing.T, p *program) {
	t.Helper()
	r := must[struct{ Numbers []string }](t, p, http.StatusCreated, request{method: "POST", path: "/v1/sequences/s/next", body: `{"count": 3}`})
	for _, text := range r.Numbers {
		s.note(t, s.number(t, text))
	}
}

func (s numbersTaken) number(t *testing.T, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (s numbersTaken) note(t *testing.T, n uint64) {
	t.Helper()
	if s[n] {
		t.Errorf("the number %d was given twice", n)
	}
	s[n] = true
}

func (s numbersTaken) highest() (top uint64) {
	for n := range s {
		top = max(top, n)
	}
	return top
}
