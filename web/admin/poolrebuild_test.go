package admin

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// configWords are in a page that asks for what was fixed of a pool whose configuration is lost.
var configWords = []string{`id="f-policy"`, `id="f-fold_case"`}

// A page asks for what was fixed of a pool where nothing else tells it, and there alone.
func TestTheRebuildOfAPoolAsksForALostConfiguration(t *testing.T) {
	model := alloctest.NewModel(nil)
	s := newSystem(t, model, root)
	s.fill(2)
	const at = "/pools/pool-000/rebuild"
	for _, kind := range []alloctest.DamageKind{"", alloctest.LoseHead, alloctest.LoseCopy} { // of a pool that is well, with a copy, and with neither
		if kind != "" {
			model.Damage(t, alloctest.Damage{Kind: kind, Pool: "pool-000"})
		}
		lost := kind == alloctest.LoseCopy
		page := s.page(at)
		for _, want := range configWords {
			if strings.Contains(page, want) != lost {
				t.Errorf("after %q the page has %s: %t\n%s", kind, want, !lost, page)
			}
		}
		if strings.Contains(page, `name="plan"`) == lost {
			t.Errorf("after %q the page is one of confirmation: %t\n%s", kind, lost, page)
		}
	}
	page := s.page(at)
	for _, want := range []string{"there is no copy of it", "handed out twice", "duplicates", "capital letter", "pool.create"} {
		if !strings.Contains(page, want) {
			t.Errorf("the form does not say %q:\n%s", want, page)
		}
	}
	for query, n := range map[string]int{"": 2, "&policy=keep": 1, "&fold_case=false": 1, "&policy=most&fold_case=yes": 2} {
		page := s.page(at + "?review=1" + query)
		if got := strings.Count(page, "nothing else tells it"); got != n || strings.Contains(page, `name="plan"`) {
			t.Errorf("of %q %d are asked for once more, want %d:\n%s", query, got, n, page)
		}
	}
	if page := s.page("/pools/pool-001/rebuild?review=1&policy=forget&fold_case=true"); strings.Contains(page, "&#34;policy&#34;") || !strings.Contains(page, `name="plan"`) {
		t.Errorf("of a pool that is well they are handed on:\n%s", page)
	}
}

// What was said is shown, is what the API is told, and is what the pool is.
func TestAPoolIsRebuiltWithTheConfigurationThatWasSaid(t *testing.T) {
	for _, tc := range []struct {
		query string
		want  alloc.PoolConfig
		shown []string
	}{
		{"policy=keep&fold_case=false", alloc.PoolConfig{Policy: alloc.PolicyKeep}, []string{"a claimed ID is kept", "two IDs", "&#34;policy&#34;:&#34;keep&#34;,&#34;fold_case&#34;:false"}},
		{"policy=forget&fold_case=true", alloc.PoolConfig{Policy: alloc.PolicyForget, FoldCase: true}, []string{"a claimed ID is removed", "one ID", "&#34;policy&#34;:&#34;forget&#34;,&#34;fold_case&#34;:true"}},
	} {
		t.Run(tc.query, func(t *testing.T) {
			model := alloctest.NewModel(nil)
			s := newSystem(t, model, root)
			s.fill(1)
			for _, kind := range []alloctest.DamageKind{alloctest.LoseHead, alloctest.LoseCopy} {
				model.Damage(t, alloctest.Damage{Kind: kind, Pool: "pool-000"})
			}
			path := "/pools/pool-000/rebuild?review=1&" + tc.query
			page := s.page(path)
			for _, want := range append(tc.shown, "All else of its configuration", `class="btn" href="/pools/pool-000/rebuild?`) {
				if !strings.Contains(page, want) {
					t.Errorf("the page of confirmation does not have %q:\n%s", want, page)
				}
			}
			form := url.Values{"plan": {planIn(t, page)}, "typed": {"pool-000"}}
			w := s.post(path, form)
			if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), tc.shown[0]) {
				t.Fatalf("without a reason: %d\n%s", w.Code, w.Body)
			}
			form.Set("reason", "the table was restored")
			if w = s.post(path, form); w.Code != http.StatusSeeOther {
				t.Fatalf("%d:\n%s", w.Code, w.Body)
			}
			ctx := alloc.WithCaller(t.Context(), root)
			for range 3 {
				if _, err := s.svc.Tend(ctx); err != nil {
					t.Fatal(err)
				}
			}
			st, err := s.svc.Pool(ctx, "pool-000")
			if err != nil || st.Pool.Config != tc.want.WithDefaults() {
				t.Errorf("the pool is %+v, %v; want %+v", st.Pool.Config, err, tc.want.WithDefaults())
			}
		})
	}
}

// What a damaged pool needs comes first on its page, and nothing is invented in the place of what is lost.
func TestTheRebuildOfADamagedPoolComesFirst(t *testing.T) {
	model := alloctest.NewModel(nil)
	s := newSystem(t, model, root)
	s.fill(1)
	for _, lost := range []alloctest.Damage{{Kind: alloctest.LoseHead, Pool: "pool-000"}, {Kind: alloctest.LoseCopy, Pool: "pool-000"}} {
		model.Damage(t, lost)
		page := s.do("GET", "/pools/pool-000").Body.String()
		if want := `<a class="btn primary" href="/pools/pool-000/rebuild">Rebuild pool</a>`; !strings.Contains(page, want) || strings.Contains(page, "/delete") {
			t.Errorf("%s: the page does not have %s alone:\n%s", lost.Kind, want, page)
		}
		for _, invented := range []string{"0001-01-01", "9223372036", "-9,223"} {
			if strings.Contains(page, invented) {
				t.Errorf("%s: the page says %q", lost.Kind, invented)
			}
		}
	}
}

// Of two who have looked at a pool that needs it, the second is told that the first has begun.
func TestTheSecondRebuildOfAPoolIsNotBegunUnseen(t *testing.T) {
	s := newSystem(t, alloctest.NewModel(nil), root)
	s.fill(1)
	const at = "/pools/pool-000/rebuild"
	form := func() url.Values {
		return url.Values{"plan": {s.planOf(at)}, "typed": {"pool-000"}, "reason": {"it is damaged"}}
	}
	first, second := form(), form()
	for range 2 { // a double press is one
		if w := s.post(at, first); w.Code != http.StatusSeeOther {
			t.Fatalf("%d:\n%s", w.Code, w.Body)
		}
	}
	underWay := form()
	if w := s.post(at, second); w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "Make a new plan") {
		t.Errorf("while it is under way: %d, want 409", w.Code)
	}
	for range 3 {
		s.tend()
	}
	for _, form := range []url.Values{second, underWay} {
		if w := s.post(at, form); w.Code != http.StatusConflict {
			t.Errorf("after its end: %d, want 409", w.Code)
		}
	}
	if w := s.post(at, form()); w.Code != http.StatusSeeOther {
		t.Errorf("by a page that shows it: %d", w.Code)
	}
}
