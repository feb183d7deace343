package admin

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/web"
)

// many is a dashboard over a thousand pools with a day of samples.
func many(t testing.TB, clock *time.Time) (*alloctest.Faulty, *alloc.Service) {
	t.Helper()
	now := func() time.Time { return *clock }
	store := alloctest.NewFaulty(alloctest.NewModel(now), nil)
	svc, err := alloc.NewService(alloc.Config{Store: store, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	ctx := alloc.WithCaller(t.Context(), alloc.Caller{Client: "maker", Scopes: alloc.AllScopes()})
	for i := range 1000 {
		name := alloc.PoolName(fmt.Sprintf("pool-%04d", i))
		if _, _, err := svc.CreatePool(ctx, name, alloc.PoolConfig{Description: "one of many", Marks: alloc.Marks{Low: 3}}); err != nil {
			t.Fatal(err)
		}
		var entries []alloc.SeedEntry
		for j := range 5 + i%40 {
			entries = append(entries, alloc.SeedEntry{Line: j + 1, Raw: fmt.Sprintf("%d-%d", i, j)})
		}
		if _, err := svc.Seed(ctx, alloc.SeedRequest{Pool: name, Entries: entries}); err != nil {
			t.Fatal(err)
		}
	}
	for range 25 {
		*clock = clock.Add(time.Hour)
		if _, err := svc.Tend(ctx); err != nil {
			t.Fatal(err)
		}
	}
	return store, svc
}

func TestAPageOfManyPoolsIsLightAndReadsLittle(t *testing.T) {
	clock := noon
	store, svc := many(t, &clock)
	s := newSystem(t, nil, viewer)
	s.svc, s.clock = svc, clock
	s.serve(Config{}, viewer)
	before := len(store.Calls())
	page := s.page("/pools?limit=100")
	if reads := len(store.Calls()) - before; reads >= 300 || strings.Count(page, `class="name"`) != 100 {
		t.Errorf("%d rows at %d reads, want 100 at fewer than 300", strings.Count(page, `class="name"`), reads)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(page)); err != nil || w.Close() != nil {
		t.Fatal("it cannot be packed")
	}
	if packed.Len() > 25<<10 {
		t.Errorf("100 pools are %d bytes packed, want at most 25 KB", packed.Len())
	}
	t.Logf("100 pools: %d bytes, packed %d", len(page), packed.Len())
	for query, want := range map[string]int{"q=POOL-09": 25, "q=pool-0999": 1, "state=paused": 0, "state=low&sort=none": 0, "sort=name&limit=50": 50, "q=%3Cb%3E": 0} {
		if got := strings.Count(s.page("/pools?"+query), `class="name"`); got != want {
			t.Errorf("?%s: %d rows, want %d", query, got, want)
		}
	}
	if page := s.page("/pools?state=paused&every=0"); !strings.Contains(page, "Clear filter") || strings.Contains(page, `name="q" value="paused"`) {
		t.Errorf("what is like nothing says how to go on:\n%s", page)
	}
}

func BenchmarkPoolsPage(b *testing.B) {
	clock := noon
	_, svc := many(b, &clock)
	h := &system{clock: clock, svc: svc}
	h.bench(b, "/pools?limit=100")
}

func (s *system) bench(b *testing.B, path string) {
	h, err := New(Config{Service: s.svc, Now: func() time.Time { return s.clock }})
	if err != nil {
		b.Fatal(err)
	}
	asViewer := web.As(viewer)(h)
	for b.Loop() {
		w := httptest.NewRecorder()
		asViewer.ServeHTTP(w, httptest.NewRequestWithContext(b.Context(), http.MethodGet, path, nil))
		if w.Code != http.StatusOK {
			b.Fatal(w.Code)
		}
	}
}
