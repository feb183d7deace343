package admin

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"idpool/alloc"
	"idpool/web"
	"idpool/web/api"
)

// claimed is an ID of the pool that somebody has.
func (s *system) claimed(pool alloc.PoolName) alloc.Claim {
	s.t.Helper()
	c, err := s.svc.Claim(alloc.WithCaller(s.t.Context(), root), alloc.ClaimRequest{Pool: pool, Count: 1, Owner: "<customer>", Metadata: map[string]string{"order": "7"}})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func TestAnIDIsFoundInspectedAndReleased(t *testing.T) {
	operator := alloc.Caller{Client: "operator-1", Scopes: alloc.RoleOperator.Scopes()}
	s := newSystem(t, nil, operator)
	s.fill(2)
	c := s.claimed("pool-001")
	id := string(c.IDs[0])
	page := s.page("/find?q=" + id)
	for _, want := range []string{"ID in pool-000", "ID in pool-001", `href="/pools/pool-001/ids?id=` + id + `"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the search does not find %q:\n%s", want, page)
		}
	}
	page = s.page("/pools/pool-001/ids?id=" + id)
	for _, want := range []string{"claimed", "&lt;customer&gt;", "order", "Release ID", "Retire ID"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of the ID does not have %q:\n%s", want, page)
		}
	}
	path := "/pools/pool-001/ids/release?id=" + id
	page = s.page(path)
	if strings.Contains(page, string(c.Token)) {
		t.Error("the page shows the token of the owner")
	}
	form := url.Values{"plan": {s.planOf(path)}, "typed": {id}, "reason": {"a mistake of the shop"}}
	for range 2 {
		if w := s.post(path, form); w.Code != http.StatusSeeOther || !strings.Contains(w.Header().Get("Location"), "done=id-released") {
			t.Fatalf("%d to %s:\n%s", w.Code, w.Header().Get("Location"), w.Body)
		}
	}
	if page := s.page("/pools/pool-001/ids?id=" + id); !strings.Contains(page, "returning") || strings.Contains(page, "Release ID") {
		t.Errorf("it should be on its way back:\n%s", page)
	}
}

// Between the look at an ID and the confirmation it may have got another owner: then nothing is done.
func TestAnotherOwnerIsNotReleased(t *testing.T) {
	s := newSystem(t, nil, root)
	s.fill(1)
	c := s.claimed("pool-000")
	id := string(c.IDs[0])
	path := "/pools/pool-000/ids/retire?id=" + id
	form := url.Values{"plan": {s.planOf(path)}, "typed": {id}, "reason": {"none"}}
	ctx := alloc.WithCaller(t.Context(), root)
	if _, err := s.svc.Settle(ctx, alloc.SettleRequest{Pool: "pool-000", Event: alloc.EventRelease, IDs: c.IDs, Token: c.Token}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.svc.Sweep(ctx, "pool-000"); err != nil {
		t.Fatal(err)
	}
	for range 3 { // until it is taken again
		s.claimed("pool-000")
		if rec, err := s.svc.InspectID(ctx, "pool-000", id); err == nil && rec.State == alloc.StateClaimed {
			break
		}
	}
	if w := s.post(path, form); w.Code != http.StatusConflict {
		t.Errorf("%d, want 409:\n%s", w.Code, w.Body)
	}
	if rec, err := s.svc.InspectID(ctx, "pool-000", id); err != nil || rec.State == alloc.StateRetired {
		t.Errorf("%+v, %v", rec, err)
	}
}

func TestWhatIsNotThere(t *testing.T) {
	s := newSystem(t, nil, viewer)
	s.fill(2)
	ctx := alloc.WithCaller(t.Context(), root)
	for _, state := range []alloc.PoolState{alloc.PoolPaused, alloc.PoolDeleted} {
		if _, err := s.svc.SetPoolState(ctx, "pool-001", 0, state); err != nil {
			t.Fatal(err)
		}
	}
	for _, state := range []alloc.SequenceState{alloc.SequencePaused, alloc.SequenceDeleted} {
		if _, err := s.svc.SetSequenceState(ctx, "sequence-001", 0, state); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"/find?q=pool-001":                  "It was deleted.",
		"/find?q=sequence-001":              "It was deleted.",
		"/find?q=%20pool-000%09":            `href="/pools/pool-000"`,
		"/find?q=":                          "Type the name",
		"/find?q=%3Cscript%3E":              "&lt;script&gt;",
		"/find?q=pool-000":                  `href="/pools/pool-000"`,
		"/find?q=sequence-000":              `href="/sequences/sequence-000"`,
		"/find?q=%00%FF":                    "Nothing that you may see",
		"/pools/pool-000/ids":               "Look up ID",
		"/pools/pool-000/ids?id=NOPE":       "does not know this ID",
		"/pools/pool-000/ids?id=%00":        `role="alert"`,
		"/pools/pool-000/ids?id=ID-0":       "What is known of it",
		"/pools/pool-000/ids?id=%20ID-0%20": "What is known of it",
	} {
		if page := s.page(path); !strings.Contains(page, want) || strings.Contains(page, "Release ID") {
			t.Errorf("%s does not say %q:\n%s", path, want, page)
		}
	}
	if w := s.do("GET", "/pools/none/ids?id=A"); w.Code != http.StatusNotFound {
		t.Errorf("of a pool that is not there: %d", w.Code)
	}
}

var twinShown = regexp.MustCompile(`curl -X (\w+) "\$IDPOOL([^"]+)"`)

// viaTwin sends what a page shows as the same by the API.
func (s *system) viaTwin(path string) *httptest.ResponseRecorder {
	s.t.Helper()
	page := html.UnescapeString(s.page(path))
	m := twinShown.FindStringSubmatch(page)
	if m == nil {
		s.t.Fatalf("%s shows no request:\n%s", path, page)
	}
	_, body, _ := strings.Cut(page, "-d '")
	body, _, _ = strings.Cut(body, "'</pre>")
	r := httptest.NewRequestWithContext(s.t.Context(), m[1], m[2], strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	web.Stack(web.As(root)(api.All(s.svc)), web.Options{}).ServeHTTP(w, r)
	return w
}

func TestTheTwinsOfAnOperatorsStepsDoTheSame(t *testing.T) {
	s := newSystem(t, nil, root)
	s.fill(1)
	for step, want := range map[string]alloc.State{"release": alloc.StateReturning, "retire": alloc.StateRetired} {
		id := s.claimed("pool-000").IDs[0]
		w := s.viaTwin("/pools/pool-000/ids/" + step + "?id=" + url.QueryEscape(string(id)))
		rec, err := s.svc.InspectID(alloc.WithCaller(t.Context(), root), "pool-000", string(id))
		if w.Code != http.StatusOK || err != nil || rec.State != want {
			t.Errorf("%s: %d %s, and it is %s (%v), want %s", step, w.Code, w.Body, rec.State, err, want)
		}
	}
	made, secret, err := s.svc.SignIn(t.Context(), alloc.SignInRequest{Person: alloc.Person{Issuer: "https://login.example", Subject: "7", Login: "ada", Name: "Ada"}, Role: alloc.RoleViewer}, "")
	if err != nil {
		t.Fatal(err)
	}
	path := "/sessions/" + string(made.ID) + "/end"
	if page := s.page(path); !strings.Contains(page, "<bdi>Ada</bdi>") || strings.Contains(page, "<bdi>"+string(made.ID)) {
		t.Errorf("the page does not say whose the session is:\n%s", page)
	}
	w := s.viaTwin(path)
	if _, _, err := s.svc.Authenticate(t.Context(), secret); w.Code != http.StatusOK || !alloc.Is(err, alloc.CodeUnauthenticated) {
		t.Errorf("the session: %d %s, and then %v", w.Code, w.Body, err)
	}
}
