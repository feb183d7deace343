package admin

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/alloc/generator"
	"idpool/web"
	"idpool/web/api"
)

func TestAPoolIsCreatedAndEdited(t *testing.T) {
	s := newSystem(t, nil, root)
	form := url.Values{
		"review": {"1"}, "name": {"vouchers"}, "description": {"spring <sale>"}, "max_batch": {"1,000"}, "on_release": {"retire"}, "policy": {"keep"},
		"fold_case": {"yes"}, "low": {"10"}, "target": {"100"}, "kind": {"random"}, "length": {"12"}, "group": {"4"}, "check": {"mod37_36"}, "separator": {"-"}, "alphabet": {"abcdefghjkmnpqrtwxy34679"},
	}
	path := "/new/pool?" + form.Encode()
	page := s.page(path)
	for _, want := range []string{"Create the pool vouchers", "spring &lt;sale&gt;", "low 10, target 100", "12 random characters", "curl -X PUT"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of confirmation does not have %q:\n%s", want, page)
		}
	}
	if w := s.post(path, url.Values{"plan": {s.planOf(path)}}); w.Header().Get("Location") != "/pools/vouchers?done=pool-created" {
		t.Fatalf("%d to %s:\n%s", w.Code, w.Header().Get("Location"), w.Body)
	}
	form = url.Values{"review": {"1"}, "description": {"autumn"}, "max_batch": {"1000"}, "on_release": {"return"}, "policy": {"forget"}}
	path = "/pools/vouchers/edit?" + form.Encode()
	page = s.page(path)
	for _, want := range []string{"was spring &lt;sale&gt;", "was retire", "was low 10, target 100"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of confirmation does not have %q:\n%s", want, page)
		}
	}
	if w := s.post(path, url.Values{"plan": {s.planOf(path)}}); w.Header().Get("Location") != "/pools/vouchers?done=pool-changed" {
		t.Fatalf("%d:\n%s", w.Code, w.Body)
	}
	st, err := s.svc.Pool(alloc.WithCaller(t.Context(), root), "vouchers")
	if err != nil {
		t.Fatal(err)
	}
	want := alloc.PoolConfig{Description: "autumn", MaxBatch: 1000, OnRelease: alloc.ReleaseReturns, Policy: alloc.PolicyKeep, FoldCase: true}.WithDefaults()
	if diff := cmp.Diff(want, st.Pool.Config); diff != "" {
		t.Errorf("what is fixed stays, the rest is as it was filled in (-want +got):\n%s", diff)
	}
}

func TestASequenceIsCreatedAndEdited(t *testing.T) {
	s := newSystem(t, nil, root)
	path := "/new/sequence?review=1&name=invoices&start=0&limit=9,999&max_lease=50&segment=10&resume_share=20&auto_rebuild=yes"
	if w := s.post(path, url.Values{"plan": {s.planOf(path)}}); w.Header().Get("Location") != "/sequences/invoices?done=sequence-created" {
		t.Fatalf("%d:\n%s", w.Code, w.Body)
	}
	path = "/sequences/invoices/edit?review=1&description=all&start=77&limit=99999&max_lease=50&segment=10&resume_share=20"
	if w := s.post(path, url.Values{"plan": {s.planOf(path)}}); w.Header().Get("Location") != "/sequences/invoices?done=sequence-changed" {
		t.Fatalf("%d:\n%s", w.Code, w.Body)
	}
	q, err := s.svc.Sequence(alloc.WithCaller(t.Context(), root), "invoices")
	if err != nil {
		t.Fatal(err)
	}
	want := alloc.SequenceConfig{Description: "all", StartAtZero: true, Limit: 99999, MaxLease: 50, Segment: 10, ResumeShare: 20}.WithDefaults()
	if diff := cmp.Diff(want, q.Config); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What cannot be done is said beside what was filled in, and nothing of that is lost.
func TestFormsSayWhatIsWrong(t *testing.T) {
	s := newSystem(t, nil, root)
	s.fill(1)
	for path, want := range map[string]string{
		"/new/pool?review=1&name=Vouchers&description=kept":                     "lower",
		"/new/pool?review=1&name=&description=kept":                             "name",
		"/new/pool?review=1&name=a&description=kept&max_batch=many":             "This is a whole number",
		"/new/pool?review=1&name=a&description=kept&max_batch=-1":               "This is a whole number",
		"/new/pool?review=1&name=a&description=kept&max_batch=99999999":         "max_batch",
		"/new/pool?review=1&name=a&description=kept&kind=random&length=1":       "generator",
		"/new/pool?review=1&name=a&description=kept&kind=telepathy":             "generator",
		"/new/pool?review=1&name=a&description=kept&low=10&target=5&kind=ulid":  "target",
		"/pools/pool-000/edit?review=1&description=kept&low=x":                  "This is a whole number",
		"/new/sequence?review=1&name=a&description=kept&start=9&limit=3":        "limit",
		"/new/sequence?review=1&name=a&description=kept&resume_share=500":       "resume_share",
		"/sequences/sequence-000/edit?review=1&description=kept&limit=3":        "limit",
		"/new/sequence?review=1&name=a&description=kept&limit=0":                "from 1 to 9,223,372,036,854,775,807",
		"/new/sequence?review=1&name=a&description=kept&max_lease=0":            "from 1 to 1,000,000,000",
		"/new/sequence?review=1&name=a&description=kept&segment=0":              "from 1 to 1,000,000",
		"/new/sequence?review=1&name=a&description=kept&resume_share=0":         "from 1 to 100",
		"/new/sequence?review=1&name=a&description=kept&limit=1,0":              "parts thousands alone",
		"/new/sequence?review=1&name=a&description=kept&limit=1,000%20000":      "parts thousands alone",
		"/new/sequence?review=1&name=a&description=kept&limit=,100":             "parts thousands alone",
		"/sequences/sequence-000/edit?review=1&description=kept&max_lease=2e99": "This is a whole number",
	} {
		page := s.page(path)
		if !strings.Contains(page, `class="problem" role="alert"`) || !strings.Contains(page, want) || !strings.Contains(page, `value="kept"`) || strings.Contains(page, `name="plan"`) {
			t.Errorf("%s does not say %q beside what was filled in:\n%s", path, want, page)
		}
	}
	same := "/pools/pool-000/edit?review=1&description=made+%3Cby%3E+a+test&max_batch=100&on_release=return"
	if page := s.page(same); !strings.Contains(page, "Nothing is changed by this") {
		t.Errorf("a change of nothing:\n%s", page)
	}
}

// The request that a page shows does the same by the API.
func TestTheTwinsDoTheSame(t *testing.T) {
	svc, err := alloc.NewService(alloc.Config{Store: alloctest.NewModel(nil)})
	if err != nil {
		t.Fatal(err)
	}
	h := web.Stack(web.As(root)(api.All(svc)), web.Options{})
	put := func(path, body string) {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPut, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusCreated {
			t.Fatalf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	ctx := alloc.WithCaller(t.Context(), root)
	put("/v1/sequences/numbers", "{}")
	for name, c := range map[alloc.PoolName]alloc.PoolConfig{
		"plain": {}, "all": {Description: `"quoted"`, Policy: alloc.PolicyForget, FoldCase: true, MaxBatch: 7, OnRelease: alloc.ReleaseRetires, RequireKey: true, Marks: alloc.Marks{Low: 1, LowHours: 2}},
		"random": {Generator: generator.Config{Kind: generator.Random, Alphabet: "ABCDEFGH34679", Length: 16, Prefix: "P-", Group: 4, Separator: ".", WithoutAmbiguous: false, Block: "BAD FAD"}, Marks: alloc.Marks{Low: 1, Target: 2}},
		"format": {Generator: generator.Config{Kind: generator.Sequence, Sequence: "numbers", Format: "C-{yyyy}-{n:6}", Overflow: generator.OverflowGrow, TimeZone: "Europe/Berlin"}, Marks: alloc.Marks{Low: 1, Target: 2}},
	} {
		want := c.WithDefaults()
		body, err := poolTwin(want)
		if err != nil {
			t.Fatal(err)
		}
		put("/v1/pools/"+string(name), body)
		st, err := svc.Pool(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, st.Pool.Config); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	want := alloc.SequenceConfig{Description: "d", StartAtZero: true, Limit: 9_007_199_254_740_993, MaxLease: 7, Segment: 3, RequireKey: true, AutoRebuild: true, ResumeShare: 9}.WithDefaults()
	body, err := sequenceTwin(want)
	if err != nil {
		t.Fatal(err)
	}
	put("/v1/sequences/all", body)
	q, err := svc.Sequence(ctx, "all")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, q.Config); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What belongs to another kind of generator is folded away; what was filled in, or is wrong, never is.
func TestTheFormOfAPoolFoldsAwayWhatIsNotNeeded(t *testing.T) {
	s := newSystem(t, nil, root)
	_, _, err := s.svc.CreatePool(alloc.WithCaller(t.Context(), root), "codes", alloc.PoolConfig{Generator: generator.Config{Kind: generator.Random, Length: 12}, Marks: alloc.Marks{Low: 1, Target: 2}})
	if err != nil {
		t.Fatal(err)
	}
	part := regexp.MustCompile(`<details class="fold"( open)?><summary><bdi>([^<]+)</bdi></summary>`)
	for path, want := range map[string]string{
		"/new/pool":                                          "",
		"/pools/codes/edit":                                  "Random characters",
		"/new/pool?kind=sequence":                            "Numbers of a sequence",
		"/new/pool?review=1&name=p&kind=random":              "Random characters",
		"/new/pool?review=1&name=p&format=x&length=no":       "Random characters, Numbers of a sequence",
		"/new/pool?review=1&name=p+p&without_ambiguous=yes":  "Random characters",
		"/new/pool?review=1&name=p+p&kind=uuidv7&block=&low": "",
	} {
		var open []string
		all := part.FindAllStringSubmatch(s.page(path), -1)
		for _, m := range all {
			if m[1] != "" {
				open = append(open, m[2])
			}
		}
		if got := strings.Join(open, ", "); got != want || len(all) != 2 {
			t.Errorf("%s: of %d parts %q are unfolded, want %q", path, len(all), got, want)
		}
	}
}

func TestNumbersWithThousandsSeparators(t *testing.T) {
	for typed, want := range map[string]int64{
		"": 7, "1000": 1000, " 12,345,678 ": 12_345_678, "1 000": 1000, "1_000": 1000, "1\u202f000": 1000, "007": 7,
		"1,0": -1, "1,00": -1, "1000,000": -1, "1,000 000": -1, ",100": -1, "100,": -1, "1,,000": -1,
	} {
		v := &values{query: url.Values{"n": {typed}}, problems: map[string]string{}}
		if got := v.number("n", 7); (v.problems["n"] != "") != (want < 0) || want >= 0 && got != want {
			t.Errorf("%q: got %d, %v, want %d", typed, got, v.problems, want)
		}
	}
}
