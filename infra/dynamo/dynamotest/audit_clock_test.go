package dynamotest

import (
	"context"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// A key record that has expired is gone by the clocks of others: an audit by a clock that has stood still finds nothing, as others have left later times.
func TestTheAuditByAClockThatStoodStillFindsNothing(t *testing.T) {
	for what, later := range map[string]func(s *auditStage){
		"another has claimed since": func(s *auditStage) { s.claim(order(1, "")) },
		"another has leased since": func(s *auditStage) {
			c := s.claim(order(1, ""))
			s.change(idItem(c.IDs[0]), func(it dynamo.Item) { it[dynamo.AttrTaken] = int64(0) })
		},
	} {
		s := newAuditStage(t, 100, alloc.PoolConfig{})
		s.claim(order(1, "key"))
		s.clock.Advance(25 * time.Hour)
		s.mem.Expire(s.clock.Now())
		later(s)
		s.clock.Advance(-25 * time.Hour)
		if found, _ := s.findings(100); len(found) > 0 {
			t.Errorf("%s: %s", what, words(found))
		}
	}
}

// A process may stand still for hours between a read and what it makes of it: it judges by the time of the read.
func TestTheAuditOfAProcessThatStoodStillFindsNothing(t *testing.T) {
	s := newAuditStage(t, 100, alloc.PoolConfig{})
	s.claim(heldOrder(3, time.Hour))
	frozen := Through(func(ctx context.Context, c Call) Answer {
		got := c.Do(ctx, s.mem)
		if c.Op == OpScan {
			s.clock.Advance(2 * time.Hour)
			s.sweep()
		}
		return got
	})
	open := func() alloc.Store {
		store, err := dynamo.New(dynamo.Config{Table: frozen, Now: s.clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
	if found, _, err := auditWith(t, open, "frozen", 100, nil); err != nil || len(found) > 0 {
		t.Errorf("%v, %s", err, words(found))
	}
}
