package alloc_test

import (
	"context"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// hoarding is a Store of which some free IDs are in the memory of an environment, and whose sweeps may leave work.
type hoarding struct {
	*alloctest.Faulty
	stock alloc.Count
	more  bool
}

func (h *hoarding) Level(ctx context.Context, name alloc.PoolName) (alloc.Level, error) {
	l, err := h.Faulty.Level(ctx, name)
	l.Available -= h.stock
	return l, err
}

func (h *hoarding) Sweep(ctx context.Context, name alloc.PoolName) (alloc.SweepReport, error) {
	r, err := h.Faulty.Sweep(ctx, name)
	r.More = r.More || h.more
	return r, err
}

// The board says of a pool that its stock stays, and since when its sweeps leave work.
func TestTheBoardTellsOfStrandedStock(t *testing.T) {
	w := newBoardWorld(t, 1)
	h := &hoarding{Faulty: w.store, stock: 4}
	svc, err := alloc.NewService(alloc.Config{Store: h, Now: func() time.Time { return w.clock }})
	if err != nil {
		t.Fatal(err)
	}
	w.svc = svc
	row := func() alloc.PoolOnBoard {
		t.Helper()
		w.tend(t)
		b, err := w.svc.Board(asAdmin(t.Context()))
		if err != nil || len(b.Pools) != 1 {
			t.Fatalf("%+v, %v", b, err)
		}
		return b.Pools[0]
	}
	for range 20 {
		if p := row(); p.Stock != 4 || p.IsStranded() || p.IsBehind() {
			t.Fatalf("stock of a few minutes: %+v", p)
		}
	}
	if p := row(); !p.IsStranded() {
		t.Errorf("stock that stays: %+v", p)
	}
	w.claim(t, "p-0000", 1)
	if p := row(); p.Stock != 4 || p.IsStranded() {
		t.Errorf("stock of a pool that is used: %+v", p)
	}
	h.stock, h.more = 0, true
	for range 5 {
		if p := row(); p.Stock != 0 || !p.StockSince.IsZero() || p.IsBehind() {
			t.Fatalf("no stock, and sweeps that leave work for a few minutes: %+v", p)
		}
	}
	if p := row(); !p.IsBehind() {
		t.Errorf("sweeps that leave work for long: %+v", p)
	}
	h.more = false
	if p := row(); !p.Behind.IsZero() {
		t.Errorf("a sweep that left none: %+v", p)
	}
}

// The board says when a run was throttled last, and how often, also when it is over.
func TestTheBoardTellsOfThrottling(t *testing.T) {
	w := newBoardWorld(t, 3)
	if _, _, err := w.svc.CreateSequence(asAdmin(t.Context()), "s", alloc.SequenceConfig{}); err != nil {
		t.Fatal(err)
	}
	w.store.SetPlan(func(c alloctest.Call) alloctest.Fault {
		if c.Method == "Sweep" || c.Method == "Watch" {
			return alloctest.Throttled
		}
		return alloctest.Pass
	})
	w.clock = w.clock.Add(time.Minute)
	if _, err := w.svc.Tend(asAdmin(t.Context())); !alloc.Is(err, alloc.CodeThrottled) {
		t.Fatalf("the run says %v", err)
	}
	met := w.clock
	w.store.SetPlan(nil)
	w.tend(t)
	if b, err := w.svc.Board(asAdmin(t.Context())); err != nil || b.Throttled != 4 || !b.ThrottledAt.Equal(met) {
		t.Errorf("got %d at %s, %v, want 4 at %s", b.Throttled, b.ThrottledAt, err, met)
	}
}
