package alloc_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// boardWorld is pools with levels of their own, which a run of the schedule has looked at.
type boardWorld struct {
	store *alloctest.Faulty
	model *alloctest.Model
	svc   *alloc.Service
	clock time.Time
}

func newBoardWorld(t *testing.T, pools int) *boardWorld {
	t.Helper()
	w := &boardWorld{clock: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)}
	now := func() time.Time { return w.clock }
	w.model = alloctest.NewModel(now)
	w.store = alloctest.NewFaulty(w.model, nil)
	svc, err := alloc.NewService(alloc.Config{Store: w.store, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	w.svc = svc
	for i := range pools {
		w.pool(t, alloc.PoolName(fmt.Sprintf("p-%04d", i)), 10, alloc.PoolConfig{})
	}
	return w
}

func (w *boardWorld) pool(t *testing.T, name alloc.PoolName, ids int, config alloc.PoolConfig) {
	t.Helper()
	ctx := asAdmin(t.Context())
	if _, _, err := w.svc.CreatePool(ctx, name, config); err != nil {
		t.Fatal(err)
	}
	entries := make([]alloc.SeedEntry, 0, ids)
	for i := range ids {
		entries = append(entries, alloc.SeedEntry{Line: i + 1, Raw: fmt.Sprintf("%s-%d", name, i)})
	}
	if _, err := w.svc.Seed(ctx, alloc.SeedRequest{Pool: name, Entries: entries}); ids > 0 && err != nil {
		t.Fatal(err)
	}
}

// tend runs the schedule a minute later.
func (w *boardWorld) tend(t *testing.T) {
	t.Helper()
	w.clock = w.clock.Add(time.Minute)
	if _, err := w.svc.Tend(asAdmin(t.Context())); err != nil {
		t.Fatal(err)
	}
}

func (w *boardWorld) claim(t *testing.T, name alloc.PoolName, n int) {
	t.Helper()
	if _, err := w.svc.Claim(asAdmin(t.Context()), alloc.ClaimRequest{Pool: name, Count: alloc.Count(n)}); err != nil {
		t.Fatal(err)
	}
}

// names lists all pools as a query says, in pages.
func (w *boardWorld) names(t *testing.T, q alloc.BoardQuery, limit int) (names []string) {
	t.Helper()
	ctx := asAdmin(t.Context())
	b, err := w.svc.Board(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for next, more := alloc.Cursor(""), true; more; more = next != "" {
		var pools []alloc.PoolSeen
		if pools, next, err = w.svc.PoolsBy(ctx, b, q, next, limit); err != nil {
			t.Fatal(err)
		}
		for _, p := range pools {
			names = append(names, string(p.Pool.Name))
		}
	}
	return names
}

func TestTheBoardSaysHowEverythingStood(t *testing.T) {
	w := newBoardWorld(t, 2)
	ctx := asAdmin(t.Context())
	if b, err := w.svc.Board(ctx); err != nil || !b.At.IsZero() {
		t.Fatalf("before the first run: got %+v and %v, want no board", b, err)
	}
	w.pool(t, "soon", 100, alloc.PoolConfig{Marks: alloc.Marks{Low: 50}})
	w.pool(t, "gone", 1, alloc.PoolConfig{})
	w.claim(t, "gone", 1)
	if _, _, err := w.svc.CreateSequence(ctx, "seq", alloc.SequenceConfig{Limit: 99}); err != nil {
		t.Fatal(err)
	}
	w.tend(t)
	for range 3 {
		w.claim(t, "soon", 20)
		w.clock = w.clock.Add(time.Hour)
		w.tend(t)
	}
	b, err := w.svc.Board(ctx)
	if err != nil || !b.At.Equal(w.clock) || len(b.Pools) != 4 || len(b.Sequences) != 1 {
		t.Fatalf("got %+v and %v", b, err)
	}
	gone, soon := b.Pools[0], b.Pools[1]
	if gone.Pool != "gone" || !gone.Empty() || soon.Pool != "soon" || !soon.IsLow() || soon.Level.Available != 40 || soon.Low != 50 {
		t.Errorf("the most urgent: got %+v and %+v", gone, soon)
	}
	f := soon.Forecast()
	now, err := w.svc.PoolForecast(ctx, "soon")
	if err != nil || !f.Known || f.Never || f.Earliest.Sub(now.Earliest).Abs() > time.Minute || f.Burns[1].Used != 60 {
		t.Errorf("the forecast on the board: got %+v, want %+v", f, now)
	}
	var trend []alloc.Count
	for _, s := range soon.Trend.Samples() {
		trend = append(trend, s.Available)
	}
	if fmt.Sprint(trend) != "[100 80 60 40]" && fmt.Sprint(trend) != "[80 60 40]" {
		t.Errorf("the trend: got %v", trend)
	}
	if s := b.Sequences[0]; s.Sequence != "seq" || s.Next != 1 || s.Limit != 99 || s.Left != 99 {
		t.Errorf("the sequence: got %+v", s)
	}
}

func TestPoolsByTheBoardAreInOrderAndEachIsMetOnce(t *testing.T) {
	w := newBoardWorld(t, 130)
	w.pool(t, "empty", 1, alloc.PoolConfig{})
	w.claim(t, "empty", 1)
	w.claim(t, "p-0077", 3)
	w.tend(t)
	for _, limit := range []int{1, 7, 100} {
		urgent := w.names(t, alloc.BoardQuery{}, limit)
		if len(urgent) != 131 || urgent[0] != "empty" || urgent[1] != "p-0000" && urgent[1] != "p-0077" {
			t.Errorf("by urgency, %d a page: got %d, first %v", limit, len(urgent), urgent[:3])
		}
		if got := w.names(t, alloc.BoardQuery{Order: alloc.ByAvailable}, limit); got[1] != "p-0077" || len(got) != 131 {
			t.Errorf("by what is available: got %v", got[:3])
		}
		if got := w.names(t, alloc.BoardQuery{Order: alloc.ByName, Text: "P-00"}, limit); len(got) != 100 || got[0] != "p-0000" || got[99] != "p-0099" {
			t.Errorf("by name: got %d", len(got))
		}
		if got := w.names(t, alloc.BoardQuery{State: "empty"}, limit); fmt.Sprint(got) != "[empty]" {
			t.Errorf("those that are empty: got %v", got)
		}
	}
}

func TestPoolsByTheBoardKnowWhatHasHappenedSince(t *testing.T) {
	w := newBoardWorld(t, 3)
	if got := w.names(t, alloc.BoardQuery{}, 10); fmt.Sprint(got) != "[p-0000 p-0001 p-0002]" {
		t.Errorf("without a board: got %v", got)
	}
	w.tend(t)
	w.pool(t, "new", 0, alloc.PoolConfig{})
	ctx := asAdmin(t.Context())
	for _, c := range []struct {
		name alloc.PoolName
		to   alloc.PoolState
	}{{"p-0000", alloc.PoolPaused}, {"p-0000", alloc.PoolDeleted}, {"p-0002", alloc.PoolPaused}} {
		if _, err := w.svc.SetPoolState(ctx, c.name, 0, c.to); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.names(t, alloc.BoardQuery{Order: alloc.ByName}, 10); fmt.Sprint(got) != "[new p-0001 p-0002]" {
		t.Errorf("after changes: got %v", got)
	}
	if got := w.names(t, alloc.BoardQuery{State: "paused"}, 10); fmt.Sprint(got) != "[p-0002]" {
		t.Errorf("those that are paused: got %v", got)
	}
	one := alloc.WithCaller(t.Context(), alloc.Caller{Client: "c", Scopes: []alloc.Scope{{Action: alloc.ActionRead, Pattern: "p-0001"}}})
	b, err := w.svc.Board(one)
	pools, _, perr := w.svc.PoolsBy(one, b, alloc.BoardQuery{}, "", 10)
	if err != nil || perr != nil || len(b.Pools) != 1 || len(pools) != 1 || pools[0].Pool.Name != "p-0001" {
		t.Errorf("of who may read one: got %v, %v, %v, %v", b.Pools, pools, err, perr)
	}
}

func TestPoolsByTheBoardReadFewerThanThreeAPool(t *testing.T) {
	w := newBoardWorld(t, 1000)
	w.tend(t)
	ctx := asAdmin(t.Context())
	before := len(w.store.Calls())
	b, err := w.svc.Board(ctx)
	if err != nil {
		t.Fatal(err)
	}
	pools, _, err := w.svc.PoolsBy(ctx, b, alloc.BoardQuery{}, "", 100)
	if reads := len(w.store.Calls()) - before; err != nil || len(pools) != 100 || reads >= 300 {
		t.Errorf("100 of 1,000 pools: got %d, %v, at %d reads, want fewer than 300", len(pools), err, reads)
	}
}

func TestABoardThatFailsDoesNotStopTheRun(t *testing.T) {
	for method := range strings.SplitSeq("Board PutBoard", " ") {
		w := newBoardWorld(t, 2)
		w.store.SetPlan(alloctest.Script(method, alloctest.Refused))
		r, err := w.svc.Tend(asAdmin(t.Context()))
		if err == nil || len(r.Pools) != 2 {
			t.Errorf("%s fails: got %d pools and %v, want both and an error", method, len(r.Pools), err)
		}
	}
	w := newBoardWorld(t, 1)
	if err := w.model.PutBoard(t.Context(), w.clock, []byte("this is no board")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.svc.Board(asAdmin(t.Context())); !alloc.Is(err, alloc.CodeInternal) {
		t.Errorf("a board that cannot be read: got %v", err)
	}
	w.tend(t)
	if b, err := w.svc.Board(asAdmin(t.Context())); err != nil || len(b.Pools) != 1 {
		t.Errorf("the board after that: got %+v and %v", b, err)
	}
}
