package admin

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"idpool/alloc"
)

// What serves is not deleted: the page says what comes first, and a plan from before it was resumed is refused.
func TestWhatServesIsNotDeleted(t *testing.T) {
	s := newSystem(t, nil, root)
	s.fill(1)
	for path, tt := range map[string]struct {
		name  string
		first []string
		state func(paused bool) error
	}{
		"/pools/pool-000": {"pool-000", []string{"pause", "drain"}, func(paused bool) error {
			to := alloc.PoolActive
			if paused {
				to = alloc.PoolPaused
			}
			_, err := s.svc.SetPoolState(alloc.WithCaller(t.Context(), root), "pool-000", 0, to)
			return err
		}},
		"/sequences/sequence-000": {"sequence-000", []string{"pause"}, func(paused bool) error {
			to := alloc.SequenceActive
			if paused {
				to = alloc.SequencePaused
			}
			_, err := s.svc.SetSequenceState(alloc.WithCaller(t.Context(), root), "sequence-000", 0, to)
			return err
		}},
	} {
		page := s.do("GET", path+"/delete")
		if page.Code != http.StatusConflict {
			t.Errorf("%s: %d, want 409", path, page.Code)
		}
		for _, step := range tt.first {
			if !strings.Contains(page.Body.String(), `<a href="`+path+"/"+step+`">`) {
				t.Errorf("%s: no link to %s:\n%s", path, step, page.Body)
			}
		}
		set := func(paused bool) {
			if err := tt.state(paused); err != nil {
				t.Fatal(err)
			}
		}
		set(true)
		form := url.Values{"plan": {s.planOf(path + "/delete")}, "reason": {"it is over"}, "typed": {tt.name}}
		set(false)
		if w := s.post(path+"/delete", form); w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), `<a href="`+path+`/delete">`) {
			t.Errorf("%s: %d, want 409 with a link to a new plan:\n%s", path, w.Code, w.Body)
		}
		set(true)
		if w := s.post(path+"/delete", form); w.Code != http.StatusSeeOther {
			t.Errorf("%s, paused again: %d, want 303:\n%s", path, w.Code, w.Body)
		}
	}
}
