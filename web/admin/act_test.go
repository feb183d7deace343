package admin

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

var root = alloc.Caller{Client: "admin-1", Scopes: alloc.AllScopes()}

// planOf is the plan that a page of confirmation carries.
func (s *system) planOf(path string) string {
	s.t.Helper()
	return planIn(s.t, s.page(path))
}

func planIn(t testing.TB, page string) string {
	t.Helper()
	m := regexp.MustCompile(`name="plan" value="([^"]+)"`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal("the page has no plan")
	}
	return m[1]
}

// post sends a form as a browser does from a page of this site.
func (s *system) post(path string, form url.Values, headers ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.h.ServeHTTP(w, r)
	return w
}

func (s *system) stateOf(pool alloc.PoolName) alloc.PoolState {
	s.t.Helper()
	st, err := s.svc.Pool(alloc.WithCaller(s.t.Context(), root), pool)
	if alloc.Is(err, alloc.CodePoolDeleted) {
		return alloc.PoolDeleted
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return st.Pool.State
}

func (s *system) setPool(pool alloc.PoolName, to alloc.PoolState) {
	s.t.Helper()
	if _, err := s.svc.SetPoolState(alloc.WithCaller(s.t.Context(), root), pool, 0, to); err != nil {
		s.t.Fatal(err)
	}
}

func TestAStepIsShownConfirmedAndDoneOnce(t *testing.T) {
	s := newSystem(t, nil, root)
	s.fill(1)
	const path = "/pools/pool-000/pause"
	form := url.Values{"plan": {s.planOf(path)}, "reason": {"a complaint"}}
	for range 2 { // a double press shows the same
		w := s.post(path, form)
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/pools/pool-000?done=paused" {
			t.Fatalf("%d to %q:\n%s", w.Code, w.Header().Get("Location"), w.Body)
		}
	}
	if got := s.stateOf("pool-000"); got != alloc.PoolPaused {
		t.Errorf("the pool is %s", got)
	}
	if page := s.page("/pools/pool-000?done=paused"); !strings.Contains(page, "The pool is paused") {
		t.Error("the page does not say what was done")
	}
	records, _, err := s.svc.Trail(alloc.WithCaller(t.Context(), root), alloc.TrailFilter{}, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, r := range records {
		if r.Action == "pool.pause" {
			n++
			if r.Reason != "a complaint" || r.Plan == "" || r.Result != "ok" || r.Client != "admin-1" {
				t.Errorf("the trail has %+v", r)
			}
		}
	}
	if n != 1 {
		t.Errorf("the trail has it %d times, want once", n)
	}
}

func TestAPlanOfWhatHasChangedIsNotCarriedOut(t *testing.T) {
	s := newSystem(t, nil, root)
	s.fill(1)
	s.setPool("pool-000", alloc.PoolPaused)
	const path = "/pools/pool-000/delete"
	form := url.Values{"plan": {s.planOf(path)}, "reason": {"it is over"}, "typed": {"pool-000"}}
	if _, err := s.svc.ChangePool(alloc.WithCaller(t.Context(), root), "pool-000", 1, alloc.PoolConfig{Description: "another"}); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		plan string
		want int
	}{"of another version": {form.Get("plan"), http.StatusPreconditionFailed}, "of another page": {s.planOf("/pools/pool-000/resume"), http.StatusConflict}} {
		form.Set("plan", tt.plan)
		w := s.post(path, form)
		if w.Code != tt.want || !strings.Contains(w.Body.String(), `<a href="`+path+`">Make a new plan</a>`) {
			t.Errorf("%s: %d, want %d with a link to a new plan:\n%s", name, w.Code, tt.want, w.Body)
		}
	}
	if got := s.stateOf("pool-000"); got != alloc.PoolPaused {
		t.Errorf("the pool is %s", got)
	}
}

func TestWhatDestroysHasToBeTyped(t *testing.T) {
	s := newSystem(t, nil, root)
	s.fill(1)
	s.setPool("pool-000", alloc.PoolPaused)
	const path = "/pools/pool-000/delete"
	sealed := s.planOf(path)
	for name, form := range map[string]url.Values{
		"nothing":      {},
		"no reason":    {"typed": {"pool-000"}},
		"another name": {"typed": {"pool-001"}, "reason": {"it is over"}},
		"nothing of it, as a plan of its own says": {"typed": {""}, "reason": {"it is over"}, "p": {"typed="}},
	} {
		t.Run(name, func(t *testing.T) {
			form.Set("plan", sealed)
			w := s.post(path, form)
			if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), `role="alert"`) {
				t.Errorf("%d:\n%s", w.Code, w.Body)
			}
			sealed = planIn(t, w.Body.String())
		})
	}
	if got := s.stateOf("pool-000"); got != alloc.PoolPaused {
		t.Fatalf("the pool is %s", got)
	}
	w := s.post(path, url.Values{"plan": {sealed}, "typed": {" pool-000 "}, "reason": {"it is over"}})
	if w.Code != http.StatusSeeOther || s.stateOf("pool-000") != alloc.PoolDeleted {
		t.Errorf("%d, the pool is %s", w.Code, s.stateOf("pool-000"))
	}
}

// Every step of the table refuses whoever may not take it, what another site sends, and everything while nothing may be changed.
func TestNoStepWithoutThePlanTheRightAndTheOrigin(t *testing.T) {
	model := alloctest.NewModel(nil)
	all := newSystem(t, model, root)
	all.fill(1)
	looker := newSystem(t, model, viewer)
	closed := newSystem(t, model, root)
	closed.serve(Config{ReadOnly: true}, root)
	d := &dashboard{}
	for _, a := range d.actions() {
		path := strings.NewReplacer("{pool}", "pool-000", "{sequence}", "sequence-000").Replace(a.path)
		t.Run(a.verb, func(t *testing.T) {
			for name, tt := range map[string]struct {
				s       *system
				form    url.Values
				headers []string
				want    int
			}{
				"without a plan":        {all, url.Values{}, nil, http.StatusConflict},
				"with a made-up plan":   {all, url.Values{"plan": {"AAAA"}}, nil, http.StatusConflict},
				"from another site":     {all, url.Values{}, []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
				"from another origin":   {all, url.Values{}, []string{"Sec-Fetch-Site", "", "Origin", "https://evil.example"}, http.StatusForbidden},
				"while it is read-only": {closed, url.Values{}, nil, http.StatusForbidden},
			} {
				t.Run(name, func(t *testing.T) {
					w := tt.s.post(path, tt.form, tt.headers...)
					if w.Code != tt.want || w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
						t.Errorf("%d %s, want %d:\n%s", w.Code, w.Header().Get("Content-Type"), tt.want, w.Body)
					}
				})
			}
			t.Run("by who may only look", func(t *testing.T) {
				sealed := looker.planIfAny(path)
				w := looker.post(path, url.Values{"plan": {sealed}, "typed": {strings.Split(path, "/")[2]}, "reason": {"none"}})
				if a.need == alloc.ActionRead { // it changes nothing
					if w.Code != http.StatusSeeOther {
						t.Errorf("%d:\n%s", w.Code, w.Body)
					}
					return
				}
				if w.Code != http.StatusForbidden && w.Code != http.StatusConflict || sealed != "" && w.Code != http.StatusForbidden {
					t.Errorf("%d:\n%s", w.Code, w.Body)
				}
			})
		})
	}
	if got := all.stateOf("pool-000"); got != alloc.PoolActive {
		t.Errorf("the pool is %s after all that was refused", got)
	}
}

// planIfAny is the plan of a page that may not be shown to the caller.
func (s *system) planIfAny(path string) string {
	m := regexp.MustCompile(`name="plan" value="([^"]+)"`).FindStringSubmatch(s.do("GET", path).Body.String())
	if m == nil {
		return ""
	}
	return m[1]
}
