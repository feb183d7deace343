package dynamo_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

// meanwhile is a process before whose first call that is such a one something else is done.
func (b *bench) meanwhile(is func(dynamotest.Call) bool, do func()) *dynamo.Store {
	b.Helper()
	var over atomic.Bool
	return processAt(b.TB, dynamotest.Through(func(ctx context.Context, c dynamotest.Call) dynamotest.Answer {
		if is(c) && over.CompareAndSwap(false, true) {
			do()
		}
		return c.Do(ctx, b.table)
	}), b.clock.Now)
}

func countsRetired(c dynamotest.Call) bool { return c.Update.Set[dynamo.AttrRetired] != nil }

// TestARetirementBesideARebuildCountsOnce retires an ID, and a rebuild begins and ends before that is counted: it has met the ID as retired.
func TestARetirementBesideARebuildCountsOnce(t *testing.T) {
	for name, lose := range map[string]func(*bench){"a head that is replaced": func(*bench) {}, "a head that was lost": func(b *bench) { b.mem.Drop(b.head().Key()) }} {
		t.Run(name, func(t *testing.T) {
			b := filled(t, 10, alloc.PoolConfig{})
			s := b.meanwhile(countsRetired, func() {
				lose(b)
				b.rebuild("j")
			})
			c := b.claim(s, want(1))
			b.settles(s, alloc.EventRetire, c)
			b.sweep()
			b.level(alloc.Level{Available: 9, Seeded: 10, Retired: 1})
			b.settles(s, alloc.EventRetire, b.claim(s, want(1)))
			b.sweep()
			b.level(alloc.Level{Available: 8, Seeded: 10, Retired: 2})
		})
	}
}

// TestARetirementThatIsCarriedBesideARebuildCountsOnce is the same of what a restore retires.
func TestARetirementThatIsCarriedBesideARebuildCountsOnce(t *testing.T) {
	b := filled(t, 10, alloc.PoolConfig{})
	s := b.meanwhile(countsRetired, func() { b.rebuild("j") })
	outcomes, err := s.Carry(t.Context(), "p", time.Time{}, []alloc.IDRecord{{Pool: "p", ID: someIDs(1)[0], State: alloc.StateRetired}})
	if err != nil || outcomes[0] != alloc.CarryDone {
		t.Fatalf("Carry: %v, %v", outcomes, err)
	}
	b.sweep()
	b.level(alloc.Level{Available: 9, Seeded: 10, Retired: 1})
}
