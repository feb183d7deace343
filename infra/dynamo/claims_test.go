package dynamo_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

func TestAWarmClaimIsOneUpdateAndAWarmClaimWithAKeyAPutAndAnUpdate(t *testing.T) {
	b := filled(t, 2000, alloc.PoolConfig{})
	s := b.open()
	b.claim(s, want(1))
	b.table.Seen()
	b.claim(s, want(1))
	if diff := cmp.Diff([]string{"update I"}, ops(b.table.Seen())); diff != "" {
		t.Errorf("a warm claim (-want +got):\n%s", diff)
	}
	o := wantKeyed(1, "k")
	b.claim(s, o)
	if diff := cmp.Diff([]string{"put K", "update I"}, ops(b.table.Seen())); diff != "" {
		t.Errorf("a warm claim with a key (-want +got):\n%s", diff)
	}
	b.claim(s, o)
	if diff := cmp.Diff([]string{"put K", "get I"}, ops(b.table.Seen())); diff != "" {
		t.Errorf("a repeat with the key (-want +got):\n%s", diff)
	}
}

func TestC39TheCostOfAClaimIsFlatFromTheFirstHundredthOfAPoolToTheLast(t *testing.T) {
	const size, stretch = 20_000, 200
	b := filled(t, size, alloc.PoolConfig{MaxBatch: 1000})
	s := b.open()
	cost := func(name string) dynamotest.Usage {
		b.mem.ResetUsage()
		for range stretch {
			b.claim(s, want(1))
		}
		u := b.mem.Usage()
		t.Logf("%s: %.3f write units, %.3f read units, %.3f round trips", name,
			float64(u.WriteUnits)/stretch, float64(u.ReadUnits)/stretch, float64(u.RoundTrips())/stretch)
		if w := float64(u.WriteUnits) / stretch; w > 1.10 {
			t.Errorf("%s: got %.3f write units a claim, want at most 1.10", name, w)
		}
		if r := float64(u.ReadUnits) / stretch; r > 0.15 {
			t.Errorf("%s: got %.3f read units a claim, want at most 0.15", name, r)
		}
		return u
	}
	first := cost("first 1 %")
	claimed := stretch
	for claimed+stretch < size {
		n := min(1000, size-stretch-claimed)
		b.claim(s, want(alloc.Count(n)))
		if claimed += n; claimed%4000 < 1000 {
			b.clock.Advance(3 * time.Minute)
			b.sweep()
		}
	}
	last := cost("last 1 %")
	if last.RoundTrips() > first.RoundTrips()*12/10 {
		t.Errorf("round trips of the last hundredth: got %d, want at most 1.2 times the %d of the first", last.RoundTrips(), first.RoundTrips())
	}
	b.refuse(s, want(1), alloc.CodePoolExhausted)
}

func TestWarmStockIsUsedWithoutAnyReadForThirtySecondsAndForgottenAfterTenMinutes(t *testing.T) {
	b := filled(t, 1000, alloc.PoolConfig{})
	s := b.open()
	b.claim(s, want(1))
	b.clock.Advance(29 * time.Second)
	b.table.Seen()
	b.claim(s, want(1))
	if diff := cmp.Diff([]string{"update I"}, ops(b.table.Seen())); diff != "" {
		t.Errorf("after 29 seconds (-want +got):\n%s", diff)
	}
	b.clock.Advance(2 * time.Second)
	b.claim(s, want(1))
	if diff := cmp.Diff([]string{"get H", "update I"}, ops(b.table.Seen())); diff != "" {
		t.Errorf("after 31 seconds (-want +got):\n%s", diff)
	}
	b.clock.Advance(10 * time.Minute)
	b.claim(s, want(1))
	if diff := cmp.Diff([]string{"get H", "update H", "get C", "update I"}, ops(b.table.Seen())); diff != "" {
		t.Errorf("after more than ten minutes (-want +got):\n%s", diff)
	}
}

func TestAListingThatWasNotTriedGoesBackToStock(t *testing.T) {
	b := filled(t, 1000, alloc.PoolConfig{})
	s := b.open()
	b.claim(s, want(1))
	b.table.Seen()
	for _, fault := range []dynamotest.Fault{dynamotest.Refused, dynamotest.Throttled} {
		b.table.Plan(dynamotest.Nth(0, anyCall, fault))
		_, err := s.Claim(t.Context(), want(1))
		if alloc.CodeOf(err) != alloc.CodeUnavailable && alloc.CodeOf(err) != alloc.CodeThrottled {
			t.Fatalf("Claim: got %v, want the fault", err)
		}
		b.table.Plan(nil)
		tried := b.table.Seen()
		b.claim(s, want(1))
		again := b.table.Seen()
		if tried[0].Key() != again[0].Key() || len(again) != 1 {
			t.Errorf("after %s of %v: got %v, want the same ID tried again", fault, tried[0].Key(), again)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Claim(ctx, want(1))
	refused(t, err, alloc.CodeUnavailable)
	if calls := b.table.Seen(); len(calls) != 0 {
		t.Errorf("a claim whose context has ended made the calls %v", calls)
	}
}

func TestALeasedChunkThatCouldNotBeReadIsReadByTheNextClaim(t *testing.T) {
	b := filled(t, 1000, alloc.PoolConfig{})
	s := b.open()
	b.table.Plan(dynamotest.Nth(0, func(c dynamotest.Call) bool { return c.Key().SK == "C" }, dynamotest.Refused))
	_, err := s.Claim(t.Context(), want(1))
	refused(t, err, alloc.CodeUnavailable)
	b.table.Seen()
	b.claim(s, want(1))
	if diff := cmp.Diff([]string{"get C", "update I"}, ops(b.table.Seen())); diff != "" {
		t.Errorf("the next claim (-want +got):\n%s", diff)
	}
}

func TestC02AndC06OfTwiceAsManyColdProcessesAsThereAreIDsExactlyAsManySucceed(t *testing.T) {
	for _, n := range []int{1, 5, 50, 200} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			b := filled(t, n, alloc.PoolConfig{})
			ids := claimAtOnce(b, 2*n, 1)
			if len(ids) != n {
				t.Errorf("got %d IDs, want %d", len(ids), n)
			}
			distinct(t, ids)
			b.clock.Advance(15 * time.Minute)
			b.sweep()
			b.level(alloc.Level{Seeded: alloc.Count(n), Claimed: alloc.Count(n)})
		})
	}
}

// claimAtOnce lets callers, each a cold process, claim each IDs at once. Those who are told that the pool is busy repeat.
func claimAtOnce(b *bench, callers int, each alloc.Count) (ids []alloc.ID) {
	b.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	for range callers {
		s := b.open()
		all.Go(func() {
			c, err := s.Claim(b.Context(), want(each))
			for alloc.Is(err, alloc.CodeBusy) {
				c, err = s.Claim(b.Context(), want(each))
			}
			if err != nil && !alloc.Is(err, alloc.CodePoolExhausted) {
				b.Errorf("Claim: got %v, want IDs or pool_exhausted", err)
			}
			mu.Lock()
			defer mu.Unlock()
			ids = append(ids, c.IDs...)
		})
	}
	all.Wait()
	return ids
}

func TestC06BatchesThatMeetAtTheEndOfAPoolAreWholeAndDisjoint(t *testing.T) {
	b := filled(t, 23, alloc.PoolConfig{})
	ids := claimAtOnce(b, 12, 5)
	if len(ids) != 20 {
		t.Errorf("got %d IDs, want 4 batches of 5", len(ids))
	}
	distinct(t, ids)
	b.clock.Advance(15 * time.Minute)
	b.sweep()
	b.level(alloc.Level{Seeded: 23, Available: 3, Claimed: 20})
}

func TestManyCallersOfOneProcessShareTheirLeases(t *testing.T) {
	const callers, each = 32, 50
	b := filled(t, 20_000, alloc.PoolConfig{})
	s := b.open()
	b.claim(s, want(1))
	b.mem.ResetUsage()
	var mu sync.Mutex
	var ids []alloc.ID
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for range each {
				c, err := s.Claim(t.Context(), want(1))
				if err != nil {
					t.Errorf("Claim: %v", err)
				}
				mu.Lock()
				ids = append(ids, c.IDs...)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	distinct(t, ids)
	u := b.mem.Usage()
	if got := float64(u.WriteUnits) / (callers * each); got > 1.10 {
		t.Errorf("got %.3f write units a claim, want at most 1.10: %+v", got, u)
	}
	if u.ConditionsFailed > 0 {
		t.Errorf("got %d failed conditions of one process, want none", u.ConditionsFailed)
	}
}

func TestAnExhaustedPoolIsToldByOneReadUntilItsHeadMoves(t *testing.T) {
	b := filled(t, 3, alloc.PoolConfig{})
	s := b.open()
	b.drain(s)
	b.table.Seen()
	for range 3 {
		b.refuse(s, want(1), alloc.CodePoolExhausted)
		if diff := cmp.Diff([]string{"get H"}, ops(b.table.Seen())); diff != "" {
			t.Errorf("a claim of an empty pool (-want +got):\n%s", diff)
		}
	}
	b.seed(b.open(), "second", []alloc.ID{"late"})
	b.claim(s, want(1))
}

// What is remembered of a search holds for as long as the head has not moved, also beside a held ID: it comes back by
// being listed, and that moves the head.
func TestAHeldIDThatComesBackIsClaimedInAPoolThatWasFoundEmpty(t *testing.T) {
	b := filled(t, 2, alloc.PoolConfig{})
	s := b.open()
	held := b.claim(s, want(1)).IDs[0]
	b.claim(s, want(1))
	b.hold(held, time.Minute, true)
	b.refuse(s, want(1), alloc.CodePoolExhausted)
	b.refuse(s, want(1), alloc.CodePoolExhausted)
	b.clock.Advance(2 * time.Minute)
	b.sweep()
	if got := b.claim(s, want(1)).IDs[0]; got != held {
		t.Errorf("got %q, want %q, whose hold has ended", got, held)
	}
}

func TestAWindowThatIsTooLongIsNotCalledEmptyAndASweepIsAskedFor(t *testing.T) {
	const n = 250 * 20
	b := filled(t, n, alloc.PoolConfig{MaxBatch: 1000})
	s := b.open()
	for range n / 1000 {
		b.claim(s, want(1000))
	}
	other := b.open()
	_, err := other.Claim(t.Context(), want(1))
	refused(t, err, alloc.CodeBusy)
	if e := asError(t, err); e.RetryAfter <= 0 || e.Unknown {
		t.Errorf("got %+v, want it with a time to wait and a known outcome", e)
	}
	if b.head().Int(dynamo.AttrWanted) == 0 {
		t.Error("no sweep is asked for")
	}
	if report := b.sweep(); report.Passed != n {
		t.Errorf("the sweep that was asked for: got %+v, want all %d listings passed", report, n)
	}
	if b.head().Int(dynamo.AttrWanted) != 0 {
		t.Error("a sweep is still asked for after it")
	}
	b.refuse(other, want(1), alloc.CodePoolExhausted)
	b.refuse(s, want(1), alloc.CodePoolExhausted)
}

func TestAClaimThatFailsOnTheWayGivesBackWhatItHas(t *testing.T) {
	// The third of five IDs cannot be claimed for load: the others come back by the next sweep at the latest.
	b := filled(t, 100, alloc.PoolConfig{})
	s := b.open()
	b.claim(s, want(1))
	var n atomic.Int64
	b.table.Plan(func(c dynamotest.Call) dynamotest.Fault {
		if c.Key().SK == "I" && n.Add(1) == 3 {
			return dynamotest.Throttled
		}
		return dynamotest.None
	})
	_, err := s.Claim(t.Context(), want(5))
	refused(t, err, alloc.CodeThrottled)
	if asError(t, err).Unknown {
		t.Errorf("got %v with an unknown outcome, want it known: all comes back", err)
	}
	b.clock.Advance(15 * time.Minute)
	b.sweep()
	b.level(alloc.Level{Seeded: 100, Available: 99, Claimed: 1})
	distinct(t, b.drain(s))
}
