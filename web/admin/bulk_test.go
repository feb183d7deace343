package admin

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/web"
	"idpool/web/api"
)

// asOperator is a dashboard over a model with pools, for who may pause and resume.
func asOperator(t *testing.T, pools int) (*system, *alloctest.Model) {
	t.Helper()
	model := alloctest.NewModel(nil)
	newSystem(t, model, root).fill(pools)
	return newSystem(t, model, alloc.Caller{Client: "operator-1", Scopes: alloc.RoleOperator.Scopes()}), model
}

func (s *system) pauses() (n int) {
	s.t.Helper()
	records, _, err := s.svc.Trail(alloc.WithCaller(s.t.Context(), root), alloc.TrailFilter{Action: "pool.pause"}, "", 100)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, r := range records {
		if r.Plan == "" || r.Client != "operator-1" {
			s.t.Errorf("the trail has %+v", r)
		}
	}
	return len(records)
}

func TestPoolsArePausedAndResumedInBulk(t *testing.T) {
	s, _ := asOperator(t, 5)
	if page := s.page("/bulk/pools/pause?q=POOL-00"); strings.Contains(page, `name="plan"`) || !strings.Contains(page, `value="POOL-00"`) {
		t.Errorf("the form does not ask first:\n%s", page)
	}
	const path = "/bulk/pools/pause?q=-001&review=1"
	page := s.page(path)
	for _, want := range []string{"every pool that is active and whose name contains “-001”", "1 pool", `href="/pools/pool-001"`, "version 1", "If-Match"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of confirmation lacks %q:\n%s", want, page)
		}
	}
	form := url.Values{"plan": {s.planOf("/bulk/pools/pause?review=1")}, "reason": {"a complaint"}}
	ctx := alloc.WithCaller(t.Context(), root)
	if _, err := s.svc.ChangePool(ctx, "pool-001", 1, alloc.PoolConfig{Description: "another"}); err != nil {
		t.Fatal(err)
	}
	s.setPool("pool-002", alloc.PoolDraining)
	s.setPool("pool-003", alloc.PoolDraining)
	s.setPool("pool-003", alloc.PoolDeleted)
	if _, _, err := s.svc.CreatePool(ctx, "pool-new", alloc.PoolConfig{}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a double press shows the same
		w := s.post("/bulk/pools/pause?review=1", form)
		body := w.Body.String()
		if w.Code != http.StatusOK || !strings.Contains(body, "2 of 5 pools paused") || strings.Count(body, "left as it is") != 3 || strings.Contains(body, "pool-new") {
			t.Fatalf("%d:\n%s", w.Code, body)
		}
	}
	for name, want := range map[alloc.PoolName]alloc.PoolState{
		"pool-000": alloc.PoolPaused, "pool-001": alloc.PoolActive, "pool-002": alloc.PoolDraining, "pool-003": alloc.PoolDeleted, "pool-004": alloc.PoolPaused, "pool-new": alloc.PoolActive,
	} {
		if got := s.stateOf(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if n := s.pauses(); n != 2 {
		t.Errorf("the trail has %d records of it, want one a pool", n)
	}
	w := s.post("/bulk/pools/resume", url.Values{"plan": {s.planOf("/bulk/pools/resume?review=1")}})
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "2 of 2 pools resumed") || s.stateOf("pool-000") != alloc.PoolActive || s.stateOf("pool-002") != alloc.PoolDraining {
		t.Errorf("%d:\n%s", w.Code, w.Body)
	}
}

// The filter of the list survives a step that is taken with what it shows.
func TestABulkStepLeadsBackToTheListAsItWas(t *testing.T) {
	s, _ := asOperator(t, 3)
	const list = "/pools?limit=50&amp;q=pool-00&amp;sort=name&amp;state=active"
	page := s.page("/pools?state=active&sort=name&q=pool-00&limit=50&pools_after=&every=0")
	if want := `href="/bulk/pools/pause?limit=50&amp;q=pool-00&amp;sort=name&amp;state=active"`; !strings.Contains(page, want) {
		t.Errorf("the list lacks %s:\n%s", want, page)
	}
	form := s.page("/bulk/pools/pause?limit=50&q=pool-00&sort=name&state=active")
	for _, want := range []string{`href="` + list + `"`, `type="hidden" name="sort" value="name"`, `type="hidden" name="limit" value="50"`} {
		if !strings.Contains(form, want) {
			t.Errorf("the form lacks %s:\n%s", want, form)
		}
	}
	const path = "/bulk/pools/pause?review=1&limit=50&q=pool-00&sort=name&state=active&to=//evil"
	w := s.post(path, url.Values{"plan": {s.planOf(path)}})
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `href="`+list+`"`) {
		t.Errorf("%d, and it does not lead to %s:\n%s", w.Code, list, w.Body)
	}
}

func TestABulkStepIsBounded(t *testing.T) {
	s, _ := asOperator(t, bulkTyped+1)
	count := countPools(bulkTyped + 1)
	form := url.Values{"plan": {s.planOf("/bulk/pools/pause?review=1")}, "reason": {"a complaint"}}
	if w := s.post("/bulk/pools/pause?review=1", form); w.Code != http.StatusUnprocessableEntity || s.pauses() != 0 {
		t.Errorf("many pools are paused although nothing was typed: %d", w.Code)
	}
	form.Set("typed", count)
	if w := s.post("/bulk/pools/pause?review=1", form); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "11 of 11 pools paused") {
		t.Errorf("%d:\n%s", w.Code, w.Body)
	}
	if page := s.page("/bulk/pools/pause?q=nothing&review=1"); !strings.Contains(page, "No pool is like that: every pool that is active and whose name contains “nothing”") {
		t.Errorf("no pool:\n%s", page)
	}
	ctx := alloc.WithCaller(t.Context(), root)
	for i := range bulkMost + 1 {
		if _, _, err := s.svc.CreatePool(ctx, alloc.PoolName(fmt.Sprintf("more-%03d", i)), alloc.PoolConfig{}); err != nil {
			t.Fatal(err)
		}
	}
	if page := s.page("/bulk/pools/pause?review=1"); !strings.Contains(page, "101 pools are like that, and at most 100") {
		t.Errorf("too many:\n%s", page)
	}
	if page := s.page("/bulk/pools/pause?q=more-00&review=1"); !strings.Contains(page, "10 pools") {
		t.Errorf("few of many:\n%s", page)
	}
}

func TestTheListLeadsToTheBulkSteps(t *testing.T) {
	s, model := asOperator(t, 1)
	for path, want := range map[string][]bool{"/pools": {true, true}, "/pools?q=a+b": {true, true}, "/pools?state=active": {true, false}, "/pools?state=paused": {false, true}, "/pools?state=low": {false, false}} {
		page := s.page(path)
		for i, step := range bulkSteps {
			href := `href="/bulk/pools/` + step.segment
			if strings.Contains(path, "q=") {
				href += "?q=a&#43;b"
			}
			if strings.Contains(page, href) != want[i] && strings.Contains(page, strings.ReplaceAll(href, "&#43;", "+")) != want[i] {
				t.Errorf("%s: leads to %s: want %t", path, step.segment, want[i])
			}
		}
	}
	if page := newSystem(t, model, viewer).page("/pools"); strings.Contains(page, "/bulk/") {
		t.Error("who may only look is led to a step")
	}
}

// One pool that fails stops no other.
func TestOnePoolThatFailsStopsNoOther(t *testing.T) {
	_, model := asOperator(t, 3)
	faulty := alloctest.NewFaulty(model, nil)
	s := newSystem(t, faulty, alloc.Caller{Client: "operator-1", Scopes: alloc.RoleOperator.Scopes()})
	form := url.Values{"plan": {s.planOf("/bulk/pools/pause?review=1")}}
	faulty.SetPlan(alloctest.Script("SetPoolState", alloctest.Pass, alloctest.Throttled))
	w := s.post("/bulk/pools/pause?review=1", form)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "2 of 3 pools paused") || !strings.Contains(w.Body.String(), "throttled") {
		t.Errorf("%d:\n%s", w.Code, w.Body)
	}
}

func TestTheTwinOfABulkStepDoesTheSame(t *testing.T) {
	s, _ := asOperator(t, 2)
	text := bulkTwin([]bulkPool{{"pool-000", 1}, {"pool-001", 1}}, "pause").Text
	_, list, _ := strings.Cut(text, "<<'END'\n")
	h := web.Stack(web.As(root)(api.All(s.svc)), web.Options{})
	for line := range strings.Lines(strings.TrimSuffix(list, "END")) {
		name, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/pools/"+name+"/pause", nil)
		r.Header.Set("If-Match", `"`+version+`"`)
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != http.StatusOK || s.stateOf(alloc.PoolName(name)) != alloc.PoolPaused {
			t.Errorf("%q: %d %s", line, w.Code, w.Body)
		}
	}
}
