package dynamotest

import (
	"context"
	"testing"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/infra/dynamo"
)

// A lease of an epoch that is over meets an overlap when the sequence was rebuilt and paused meanwhile: the sequence is whole, and is not said to have stopped.
func TestALeaseOfAnOldEpochDoesNotSayThatAPausedSequenceHasStopped(t *testing.T) {
	mem, clock := NewMemory(), alloctest.NewClock()
	open := func(table dynamo.Table) *dynamo.Store {
		s, err := dynamo.New(dynamo.Config{Table: table, Now: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open(mem)
	if _, _, err := s.CreateSequence(t.Context(), "s", alloc.SequenceConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Lease(t.Context(), alloc.LeaseOrder{Sequence: "s", Count: 100, By: "shop"}); err != nil {
		t.Fatal(err)
	}
	back := func() {
		it := mem.Item(dynamo.Key{PK: "S#s", SK: "H"})
		it["last"] = int64(10)
		mem.Set(it)
	}
	back()
	late := open(Through(func(ctx context.Context, c Call) Answer {
		if c.Op == OpPut && c.Key().PK == "S#s#L" {
			for _, step := range []func() error{
				func() error { _, err := s.Freeze(ctx, "s", "r"); return err },
				func() error {
					_, err := s.Restart(ctx, alloc.RestartOrder{Sequence: "s", Rebuild: "r", From: 1, To: 2, Next: 1000})
					return err
				},
				func() error { _, err := s.Thaw(ctx, "s", "r", alloc.SequencePaused, 0); return err },
			} {
				if err := step(); err != nil {
					t.Fatal(err)
				}
			}
		}
		return c.Do(ctx, mem)
	}))
	_, err := late.Lease(t.Context(), alloc.LeaseOrder{Sequence: "s", Count: 5, By: "shop"})
	if q, err := s.Watch(t.Context(), "s"); err != nil || q.State != alloc.SequencePaused || q.Behind {
		t.Fatalf("%+v, %v", q, err)
	}
	if alloc.Is(err, alloc.CodeSequenceStopped) {
		t.Errorf("got %v of a sequence that is paused and whole", err)
	}
}
