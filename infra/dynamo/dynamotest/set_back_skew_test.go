package dynamotest

import (
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// A process of the version before carries a rebuild on, while a deployment is under way: it does not know of looking back, and meets, at the step that is
// next, the page of a process that looks back and was cut off before it moved the rebuild on. It must not take that for a scan that is over.
func TestAPageThatLooksBackIsNotTakenForAScan(t *testing.T) {
	s := newAuditStage(t, 100, alloc.PoolConfig{})
	taken := s.claim(order(4, ""))
	s.sweep()
	s.setBack(taken.IDs)
	s.clock.Advance(time.Minute)
	f := NewFaults(s.mem, func(c Call) Fault {
		if c.Op == OpUpdate && c.Key() == (dynamo.Key{PK: headItem.PK, SK: "M"}) && c.Update.Set["sn"] == int64(2) {
			return Refused
		}
		return None
	})
	cut, err := dynamo.New(dynamo.Config{Table: f, Now: s.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	o := alloc.PoolRebuildOrder{Pool: pool, Job: "j"}
	first, err := cut.RebuildPool(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	o.Step = first.Next
	if _, err := cut.RebuildPool(t.Context(), o); err == nil {
		t.Fatal("it was not cut off")
	}
	s.change(dynamo.Key{PK: headItem.PK, SK: "M"}, func(it dynamo.Item) { // as the version before sees it
		for name := range it {
			if strings.HasPrefix(name, "b") && len(name) == 2 && name != "bs" {
				delete(it, name)
			}
		}
	})
	if sum := s.rebuiltAs("j"); sum.Met != 100 {
		t.Errorf("the rebuild met %d IDs, want 100; its head: %v", sum.Met, s.mem.Item(headItem))
	}
}
