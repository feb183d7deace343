package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/web"
)

// seedJob is a job of a seeding as it is answered.
type seedJob struct {
	ID, State string
	Total     int
	Tally     struct{ Added, Duplicate, Conflict, Invalid int }
	Warnings  []string
}

// lines is a file of that many IDs, each 40 bytes long with its line end.
func lines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "LARGE-%033d\n", i)
	}
	return b.String()
}

// A file that is too large to be answered at once is a job; under a key it is one job, whatever fails on the way.
func TestALargeFileIsAJob(t *testing.T) {
	const ids = 27_000
	file := lines(ids)
	if len(file) <= web.MaxBody || len(file) > web.MaxUpload {
		t.Fatalf("the file has %d bytes", len(file))
	}
	for _, calls := range [][]string{nil, {"CreateJob"}, {"PutInput"}, {"ChangeJob"}, {"CloseKey"}} {
		t.Run(strings.Join(calls, " "), func(t *testing.T) {
			w := newWorld(t)
			store := alloctest.NewFaulty(w.store, nil)
			w.client = clientAt(t, store, w.clock.Now)
			for _, call := range calls {
				store.SetPlan(alloctest.Script(call, alloctest.AppliedButFailed))
				if got := w.do("POST", "/v1/pools/p/seed", file, textPlain, "Idempotency-Key: k"); got.Code != 503 && got.Code != 202 {
					t.Fatalf("%d %.300s, want 503 or the job", got.Code, got.Body)
				}
			}
			j := read[seedJob](t, w.must(202, "POST", "/v1/pools/p/seed", file, textPlain, "Idempotency-Key: k").Body)
			again := read[seedJob](t, w.must(202, "POST", "/v1/pools/p/seed", file, textPlain, "Idempotency-Key: k").Body)
			if j.State != "queued" || j.Total != ids || again.ID != j.ID || j.Warnings == nil {
				t.Fatalf("the job is %+v, then %+v", j, again)
			}
			w.must(200, "POST", "/v1/tend", "")
			j = read[seedJob](t, w.must(200, "GET", "/v1/jobs/"+j.ID, "").Body)
			if j.State != "done" || j.Tally.Added != ids {
				t.Errorf("the job is %+v", j)
			}
			if n := strings.Count(w.must(200, "GET", "/v1/jobs", "").Body.String(), `"kind":"seed"`); n != 2 {
				t.Errorf("%d seedings, want this one and that of the world", n)
			}
		})
	}
}

// A job that cannot get its file is not left behind.
func TestALargeFileThatFailsLeavesNoJob(t *testing.T) {
	w := newWorld(t)
	waiting := func() int {
		return strings.Count(w.must(200, "GET", "/v1/jobs", "").Body.String(), `"state":"receiving"`)
	}
	before := waiting()
	utf16 := "\xFF\xFE" + lines(30_000)
	w.must(400, "POST", "/v1/pools/p/seed", utf16, textPlain)
	w.must(404, "POST", "/v1/pools/none/seed", lines(30_000), textPlain)
	w.h = clientAt(t, alloctest.NewFaulty(w.store, alloctest.Script("PutInput", alloctest.Refused)), w.clock.Now).h
	w.must(503, "POST", "/v1/pools/p/seed", lines(30_000), textPlain)
	if n := waiting(); n != before {
		t.Errorf("%d jobs wait for their files, want %d", n, before)
	}
	w.must(200, "POST", "/v1/pools/p/drain", "")
	w.must(409, "POST", "/v1/pools/p/seed", lines(30_000), textPlain)
	if n := waiting(); n != before {
		t.Errorf("%d jobs wait for their files, want %d", n, before)
	}
}

// A file that is too large is refused with what to do.
func TestAFileThatIsTooLarge(t *testing.T) {
	w := newWorld(t)
	file := lines(web.MaxUpload/40 + 1)
	for _, to := range [][3]string{{"POST", "/v1/pools/p/seed", "seedings"}, {"PUT", "/v1/jobs/" + w.seeding + "/input/1", "inputs 0, 1, 2 … of this job"}} {
		for _, media := range []string{"text/csv", "text/plain"} {
			p := problemOf(t, w.must(413, to[0], to[1], file, "Content-Type: "+media))
			if !strings.Contains(p.Detail, "4 MB") || !strings.Contains(p.Detail, "cut the file") || !strings.Contains(p.Detail, to[2]) {
				t.Errorf("%s as %s: %s", to[1], media, p.Detail)
			}
		}
	}
	p := problemOf(t, w.must(413, "POST", "/v1/pools/p/seed", `{"ids": ["`+file+`"]}`))
	if !strings.Contains(p.Detail, "1 MB") || !strings.Contains(p.Detail, "text/plain") {
		t.Errorf("as JSON: %s", p.Detail)
	}
}

// Parts that cannot be taken are refused with what to do, and nothing of them is kept.
func TestBadFiles(t *testing.T) {
	w := newWorld(t)
	csv := w.openSeeding(`{"format": "csv", "column": "code"}`)
	before := w.snapshot()
	for name, bad := range map[string]struct {
		job, input, body string
		headers          []string
		want             int
		says             string
	}{
		"a gap":                  {w.seeding, "2", "B-1\n", []string{textPlain}, 400, "part 1 is the next one"},
		"another first part":     {w.seeding, "0", "B-1\n", []string{textPlain}, 400, "other bytes"},
		"a part beyond all":      {w.seeding, "200", "B-1\n", []string{textPlain}, 400, "0 to 199"},
		"no number":              {w.seeding, "one", "B-1\n", []string{textPlain}, 400, "a number"},
		"UTF-16":                 {csv, "0", "\xFF\xFEc\x00", []string{"Content-Type: text/csv"}, 400, "UTF-16"},
		"a workbook":             {csv, "0", "PK\x03\x04", []string{"Content-Type: application/octet-stream"}, 400, "workbook"},
		"gzip":                   {csv, "0", "\x1F\x8B\x08", []string{"Content-Type: application/octet-stream"}, 400, "gzip"},
		"gzip that is announced": {csv, "0", "\x1F\x8B\x08", []string{"Content-Type: text/csv", "Content-Encoding: gzip"}, 415, "Content-Encoding"},
		"no such column":         {csv, "0", "n;serial\n1;A\n", []string{"Content-Type: text/csv"}, 400, "no column"},
		"an open quote":          {csv, "0", "n;code\n1;\"A\n", []string{"Content-Type: text/csv"}, 400, "quotes"},
		"a form":                 {csv, "0", "n;code\n", []string{"Content-Type: application/x-www-form-urlencoded"}, 415, "octet-stream"},
		"no type":                {csv, "0", "n;code\n", []string{"Content-Type:"}, 415, "octet-stream"},
		"a job that is none":     {w.job, "0", "B-1\n", []string{textPlain}, 400, "an export that takes no file"},
	} {
		got := w.do("PUT", "/v1/jobs/"+bad.job+"/input/"+bad.input, bad.body, bad.headers...)
		if p := problemOf(t, got); got.Code != bad.want || !strings.Contains(p.Detail, bad.says) {
			t.Errorf("%s: %d %s, want %d and %q", name, got.Code, p.Detail, bad.want, bad.says)
		}
	}
	w.must(400, "POST", "/v1/jobs/"+w.job+"/start", `{"parts": 1}`)
	w.must(400, "POST", "/v1/jobs/"+csv+"/start", `{"parts": 1}`)
	if after := w.snapshot(); after != before {
		t.Errorf("something was kept: %s, before %s", after, before)
	}
	w.must(200, "POST", "/v1/jobs/"+csv+"/cancel", "")
	if got := w.do("PUT", "/v1/jobs/"+csv+"/input/0", "code\nA\n", "Content-Type: text/csv"); got.Code != http.StatusConflict || codeOf(t, got.Body.Bytes()) != alloc.CodeJobEnded {
		t.Errorf("to a job that was cancelled: %d %s", got.Code, got.Body)
	}
}

// What was not added is a file for people: what a spreadsheet would run is harmless in it. A seeding without any has its header.
func TestWhatWasNotAddedIsAFile(t *testing.T) {
	w := newWorld(t)
	file := func(body string) string {
		job := w.openSeeding(`{"format": "text"}`)
		w.must(200, "PUT", "/v1/jobs/"+job+"/input/0", body, textPlain)
		w.must(202, "POST", "/v1/jobs/"+job+"/start", `{"parts": 1}`)
		w.must(200, "POST", "/v1/tend", "")
		got := w.must(200, "GET", "/v1/jobs/"+job+"/parts/0", "")
		if name := got.Header().Get("Content-Disposition"); name != `attachment; filename="p-rejects-0.csv"` {
			t.Errorf("it is stored under %s", name)
		}
		return got.Body.String()
	}
	const head = "line,id,outcome,reason\r\n"
	if got := file("=cmd()\n+4930\n"); got != head {
		t.Errorf("with nothing left out: %q", got)
	}
	got := file("=cmd()\n\n+4930\n")
	if !strings.HasPrefix(got, head+"1,'=cmd(),duplicate,") || !strings.Contains(got, "\r\n3,+4930,duplicate,") {
		t.Errorf("what was left out: %q", got)
	}
}

// Each kind of job is for those who could have made it, also in the list; what another client's seeding did not add is told
// to those who may see the IDs of the pool.
func TestAJobIsForThoseWhoCouldHaveMadeIt(t *testing.T) {
	w := newWorld(t)
	count := read[seedJob](t, w.must(200, "POST", "/v1/pools/p/count", "").Body).ID
	w.must(202, "POST", "/v1/jobs/"+w.seeding+"/start", `{"parts": 1}`)
	w.must(200, "POST", "/v1/tend", "")
	jobs := map[alloc.JobKind]string{alloc.JobExport: w.job, alloc.JobSeed: w.seeding, alloc.JobCount: count}
	for _, action := range neededOf {
		some := w.as(strings.TrimPrefix(w.secretFor(string(action)+":p"), "Bearer "))
		list := some.must(200, "GET", "/v1/jobs", "").Body.String()
		for other, id := range jobs {
			want, sees := http.StatusForbidden, neededOf[other] == action || action == alloc.ActionManage
			if sees {
				want = http.StatusOK
			}
			some.must(want, "GET", "/v1/jobs/"+id, "")
			if listed := strings.Contains(list, id); listed != sees {
				t.Errorf("with %s:p the list has a job of kind %s: %t", action, other, listed)
			}
		}
	}
	path := "/v1/jobs/" + w.seeding + "/parts/0"
	w.must(200, "GET", path, "")
	for scopes, want := range map[string]int{"seed:p": 403, "export:p": 403, "read:p": 403, `seed:p", "export:p`: 200} {
		w.as(strings.TrimPrefix(w.secretFor(scopes), "Bearer ")).must(want, "GET", path, "")
	}
	manager := w.as(strings.TrimPrefix(w.secretFor("manage:p"), "Bearer "))
	if list := manager.must(200, "GET", "/v1/jobs", "").Body.String(); strings.Count(list, `"kind"`) != 3 {
		t.Errorf("with manage:p the list has not all jobs: %s", list)
	}
	manager.must(200, "GET", "/v1/jobs/"+w.job, "")
	manager.must(403, "GET", "/v1/jobs/"+w.job+"/parts/0", "")
	mine := w.as(strings.TrimPrefix(w.secretFor("seed:p"), "Bearer "))
	job := mine.openSeeding(`{"format": "text"}`)
	mine.must(200, "PUT", "/v1/jobs/"+job+"/input/0", "A-1\n", textPlain)
	mine.must(202, "POST", "/v1/jobs/"+job+"/start", `{"parts": 1}`)
	w.must(200, "POST", "/v1/tend", "")
	mine.must(200, "GET", "/v1/jobs/"+job+"/parts/0", "")
}

// A file under a key whose job was cancelled, or has failed, since an attempt was cut off is not taken in by a repeat.
func TestALargeFileWhoseJobHasEndedIsRefused(t *testing.T) {
	file := lines(27_000)
	end := map[string]func(w *world, id string){
		"cancelled": func(w *world, id string) { w.must(200, "POST", "/v1/jobs/"+id+"/cancel", "") },
		"failed": func(w *world, id string) {
			j, err := w.store.Job(t.Context(), alloc.JobID(id))
			if err != nil {
				t.Fatal(err)
			}
			j.State, j.Failure = alloc.JobFailed, "it cannot be done"
			if _, err := w.store.ChangeJob(t.Context(), j.Version, j); err != nil {
				t.Fatal(err)
			}
		},
	}
	for how, end := range end {
		for _, cut := range []string{"PutInput", "CloseKey"} { // before its file is there, and after
			w := newWorld(t)
			store := alloctest.NewFaulty(w.store, alloctest.Script(cut, alloctest.Refused, alloctest.Refused, alloctest.Refused))
			w.client = clientAt(t, store, w.clock.Now)
			w.clock.Advance(time.Second) // so that its job is the newest
			w.must(503, "POST", "/v1/pools/p/seed", file, textPlain, "Idempotency-Key: k")
			id := read[struct{ Jobs []seedJob }](t, w.must(200, "GET", "/v1/jobs?limit=1", "").Body).Jobs[0].ID
			end(w, id)
			store.SetPlan(nil)
			got := w.must(409, "POST", "/v1/pools/p/seed", file, textPlain, "Idempotency-Key: k").Body.String()
			if !strings.Contains(got, `"job_ended"`) || !strings.Contains(got, how+" by now") || !strings.Contains(got, id) || !strings.Contains(got, "another Idempotency-Key") {
				t.Errorf("%s after %s failed: %s", how, cut, got)
			}
			if j := read[seedJob](t, w.must(202, "POST", "/v1/pools/p/seed", file, textPlain, "Idempotency-Key: another").Body); j.ID == id || j.Total != 27_000 {
				t.Errorf("%s after %s failed, with another key: %+v", how, cut, j)
			}
		}
	}
}
