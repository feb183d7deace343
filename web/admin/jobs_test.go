package admin

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/web/api"
)

// made makes a job of each kind that needs nothing but a pool, and returns them.
func (s *system) made(pool alloc.PoolName) (export, audit alloc.Job) {
	s.t.Helper()
	ctx := alloc.WithCaller(s.t.Context(), root)
	export, err := s.svc.Export(ctx, alloc.ExportRequest{Pool: pool, Format: "csv"})
	if err != nil {
		s.t.Fatal(err)
	}
	if audit, err = s.svc.Audit(ctx, alloc.AuditRequest{Pool: pool, Why: "the <yearly> look"}); err != nil {
		s.t.Fatal(err)
	}
	return export, audit
}

func TestJobsFromMadeToDone(t *testing.T) {
	s := newSystem(t, nil, root)
	s.fill(1)
	if page := s.page("/jobs"); !strings.Contains(page, "There is no job.") {
		t.Error("an empty list does not say what jobs are")
	}
	export, audit := s.made("pool-000")
	page := s.page("/jobs")
	for _, want := range []string{"Export pool-000", "Verify pool-000", "the &lt;yearly&gt; look", `href="/jobs/` + string(export.ID) + `"`, "queued", "not yet"} {
		if !strings.Contains(page, want) {
			t.Errorf("the list does not have %q:\n%s", want, page)
		}
	}
	for range 3 {
		if _, err := s.svc.Tend(alloc.WithCaller(t.Context(), root)); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[alloc.JobID][]string{
		export.ID: {"done", `href="/jobs/` + string(export.ID) + `/files/1"`, "5 IDs were written"},
		audit.ID:  {"done", "healthy", "Findings", "the &lt;yearly&gt; look"},
	} {
		page := s.page("/jobs/" + string(id))
		for _, want := range want {
			if !strings.Contains(page, want) {
				t.Errorf("the page of %s does not have %q:\n%s", id, want, page)
			}
		}
		if strings.Contains(page, "Cancel job") || strings.Contains(page, "every 10 s") {
			t.Error("a job that has ended can be cancelled, or is kept up to date")
		}
	}
	w := s.do("GET", "/jobs/"+string(export.ID)+"/files/1")
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Disposition"), "attachment") || strings.Count(w.Body.String(), "\n") != 6 {
		t.Errorf("%d %v:\n%s", w.Code, w.Header(), w.Body)
	}
	for _, part := range []string{"1", "-1", "x", "99999999999"} {
		if w := s.do("GET", "/jobs/"+string(export.ID)+"/parts/"+part); w.Code/100 != 4 {
			t.Errorf("part %s: %d", part, w.Code)
		}
	}
}

func TestAJobIsCancelled(t *testing.T) {
	s := newSystem(t, nil, root)
	s.fill(1)
	export, _ := s.made("pool-000")
	path := "/jobs/" + string(export.ID) + "/cancel"
	sealed := s.planOf(path)
	if w := s.post(path, url.Values{"plan": {sealed}, "reason": {"not needed"}}); w.Code != http.StatusSeeOther {
		t.Fatalf("%d:\n%s", w.Code, w.Body)
	}
	if page := s.page("/jobs/" + string(export.ID) + "?done=cancelled"); !strings.Contains(page, "The job is cancelled.") || strings.Contains(page, "Cancel job") {
		t.Errorf("the page does not tell:\n%s", page)
	}
	if w := s.do("GET", path); w.Code != http.StatusConflict {
		t.Errorf("cancelling it again: %d, want 409", w.Code)
	}
}

func TestTheListOfJobsFailsAlone(t *testing.T) {
	store := alloctest.NewFaulty(alloctest.NewModel(nil), nil)
	s := newSystem(t, store, root)
	store.SetPlan(func(c alloctest.Call) alloctest.Fault {
		if c.Method == "ListJobs" {
			return alloctest.Refused
		}
		return alloctest.Pass
	})
	if page := s.page("/jobs"); !strings.Contains(page, "Try again") {
		t.Errorf("the page does not say what to do:\n%s", page)
	}
	if w := s.do("GET", "/jobs/none"); w.Code/100 != 4 {
		t.Errorf("a job that is not there: %d", w.Code)
	}
}

var _ PartFile = api.PartFile

func TestAJobSaysHowMuchOfItFailed(t *testing.T) {
	tally := alloc.Tally{Added: 1, Duplicate: 2, Conflict: 4, Invalid: 8, Findings: 16, Lost: 32}
	for kind, want := range map[alloc.JobKind]alloc.Count{
		alloc.JobSeed: 12, alloc.JobCheck: 12, alloc.JobRestore: 12, alloc.JobAudit: 16, alloc.JobRebuild: 32, alloc.JobExport: 0, alloc.JobCount: 0, alloc.JobLog: 0,
	} {
		if got := jobFailed(alloc.Job{Kind: kind, Tally: tally}); got != want {
			t.Errorf("%s: got %d, want %d", kind, got, want)
		}
	}
}

// A rebuild that looks back at what the queue has passed has met none of its IDs for a while: its page says all the same how far it is, and that the whole is reckoned.
func TestARebuildThatLooksBackSaysHowFarItIs(t *testing.T) {
	s := newSystem(t, nil, root)
	j := alloc.Job{ID: "j", Kind: alloc.JobRebuild, Pool: "p", State: alloc.JobRunning, Total: 1000, Tally: alloc.Tally{Looked: 300, ToLook: 1200}}
	row, facts := jobRow(j, s.clock), jobTally(j)
	if row.Done != "0 of 1,000" || row.Value != "300" || row.Max != "1200" || row.Percent != "25.0 %" {
		t.Errorf("the row is %+v", row)
	}
	if facts[0].Term != "Looked at" || facts[0].Value != "300" || !strings.Contains(facts[0].Note, "about 1,200") {
		t.Errorf("the figures are %+v", facts)
	}
	j.State, j.Done = alloc.JobDone, 1000
	if facts := jobTally(j); facts[0].Term == "Looked at" {
		t.Errorf("the figures of one that is done are %+v", facts)
	}
}
