package admin

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// step goes to the page of a step, confirms it and returns the page that it leads to.
func (s *system) step(path string, typed ...string) string {
	s.t.Helper()
	form := url.Values{"plan": {s.planOf(path)}, "reason": {"the table was restored"}}
	if len(typed) > 0 {
		form.Set("typed", typed[0])
	}
	var to string
	for range 2 { // a second press does nothing more
		w := s.post(path, form)
		if w.Code != http.StatusSeeOther {
			s.t.Fatalf("%s: %d\n%s", path, w.Code, w.Body)
		}
		to = w.Header().Get("Location")
	}
	return s.page(to)
}

func TestASequenceIsRebuiltOnPages(t *testing.T) {
	model := alloctest.NewModel(nil)
	s := newSystem(t, model, root)
	s.fill(1) // 1,500 of 2,000 numbers are leased
	const at = "/sequences/sequence-000"
	if page := s.page(at + "/rebuild"); !strings.Contains(page, "Begin rebuild") || strings.Contains(page, "Apply plan") {
		t.Errorf("before there was one:\n%s", page)
	}
	model.DropCounter("sequence-000")
	if page := s.page(at); !strings.Contains(page, "stopped, rebuild it") || !strings.Contains(page, `href="`+at+`/rebuild"`) {
		t.Errorf("a sequence without a counter:\n%s", page)
	}
	s.wantRebuildFirst(at)
	page := s.step(at + "/rebuild/plan?review=1&reported=1,600&margin=50")
	s.wantRebuildFirst(at)
	for _, want := range []string{"Apply plan", "1,601", "1,651", "Reported", "Lease ledger", "1,500", "the table was restored", `class="now" aria-current="step"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the plan does not have %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, `class="name"></th>`) {
		t.Errorf("a source has no name:\n%s", page)
	}
	if w := s.do("GET", at+"/rebuild/resume?review=1&share=100"); w.Code != http.StatusConflict {
		t.Errorf("to serve before it was applied: %d, want 409", w.Code)
	}
	page = s.step(at+"/rebuild/apply", "sequence-000")
	for _, want := range []string{"Serve callers", "Test numbers", "1,651"} {
		if !strings.Contains(page, want) {
			t.Errorf("after it was applied the page does not have %q:\n%s", want, page)
		}
	}
	if page = s.step(at + "/rebuild/resume?review=1&share=10"); !strings.Contains(page, "one client is served wholly or not at all") {
		t.Errorf("while a share is served:\n%s", page)
	}
	if page = s.step(at + "/rebuild/resume?review=1&share=100"); !strings.Contains(page, "It is over.") {
		t.Errorf("after it was resumed:\n%s", page)
	}
	leased, err := s.svc.Lease(alloc.WithCaller(t.Context(), root), alloc.LeaseRequest{Sequence: "sequence-000", Count: 1})
	if err != nil || leased.Start <= 1650 {
		t.Errorf("after the rebuild it leases %+v, %v", leased, err)
	}
}

// wantRebuildFirst fails the test unless the page of a sequence that serves nobody offers its rebuild before all else, and invents nothing.
func (s *system) wantRebuildFirst(at string) {
	s.t.Helper()
	page := s.page(at)
	_, actions, _ := strings.Cut(page, `<div class="actions">`)
	if want := `<a class="btn primary" href="` + at + `/rebuild">Rebuild</a>`; !strings.HasPrefix(strings.TrimSpace(actions), want) {
		s.t.Errorf("the first action is not %s:\n%s", want, page)
	}
	for _, invented := range []string{"0001-01-01", "9223372036", "-9,223", "<strong>0</strong>", `<strong class="digits">0</strong>`} {
		if strings.Contains(page, invented) {
			s.t.Errorf("the page says %q:\n%s", invented, page)
		}
	}
	if !strings.Contains(page, ">not known<") {
		s.t.Errorf("the page does not say what is not known:\n%s", page)
	}
}

func TestAPlanIsCancelledOrReplacedOnPages(t *testing.T) {
	model := alloctest.NewModel(nil)
	s := newSystem(t, model, root)
	s.fill(1)
	const at = "/sequences/sequence-000/rebuild"
	s.step(at + "/plan?review=1")
	if page := s.step(at + "/cancel"); !strings.Contains(page, "was cancelled before it was applied") {
		t.Errorf("after it was cancelled:\n%s", page)
	}
	s.step(at + "/plan?review=1&margin=10")
	s.step(at+"/apply", "sequence-000")
	page := s.step(at+"/plan?review=1&margin=20", "sequence-000")
	if !strings.Contains(page, "Apply plan") {
		t.Errorf("in place of a plan that was applied there is none:\n%s", page)
	}
	for _, query := range []string{"margin=x", "reported=-1", "since=yesterday"} {
		if page := s.page(at + "/plan?review=1&" + query); !strings.Contains(page, "cannot be read") || strings.Contains(page, `name="plan"`) {
			t.Errorf("?%s:\n%s", query, page)
		}
	}
	for _, path := range []string{"/sequences/none/rebuild", "/sequences/%00/rebuild"} {
		if w := s.do("GET", path); w.Code/100 != 4 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// A confirmation that was made of one rebuild does nothing to the next.
func TestAStepOfARebuildIsOfThatRebuild(t *testing.T) {
	s := newSystem(t, alloctest.NewModel(nil), root)
	s.fill(1)
	const at = "/sequences/sequence-000/rebuild"
	s.step(at + "/plan?review=1&margin=10")
	old := url.Values{"plan": {s.planOf(at + "/cancel")}}
	s.step(at + "/cancel")
	s.step(at + "/plan?review=1&margin=500")
	if w := s.post(at+"/cancel", old); w.Code != http.StatusConflict {
		t.Errorf("the rebuild of a colleague is cancelled by a page of the one before: %d to %s, want 409", w.Code, w.Header().Get("Location"))
	}
	s.step(at + "/plan?review=1&margin=10")
	s.step(at+"/apply", "sequence-000")
	const serve = at + "/resume?review=1&share=100"
	all := url.Values{"plan": {s.planOf(serve)}}
	s.step(at+"/plan?review=1&margin=20", "sequence-000")
	s.step(at+"/apply", "sequence-000")
	if w := s.post(serve, all); w.Code != http.StatusConflict {
		t.Errorf("callers are served of a plan that nobody was shown: %d to %s, want 409", w.Code, w.Header().Get("Location"))
	}
}

// What 0 does not mean is refused, before it is confirmed.
func TestNothingElseIsPlannedThanWasConfirmed(t *testing.T) {
	s := newSystem(t, alloctest.NewModel(nil), root)
	s.fill(1)
	for query, want := range map[string]string{
		"margin=0": "from 1 to 1,000,000,000,000", "margin=1000000000001": "from 1 to 1,000,000,000,000", "limit=0": "from 1 to 9,223,372,036,854,775,807",
	} {
		page := s.page("/sequences/sequence-000/rebuild/plan?review=1&" + query)
		if !strings.Contains(page, want) || strings.Contains(page, `name="plan"`) {
			t.Errorf("?%s is to be confirmed:\n%s", query, page)
		}
	}
	const form = "/sequences/sequence-000/rebuild/plan"
	if page := s.page(form); !strings.Contains(page, "1,000 where this is empty") {
		t.Errorf("the form of the first plan:\n%s", page)
	}
	s.step(form + "?review=1&margin=70")
	if page := s.page(form); !strings.Contains(page, "70 where this is empty") {
		t.Errorf("the form of a plan after one with a margin of 70:\n%s", page)
	}
}

// Two who begin at once: the page of the second is of a sequence that was not frozen, and does nothing to the plan of the first.
func TestAPlanOfAPageIsOfTheRebuildThatItShows(t *testing.T) {
	s := newSystem(t, alloctest.NewModel(nil), root)
	s.fill(1)
	if _, err := s.svc.ChangeSequence(alloc.WithCaller(t.Context(), root), "sequence-000", 1, alloc.SequenceConfig{Limit: 90_000}); err != nil {
		t.Fatal(err)
	}
	const at = "/sequences/sequence-000/rebuild"
	for _, query := range []string{"reported=2000", "margin=7", "reported=6000"} {
		late := url.Values{"plan": {s.planOf(at + "/plan?review=1&" + query)}, "reason": {"it is behind"}}
		s.step(at + "/plan?review=1&reported=5000")
		w := s.post(at+"/plan?review=1&"+query, late)
		if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "Make a new plan") {
			t.Errorf("?%s of before it was frozen: %d, want 409\n%s", query, w.Code, w.Body)
		}
		if page := s.page(at); !strings.Contains(page, "5,001") {
			t.Errorf("after ?%s:\n%s", query, page)
		}
		s.step(at + "/cancel")
	}
}

// Who plans once more is shown what is planned, and what was reported; a lower number is to be typed for.
func TestAnotherPlanIsShownBesideTheOneInForce(t *testing.T) {
	s := newSystem(t, alloctest.NewModel(nil), root)
	s.fill(1)
	if _, err := s.svc.ChangeSequence(alloc.WithCaller(t.Context(), root), "sequence-000", 1, alloc.SequenceConfig{Limit: 90_000}); err != nil {
		t.Fatal(err)
	}
	const at, again = "/sequences/sequence-000/rebuild", "/sequences/sequence-000/rebuild/plan?review=1&"
	s.step(at + "/plan?review=1&reported=5000")
	for query, want := range map[string][]string{
		"margin=7":      {"stays unless another number is said"},
		"reported=6000": {"goes up, from 5,000"},
		"reported=2000": {"goes down, from 5,000", "is taken back", `name="typed"`, "&#34;reported&#34;:null"},
	} {
		page := s.page(again + query)
		for _, want := range append(want, ">Plan again<", "Next number", "6,001", "Reported before") {
			if !strings.Contains(page, want) {
				t.Errorf("?%s does not say %q:\n%s", query, want, page)
			}
		}
		if strings.Contains(page, "Freeze sequence and plan") {
			t.Errorf("?%s says that it freezes what is frozen", query)
		}
	}
	if w := s.post(again+"reported=2000", url.Values{"plan": {s.planOf(again + "reported=2000")}, "reason": {"a typing error"}}); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("without the name: %d, want 422", w.Code)
	}
	if page := s.step(again+"reported=2000", "sequence-000"); !strings.Contains(page, "2,001") || strings.Contains(page, "5,001") {
		t.Errorf("what was reported wrongly cannot be put right:\n%s", page)
	}
}
