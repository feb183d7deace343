package admin

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// keep makes a job that was made, and last moved on, so long ago.
func (s *system) keep(store alloc.Store, n int, made, moved time.Duration, change func(*alloc.Job)) {
	s.t.Helper()
	j := alloc.Job{
		ID: alloc.JobID(fmt.Sprintf("%026d", n)), Kind: alloc.JobAudit, Pool: "pool-000", By: "root", State: alloc.JobRunning, Done: 1200, Total: 5000,
		Created: s.clock.Add(-made), Updated: s.clock.Add(-moved),
	}
	change(&j)
	if err := store.CreateJob(s.t.Context(), j); err != nil {
		s.t.Fatal(err)
	}
}

// verdictsOf are the words of the verdicts of a page.
func verdictsOf(page string) string {
	list := regexp.MustCompile(`(?s)<section class="verdicts".*?</section>`).FindString(page)
	return strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(list, " ")), " ")
}

// A job that has failed within the day is told however many were made since, and one that goes no further is too.
func TestTheOverviewTellsOfJobsThatNeedAPerson(t *testing.T) {
	for name, tt := range map[string]struct {
		made, moved time.Duration
		change      func(*alloc.Job)
		want        string // "" for nothing
	}{
		"failed":                {20 * time.Hour, 2 * time.Hour, func(j *alloc.Job) { j.State, j.Failure = alloc.JobFailed, "the pool is gone" }, "Failed Verify pool-000 has failed. The pool is gone."},
		"made long before":      {6 * 24 * time.Hour, time.Hour, func(j *alloc.Job) { j.State = alloc.JobFailed }, "Failed Verify pool-000 has failed."},
		"failed the day before": {30 * time.Hour, 25 * time.Hour, func(j *alloc.Job) { j.State = alloc.JobFailed }, ""},
		"with a finding": {time.Hour, time.Hour, func(j *alloc.Job) {
			j.State, j.Verdict, j.Tally.Findings = alloc.JobDone, alloc.VerdictFindings, 1
		}, "Failed Verify pool-000 has 1 finding."},
		"goes on":      {time.Hour, 10 * time.Minute, func(*alloc.Job) {}, ""},
		"stands still": {2 * time.Hour, 40 * time.Minute, func(*alloc.Job) {}, "Unfinished Verify pool-000 has gone no further for 40 min, at 1,200 of 5,000."},
		"tries again": {2 * time.Hour, 40 * time.Minute, func(j *alloc.Job) {
			j.Tries, j.Log = 3, []alloc.JobEvent{{At: j.Created, Text: "begun"}, {At: j.Updated, Text: "try 3: the table did not answer"}}
		}, "at 1,200 of 5,000. Try 3: the table did not answer."},
		"waits for its file":      {3 * time.Hour, 2 * time.Hour, func(j *alloc.Job) { j.State, j.Kind = alloc.JobReceiving, alloc.JobSeed }, "Unfinished Seed pool-000 has waited for its file for 2 h"},
		"its file is on its way":  {3 * time.Hour, 40 * time.Minute, func(j *alloc.Job) { j.State, j.Kind = alloc.JobReceiving, alloc.JobSeed }, ""},
		"it was done in the end":  {2 * time.Hour, time.Hour, func(j *alloc.Job) { j.State = alloc.JobDone }, ""},
		"somebody has stopped it": {2 * time.Hour, time.Hour, func(j *alloc.Job) { j.State = alloc.JobCancelled }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var s *system
			model := alloctest.NewModel(func() time.Time { return noon })
			s = newSystem(t, model, root)
			s.fill(1)
			s.keep(model, 1, tt.made, tt.moved, tt.change)
			for n := range 30 {
				s.keep(model, 100+n, time.Minute, time.Minute, func(j *alloc.Job) { j.State = alloc.JobDone })
			}
			got := verdictsOf(s.page("/"))
			if tt.want == "" && (strings.Contains(got, "Verify") || strings.Contains(got, "Seed")) || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if tt.want != "" && !strings.Contains(s.page("/"), `href="/jobs/00000000000000000000000001">Look at job`) {
				t.Error("the verdict does not lead to its job")
			}
		})
	}
}
