package dynamo_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

var keepAndForget = []alloc.Policy{alloc.PolicyKeep, alloc.PolicyForget}

func TestASeedingCostsTwentyTwoWritesForTwentyIDsAtMost(t *testing.T) {
	const n = 4000
	b := newBench(t)
	b.pool(alloc.PoolConfig{})
	s := b.open()
	b.mem.ResetUsage()
	b.seed(s, "job", someIDs(n))
	u := b.mem.Usage()
	t.Logf("%+v", u)
	if got := float64(u.WriteUnits) * 20 / n; got > 22 {
		t.Errorf("got %.2f write units for 20 IDs, want at most 22", got)
	}
	if got := float64(u.ReadUnits) * 20 / n; got > 0.1 {
		t.Errorf("got %.2f read units for 20 IDs, want next to none", got)
	}
}

// steps are the writes of a seeding by kind, with how many there are of each in a batch of three groups in a pool whose
// chunks have thirteen listings.
var steps = []struct {
	name  string
	count int
	match func(dynamotest.Call) bool
}{
	{"record", 1, func(c dynamotest.Call) bool { return c.Op == dynamotest.OpPut && strings.HasPrefix(c.Key().PK, "J#") }},
	{"ID", 650, func(c dynamotest.Call) bool { return c.Op == dynamotest.OpPut && c.Key().SK == "I" }},
	{"mark", 3, func(c dynamotest.Call) bool {
		return c.Op == dynamotest.OpUpdate && c.Update.Set[dynamo.AttrMarked] != nil
	}},
	{"chunk", 51, func(c dynamotest.Call) bool { return c.Op == dynamotest.OpPut && c.Key().SK == "C" }},
	{"head", 3, func(c dynamotest.Call) bool { return c.Op == dynamotest.OpUpdate && c.Key().SK == "H" }},
	{"end", 1, func(c dynamotest.Call) bool {
		return c.Op == dynamotest.OpUpdate && c.Update.Set[dynamo.AttrState] == "d"
	}},
}

func TestASeedingCutOffAtAnyWriteIsFinishedByARepeatAndEachIDCountsOnce(t *testing.T) {
	const n = 650
	for _, policy := range keepAndForget {
		for _, fault := range []dynamotest.Fault{dynamotest.LostRequest, dynamotest.AppliedButFailed} {
			for _, step := range steps {
				for _, nth := range []int{0, 1, 2, 20, 27, 50, 649} {
					if nth >= step.count {
						continue
					}
					t.Run(fmt.Sprintf("%s, %s at %s %d", policy, fault, step.name, nth), func(t *testing.T) {
						b := newBench(t)
						b.pool(alloc.PoolConfig{Policy: policy})
						cutOff(b, "job", someIDs(n), dynamotest.Nth(nth, step.match, fault))
						claimed := b.drain(b.open()) // what is published so far
						b.clock.Advance(time.Minute)
						b.seed(b.open(), "job", someIDs(n))
						claimed = append(claimed, b.drain(b.open())...)
						distinct(t, claimed)
						if len(claimed) != n {
							t.Errorf("claimed before and after: got %d IDs, want %d", len(claimed), n)
						}
						b.seed(b.open(), "job", someIDs(n))
						b.settled(policy, n, len(claimed))
					})
				}
			}
		}
	}
}

// cutOff seeds in a process that dies: from its first fault by the plan on, every call of it fails.
func cutOff(b *bench, job alloc.JobID, ids []alloc.ID, plan func(dynamotest.Call) dynamotest.Fault) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	dead := false
	b.table.Plan(func(c dynamotest.Call) dynamotest.Fault {
		if dead {
			return dynamotest.Refused
		}
		fault := plan(c)
		if fault != dynamotest.None {
			dead = true
			cancel() // it waits for nothing any more
		}
		return fault
	})
	_, err := b.open().Seed(ctx, alloc.SeedBatch{Pool: "p", Job: job, IDs: ids})
	if err != nil && !asError(b, err).Unknown {
		b.Errorf("a seeding that was cut off: got %v, want an unknown outcome", err)
	}
	if !dead {
		b.Error("the seeding was not cut off")
	}
	b.table.Plan(nil)
}

// settled sweeps and demands that the level is exact: all that was seeded is available or claimed.
func (b *bench) settled(policy alloc.Policy, seeded, claimed int) {
	b.Helper()
	b.clock.Advance(15 * time.Minute)
	b.sweep()
	l := alloc.Level{Seeded: alloc.Count(seeded), Available: alloc.Count(seeded - claimed)}
	if policy == alloc.PolicyForget {
		l.Forgotten = alloc.Count(claimed)
	} else {
		l.Claimed = alloc.Count(claimed)
	}
	b.level(l)
}

func TestC35AThrottledSeedingRepeatsWhatWasLeftAndLosesNothing(t *testing.T) {
	const n = 2000
	b := newBench(t)
	b.pool(alloc.PoolConfig{})
	var calls atomic.Int64
	b.table.Plan(func(c dynamotest.Call) dynamotest.Fault {
		switch calls.Add(1) % 23 {
		case 3, 11:
			if c.Write() {
				return dynamotest.Throttled
			}
		case 17:
			if c.Write() {
				return dynamotest.AppliedButFailed
			}
		}
		return dynamotest.None
	})
	b.seed(b.open(), "job", someIDs(n))
	b.table.Plan(nil)
	b.settled(alloc.PolicyKeep, n, 0)
	if got := b.drain(b.open()); len(got) != n {
		t.Errorf("got %d IDs, want %d", len(got), n)
	}
}

func TestASeedingThatGetsNoAnswerEndsWithItsContext(t *testing.T) {
	b := newBench(t)
	b.pool(alloc.PoolConfig{})
	b.table.Plan(func(c dynamotest.Call) dynamotest.Fault {
		if c.Key().SK == "I" {
			return dynamotest.Throttled
		}
		return dynamotest.None
	})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := b.open().Seed(ctx, alloc.SeedBatch{Pool: "p", Job: "job", IDs: someIDs(50)})
	refused(t, err, alloc.CodeThrottled)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v, want it to end with its context", took)
	}
}

func TestAFreeIDOfAJobThatWasCutOffBeforeItPublishedCanBeClaimedAfterAnotherJobHasNamedIt(t *testing.T) {
	const n = 50
	for _, policy := range keepAndForget {
		b := newBench(t)
		b.pool(alloc.PoolConfig{Policy: policy})
		cutOff(b, "first", someIDs(n), dynamotest.Nth(0, steps[3].match, dynamotest.LostRequest)) // nothing is published
		b.refuse(b.open(), want(1), alloc.CodePoolExhausted)
		outcomes, err := b.open().Seed(t.Context(), alloc.SeedBatch{Pool: "p", Job: "second", IDs: someIDs(n)})
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range outcomes {
			if o != alloc.SeedDuplicate {
				t.Errorf("outcome of ID %d: got %s, want duplicate", i, o)
			}
		}
		ids := b.drain(b.open())
		distinct(t, ids)
		if len(ids) != n {
			t.Errorf("%s: got %d IDs, want %d", policy, len(ids), n)
		}
		b.seed(b.open(), "first", someIDs(n)) // counts them, and puts nothing again
		b.settled(policy, n, n)
		b.refuse(b.open(), want(1), alloc.CodePoolExhausted)
	}
}

func TestAJobRepeatedAsALargerOneKnowsWhatItHasPut(t *testing.T) {
	b := newBench(t)
	b.pool(alloc.PoolConfig{})
	b.seed(b.open(), "job", someIDs(30))
	b.seed(b.open(), "job", someIDs(80))
	b.settled(alloc.PolicyKeep, 80, 0)
}

func TestTwoRunsOfOneBatchAtOnceEndInOnePoolAndCountEachIDOnce(t *testing.T) {
	const n = 400
	for _, policy := range keepAndForget {
		b := newBench(t)
		b.pool(alloc.PoolConfig{Policy: policy})
		var all sync.WaitGroup
		for range 3 {
			s := b.open()
			all.Go(func() { b.seed(s, "job", someIDs(n)) })
		}
		all.Wait()
		b.settled(policy, n, 0)
		ids := b.drain(b.open())
		distinct(t, ids)
		if len(ids) != n {
			t.Errorf("%s: got %d IDs, want %d", policy, len(ids), n)
		}
	}
}

func TestARunThatIsOvertakenAfterItsMarkAndBeforeItsChunkCountsNothingTwice(t *testing.T) {
	// The first run has marked its group and is frozen with the put of its chunk under way; the second takes the batch
	// over. Whoever places a chunk first, the other must see it.
	const n = 40
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprintf("chunk arrives late %v", late), func(t *testing.T) {
			b := newBench(t)
			b.pool(alloc.PoolConfig{})
			entered, release := make(chan struct{}), make(chan struct{})
			var once sync.Once
			frozen := dynamotest.Through(func(ctx context.Context, c dynamotest.Call) dynamotest.Answer {
				if c.Op == dynamotest.OpPut && c.Key().SK == "C" {
					once.Do(func() { close(entered); <-release })
				}
				return c.Do(ctx, b.table)
			})
			var first sync.WaitGroup
			first.Go(func() { b.seed(processAt(t, frozen, b.clock.Now), "job", someIDs(n)) })
			<-entered
			if late {
				b.seed(b.open(), "job", someIDs(n))
				close(release)
			} else {
				var second sync.WaitGroup
				s := b.open()
				second.Go(func() { b.seed(s, "job", someIDs(n)) })
				close(release)
				second.Wait()
			}
			first.Wait()
			b.settled(alloc.PolicyKeep, n, 0)
			distinct(t, b.drain(b.open()))
		})
	}
}

func TestAPoolThatForgetsTakesAForgottenIDAgainOfAHigherGeneration(t *testing.T) {
	b := newBench(t)
	b.pool(alloc.PoolConfig{Policy: alloc.PolicyForget})
	b.seed(b.open(), "first", someIDs(1))
	sleeper, old := b.open(), b.mem.Item(idItem("id-000000"))
	b.claim(sleeper, want(1))
	b.seed(b.open(), "second", someIDs(1)) // in the same second
	again := b.mem.Item(idItem("id-000000"))
	if again.Int(dynamo.AttrGeneration) <= old.Int(dynamo.AttrGeneration) {
		t.Errorf("generation: got %d after %d, want it higher", again.Int(dynamo.AttrGeneration), old.Int(dynamo.AttrGeneration))
	}
	b.claim(b.open(), want(1))
	b.refuse(sleeper, want(1), alloc.CodePoolExhausted)
	b.settled(alloc.PolicyForget, 2, 2)
}

func TestAPutOfAForgottenIDThatArrivesLateOrIsRepeatedPutsNothing(t *testing.T) {
	var puts []dynamotest.Call
	b := newBench(t)
	b.pool(alloc.PoolConfig{Policy: alloc.PolicyForget})
	b.seed(b.open(), "job", someIDs(20))
	for _, c := range b.table.Seen() {
		if c.Op == dynamotest.OpPut && c.Key().SK == "I" {
			puts = append(puts, c)
		}
	}
	ids := b.drain(b.open())
	for _, c := range puts {
		c.Do(t.Context(), b.mem)
	}
	b.seed(b.open(), "job", someIDs(20))
	b.clock.Advance(15 * time.Minute)
	b.sweep()
	b.refuse(b.open(), want(1), alloc.CodePoolExhausted)
	distinct(t, ids)
	b.clock.Advance(25 * time.Hour)
	b.mem.Expire(b.clock.Now())
	for _, it := range b.mem.Items() {
		if it.Str("sk") == "I" {
			t.Errorf("still there after it was forgotten: %v", it)
		}
	}
	b.seed(b.open(), "job", someIDs(20)) // the job's record remembers
	b.refuse(b.open(), want(1), alloc.CodePoolExhausted)
}

func TestABatchCutOffForDaysDoesNotSeedAgainWhatWasClaimedAndForgotten(t *testing.T) {
	const n, others = 650, 7
	b := newBench(t)
	b.pool(alloc.PoolConfig{Policy: alloc.PolicyForget})
	b.seed(b.open(), "another", someIDs(others))
	cutOff(b, "job", someIDs(n), dynamotest.Nth(1, steps[4].match, dynamotest.LostRequest)) // the first group is published
	before := b.drain(b.open())
	if len(before) == 0 || len(before) == n {
		t.Fatalf("claimed of the batch that was cut off: got %d, want a part of it", len(before))
	}
	b.clock.Advance(5 * 24 * time.Hour)
	b.mem.Expire(b.clock.Now())
	outcomes, err := b.open().Seed(t.Context(), alloc.SeedBatch{Pool: "p", Job: "job", IDs: someIDs(n)})
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range outcomes {
		if (o == alloc.SeedDuplicate) != (i < others) {
			t.Errorf("outcome of ID %d: got %s, want duplicate of the first %d and added of the rest", i, o, others)
		}
	}
	after := b.drain(b.open())
	distinct(t, append(before, after...))
	if len(before)+len(after) != n {
		t.Errorf("got %d and %d IDs, want %d together", len(before), len(after), n)
	}
	b.settled(alloc.PolicyForget, n, n)
}

func TestABatchCutOffDoesNotSeedAgainWhatAnotherJobHasSeededAndIsForgottenToo(t *testing.T) {
	const n = 650
	b := newBench(t)
	b.pool(alloc.PoolConfig{Policy: alloc.PolicyForget})
	cutOff(b, "job", someIDs(n), dynamotest.Nth(1, steps[4].match, dynamotest.LostRequest)) // the first group is published
	before := b.drain(b.open())
	b.seed(b.open(), "another", before[:5])
	again := b.drain(b.open())
	b.seed(b.open(), "job", someIDs(n))
	after := b.drain(b.open())
	if got := len(before) + len(again) + len(after); got != n+5 {
		t.Errorf("got %d, %d and %d IDs, want %d and the 5 of another job again", len(before), len(again), len(after), n)
	}
	b.settled(alloc.PolicyForget, n+5, n+5)
}

func TestASeedingWithoutAJobOrWithAnIDTwiceIsRefused(t *testing.T) {
	b := newBench(t)
	b.pool(alloc.PoolConfig{})
	for _, batch := range []alloc.SeedBatch{
		{Pool: "p", Job: "j"},
		{Pool: "p", IDs: []alloc.ID{"x"}},
		{Pool: "p", Job: "j", IDs: []alloc.ID{"x", "y", "x"}},
		{Pool: "p", Job: "j", IDs: someIDs(alloc.MaxSeedIDs + 1)},
	} {
		_, err := b.open().Seed(t.Context(), batch)
		refused(t, err, alloc.CodeInvalidRequest)
	}
	b.level(alloc.Level{})
}
