package admin

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/generator"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
	"idpool/web"
)

// countedTable counts what is read of a table: an item that is asked for among many is a read, and so is a page of a list.
type countedTable struct {
	dynamo.Table
	reads, calls atomic.Int64
}

func (c *countedTable) count(reads int) { c.reads.Add(int64(reads)); c.calls.Add(1) }

func (c *countedTable) Get(ctx context.Context, k dynamo.Key) (dynamo.Item, error) {
	c.count(1)
	return c.Table.Get(ctx, k)
}

func (c *countedTable) GetMany(ctx context.Context, keys []dynamo.Key) ([]dynamo.Item, error) {
	c.count(len(keys))
	return c.Table.GetMany(ctx, keys)
}

func (c *countedTable) Query(ctx context.Context, q dynamo.Query) (dynamo.Page, error) {
	c.count(1)
	return c.Table.Query(ctx, q)
}

// many is so many pools with a day of samples in a table, every other one with marks and a generator.
func many(t testing.TB, clock *time.Time, pools int) (*countedTable, *alloc.Service) {
	t.Helper()
	now := func() time.Time { return *clock }
	table := &countedTable{Table: dynamotest.NewMemory()}
	store, err := dynamo.New(dynamo.Config{Table: table, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	svc, err := alloc.NewService(alloc.Config{Store: store, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	ctx := alloc.WithCaller(t.Context(), alloc.Caller{Client: "maker", Scopes: alloc.AllScopes()})
	for i := range pools {
		name := alloc.PoolName(fmt.Sprintf("team-%02d.vouchers-%04d", i%23, i))
		config := alloc.PoolConfig{Description: fmt.Sprintf("codes of campaign %d", i*7919%997)}
		if i%2 == 0 {
			config.Generator = generator.Config{Kind: generator.Random, Alphabet: "ABCDEFGH", Length: 9}
			config.Marks = alloc.Marks{Low: 3, Target: 30}
		}
		if _, _, err := svc.CreatePool(ctx, name, config); err != nil {
			t.Fatal(err)
		}
		var entries []alloc.SeedEntry
		for j := range 30 + i%40 {
			entries = append(entries, alloc.SeedEntry{Line: j + 1, Raw: fmt.Sprintf("%d-%d", i, j)})
		}
		if _, err := svc.Seed(ctx, alloc.SeedRequest{Pool: name, Entries: entries}); err != nil {
			t.Fatal(err)
		}
	}
	for hour := range 9 {
		for i := hour; i < pools; i += 2 + hour {
			pool := alloc.PoolName(fmt.Sprintf("team-%02d.vouchers-%04d", i%23, i))
			if _, err := svc.Claim(ctx, alloc.ClaimRequest{Pool: pool, Count: 1}); err != nil && !alloc.Is(err, alloc.CodePoolExhausted) {
				t.Fatal(err)
			}
		}
		*clock = clock.Add(3 * time.Hour)
		if _, err := svc.Tend(ctx); err != nil {
			t.Fatal(err)
		}
	}
	return table, svc
}

// What a page of 100 of 1,000 pools costs is asserted by what can be counted: reads and bytes. How long it takes depends on the machine:
// BenchmarkPoolsPage has it as a ratio.
func TestAPageOfManyPoolsIsLightAndReadsLittle(t *testing.T) {
	clock := noon
	table, svc := many(t, &clock, 1000)
	s := newSystem(t, nil, viewer)
	s.svc, s.clock = svc, clock
	s.serve(Config{}, viewer)
	s.page("/pools?limit=100") // whoever asks first reads the secret of the cursors
	table.reads.Store(0)
	table.calls.Store(0)
	page := s.page("/pools?limit=100")
	rows, reads := strings.Count(page, `class="name"`), table.reads.Load()
	if rows != 100 || reads >= 300 {
		t.Errorf("%d rows at %d reads, want 100 at fewer than 300", rows, reads)
	}
	for part, want := range map[string]int{`<svg class="spark"`: 100, `class="bar`: 100, `data-label="burn / h"`: 100, `data-label="lasts"`: 100} {
		if got := strings.Count(page, part); got != want {
			t.Errorf("%s: %d times, want %d", part, got, want)
		}
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(page)); err != nil || w.Close() != nil {
		t.Fatal("it cannot be packed")
	}
	if packed.Len() > 25<<10 {
		t.Errorf("100 pools are %d bytes packed, want at most 25 KB", packed.Len())
	}
	t.Logf("100 pools: %d bytes, packed %d; %d reads by %d calls", len(page), packed.Len(), reads, table.calls.Load())
	for query, want := range map[string]int{"q=VOUCHERS-09": 25, "q=vouchers-0999": 1, "state=paused": 0, "state=low&sort=none": 0, "sort=name&limit=50": 50, "q=%3Cb%3E": 0} {
		if got := strings.Count(s.page("/pools?"+query), `class="name"`); got != want {
			t.Errorf("?%s: %d rows, want %d", query, got, want)
		}
	}
	if page := s.page("/pools?state=paused&every=0"); !strings.Contains(page, "Clear filter") || strings.Contains(page, `name="q" value="paused"`) {
		t.Errorf("what is like nothing says how to go on:\n%s", page)
	}
}

func TestAPageOfManySequencesReadsLittle(t *testing.T) {
	clock := noon
	now := func() time.Time { return clock }
	table := &countedTable{Table: dynamotest.NewMemory()}
	store, err := dynamo.New(dynamo.Config{Table: table, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	svc, err := alloc.NewService(alloc.Config{Store: store, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	ctx := alloc.WithCaller(t.Context(), alloc.Caller{Client: "maker", Scopes: alloc.AllScopes()})
	for i := range 200 {
		if _, _, err := svc.CreateSequence(ctx, alloc.SequenceName(fmt.Sprintf("orders-%04d", i)), alloc.SequenceConfig{Description: "of a shop", Limit: 1000}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := svc.Lease(ctx, alloc.LeaseRequest{Sequence: "orders-0123", Count: 950}); err != nil {
		t.Fatal(err)
	}
	clock = clock.Add(time.Minute)
	if _, err := svc.Tend(ctx); err != nil {
		t.Fatal(err)
	}
	s := newSystem(t, nil, viewer)
	s.svc, s.clock = svc, clock
	s.serve(Config{}, viewer)
	s.page("/sequences?limit=100")
	table.reads.Store(0)
	page := s.page("/sequences?limit=100")
	rows, reads := strings.Count(page, `class="name"`), table.reads.Load()
	if rows != 100 || reads >= 300 {
		t.Errorf("%d rows at %d reads, want 100 at fewer than 300", rows, reads)
	}
	if first := strings.Index(page, "/sequences/orders-"); !strings.HasPrefix(page[first:], "/sequences/orders-0123\"") {
		t.Errorf("the one that ends soon is not the first: %.60s", page[first:])
	}
	for query, want := range map[string]int{"q=ORDERS-01": 25, "q=orders-0199": 1, "state=ending": 1, "state=stopped": 0, "state=low": 25, "sort=name&limit=50": 50} {
		if got := strings.Count(s.page("/sequences?"+query), `class="name"`); got != want {
			t.Errorf("?%s: %d rows, want %d", query, got, want)
		}
	}
	clock = clock.Add(time.Hour)
	s.clock = clock
	s.serve(Config{}, viewer)
	if page := s.page("/sequences"); !strings.Contains(page, "The schedule last ran 60 min ago") {
		t.Errorf("an hour later the page does not say how old its order is")
	}
}

// BenchmarkPoolsPage is a warm page of 100 pools, among 100 and among 1,000: "times-of-100" is how many times as long the second takes. It is more
// than once, since the board that all are ordered by is read whole, and far from ten times.
func BenchmarkPoolsPage(b *testing.B) {
	var few float64
	for _, pools := range []int{100, 1000} {
		b.Run(strconv.Itoa(pools), func(b *testing.B) {
			clock := noon
			_, svc := many(b, &clock, pools)
			h, err := New(Config{Service: svc, Now: func() time.Time { return clock }})
			if err != nil {
				b.Fatal(err)
			}
			asViewer := web.As(viewer)(h)
			for b.Loop() {
				w := httptest.NewRecorder()
				asViewer.ServeHTTP(w, httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/pools?limit=100", nil))
				if w.Code != http.StatusOK {
					b.Fatal(w.Code)
				}
			}
			took := float64(b.Elapsed()) / float64(b.N)
			b.ReportMetric(took/float64(time.Millisecond), "ms/page")
			if few == 0 {
				few = took
				return
			}
			b.ReportMetric(took/few, "times-of-100")
		})
	}
}
