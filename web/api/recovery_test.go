package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// recoveryJob is a job as it is answered.
type recoveryJob struct {
	ID, Kind, Pool, Sequence, State, Verdict, Source, Point, Since string
	Trail                                                          string `json:"trail_verdict"`

	Sample, Done, Parts int
	Progress            *struct {
		Done, Total int
		Estimated   bool
	}
	AtMost int `json:"at_most"`
	Tally  map[string]int
	Input  *struct{ Parts, Lines int }
}

// ended lets the schedule work until the job has ended.
func (w *world) ended(id string) recoveryJob {
	w.t.Helper()
	for range 50 {
		w.must(200, "POST", "/v1/tend", "")
		if j := read[recoveryJob](w.t, w.must(200, "GET", "/v1/jobs/"+id, "").Body); alloc.JobState(j.State).Ended() {
			if j.State != string(alloc.JobDone) {
				w.t.Fatalf("the job is %+v: %s", j, w.must(200, "GET", "/v1/jobs/"+id, "").Body)
			}
			return j
		}
	}
	w.t.Fatalf("the job %s does not end", id)
	return recoveryJob{}
}

// made makes a job and lets it end.
func (w *world) jobDone(path, body string) recoveryJob {
	w.t.Helper()
	return w.ended(read[recoveryJob](w.t, w.must(202, "POST", path, body).Body).ID)
}

// parts is the whole result of a job.
func (w *world) parts(j recoveryJob) string {
	w.t.Helper()
	all := ""
	for n := range j.Parts {
		part := w.must(200, "GET", fmt.Sprintf("/v1/jobs/%s/parts/%d", j.ID, n), "")
		if media := part.Header().Get("Content-Type"); media != "application/x-ndjson" {
			w.t.Errorf("part %d is %s", n, media)
		}
		all += part.Body.String()
	}
	return all
}

// C10: the head of a pool is lost: claims say so, the evidence shows it, and a rebuild has all of it back.
func TestAPoolIsRebuilt(t *testing.T) {
	w := newWorld(t)
	type evidence struct {
		Head, Configured bool
		Rebuilding       string
		Damage           []string
		Config           *struct{ Policy string }
	}
	look := func() evidence {
		return read[evidence](t, w.must(200, "GET", "/v1/pools/p/evidence", "").Body)
	}
	if e := look(); !e.Head || !e.Configured || e.Config == nil || len(e.Damage) != 0 || e.Rebuilding != "" {
		t.Errorf("healthy: %+v", e)
	}
	w.harm(alloctest.Damage{Kind: alloctest.LoseHead, Pool: "p"})
	if e := look(); e.Head || !e.Configured || len(e.Damage) == 0 || e.Config == nil || e.Config.Policy != "keep" {
		t.Errorf("without its head: %+v", e)
	}
	refusedBy(t, w.do("POST", "/v1/pools/p/claims", ""), alloc.CodePoolDamaged)
	for _, body := range []string{"", `{"confirm": "q"}`, `{"confirm": "P"}`, `{"confirm": 5}`, `{"confirm": "p", "sample": 5}`} {
		refusedBy(t, w.do("POST", "/v1/pools/p/rebuild", body), alloc.CodeInvalidRequest)
	}
	refusedBy(t, w.do("POST", "/v1/pools/p/rebuild", `{"confirm": "p", "policy": "lose"}`), alloc.CodeInvalidConfig)

	job := read[recoveryJob](t, w.must(202, "POST", "/v1/pools/p/rebuild", `{"confirm": "p", "why": "lost"}`).Body)
	if again := read[recoveryJob](t, w.must(202, "POST", "/v1/pools/p/rebuild", `{"confirm": "p"}`).Body); again.ID != job.ID {
		t.Errorf("another rebuild beside the one that is on: %+v", again)
	}
	done := w.ended(job.ID)
	want := map[string]int{"free": 3, "held": 2, "claimed": 0, "returning": 0, "retired": 0, "lost": 0}
	if diff := cmp.Diff(want, done.Tally); diff != "" || done.Kind != "rebuild" || done.Pool != "p" || done.Parts != 0 {
		t.Errorf("%+v, its tally (-want +got):\n%s", done, diff)
	}
	if p := done.Progress; p == nil || p.Done != 5 || p.Total != 5 || p.Estimated {
		t.Errorf("its progress is %+v, want 5 of 5", p)
	}
	if e := look(); !e.Head || len(e.Damage) != 0 {
		t.Errorf("rebuilt: %+v", e)
	}
	w.must(201, "POST", "/v1/pools/p/claims", `{"count": 3}`)
	refusedBy(t, w.do("POST", "/v1/pools/p/claims", ""), alloc.CodePoolExhausted)
}

// A pool of which no configuration is left is rebuilt by what its administrator says.
func TestAPoolWithoutConfigurationIsRebuilt(t *testing.T) {
	w := newWorldOf(t, `{"policy": "forget", "fold_case": true}`)
	w.harm(alloctest.Damage{Kind: alloctest.LoseHead, Pool: "p"})
	w.harm(alloctest.Damage{Kind: alloctest.LoseCopy, Pool: "p"})
	if e := w.must(200, "GET", "/v1/pools/p/evidence", "").Body.String(); !strings.Contains(e, `"configured":false`) || strings.Contains(e, `"config"`) || strings.Contains(e, `"state"`) {
		t.Errorf("nothing is left: %s", e)
	}
	listed := w.must(200, "GET", "/v1/pools", "").Body.String()
	if !strings.Contains(listed, `"name":"p","state":"damaged","level_error":{"code":"pool_damaged"`) {
		t.Errorf("in the list: %s", listed)
	}
	if got := w.must(200, "GET", "/v1/pools?format=csv", "").Body.String(); !strings.Contains(got, "\np,damaged,,,,,,,,,,") {
		t.Errorf("in the list as CSV: %s", got)
	}
	for _, unsaid := range []string{``, `, "policy": "forget"`, `, "fold_case": true`} {
		refusedBy(t, w.do("POST", "/v1/pools/p/rebuild", `{"confirm": "p"`+unsaid+`}`), alloc.CodeInvalidConfig)
	}
	got := w.must(202, "POST", "/v1/pools/p/rebuild", `{"confirm": "p", "policy": "forget", "fold_case": true}`).Body.String()
	if !strings.Contains(got, `"policy":"forget","fold_case":true`) {
		t.Errorf("the job does not say what was asked for: %s", got)
	}
	w.ended(read[recoveryJob](t, strings.NewReader(got)).ID)
	if p := w.must(200, "GET", "/v1/pools/p", "").Body.String(); !strings.Contains(p, `"policy":"forget","fold_case":true`) {
		t.Errorf("rebuilt: %s", p)
	}
	for _, other := range []string{`"policy": "keep"`, `"fold_case": false`, `"policy": "forget", "fold_case": false`} { // of a pool that has its own
		refusedBy(t, w.do("POST", "/v1/pools/p/rebuild", `{"confirm": "p", `+other+`}`), alloc.CodeInvalidConfig)
	}
}

// An audit of what is healthy finds nothing; each of what is not finds it, and counts it.
func TestAnAuditTells(t *testing.T) {
	record := func(w *world, kind alloctest.DamageKind) {
		w.harm(alloctest.Damage{Kind: kind, Month: alloc.MonthOf(w.clock.Now()), Position: 2})
	}
	tests := map[string]struct {
		path    string
		harm    func(w *world)
		kind    string
		tallies int
	}{
		"a pool":                          {"/v1/pools/p/audit", nil, "", 9},
		"a sequence":                      {"/v1/sequences/s/audit", nil, "", 3},
		"the trail":                       {"/v1/audit/verify", nil, "", 3},
		"a pool without head":             {"/v1/pools/p/audit", func(w *world) { w.harm(alloctest.Damage{Kind: alloctest.LoseHead, Pool: "p"}) }, "head", 9},
		"a lost ID":                       {"/v1/pools/p/audit", func(w *world) { w.harm(alloctest.Damage{Kind: alloctest.LoseID, Pool: "p", ID: "A-5"}) }, "lost_id", 9},
		"a counter behind":                {"/v1/sequences/s/audit", func(w *world) { w.store.SetCounter("s", 2) }, "counter", 3},
		"a changed trail":                 {"/v1/audit/verify", func(w *world) { record(w, alloctest.ChangeRecord) }, "trail", 3},
		"a changed trail, seen by a pool": {"/v1/pools/p/audit", func(w *world) { record(w, alloctest.LoseRecord) }, "trail", 9},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.must(201, "POST", "/v1/sequences/s/leases", `{"count": 5}`)
			if tt.harm != nil {
				tt.harm(w)
			}
			job := w.jobDone(tt.path, `{"why": "month-end"}`)
			found := w.parts(job)
			if job.Kind != "audit" || len(job.Tally) != tt.tallies || job.Parts < 1 || job.Tally["findings"] != strings.Count(found, "\n") {
				t.Errorf("the job is %+v, its result %s", job, found)
			}
			switch {
			case tt.harm == nil && (job.Verdict != "healthy" || job.Trail != "healthy" || found != ""):
				t.Errorf("%+v: %s", job, found)
			case tt.harm != nil && !strings.Contains(found, `{"kind":"`+tt.kind+`","on":"`):
				t.Errorf("%+v: %s", job, found)
			case tt.harm != nil && (job.Verdict == "findings") != (tt.kind != "trail" || tt.path == "/v1/audit/verify"), tt.harm != nil && (job.Trail == "findings") != (tt.kind == "trail"):
				t.Errorf("the verdicts of %+v: %s", job, found)
			}
		})
	}
}

// What an audit, a log or a restore cannot be asked for is refused.
func TestBadRecoveries(t *testing.T) {
	w := newWorld(t)
	before := w.snapshot()
	for body, paths := range map[string][]string{
		`{"sample": 0}`: {"pools/p/audit", "sequences/s/audit"}, `{"sample": 101}`: {"pools/p/audit"}, `{"sample": "5"}`: {"sequences/s/audit"},
		`{"sample": 5}`: {"audit/verify", "pools/p/log"}, `{"why": " x"}`: {"pools/p/audit", "audit/verify", "pools/p/log", "sequences/s/log"},
		`{"since": "yesterday"}`: {"pools/p/log", "sequences/s/log"}, `{"since": null}`: {"pools/p/log"},
		`{"source": "burn", "point": "2026-11-29T11:00:00Z"}`:                 {"pools/p/restore", "sequences/s/restore"},
		`{"source": "burn", "point": "2026-11-29T11:00:00Z", "confirm": "s"}`: {"pools/p/restore"},
		`{"since": "1999-12-31T23:59:59Z"}`:                                   {"pools/p/log", "sequences/s/log", "sequences/s/rebuild"}, `{"since": "0001-05-01T00:00:00Z"}`: {"pools/p/log", "sequences/s/rebuild"},
		`{"since": "2100-01-01T00:00:00Z"}`:                                                             {"pools/p/log", "sequences/s/log", "sequences/s/rebuild"},
		`{"source": "burn", "point": "0001-05-01T00:00:00Z", "confirm": "p"}`:                           {"pools/p/restore"},
		`{"source": "burn", "point": "2100-01-01T00:00:00Z", "confirm": "p"}`:                           {"pools/p/restore"},
		`{"source": "burn", "confirm": "p"}`:                                                            {"pools/p/restore"},
		`{"source": "hope", "point": "2026-11-29T11:00:00Z", "confirm": "p"}`:                           {"pools/p/restore"},
		`{"point": "2026-11-29T11:00:00Z", "confirm": "p"}`:                                             {"pools/p/restore"},
		`{"source": "burn", "point": "2026-11-29T11:00:00Z", "confirm": "p", "at_most": 0}`:             {"pools/p/restore"},
		`{"source": "burn", "point": "2026-11-29T11:00:00Z", "confirm": "p", "at_most": -5}`:            {"pools/p/restore"},
		`{"source": "burn", "point": "2026-11-29T11:00:00Z", "confirm": "p", "at_most": "5"}`:           {"pools/p/restore"},
		`{"source": "log", "point": "2026-11-29T11:00:00Z", "confirm": "p", "at_most": 5, "why": "x "}`: {"pools/p/restore"},
		`{"source": "log", "point": "2026-11-29T11:00:00Z", "confirm": "p"}`:                            {"pools/p/restore"},
	} {
		for _, path := range paths {
			refusedBy(t, w.do("POST", "/v1/"+path, body), alloc.CodeInvalidRequest)
		}
	}
	for _, path := range []string{"audit", "log"} {
		refusedBy(t, w.do("POST", "/v1/pools/nobody/"+path, ""), alloc.CodePoolNotFound)
		refusedBy(t, w.do("POST", "/v1/sequences/nobody/"+path, ""), alloc.CodeSequenceNotFound)
	}
	refusedBy(t, w.do("POST", "/v1/pools/nobody/restore", `{"source": "burn", "point": "2026-11-29T11:00:00Z", "confirm": "nobody"}`), alloc.CodePoolNotFound)
	refusedBy(t, w.do("POST", "/v1/pools/nobody/rebuild", `{"confirm": "nobody"}`), alloc.CodePoolNotFound)
	refusedBy(t, w.do("GET", "/v1/pools/nobody/evidence", ""), alloc.CodePoolNotFound)
	if after := w.snapshot(); after != before {
		t.Errorf("something was made: %s, before %s", after, before)
	}
}

// Time travel: what was taken after the backup was made is carried forward by a log of it, and nobody gets it again.
func TestARestoreByALog(t *testing.T) {
	w := newWorld(t)
	w.must(201, "POST", "/v1/sequences/s/leases", `{"count": 10}`)
	restore := w.store.Snapshot()
	taken := read[claimed](t, w.must(201, "POST", "/v1/pools/p/claims", `{"count": 2, "owner": "<é>"}`).Body)
	w.must(201, "POST", "/v1/sequences/s/leases", `{"count": 90}`)
	logs := map[string]string{}
	for _, path := range []string{"/v1/pools/p", "/v1/sequences/s"} {
		job := w.jobDone(path+"/log", `{"why": "nightly"}`)
		if logs[path] = w.parts(job); job.Kind != "log" || job.Tally != nil || job.Done+2 != strings.Count(logs[path], "\n") {
			t.Errorf("%s: %+v, %s", path, job, logs[path])
		}
	}
	if !strings.Contains(logs["/v1/pools/p"], `"token":"`+taken.Token+`"`) || !strings.Contains(logs["/v1/pools/p"], `"owner":"<é>"`) {
		t.Errorf("the log of the pool: %s", logs["/v1/pools/p"])
	}

	restore()
	w.h = clientAt(t, w.store, w.clock.Now).h // processes start anew after a restore
	refusedBy(t, w.do("POST", "/v1/pools/p/restore", `{"source": "log", "point": "2026-11-29T11:00:00Z", "confirm": "p", "at_most": 0}`), alloc.CodeRebuildStep)
	w.must(200, "POST", "/v1/pools/p/pause", "")
	w.must(200, "POST", "/v1/sequences/s/pause", "")
	for path, log := range logs {
		name := path[strings.LastIndex(path, "/")+1:]
		bound := ""
		if strings.Contains(path, "pools") {
			bound = `, "at_most": 0`
		}
		got := w.must(201, "POST", path+"/restore", fmt.Sprintf(`{"source": "log", "point": "2026-11-29T11:00:00Z", "confirm": %q, "why": "the table was restored"%s}`, name, bound))
		job := read[recoveryJob](t, got.Body)
		if job.State != "receiving" || job.Point != "2026-11-29T11:00:00Z" || job.Since != "" || job.Source != "log" || job.Input == nil {
			t.Errorf("%s: %+v", path, job)
		}
		refusedBy(t, w.do("PUT", "/v1/jobs/"+job.ID+"/input/0", "A-1\nA-2\n", "Content-Type: application/x-ndjson"), alloc.CodeInvalidRequest)
		w.must(200, "PUT", "/v1/jobs/"+job.ID+"/input/0", log, "Content-Type: application/x-ndjson")
		w.must(202, "POST", "/v1/jobs/"+job.ID+"/start", `{"parts": 1}`)
		if done := w.ended(job.ID); done.Kind != "restore" || done.Tally["carried"] == 0 || done.Tally["burned"]+done.Tally["clash"]+done.Tally["not_carried"] != 0 || done.Input.Lines != strings.Count(log, "\n") {
			t.Errorf("%s: %+v", path, done)
		}
	}
	w.must(200, "POST", "/v1/pools/p/resume", "")
	left := read[claimed](t, w.must(201, "POST", "/v1/pools/p/claims", "").Body)
	for _, id := range taken.IDs {
		if id == left.IDs[0] {
			t.Errorf("%s is given twice", id)
		}
	}
	refusedBy(t, w.do("POST", "/v1/pools/p/claims", ""), alloc.CodePoolExhausted)
	w.must(200, "POST", "/v1/pools/p/release", fmt.Sprintf(`{"ids": [%q], "token": %q}`, taken.IDs[0], taken.Token))
	if r := w.planRebuild(""); r.Plan.Floor != "101" {
		t.Errorf("the rebuild begins at %+v", r.Plan)
	}
}

// Without a log the IDs that may have been taken are burned; the answer says how many.
func TestARestoreThatBurns(t *testing.T) {
	w := newWorld(t)
	w.must(200, "POST", "/v1/pools/p/pause", "")
	done := w.jobDone("/v1/pools/p/restore", `{"source": "burn", "point": "2026-11-29T11:00:00Z", "at_most": 2, "confirm": "p"}`)
	if done.AtMost != 2 || done.Tally["burned"] != 4 || done.Tally["carried"] != 0 || done.Input != nil { // two of them are held
		t.Errorf("%+v", done)
	}
	w.must(200, "POST", "/v1/pools/p/resume", "")
	w.must(201, "POST", "/v1/pools/p/claims", "")
	refusedBy(t, w.do("POST", "/v1/pools/p/claims", ""), alloc.CodePoolExhausted)
	said := w.jobDone("/v1/sequences/s/restore", `{"source": "burn", "point": "2026-11-29T11:00:00Z", "confirm": "s"}`)
	told := w.must(200, "GET", "/v1/jobs/"+said.ID, "").Body.String()
	if said.Sequence != "s" || said.Pool != "" || w.parts(said) != "" || !strings.Contains(told, "with 2026-11-29T11:00:00Z as the time since when leases may be missing") {
		t.Errorf("%s", told)
	}
}

// Whoever may do all else with a pool but manage it gets nothing of this, above all no tokens; what is lost of a pool, all who may read it see.
func TestRecoveryIsForManagers(t *testing.T) {
	w := newWorld(t)
	job := w.jobDone("/v1/pools/p/log", "")
	other := w.as(strings.TrimPrefix(w.secretFor("read:*", "export:*", "seed:*", "claim:*", "lease:*", "tend:*"), "Bearer "))
	for _, path := range []string{"/v1/jobs/" + job.ID, "/v1/jobs/" + job.ID + "/parts/0"} {
		refusedBy(t, other.do("GET", path, ""), alloc.CodeForbidden)
	}
	other.must(200, "GET", "/v1/pools/p/evidence", "")
	if body := other.must(200, "GET", "/v1/jobs", "").Body.String(); strings.Contains(body, job.ID) {
		t.Errorf("it sees %s", body)
	}
	some := w.as(strings.TrimPrefix(w.secretFor("manage:p", "manage:s"), "Bearer "))
	refusedBy(t, some.do("POST", "/v1/audit/verify", ""), alloc.CodeForbidden)
	some.must(200, "GET", "/v1/jobs/"+job.ID+"/parts/0", "")
	trail := w.jobDone("/v1/audit/verify", "")
	refusedBy(t, some.do("GET", "/v1/jobs/"+trail.ID, ""), alloc.CodeForbidden)
}
