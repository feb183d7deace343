package alloc_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"idpool/alloc"
)

// sequenceNames lists all sequences as a query says, in pages.
func (w *boardWorld) sequenceNames(t *testing.T, q alloc.BoardQuery, limit int) (names []string) {
	t.Helper()
	ctx := asAdmin(t.Context())
	b, err := w.svc.Board(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for next, more := alloc.Cursor(""), true; more; more = next != "" {
		var sequences []alloc.SequenceSeen
		if sequences, next, err = w.svc.SequencesBy(ctx, b, q, next, limit); err != nil {
			t.Fatal(err)
		}
		for _, s := range sequences {
			names = append(names, string(s.Sequence.Name))
		}
	}
	return names
}

func (w *boardWorld) sequence(t *testing.T, name alloc.SequenceName, limit alloc.Number, leased alloc.Count) {
	t.Helper()
	ctx := asAdmin(t.Context())
	if _, _, err := w.svc.CreateSequence(ctx, name, alloc.SequenceConfig{Limit: limit}); err != nil {
		t.Fatal(err)
	}
	if leased > 0 {
		if _, err := w.svc.Lease(ctx, alloc.LeaseRequest{Sequence: name, Count: leased}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSequencesByTheBoardAreInOrderAndEachIsMetOnce(t *testing.T) {
	for _, more := range []int{5, 120} {
		w := newBoardWorld(t, 0)
		for i := range more {
			w.sequence(t, alloc.SequenceName(fmt.Sprintf("s-%04d", i)), alloc.MaxNumber, 0)
		}
		w.sequence(t, "ended", 10, 10)
		w.sequence(t, "ending", 100, 95)
		w.sequence(t, "off", 100, 0)
		w.sequence(t, "lost", 100, 50)
		if _, err := w.svc.SetSequenceState(asAdmin(t.Context()), "off", 0, alloc.SequencePaused); err != nil {
			t.Fatal(err)
		}
		w.model.SetCounter("lost", 3)
		w.tend(t)
		for _, limit := range []int{1, 7, 100} {
			urgent := w.sequenceNames(t, alloc.BoardQuery{}, limit)
			if len(urgent) != more+4 || fmt.Sprint(urgent[:4]) != "[lost ended ending s-0000]" || urgent[more+3] != "off" {
				t.Errorf("by urgency, %d a page: got %d, first %v, last %s", limit, len(urgent), urgent[:4], urgent[len(urgent)-1])
			}
			if got := w.sequenceNames(t, alloc.BoardQuery{Order: alloc.ByName, Text: "S-000"}, limit); len(got) != min(more, 10) || got[0] != "s-0000" {
				t.Errorf("by name: got %v", got)
			}
			for state, want := range map[string]string{"ended": "[ended]", "ending": "[ending]", "stopped": "[lost]", "paused": "[off]", "resuming": "[]"} {
				if got := w.sequenceNames(t, alloc.BoardQuery{State: state}, limit); fmt.Sprint(got) != want {
					t.Errorf("those that are %s: got %v, want %s", state, got, want)
				}
			}
		}
		if got := w.sequenceNames(t, alloc.BoardQuery{Order: alloc.ByAvailable}, 100); got[0] != "ended" && got[0] != "lost" {
			t.Errorf("by what is left: got %v", got[:3])
		}
	}
}

func TestWithoutABoardEverythingIsListedAllTheSame(t *testing.T) {
	w := newBoardWorld(t, 230)
	for i := range 215 {
		w.sequence(t, alloc.SequenceName(fmt.Sprintf("s-%04d", i)), 99, 0)
	}
	w.tend(t)
	w.clock = w.clock.Add(alloc.BoardRetention + time.Minute)
	if b, err := w.svc.Board(asAdmin(t.Context())); err != nil || !b.At.IsZero() {
		t.Fatalf("a day later: got a board of %s and %v, want none", b.At, err)
	}
	for _, limit := range []int{25, 100} {
		if got := w.names(t, alloc.BoardQuery{}, limit); len(got) != 230 || got[0] != "p-0000" || got[229] != "p-0229" {
			t.Errorf("pools, %d a page: got %d", limit, len(got))
		}
		if got := w.names(t, alloc.BoardQuery{Text: "p-02"}, limit); len(got) != 30 {
			t.Errorf("some pools, %d a page: got %d, want 30", limit, len(got))
		}
		if got := w.sequenceNames(t, alloc.BoardQuery{}, limit); len(got) != 215 || got[214] != "s-0214" {
			t.Errorf("sequences, %d a page: got %d", limit, len(got))
		}
	}
}

// A list of those in a state has none that has left it since the board, however many pools there are.
func TestAStateIsThatOfNow(t *testing.T) {
	for _, pools := range []int{5, 130} {
		w := newBoardWorld(t, pools)
		w.tend(t)
		if _, err := w.svc.SetPoolState(asAdmin(t.Context()), "p-0003", 0, alloc.PoolPaused); err != nil {
			t.Fatal(err)
		}
		got := w.names(t, alloc.BoardQuery{State: string(alloc.PoolActive)}, 100)
		if len(got) != pools-1 || slices.Contains(got, "p-0003") {
			t.Errorf("of %d pools, one of which is paused, %d are active: %v", pools, len(got), got)
		}
	}
}
