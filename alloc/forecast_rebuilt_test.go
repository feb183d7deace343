package alloc_test

import (
	"testing"
	"time"

	"idpool/alloc"
)

// What a rebuild leaves out, and tests with, was used by nobody: it is no rate, on the board as little as on the page, and not after another
// rebuild that was given up.
func TestARebuildIsNoUse(t *testing.T) {
	w := newWreck(t, alloc.SequenceConfig{Limit: 200_000})
	day := func(minutes int) {
		for range minutes {
			w.lease(1)
			w.clock.Advance(time.Minute)
			w.tend()
		}
	}
	check := func(when string, perHour float64) {
		t.Helper()
		f, err := w.SequenceForecast(w.ctx, orders)
		if err != nil {
			t.Fatal(err)
		}
		b, err := w.Board(w.ctx)
		if err != nil || len(b.Sequences) != 1 {
			t.Fatalf("%s: a board of %+v, %v", when, b.Sequences, err)
		}
		for what, burns := range map[string][]alloc.Burn{"page": f.Burns, "board": b.Sequences[0].Burns} {
			for _, burn := range burns {
				if burn.PerHour > perHour+1 || burn.Span > 0 && burn.PerHour < perHour-6 {
					t.Errorf("%s the %s says %+v, want %v an hour or nothing", when, what, burn, perHour)
				}
			}
		}
		if b.Sequences[0].IsEnding() {
			t.Errorf("%s the board says that it ends soon: %+v", when, b.Sequences[0])
		}
	}
	day(90)
	check("before a rebuild", 60)
	w.model.DropCounter(orders)
	w.wantRefused(alloc.CodeSequenceStopped)
	w.apply(w.plan(alloc.RebuildRequest{Margin: 50_000}).Plan.ID)
	if f, err := w.SequenceForecast(w.ctx, orders); err != nil || f.Known || f.Available != 0 {
		t.Errorf("of a frozen sequence the forecast says %+v, %v, want that nothing is known", f, err)
	}
	w.resume(100, alloc.RebuildDone)
	w.tend()
	check("right after a rebuild", 60)
	day(10)
	check("some minutes after it", 60)
	day(90)
	check("later", 60)
	w.plan(alloc.RebuildRequest{})
	if _, err := w.CancelRebuild(w.ctx, orders); err != nil {
		t.Fatal(err)
	}
	w.tend()
	day(30)
	check("after another was given up", 60)
	f, err := w.SequenceForecast(w.ctx, orders)
	if err != nil || f.Burns[1].Span == 0 {
		t.Errorf("half an hour later the forecast knows %+v, %v, want a rate", f.Burns, err)
	}
}
