package admin

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"idpool/alloc"
)

// What was typed is not thrown away with a refusal.
func TestARefusedSeedingKeepsWhatWasTyped(t *testing.T) {
	s := newSystem(t, nil, root)
	s.fill(1)
	path := "/pools/pool-000/seed"
	w := s.upload(path, map[string]string{"plan": s.planOf(path), "text": "KEPT-1\nKEPT-2", "made": "7", "why": "the summer", "ranges": "yes"}, "")
	page := w.Body.String()
	if w.Code != http.StatusUnprocessableEntity {
		t.Errorf("two sources: %d, want 422", w.Code)
	}
	for _, want := range []string{"KEPT-1\nKEPT-2</textarea>", `value="the summer"`, "checked", "More than one source"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}

// Seedings that wait for somebody count among the jobs; who is refused for that is told so, is shown them, and leaves none half made.
func TestSeedingsThatWaitAreShownToWhomTheyBlock(t *testing.T) {
	s := newSystem(t, nil, root)
	s.fill(1)
	path := "/pools/pool-000/seed"
	for i := range 12 {
		w := s.upload(path, map[string]string{"plan": s.planOf(path), "text": fmt.Sprintf("W-%d", i), "why": "the summer"}, "")
		if w.Code == http.StatusSeeOther {
			continue
		}
		page := w.Body.String()
		if w.Code != http.StatusTooManyRequests {
			t.Fatalf("seeding %d: %d\n%s", i, w.Code, page)
		}
		for _, want := range []string{"waits for its confirmation", `href="/jobs"`, fmt.Sprintf("W-%d</textarea>", i), `value="the summer"`} {
			if !strings.Contains(page, want) {
				t.Errorf("the page of seeding %d lacks %q:\n%s", i, want, page)
			}
		}
	}
	jobs, _, err := s.svc.Jobs(alloc.WithCaller(t.Context(), root), "", 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs {
		if j.Kind == alloc.JobSeed && j.State == alloc.JobReceiving && j.Spec.Check == "" {
			t.Errorf("the seeding %s is half made", j.ID)
		}
	}
}
