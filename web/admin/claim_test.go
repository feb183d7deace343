package admin

import (
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

func TestAnIDIsClaimedByHandOnce(t *testing.T) {
	model := alloctest.NewModel(nil)
	newSystem(t, model, root).fill(1)
	s := newSystem(t, model, alloc.Caller{Client: "operator-1", Scopes: alloc.RoleOperator.Scopes()})
	const path = "/pools/pool-000/claim"
	page := s.page(path)
	if strings.Contains(page, `name="reason"`) || !strings.Contains(page, "/v1/pools/pool-000/claims") {
		t.Errorf("a claim leaves no record, so nobody is asked for a reason, and the page shows the request:\n%s", page)
	}
	form := url.Values{"plan": {s.planOf(path)}}
	var to string
	for range 2 { // a double press shows the same
		w := s.post(path, form)
		if to == "" {
			to = w.Header().Get("Location")
		}
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != to || !strings.HasPrefix(to, "/pools/pool-000/claimed?id=ID-") {
			t.Fatalf("%d to %q:\n%s", w.Code, w.Header().Get("Location"), w.Body)
		}
	}
	ctx := alloc.WithCaller(t.Context(), root)
	if _, err := s.svc.Sweep(ctx, "pool-000"); err != nil { // it counts
		t.Fatal(err)
	}
	st, err := s.svc.Pool(ctx, "pool-000")
	if err != nil || st.Level.Claimed != 3 {
		t.Errorf("%d are claimed, want the two of before and one (%v)", st.Level.Claimed, err)
	}
	id := strings.TrimPrefix(to, "/pools/pool-000/claimed?id=")
	page = s.page(to)
	for _, want := range []string{"<pre tabindex=\"0\" aria-label=\"The ID\"><bdi>" + id + "</bdi></pre>", "Copy ID", `href="/pools/pool-000/ids?id=` + id + `"`, "operator-1", "-X POST", "Idempotency-Key"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of what was claimed lacks %q:\n%s", want, page)
		}
	}
	page = s.page("/pools/pool-000")
	if !strings.Contains(page, `<a class="id" href="/pools/pool-000/ids?id=`+id+`">`) || !strings.Contains(page, `href="/pools/pool-000/claim"`) {
		t.Errorf("the page of the pool shows no recent claim:\n%s", page)
	}
	if page := newSystem(t, model, viewer).page("/pools/pool-000"); strings.Contains(page, `href="/pools/pool-000/claim"`) || !strings.Contains(page, "Recent claims") {
		t.Error("who may only look is offered a claim, or does not see those of others")
	}
}

func TestAPoolThatRefusesClaimsRefusesThemByHand(t *testing.T) {
	s := newSystem(t, nil, root)
	s.fill(1)
	ctx := alloc.WithCaller(t.Context(), root)
	form := url.Values{"plan": {s.planOf("/pools/pool-000/claim")}}
	if _, err := s.svc.Claim(ctx, alloc.ClaimRequest{Pool: "pool-000", Count: 3}); err != nil {
		t.Fatal(err)
	}
	if w := s.post("/pools/pool-000/claim", form); w.Code != http.StatusConflict {
		t.Errorf("of an exhausted pool: %d:\n%s", w.Code, w.Body)
	}
	if _, err := s.svc.SetPoolState(ctx, "pool-000", 0, alloc.PoolPaused); err != nil {
		t.Fatal(err)
	}
	if w := s.do("GET", "/pools/pool-000/claim"); w.Code != http.StatusConflict {
		t.Errorf("of a paused pool: %d:\n%s", w.Code, w.Body)
	}
	if page := s.page("/pools/pool-000"); strings.Contains(page, `href="/pools/pool-000/claim"`) {
		t.Error("a paused pool offers a claim")
	}
}

// What a page's own script asks for is the live parts; the others are not read for it.
func TestARefreshReadsTheLivePartsAlone(t *testing.T) {
	faulty := alloctest.NewFaulty(alloctest.NewModel(nil), nil)
	s := newSystem(t, faulty, root)
	s.fill(1)
	before := len(faulty.Calls())
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/pools/pool-000", nil)
	r.Header.Set("X-Requested-With", "refresh")
	w := httptest.NewRecorder()
	s.h.ServeHTTP(w, r)
	for _, c := range faulty.Calls()[before:] {
		if c.Method == "RecentClaims" || c.Method == "Records" {
			t.Errorf("a refresh calls %s", c.Method)
		}
	}
}

func TestTheTwinOfAClaimDoesTheSame(t *testing.T) {
	s := newSystem(t, nil, root)
	s.fill(1)
	text := claimTwin("pool-000").Text
	_, body, ok := strings.Cut(text, " -d '")
	if body = strings.TrimSuffix(body, "'"); !ok {
		t.Fatalf("no body in %s", text)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/pools/pool-000/claims", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	web.Stack(web.As(root)(api.All(s.svc)), web.Options{}).ServeHTTP(w, r)
	if w.Code != http.StatusCreated {
		t.Errorf("%s: %d %s", body, w.Code, w.Body)
	}
}
