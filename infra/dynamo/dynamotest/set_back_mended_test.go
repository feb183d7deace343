package dynamotest

import (
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// The item of a free ID cannot be read for a while, in which the queue passes it, and is mended by hand. As it was, it cannot be told from one that was claimed
// and set back, so it is retired. One generation up it can: no ID that was set back has a generation that nothing has ever listed. See docs/runbook.md.
func TestAFreeIDThatWasMendedComesBackInTheNextGeneration(t *testing.T) {
	for name, c := range map[string]struct {
		up   int64
		kind alloc.FindingKind
		free alloc.Count
	}{
		"as it was":         {0, alloc.FindSetBack, 19},
		"one generation up": {1, alloc.FindUnlisted, 20},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAuditStage(t, 20, alloc.PoolConfig{})
			before := s.mem.Item(idItem("id-3"))
			s.change(idItem("id-3"), func(it dynamo.Item) { delete(it, dynamo.AttrState) })
			s.rebuiltAs("one")
			s.clock.Advance(time.Minute)
			before[dynamo.AttrGeneration] = before.Int(dynamo.AttrGeneration) + c.up
			s.mem.Set(before)
			if found, _ := s.findings(100); len(found) != 1 || found[0].Kind != c.kind {
				t.Errorf("found %s, want %s", words(found), c.kind)
			}
			s.clock.Advance(time.Minute)
			if sum := s.rebuiltAs("two"); sum.Tally.Free != c.free {
				t.Errorf("the rebuild said %+v, want %d free", sum, c.free)
			}
		})
	}
}
