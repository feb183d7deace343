package dynamo_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"idpool/alloc"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

var cutFaults = []dynamotest.Fault{dynamotest.LostRequest, dynamotest.AppliedButFailed}

// refillIDs are n IDs that no plain seeding of a test has.
func refillIDs(n int) []alloc.ID {
	ids := make([]alloc.ID, n)
	for i := range ids {
		ids[i] = alloc.ID(fmt.Sprintf("r-%03d", i))
	}
	return ids
}

func refill(n int, upTo alloc.Count) alloc.SeedBatch {
	return alloc.SeedBatch{Pool: "p", Job: "refill", IDs: refillIDs(n), UpTo: upTo}
}

// fill seeds a batch and counts its outcomes.
func (b *bench) fill(batch alloc.SeedBatch) map[alloc.SeedOutcome]int {
	b.Helper()
	outcomes, err := b.open().Seed(b.Context(), batch)
	if err != nil {
		b.Fatalf("Seed up to %d: %v", batch.UpTo, err)
	}
	counts := map[alloc.SeedOutcome]int{}
	for _, o := range outcomes {
		counts[o]++
	}
	return counts
}

// available is what Level says, which is to be at most the bound.
func (b *bench) available(bound alloc.Count) alloc.Count {
	b.Helper()
	l, err := b.open().Level(b.Context(), "p")
	if err != nil {
		b.Fatal(err)
	}
	if l.Available > bound {
		b.Errorf("available: got %d, want at most %d", l.Available, bound)
	}
	return l.Available
}

// says demands what Level says, though more may be put that nobody has listed yet.
func (b *bench) says(available, seeded alloc.Count) {
	b.Helper()
	l, err := b.open().Level(b.Context(), "p")
	if err != nil || l.Available != available || l.Seeded != seeded {
		b.Errorf("level: got %+v, %v; want %d available of %d", l, err, available, seeded)
	}
}

// everyWrite runs a story with a batch that is cut off at each of its writes in turn, in both ways, in pools that keep and
// that forget.
func everyWrite(t *testing.T, story func(b *bench, cut func(alloc.SeedBatch) bool)) {
	for _, policy := range keepAndForget {
		for _, fault := range cutFaults {
			synctest.Test(t, func(t *testing.T) {
				for n := 0; ; n++ {
					b := newBench(t)
					b.pool(alloc.PoolConfig{Policy: policy, MaxBatch: 1000})
					whole := true
					story(b, func(batch alloc.SeedBatch) bool {
						hit := b.cutOffBy(batch, n, fault)
						whole = whole && !hit
						return hit
					})
					if t.Failed() {
						t.Fatalf("%s, %s at write %d", policy, fault, n)
					}
					if whole {
						if n < 20 {
							t.Errorf("the batch had %d writes", n)
						}
						return
					}
				}
			})
		}
	}
}

func TestC38ARefillCutOffAtAnyWriteIsCarriedOnAndEndsAtTheLevel(t *testing.T) {
	everyWrite(t, func(b *bench, cut func(alloc.SeedBatch) bool) {
		b.seed(b.open(), "setup", someIDs(5))
		cut(refill(40, 30))
		b.available(30)
		if got := b.fill(refill(40, 30)); got[alloc.SeedAdded] != 25 || got[alloc.SeedUnneeded] != 15 {
			b.Errorf("outcomes of the repeat: got %v, want 25 added and 15 unneeded", got)
		}
		b.available(30)
		b.sweep()
		b.level(alloc.Level{Available: 30, Seeded: 30})
		b.walks(30)
		if got := b.drain(b.open()); len(got) != 30 {
			b.Errorf("claimed: got %d IDs, want 30", len(got))
		}
		b.refuse(b.open(), want(1), alloc.CodePoolExhausted)
		b.sweep()
		if got := b.fill(refill(40, 30)); got[alloc.SeedAdded] != 40 {
			b.Errorf("outcomes after all were claimed: got %v, want 40 added", got)
		}
		distinct(b.TB, b.drain(b.open()))
	})
}

func TestC38WhatACutOffRefillLeavesAtTheTailLiftsThePoolAboveNoLevel(t *testing.T) {
	everyWrite(t, func(b *bench, cut func(alloc.SeedBatch) bool) {
		cut(refill(40, 30))
		other := alloc.SeedBatch{Pool: "p", Job: "other", IDs: someIDs(60), UpTo: 30}
		b.fill(other)
		if got := b.available(30); got != 30 {
			b.Errorf("available after the second refill: got %d, want 30", got)
		}
		b.sweep()
		b.says(30, 30)
		b.walks(30)
		// A plain seeding lifts the level, and with it nothing of what was cut off comes to count.
		b.seed(b.open(), "plain", []alloc.ID{"one", "two"})
		b.available(32)
		if got := b.fill(refill(40, 30)); got[alloc.SeedAdded]+got[alloc.SeedUnneeded] != 40 {
			b.Errorf("outcomes of the repeat: got %v, want added and unneeded", got)
		}
		b.available(32)
		b.sweep()
		b.level(alloc.Level{Available: 32, Seeded: 32})
		if got := b.drain(b.open()); len(got) != 32 {
			b.Errorf("claimed: got %d IDs, want 32", len(got))
		}
		b.sweep()
		if got := b.fill(refill(40, 500)); got[alloc.SeedAdded] != 40 {
			b.Errorf("outcomes up to more: got %v, want 40 added", got)
		}
		distinct(b.TB, b.drain(b.open()))
	})
}

// leaveAtTheTail leaves chunks of a refill at the tail that it does not count, and fills the pool.
func (b *bench) leaveAtTheTail() {
	b.Helper()
	raises := func(c dynamotest.Call) bool {
		return c.Op == dynamotest.OpUpdate && c.Update.Set[dynamo.AttrTail] != nil
	}
	table := dynamotest.NewFaults(b.mem, func(c dynamotest.Call) dynamotest.Fault {
		if raises(c) {
			return dynamotest.Refused
		}
		return dynamotest.None
	})
	if _, err := processAt(b.TB, table, b.clock.Now).Seed(b.Context(), refill(40, 30)); err == nil {
		b.Fatal("the refill raised the tail")
	}
	// What it would have lifted the level to is there by now.
	b.edit(dynamo.Key{PK: "P#p", SK: "H"}, func(it dynamo.Item) { it[dynamo.AttrWindowFree] = int64(30) })
}

func TestAChunkThatIsNotToCountIsVoidedWhereverThatIsCutOff(t *testing.T) {
	everyWrite(t, func(b *bench, cut func(alloc.SeedBatch) bool) {
		b.seed(b.open(), "setup", someIDs(5))
		b.leaveAtTheTail()
		plain := alloc.SeedBatch{Pool: "p", Job: "plain", IDs: []alloc.ID{"one", "two", "three"}}
		cut(plain)
		b.available(38)
		if got := b.fill(plain); got[alloc.SeedAdded] != 3 {
			b.Errorf("outcomes of the plain seeding: got %v, want 3 added", got)
		}
		if b.head()[dynamo.AttrVoiding] != nil {
			b.Error("the head still names a chunk that is being voided")
		}
		if !slices.ContainsFunc(b.mem.Items(), func(it dynamo.Item) bool { return it.Bool(dynamo.AttrVoid) }) {
			b.Error("no chunk was voided")
		}
		b.available(38)
		b.sweep()
		b.says(8, 8)
		b.walks(8)
		if got := b.fill(refill(40, 30)); got[alloc.SeedAdded] != 22 || got[alloc.SeedUnneeded] != 18 {
			b.Errorf("outcomes of the repeat: got %v, want 22 added and 18 unneeded", got)
		}
		b.sweep()
		b.level(alloc.Level{Available: 30, Seeded: 30})
		if got := b.drain(b.open()); len(got) != 30 {
			b.Errorf("claimed: got %d IDs, want 30", len(got))
		}
	})
}

// filledBeside is a refill that others overtake: when it has put its IDs, the pool is filled.
func (b *bench) filledBeside(batch alloc.SeedBatch, fills func()) map[alloc.SeedOutcome]int {
	b.Helper()
	done := false
	table := dynamotest.NewFaults(b.mem, func(c dynamotest.Call) dynamotest.Fault {
		if !done && c.Op == dynamotest.OpUpdate && c.Update.Set[dynamo.AttrMarked] != nil {
			done = true
			fills()
		}
		return dynamotest.None
	})
	outcomes, err := processAt(b.TB, table, b.clock.Now).Seed(b.Context(), batch)
	if err != nil {
		b.Fatal(err)
	}
	counts := map[alloc.SeedOutcome]int{}
	for _, o := range outcomes {
		counts[o]++
	}
	return counts
}

func TestWhatWasPutAndIsNotNeededIsAsGoodAsAbsent(t *testing.T) {
	for _, policy := range keepAndForget {
		b := newBench(t)
		b.pool(alloc.PoolConfig{Policy: policy, MaxBatch: 1000})
		got := b.filledBeside(refill(20, 10), func() { b.seed(b.open(), "plain", someIDs(10)) })
		if got[alloc.SeedUnneeded] != 20 {
			t.Errorf("outcomes: got %v, want 20 unneeded", got)
		}
		if it := b.mem.Item(idItem("r-000")); it == nil {
			t.Fatal("nothing was put")
		}
		for _, id := range refillIDs(20) {
			_, err := b.open().Inspect(t.Context(), "p", id)
			refused(t, err, alloc.CodeIDNotFound)
		}
		b.level(alloc.Level{Available: 10, Seeded: 10})
		b.sweep()
		b.walks(10)
		b.seed(b.open(), "another", refillIDs(5)) // it has them all added
		b.level(alloc.Level{Available: 15, Seeded: 15})
		b.walks(15)
		if got := b.fill(refill(20, 12)); got[alloc.SeedDuplicate] != 5 || got[alloc.SeedUnneeded] != 15 {
			t.Errorf("outcomes of the repeat: got %v, want 5 duplicate and 15 unneeded", got)
		}
		distinct(t, b.drain(b.open()))
		b.sweep()
		if got := b.fill(refill(20, 12)); got[alloc.SeedAdded] != 12 || got[alloc.SeedUnneeded] != 3 {
			t.Errorf("outcomes when all are claimed: got %v, want 12 added and 3 unneeded", got)
		}
		level := alloc.Level{Available: 12, Seeded: 27, Claimed: 15}
		if policy == alloc.PolicyForget {
			level.Claimed, level.Forgotten = 0, 15
		}
		b.level(level)
		if got := b.drain(b.open()); len(got) != 12 {
			t.Errorf("claimed: got %d IDs, want 12", len(got))
		}
	}
}

// One that another seeding has met before it was let go stays, and counts once.
func TestWhatAnotherSeedingIsAboutToListIsNotLetGo(t *testing.T) {
	b := newBench(t)
	b.pool(alloc.PoolConfig{MaxBatch: 1000})
	got := b.filledBeside(refill(20, 10), func() {
		plain := slices.Concat(someIDs(10), refillIDs(4))
		outcomes, err := b.open().Seed(t.Context(), alloc.SeedBatch{Pool: "p", Job: "plain", IDs: plain})
		if err != nil || slices.Contains(outcomes[10:], alloc.SeedAdded) {
			t.Errorf("the plain seeding: got %v, %v; want duplicates at the end", outcomes, err)
		}
	})
	if got[alloc.SeedAdded] != 4 || got[alloc.SeedUnneeded] != 16 {
		t.Errorf("outcomes: got %v, want 4 added and 16 unneeded", got)
	}
	b.sweep()
	b.level(alloc.Level{Available: 14, Seeded: 14})
	b.walks(14)
	if got := b.drain(b.open()); len(got) != 14 {
		t.Errorf("claimed: got %d IDs, want 14", len(got))
	}
}

// A seeding meets an ID when that is put, and asks after its batch when that is parked.
func TestWhatIsLetGoWhileAnotherSeedingLooksAtItIsAddedByThat(t *testing.T) {
	b := newBench(t)
	b.pool(alloc.PoolConfig{MaxBatch: 1000})
	asks, parked, done := make(chan bool), make(chan bool), make(chan bool)
	asked := false
	table := dynamotest.NewFaults(b.mem, func(c dynamotest.Call) dynamotest.Fault {
		if !asked && c.Op == dynamotest.OpQuery {
			asked = true
			close(asks)
			<-parked
		}
		return dynamotest.None
	})
	var outcomes []alloc.SeedOutcome
	got := b.filledBeside(refill(20, 10), func() {
		b.seed(b.open(), "first", someIDs(10))
		go func() {
			defer close(done)
			var err error
			outcomes, err = processAt(b.TB, table, b.clock.Now).Seed(t.Context(), alloc.SeedBatch{Pool: "p", Job: "plain", IDs: refillIDs(4)})
			if err != nil {
				t.Error(err)
			}
		}()
		<-asks
	})
	close(parked)
	<-done
	if got[alloc.SeedUnneeded] != 20 || !slices.Equal(outcomes, slices.Repeat([]alloc.SeedOutcome{alloc.SeedAdded}, 4)) {
		t.Errorf("outcomes: got %v of the refill, want all unneeded, and %v of the seeding, want 4 added", got, outcomes)
	}
	b.level(alloc.Level{Available: 14, Seeded: 14})
	b.walks(14)
}

func TestARefillPutsNoMoreIDsThanAreMissingAndCostsLittleMore(t *testing.T) {
	b := newBench(t)
	b.pool(alloc.PoolConfig{MaxBatch: 1000})
	b.seed(b.open(), "setup", someIDs(3000))
	b.mem.ResetUsage()
	if got := b.fill(refill(500, 3400)); got[alloc.SeedAdded] != 400 || got[alloc.SeedUnneeded] != 100 {
		t.Errorf("outcomes: got %v, want 400 added and 100 unneeded", got)
	}
	u := b.mem.Usage()
	t.Logf("%+v", u)
	if u.WriteUnits > 400+400/20+12 {
		t.Errorf("got %d write units for 400 IDs", u.WriteUnits)
	}
	if free := census(t, b.mem.Items(), "p")[alloc.StateFree]; free != 3400 {
		t.Errorf("ID items: got %d, want 3400", free)
	}
}

func TestARefillThatIsTooLargeIsRefusedBeforeAnythingIsDone(t *testing.T) {
	b := filled(t, 1, alloc.PoolConfig{})
	long := refill(1, 5)
	long.IDs[0] += alloc.ID(make([]byte, 128))
	for _, batch := range []alloc.SeedBatch{refill(501, 1000), long, refill(3, -1)} {
		_, err := b.open().Seed(t.Context(), batch)
		refused(t, err, alloc.CodeInvalidRequest)
	}
	if calls := b.table.Seen(); len(calls) > 0 {
		t.Errorf("calls: got %v, want none", calls)
	}
}
