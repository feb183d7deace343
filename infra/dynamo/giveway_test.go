package dynamo_test

import (
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// Whoever gives up a batch puts return items also for what he cannot know to have taken. Where another holds such an ID, or is giving
// it back, the item stands in the place of that one's.
func TestAReturnItemThatIsOfNoUseGivesWayToTheOwners(t *testing.T) {
	for what, begin := range map[string]func(b *bench, s *dynamo.Store, c alloc.Claim){
		"held": func(*bench, *dynamo.Store, alloc.Claim) {},
		"returning": func(b *bench, _ *dynamo.Store, c alloc.Claim) { // his process ended behind step 2
			b.edit(idItem(c.IDs[0]), func(it dynamo.Item) { it[dynamo.AttrState] = dynamo.StateReturning })
		},
	} {
		t.Run(what, func(t *testing.T) {
			b := filled(t, 40, alloc.PoolConfig{})
			s := b.open()
			c := b.claim(s, wantHold(1, time.Hour))
			begin(b, s, c)
			items := b.returns()
			if len(items) != 1 {
				t.Fatalf("return items: %v", items)
			}
			b.edit(items[0].Key(), func(it dynamo.Item) {
				it[dynamo.AttrToken], it[dynamo.AttrReason], it[dynamo.AttrDue] = string(alloc.NewToken()), dynamo.ReasonGivenUp, int64(0)
			})
			b.clock.Advance(20 * time.Minute) // no stock is younger
			b.sweep()
			b.clock.Advance(2 * time.Hour)
			for range 3 {
				b.sweep()
			}
			if got := b.stateOf(c.IDs[0]); got != alloc.StateFree {
				t.Errorf("the ID is %s, want it free again", got)
			}
			if left := b.returns(); len(left) > 0 {
				t.Errorf("return items are left: %v", left)
			}
		})
	}
}
