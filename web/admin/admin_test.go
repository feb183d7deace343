package admin

import (
	"bytes"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/web"
	"idpool/web/api"
	"idpool/web/static"
)

var update = flag.Bool("update", false, "write the golden pages anew")

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

var viewer = alloc.Caller{Client: "viewer", Scopes: []alloc.Scope{{Action: alloc.ActionRead, Pattern: "*"}}}

// system is a dashboard over one Store, at a time that a test sets.
type system struct {
	t     *testing.T
	h     http.Handler
	svc   *alloc.Service
	clock time.Time
	log   bytes.Buffer
}

func newSystem(t *testing.T, store alloc.Store, caller alloc.Caller) *system {
	t.Helper()
	s := &system{t: t, clock: noon}
	now := func() time.Time { return s.clock }
	if store == nil {
		store = alloctest.NewModel(now)
	}
	var err error
	if s.svc, err = alloc.NewService(alloc.Config{Store: store, Now: now, Encoders: api.Encoders(), Log: api.LogCodec()}); err != nil {
		t.Fatal(err)
	}
	s.serve(Config{}, caller)
	return s
}

// serve makes the dashboard anew, by another configuration.
func (s *system) serve(c Config, caller alloc.Caller) {
	s.t.Helper()
	c.Service, c.Environment, c.Now, c.File = s.svc, "test", func() time.Time { return s.clock }, api.PartFile
	h, err := New(c)
	if err != nil {
		s.t.Fatal(err)
	}
	s.h = web.Stack(web.As(caller)(h), web.Options{Logger: slog.New(slog.NewTextHandler(&s.log, nil))})
}

func (s *system) do(method, path string) *httptest.ResponseRecorder {
	s.t.Helper()
	w := httptest.NewRecorder()
	s.h.ServeHTTP(w, httptest.NewRequestWithContext(s.t.Context(), method, path, nil))
	return w
}

// page gets a page that must be there.
func (s *system) page(path string) string {
	s.t.Helper()
	w := s.do("GET", path)
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		s.t.Fatalf("%s: %d %s: %.300s", path, w.Code, w.Header().Get("Content-Type"), w.Body)
	}
	return w.Body.String()
}

// fill makes n pools and n sequences, with IDs claimed and numbers leased.
func (s *system) fill(n int) {
	s.t.Helper()
	ctx := alloc.WithCaller(s.t.Context(), alloc.Caller{Client: "maker", Scopes: alloc.AllScopes()})
	check := func(err error) {
		if err != nil {
			s.t.Fatal(err)
		}
	}
	for i := range n {
		pool, sequence := alloc.PoolName(fmt.Sprintf("pool-%03d", i)), alloc.SequenceName(fmt.Sprintf("sequence-%03d", i))
		_, _, err := s.svc.CreatePool(ctx, pool, alloc.PoolConfig{Description: "made <by> a test"})
		check(err)
		entries := make([]alloc.SeedEntry, 0, 5)
		for j := range cap(entries) {
			entries = append(entries, alloc.SeedEntry{Line: j + 1, Raw: fmt.Sprintf("ID-%d", j)})
		}
		_, err = s.svc.Seed(ctx, alloc.SeedRequest{Pool: pool, Entries: entries})
		check(err)
		_, err = s.svc.Claim(ctx, alloc.ClaimRequest{Pool: pool, Count: 2})
		check(err)
		_, _, err = s.svc.CreateSequence(ctx, sequence, alloc.SequenceConfig{Limit: 2000})
		check(err)
		_, err = s.svc.Lease(ctx, alloc.LeaseRequest{Sequence: sequence, Count: 1500})
		check(err)
	}
	_, err := s.svc.Tend(ctx)
	check(err)
}

func TestOverviewPage(t *testing.T) {
	s := newSystem(t, nil, viewer)
	s.fill(2)
	s.clock = noon.Add(10 * time.Minute)
	page := strings.ReplaceAll(s.page("/"), "><", ">\n<") + "\n"
	page = regexp.MustCompile(`(app|icon)-[0-9a-f]{12}`).ReplaceAllString(page, "$1-(hash)")
	const file = "testdata/overview.html"
	if *update {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), page); diff != "" {
		t.Errorf("%s (-want +got), write it anew with -update:\n%s", file, diff)
	}
}

func TestAnEmptySystemSaysWhatToDo(t *testing.T) {
	page := newSystem(t, nil, viewer).page("/")
	for _, want := range []string{"There is no pool yet.", "There is no sequence yet.", "curl -X PUT"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

func TestAPanelFailsAlone(t *testing.T) {
	failing := map[string]struct{ method, good, bad string }{
		"pools":     {"ListPools", `class="name"><a href="/sequences/sequence-000"`, `class="name"><a href="/pools/pool-000"`},
		"sequences": {"ListSequences", `class="name"><a href="/pools/pool-000"`, `class="name"><a href="/sequences/sequence-000"`},
	}
	for name, tt := range failing {
		t.Run(name, func(t *testing.T) {
			store := alloctest.NewFaulty(alloctest.NewModel(nil), nil)
			s := newSystem(t, store, viewer)
			s.fill(1)
			store.SetPlan(func(c alloctest.Call) alloctest.Fault {
				if c.Method == tt.method {
					return alloctest.Refused
				}
				return alloctest.Pass
			})
			page := s.page("/?limit=50")
			if !strings.Contains(page, tt.good) || strings.Contains(page, tt.bad) {
				t.Errorf("the other panel should stand, this one not:\n%s", page)
			}
			if strings.Count(page, `href="/?limit=50">Try again</a>`) != 1 || strings.Contains(page, "injected") {
				t.Errorf("the panel should say what to do, and not the cause:\n%s", page)
			}
			if id := regexp.MustCompile(`request_id=(\S+)`).FindStringSubmatch(s.log.String()); id == nil || !strings.Contains(page, id[1]) {
				t.Error("the page does not name its request")
			}
			if strings.Count(s.log.String(), "injected fault") != 1 {
				t.Errorf("the cause should be logged once:\n%s", &s.log)
			}
		})
	}
}

func TestALevelFailsAlone(t *testing.T) {
	store := alloctest.NewFaulty(alloctest.NewModel(nil), nil)
	s := newSystem(t, store, viewer)
	s.fill(2)
	levels := 0
	store.SetPlan(func(c alloctest.Call) alloctest.Fault {
		if c.Method != "Level" {
			return alloctest.Pass
		}
		if levels++; levels == 1 {
			return alloctest.Refused
		}
		return alloctest.Pass
	})
	page := s.page("/")
	if strings.Count(page, "level unknown") != 1 || !strings.Contains(page, "pool-000") || strings.Count(page, "3 of 5 available") == 0 {
		t.Errorf("one level should be unknown and the other shown:\n%s", page)
	}
}

// Each list is paged by itself, and every entry is on exactly one page.
func TestPaging(t *testing.T) {
	s := newSystem(t, nil, viewer)
	s.fill(60)
	link := regexp.MustCompile(`<a href="([^"]+)" rel="next">More (pools|sequences)</a>`)
	for _, list := range []string{"pools", "sequences"} {
		row := regexp.MustCompile(`class="name">(?:<a[^>]*>)?(` + strings.TrimSuffix(list, "s") + `-\d+)`)
		seen := map[string]int{}
		pages, path := 0, "/"+list
		for path != "" {
			page := s.page(path)
			for _, m := range row.FindAllStringSubmatch(page, -1) {
				seen[m[1]]++
			}
			path = ""
			for _, m := range link.FindAllStringSubmatch(page, -1) {
				if m[2] == list {
					path = strings.ReplaceAll(m[1], "&amp;", "&")
				}
			}
			if pages++; pages > 10 {
				t.Fatal("the pages do not end")
			}
		}
		if pages != 3 || len(seen) != 60 {
			t.Errorf("%s: %d on %d pages, want 60 on 3", list, len(seen), pages)
		}
		for name, n := range seen {
			if n != 1 {
				t.Errorf("%s is on %d pages", name, n)
			}
		}
	}
}

// What an address holds is checked before it gets near an engine.
func TestAddressesThatAreNotOurs(t *testing.T) {
	s := newSystem(t, nil, viewer)
	s.fill(1)
	for _, query := range []string{"pools_after=%00", "pools_after=pool-000", "pools_after=%FF", "pools_after=" + strings.Repeat("x", 5000)} {
		page := s.page("/pools?" + query)
		if !strings.Contains(page, "begin it anew") || !strings.Contains(page, `<a href="/pools">Try again</a>`) {
			t.Errorf("?%.40s: the panel should say so:\n%s", query, page)
		}
	}
	for _, query := range []string{"limit=0", "limit=1000000", "limit=x", "utm_source=mail", "%zz", "a;b"} {
		if page := s.page("/pools?" + query); !strings.Contains(page, "pool-000") {
			t.Errorf("?%s should be the first page", query)
		}
	}
}

func TestErrorPages(t *testing.T) {
	tests := map[string]struct {
		method, path string
		status       int
		allow        string
	}{
		"no such page":            {"GET", "/nothing", 404, ""},
		"no such file":            {"GET", "/static/app.css", 404, ""},
		"a page is not posted to": {"POST", "/", 405, "GET, HEAD"},
		"nor is a file":           {"DELETE", static.Address(static.Stylesheet), 405, "GET, HEAD"},
	}
	s := newSystem(t, nil, viewer)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := s.do(tt.method, tt.path)
			if w.Code != tt.status || w.Header().Get("Allow") != tt.allow || w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
				t.Errorf("%d, Allow %q, %s", w.Code, w.Header().Get("Allow"), w.Header().Get("Content-Type"))
			}
			if !strings.Contains(w.Body.String(), w.Header().Get("X-Request-Id")) || !strings.Contains(w.Body.String(), "Go to the overview") {
				t.Errorf("the page does not help:\n%s", w.Body)
			}
		})
	}
	if w := s.do("GET", "/a/../b"); w.Code != http.StatusNotFound {
		t.Errorf("a path that is not clean: %d, want 404", w.Code)
	}
}

func TestWhoSeesWhat(t *testing.T) {
	model := alloctest.NewModel(nil)
	newSystem(t, model, viewer).fill(2)

	some := newSystem(t, model, alloc.Caller{Client: "some", Scopes: []alloc.Scope{{Action: alloc.ActionRead, Pattern: "pool-001"}}})
	if page := some.page("/"); !strings.Contains(page, "pool-001") || strings.Contains(page, "pool-000") || strings.Contains(page, "sequence-") {
		t.Errorf("a caller sees what it may read, not more:\n%s", page)
	}

	nobody, err := New(Config{Service: some.svc})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	web.Stack(nobody, web.Options{}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil))
	if w.Code != http.StatusUnauthorized || strings.Contains(w.Body.String(), "pool-0") {
		t.Errorf("mounted without a caller: %d, want 401:\n%s", w.Code, w.Body)
	}
}

func TestNewNeedsAService(t *testing.T) {
	if h, err := New(Config{}); err == nil || h != nil {
		t.Errorf("got %v, %v; want an error", h, err)
	}
}

func TestPagesAreNotKeptAndFilesAre(t *testing.T) {
	s := newSystem(t, nil, viewer)
	if got := s.do("GET", "/").Header().Get("Cache-Control"); got != "no-store" {
		t.Errorf("the page has Cache-Control %q", got)
	}
	for _, name := range []string{static.Stylesheet, static.Icon} {
		w := s.do("GET", static.Address(name))
		if w.Code != http.StatusOK || w.Header().Get("Cache-Control") != "public, max-age=31536000, immutable" || w.Body.Len() == 0 {
			t.Errorf("%s: %d %v", name, w.Code, w.Header())
		}
		if !strings.Contains(s.page("/"), `href="`+static.Address(name)+`"`) {
			t.Errorf("the page does not refer to %s", name)
		}
	}
}
