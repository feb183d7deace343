package admin

import (
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// The page of a rebuild says how far it is and when it ends; of one that has failed why, and of one that is done how long that took.
func TestTheJobPageOfARebuild(t *testing.T) {
	for name, tt := range map[string]struct {
		change        func(*alloc.Job)
		want, without []string
	}{
		"on its way": {func(*alloc.Job) {}, []string{"1,200 of 5,000", "24.0 %, 14 min left", "Ends about", "Last moved on", "Cancel job", "every 10 s", "Lost"}, []string{"Ended", "Took"}},
		"failed": {
			func(j *alloc.Job) { j.State, j.Failure = alloc.JobFailed, "the pool was deleted" },
			[]string{"The pool was deleted.", "24.0 %", "Ended", "5 min"},
			[]string{"left<", "Ends about", "every 10 s", "Cancel job", "Pause"},
		},
		"done": {
			func(j *alloc.Job) { j.State, j.Done, j.Tally.Missing = alloc.JobDone, 5000, 1234 },
			[]string{"5,000 of 5,000", "100 %", "Missing", "1,234", "Took"},
			[]string{"Ends about", "Last moved on", "Cancel job", "Pause"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			model := alloctest.NewModel(func() time.Time { return noon })
			s := newSystem(t, model, root)
			s.keep(model, 1, 10*time.Minute, time.Minute, func(j *alloc.Job) {
				j.Kind, j.Started = alloc.JobRebuild, noon.Add(-6*time.Minute)
				tt.change(j)
			})
			page := s.page("/jobs/00000000000000000000000001")
			for _, words := range tt.want {
				if !strings.Contains(page, words) {
					t.Errorf("the page does not say %q:\n%s", words, page)
				}
			}
			for _, words := range tt.without {
				if strings.Contains(page, words) {
					t.Errorf("the page says %q:\n%s", words, page)
				}
			}
		})
	}
}
