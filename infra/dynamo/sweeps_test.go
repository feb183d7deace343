package dynamo_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

func TestASweepPassesWhatIsSettledAndLeavesFreshStockAlone(t *testing.T) {
	b := filled(t, 2000, alloc.PoolConfig{})
	s := b.open()
	for range 45 {
		b.claim(s, want(1)) // two chunks used up, a third with five
	}
	low := b.head().Int(dynamo.AttrLow)
	if report := b.sweep(); report.Relisted != 0 {
		t.Errorf("a sweep beside fresh stock: got %+v, want nothing listed again", report)
	}
	if got := b.head().Int(dynamo.AttrLow); got <= low || got >= b.head().Int(dynamo.AttrNext) {
		t.Errorf("the low mark: got %d of %d leased, want it above %d, before the fresh chunk", got, b.head().Int(dynamo.AttrNext), low)
	}
	b.level(alloc.Level{Seeded: 2000, Available: 1955, Claimed: 45})
}

func TestASweepListsStockAgainThatWasLeasedTwoMinutesAgo(t *testing.T) {
	b := filled(t, 2000, alloc.PoolConfig{})
	b.claim(b.open(), want(5)) // and is never heard of again
	b.clock.Advance(119 * time.Second)
	if report := b.sweep(); report.Relisted != 0 {
		t.Errorf("before two minutes: got %+v, want nothing listed again", report)
	}
	b.clock.Advance(2 * time.Second)
	if report := b.sweep(); report.Relisted != 15 {
		t.Errorf("after two minutes: got %+v, want 15 listed again", report)
	}
	b.level(alloc.Level{Seeded: 2000, Available: 1995, Claimed: 5})
	if h := b.head(); h.Int(dynamo.AttrLow) != h.Int(dynamo.AttrNext) {
		t.Errorf("the window: got %d to %d, want it empty", h.Int(dynamo.AttrLow), h.Int(dynamo.AttrNext))
	}
	distinct(t, b.drain(b.open()))
}

func TestASweepKnowsByTheSamplesWhatWasLeasedLongAgoBesideWhatWasLeasedJustNow(t *testing.T) {
	b := filled(t, 2000, alloc.PoolConfig{})
	b.claim(b.open(), want(5)) // and is never heard of again
	b.sweep()                  // takes a sample
	b.clock.Advance(3 * time.Minute)
	b.claim(b.open(), want(7)) // leased just now
	if report := b.sweep(); report.Relisted != 15 {
		t.Errorf("got %+v, want the 15 of the first process listed again and not the 13 of the second", report)
	}
}

func TestASweepTakesStockBackAtOnceWhereThePoolIsNearlyEmpty(t *testing.T) {
	b := filled(t, 100, alloc.PoolConfig{}) // chunks of two
	for range 50 {
		b.claim(b.open(), want(1))
	}
	if report := b.sweep(); report.Relisted != 50 {
		t.Errorf("got %+v, want the 50 listed again", report)
	}
	b.level(alloc.Level{Seeded: 100, Available: 50, Claimed: 50})
}

func TestSweepsOfAnIdlePoolWriteLittleAndListNothing(t *testing.T) {
	b := filled(t, 1000, alloc.PoolConfig{})
	b.claim(b.open(), want(3))
	b.clock.Advance(15 * time.Minute)
	b.sweep()
	published := b.head().Int(dynamo.AttrPublished)
	for range 20 {
		b.clock.Advance(time.Minute)
		b.mem.ResetUsage()
		b.sweep()
		if u := b.mem.Usage(); u.WriteUnits > 4 {
			t.Errorf("a sweep of an idle pool: got %d write units, want at most 4", u.WriteUnits)
		}
	}
	if got := b.head().Int(dynamo.AttrPublished); got != published {
		t.Errorf("listings: got %d, want %d as before", got, published)
	}
}

func TestAChunkThatWasCutOffAtTheTailIsRaisedByASweep(t *testing.T) {
	b := newBench(t)
	b.pool(alloc.PoolConfig{})
	cutOff(b, "job", someIDs(5), dynamotest.Nth(0, steps[4].match, dynamotest.LostRequest))
	if tail := b.head().Int(dynamo.AttrTail); tail != 0 {
		t.Fatalf("the tail: got %d, want 0", tail)
	}
	b.sweep()
	if tail := b.head().Int(dynamo.AttrTail); tail == 0 {
		t.Error("the tail was not raised over the chunk at it")
	}
	b.seed(b.open(), "job", someIDs(5))
	b.settled(alloc.PolicyKeep, 5, 0)
}

func TestASweepOfAPoolThatHasLostAChunkSaysThatItIsDamaged(t *testing.T) {
	b := filled(t, 100, alloc.PoolConfig{})
	b.claim(b.open(), want(1))
	b.mem.Drop(dynamo.Key{PK: "P#p#1#0", SK: "C"})
	_, err := b.open().Sweep(t.Context(), "p")
	refused(t, err, alloc.CodePoolDamaged)
}

func TestTheLevelIsExactAlthoughOldStockIsClaimedAfterASweepHasListedItAgain(t *testing.T) {
	b := filled(t, 2000, alloc.PoolConfig{})
	sleeper := b.open()
	b.claim(sleeper, want(4))
	b.clock.Advance(3 * time.Minute)
	b.sweep() // lists 16 again
	for range 3 {
		b.claim(sleeper, want(1))
	}
	b.settled(alloc.PolicyKeep, 2000, 7)
	b.settled(alloc.PolicyKeep, 2000, 7)
	distinct(t, b.drain(b.open()))
	b.settled(alloc.PolicyKeep, 2000, 2000)
}

// hold turns a claimed ID into a held one whose hold ends after d, with a return item or without one.
func (b *bench) hold(id alloc.ID, d time.Duration, withReturn bool) {
	b.Helper()
	end := b.clock.Now().Add(d).UnixMilli()
	var it dynamo.Item
	b.edit(idItem(id), func(i dynamo.Item) {
		i[dynamo.AttrState], i[dynamo.AttrHoldEnd] = dynamo.StateHeld, end
		it = i
	})
	if withReturn {
		b.putReturn(it, dynamo.ReasonHold, end)
	}
}

func (b *bench) putReturn(it dynamo.Item, reason string, due int64) {
	id, gen := it.Str("pk")[len("I#p#"):], it.Int(dynamo.AttrGeneration)
	b.mem.Set(dynamo.Item{
		"pk": "P#p#R", "sk": fmt.Sprintf("I#%s#%d", id, gen), dynamo.AttrID: id, dynamo.AttrGeneration: gen,
		dynamo.AttrToken: it.Str(dynamo.AttrToken), dynamo.AttrReason: reason, dynamo.AttrDue: due,
	})
}

func TestAHoldComesBackWhenItEndsWithAReturnItemAndWithoutOne(t *testing.T) {
	for _, withReturn := range []bool{true, false} {
		b := filled(t, 100, alloc.PoolConfig{})
		s := b.open()
		ids := b.claim(s, want(2)).IDs
		b.hold(ids[0], 10*time.Minute, withReturn)
		b.clock.Advance(5 * time.Minute)
		b.sweep() // the chunk is passed: a held ID with its return item is settled
		b.level(alloc.Level{Seeded: 100, Available: 98, Held: 1, Claimed: 1})
		b.clock.Advance(6 * time.Minute)
		if report := b.sweep(); report.Returned != 1 {
			t.Errorf("return item %v: got %+v, want one ID returned", withReturn, report)
		}
		b.level(alloc.Level{Seeded: 100, Available: 99, Claimed: 1})
		it := b.mem.Item(idItem(ids[0]))
		if it.Int(dynamo.AttrGeneration) != 1 || it.Str(dynamo.AttrToken) != "" || it.Str(dynamo.AttrOwner) != "" {
			t.Errorf("the ID that came back: got %v, want it of generation 1 and nobody's", it)
		}
		if got := b.drain(b.open()); len(got) != 99 {
			t.Errorf("got %d IDs, want 99", len(got))
		}
	}
}

func TestAHoldThatWasConfirmedOrRenewedDoesNotComeBackByItsReturnItem(t *testing.T) {
	b := filled(t, 100, alloc.PoolConfig{})
	ids := b.claim(b.open(), want(3)).IDs
	for _, id := range ids {
		b.hold(id, time.Minute, true)
	}
	b.edit(idItem(ids[0]), func(it dynamo.Item) { it[dynamo.AttrState] = dynamo.StateClaimed })
	b.edit(idItem(ids[1]), func(it dynamo.Item) { it[dynamo.AttrHoldEnd] = b.clock.Now().Add(time.Hour).UnixMilli() })
	b.edit(idItem(ids[2]), func(it dynamo.Item) { it[dynamo.AttrState] = dynamo.StateRetired })
	b.clock.Advance(2 * time.Minute)
	if report := b.sweep(); report.Returned != 0 {
		t.Errorf("got %+v, want none returned", report)
	}
	b.level(alloc.Level{Seeded: 100, Available: 97, Held: 0, Claimed: 3})
	b.clock.Advance(time.Hour)
	if report := b.sweep(); report.Returned != 1 {
		t.Errorf("after the end of the renewed hold: got %+v, want one returned", report)
	}
	if got := b.drain(b.open()); len(got) != 98 {
		t.Errorf("got %d IDs, want 98", len(got))
	}
}

func TestAReleaseIsFinishedByASweepAndEndsItsKey(t *testing.T) {
	b := filled(t, 100, alloc.PoolConfig{})
	o := wantKeyed(1, "k")
	id := b.claim(b.open(), o).IDs[0]
	b.putReturn(b.mem.Item(idItem(id)), dynamo.ReasonRelease, b.clock.Now().UnixMilli())
	if report := b.sweep(); report.Returned != 1 {
		t.Errorf("got %+v, want one ID returned", report)
	}
	b.level(alloc.Level{Seeded: 100, Available: 100})
	b.refuse(b.open(), o, alloc.CodeKeyEnded)
	for _, it := range b.mem.Items() {
		if it.Str("pk") == "P#p#R" {
			t.Errorf("a return item was left: %v", it)
		}
	}
}

func TestEveryWriteOfASweepMayFailAndTheNextOneDoesTheRest(t *testing.T) {
	isWrite := func(c dynamotest.Call) bool { return c.Write() && c.Key().SK != "L" }
	for _, fault := range []dynamotest.Fault{dynamotest.Refused, dynamotest.LostRequest, dynamotest.AppliedButFailed, dynamotest.Repeated} {
		for n := range 14 {
			t.Run(fmt.Sprintf("%s at write %d", fault, n), func(t *testing.T) {
				b := filled(t, 60, alloc.PoolConfig{})
				ids := b.claim(b.open(), want(3)).IDs
				b.claim(b.open(), wantKeyed(2, "k"))
				b.hold(ids[0], time.Minute, true)
				b.putReturn(b.mem.Item(idItem(ids[1])), dynamo.ReasonRelease, b.clock.Now().UnixMilli())
				b.clock.Advance(3 * time.Minute)
				b.table.Plan(dynamotest.Nth(n, isWrite, fault))
				_, _ = b.open().Sweep(t.Context(), "p") // it may fail, that is the point
				b.table.Plan(nil)
				b.settled(alloc.PolicyKeep, 60, 3)
				got := b.drain(b.open())
				distinct(t, got)
				if len(got) != 57 {
					t.Errorf("got %d IDs, want 57", len(got))
				}
			})
		}
	}
}

func TestP15TwoSweepersAndTenReleasesASecondKeepTheListingsPerFreeIDNearOne(t *testing.T) {
	const size, rounds, each = 400, 60, 10
	b := filled(t, size, alloc.PoolConfig{})
	s, sweepers := b.open(), []*dynamo.Store{b.open(), b.open()}
	for range rounds {
		b.clock.Advance(time.Minute)
		for range each {
			id := b.claim(s, want(1)).IDs[0]
			b.putReturn(b.mem.Item(idItem(id)), dynamo.ReasonRelease, b.clock.Now().UnixMilli())
		}
		var all sync.WaitGroup
		for _, sweeper := range sweepers {
			all.Go(func() {
				if _, err := sweeper.Sweep(t.Context(), "p"); err != nil {
					t.Errorf("Sweep: %v", err)
				}
			})
		}
		all.Wait()
	}
	b.settled(alloc.PolicyKeep, size, 0)
	h, listings := b.head(), 0
	for n := h.Int(dynamo.AttrLow); n < h.Int(dynamo.AttrTail); n++ {
		listings += len(b.mem.Item(dynamo.Key{PK: fmt.Sprintf("P#p#1#%d", n), SK: "C"}).List(dynamo.AttrListings))
	}
	t.Logf("%d listings of %d free IDs", listings, size)
	if listings > size*12/10 {
		t.Errorf("got %d listings of %d free IDs, want near one each", listings, size)
	}
	ids := b.drain(s)
	distinct(t, ids)
	if len(ids) != size {
		t.Errorf("got %d IDs, want %d", len(ids), size)
	}
}
