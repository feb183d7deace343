package alloc_test

import (
	"context"
	"strings"
	"testing"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// Whoever meets a sequence stopped first, a lease, a next or the schedule, it is told once in a process, with why and where; and again when it has
// stopped again.
func TestAStopIsToldOnce(t *testing.T) {
	for what, harm := range map[string]struct {
		do    func(w *wreck)
		says  string
		known bool
		next  alloc.Number
	}{
		"lost":        {func(w *wreck) { w.model.DropCounter(orders) }, "lost or damaged", false, 0},
		"below marks": {func(w *wreck) { w.model.SetCounter(orders, 5) }, "mark says that 100 is used", true, 5},
		"behind": {func(w *wreck) {
			w.harm(alloctest.Damage{Kind: alloctest.LoseMark})
			w.model.SetCounter(orders, 5)
		}, "has a lease there", true, 5},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWreck(t, alloc.SequenceConfig{})
			var told []alloc.Stop
			s, err := alloc.NewService(alloc.Config{Store: w.store, Now: w.clock.Now, Stopped: func(_ context.Context, s alloc.Stop) { told = append(told, s) }})
			if err != nil {
				t.Fatal(err)
			}
			w.Service = s
			for round := range 2 {
				w.lease(100)
				w.tend()
				if len(told) != round {
					t.Fatalf("told %+v of one that goes on", told)
				}
				harm.do(w)
				w.wantRefused(alloc.CodeSequenceStopped)
				_, _, err := w.Next(w.ctx, alloc.LeaseRequest{Sequence: orders, Count: 1})
				wantCode(t, err, alloc.CodeSequenceStopped)
				w.tend()
				if len(told) != round+1 || told[round].Sequence != orders {
					t.Fatalf("told %+v, want it once each time", told)
				}
				if s := told[0]; !strings.Contains(s.Reason, harm.says) || s.Known != harm.known || s.Next != harm.next {
					t.Errorf("told %+v, want %q", s, harm.says)
				}
				w.rebuild()
				if round == 0 {
					w.lease(1) // the process meets it open
				}
			}
		})
	}
}
