package dynamo_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

func wantHold(n alloc.Count, hold time.Duration) alloc.ClaimOrder {
	o := want(n)
	o.Hold = hold
	return o
}

func wantKeyedHold(n alloc.Count, hold time.Duration, key string) alloc.ClaimOrder {
	o := wantKeyed(n, key)
	o.Hold = hold
	return o
}

func isReturnItem(c dynamotest.Call) bool { return strings.HasSuffix(c.Key().PK, "#R") }

// returnsOf are the return items of the pool.
func (b *bench) returns() (list []dynamo.Item) {
	for _, it := range b.mem.Items() {
		if it.Str("pk") == "P#p#R" {
			list = append(list, it)
		}
	}
	return list
}

func TestAHoldIsAClaimWriteAndAReturnItemAndItsKeyOneWriteMore(t *testing.T) {
	b := filled(t, 1000, alloc.PoolConfig{})
	s := b.open()
	b.claim(s, want(1))
	for _, row := range []struct {
		o    alloc.ClaimOrder
		want []string
	}{
		{wantHold(1, time.Minute), []string{"update I", "put I#"}},
		{wantKeyedHold(1, time.Minute, "k"), []string{"put K", "update I", "put I#"}},
	} {
		b.table.Seen()
		c := b.claim(s, row.o)
		got := ops(b.table.Seen())
		for i, op := range got {
			if strings.HasPrefix(op, "put I#") {
				got[i] = "put I#"
			}
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("the calls of a hold (-want +got):\n%s", diff)
		}
		if until := b.clock.Now().Add(time.Minute).Truncate(time.Millisecond); c.State != alloc.StateHeld || !c.HeldUntil.Equal(until) {
			t.Errorf("got %s until %s, want it held until %s", c.State, c.HeldUntil, until)
		}
		r, err := s.Inspect(t.Context(), "p", c.IDs[0])
		if err != nil || r.State != alloc.StateHeld || !r.HeldUntil.Equal(c.HeldUntil) {
			t.Errorf("Inspect: got %+v and %v, want it held until %s", r, err, c.HeldUntil)
		}
	}
}

func TestAKeyedHoldEndsWhenItsFirstRequestSaidWhoeverCarriesItOut(t *testing.T) {
	for n := 1; n <= 3; n++ { // cut off after the intent, after the claim, and after the return item
		t.Run(fmt.Sprintf("cut off after write %d", n), func(t *testing.T) {
			b := filled(t, 1000, alloc.PoolConfig{})
			s, o := b.open(), wantKeyedHold(1, 10*time.Minute, "k")
			b.claim(s, want(1))
			end := b.clock.Now().Add(10 * time.Minute)
			writes := 0
			table := dynamotest.Through(func(ctx context.Context, c dynamotest.Call) dynamotest.Answer {
				if writes == n {
					return dynamotest.LostRequest.Apply(ctx, c, b.mem)
				}
				if c.Write() && c.Key().SK != "H" {
					writes++
				}
				return c.Do(ctx, b.mem)
			})
			dying := processAt(t, table, b.clock.Now)
			if _, err := dying.Claim(t.Context(), o); (err == nil) != (n == 3) {
				t.Fatalf("the claim that was cut off: %v", err)
			}
			b.clock.Advance(4 * time.Minute)
			first := b.claim(b.open(), o)
			if !first.HeldUntil.Equal(end) || !first.Replayed || first.Finished != (n < 3) {
				t.Errorf("the repeat: got %+v, want it replayed and held until %s", first, end)
			}
			if got := b.returns(); len(got) != 1 || got[0].Int(dynamo.AttrDue) != end.UnixMilli() {
				t.Errorf("return items: got %v, want one that is due at the end of the hold", got)
			}
			b.clock.Advance(6 * time.Minute)
			if report := b.sweep(); report.Returned != 1 {
				t.Errorf("the sweep at its end: got %+v, want one returned", report)
			}
			b.refuse(b.open(), o, alloc.CodeKeyEnded)
		})
	}
}

func TestAReplayOfAHoldWritesNothingWhereItsReturnItemsAreThere(t *testing.T) {
	b := filled(t, 1000, alloc.PoolConfig{})
	o := wantKeyedHold(3, time.Minute, "k")
	first := b.claim(b.open(), o)
	b.table.Seen()
	again := b.claim(b.open(), o)
	again.Replayed = false
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("the replay (-first +replay):\n%s", diff)
	}
	for _, c := range b.table.Seen() {
		if c.Write() {
			t.Errorf("the replay wrote: %s", c)
		}
	}
}

func TestAHoldWithoutAReturnItemIsNotAnsweredAndComesBackAllTheSame(t *testing.T) {
	for _, key := range []bool{false, true} {
		b := filled(t, 100, alloc.PoolConfig{})
		o := wantHold(2, time.Minute)
		if key {
			o = wantKeyedHold(2, time.Minute, "k")
		}
		b.table.Plan(func(c dynamotest.Call) dynamotest.Fault {
			if isReturnItem(c) {
				return dynamotest.LostRequest
			}
			return dynamotest.None
		})
		_, err := b.open().Claim(t.Context(), o)
		refused(t, err, alloc.CodeUnavailable)
		if !asError(t, err).Unknown {
			t.Errorf("key %v: got %v, want its outcome unknown", key, err)
		}
		b.table.Plan(nil)
		b.sweep()
		b.level(alloc.Level{Seeded: 100, Available: 98, Held: 2})
		b.clock.Advance(2 * time.Minute)
		b.sweep()
		b.level(alloc.Level{Seeded: 100, Available: 100})
	}
}

func TestAHoldOutOfOldStockWhoseListingNobodyHasLeasedYetGetsItsReturnItem(t *testing.T) {
	b := filled(t, 2000, alloc.PoolConfig{})
	sleeper := b.open()
	b.claim(sleeper, want(1))
	b.clock.Advance(3 * time.Minute)
	if report := b.sweep(); report.Relisted == 0 {
		t.Fatal("the stock was not listed again")
	}
	b.table.Plan(func(c dynamotest.Call) dynamotest.Fault {
		if isReturnItem(c) {
			return dynamotest.LostRequest
		}
		return dynamotest.None
	})
	_, err := sleeper.Claim(t.Context(), wantHold(1, time.Hour))
	refused(t, err, alloc.CodeUnavailable)
	b.table.Plan(nil)
	b.sweep()
	b.level(alloc.Level{Seeded: 2000, Available: 1998, Held: 1, Claimed: 1})
	b.clock.Advance(2 * time.Hour)
	b.sweep()
	b.level(alloc.Level{Seeded: 2000, Available: 1999, Claimed: 1})
}

func TestHoldsThatWereSettledDoNotCountAsHeldAndLeaveNoReturnItem(t *testing.T) {
	b := filled(t, 100, alloc.PoolConfig{})
	s := b.open()
	c := b.claim(s, wantHold(4, time.Hour))
	b.settle(s, alloc.EventConfirm, c.Token, c.IDs[0])
	b.settle(s, alloc.EventRetire, c.Token, c.IDs[1])
	b.settle(s, alloc.EventRelease, c.Token, c.IDs[2])
	b.sweep()
	b.level(alloc.Level{Seeded: 100, Available: 97, Held: 1, Claimed: 1, Retired: 1})
	if got := b.returns(); len(got) != 1 || got[0].Str(dynamo.AttrID) != string(c.IDs[3]) {
		t.Errorf("return items: got %v, want that of %s alone", got, c.IDs[3])
	}
}

func TestAHoldThatAClockAheadHasBegunToEndIsBroughtBackByOneThatIsNot(t *testing.T) {
	b := filled(t, 100, alloc.PoolConfig{})
	c := b.claim(b.open(), wantHold(1, 4*time.Minute))
	ahead := dynamotest.Through(func(ctx context.Context, call dynamotest.Call) dynamotest.Answer {
		if call.Key().SK == "C" && call.Op == dynamotest.OpPut {
			return dynamotest.LostRequest.Apply(ctx, call, b.mem) // it dies before the ID is listed
		}
		return call.Do(ctx, b.mem)
	})
	early := processAt(t, ahead, func() time.Time { return b.clock.Now().Add(5 * time.Minute) })
	if _, err := early.Sweep(t.Context(), "p"); err == nil {
		t.Fatal("the sweep that dies: got no error")
	}
	if r, err := b.open().Inspect(t.Context(), "p", c.IDs[0]); err != nil || r.State != alloc.StateReturning {
		t.Fatalf("got %+v and %v, want it returning", r, err)
	}
	b.sweep()
	b.level(alloc.Level{Seeded: 100, Available: 100})
}

func TestAnIDMayBeWaitedForInTwoOfItsGenerations(t *testing.T) {
	b := filled(t, 1, alloc.PoolConfig{})
	first := b.claim(b.open(), wantHold(1, time.Hour))
	late := b.returns()[0]
	b.settle(b.open(), alloc.EventRelease, first.Token, first.IDs...)
	b.sweep()
	b.claim(b.open(), wantHold(1, time.Hour))
	b.mem.Set(late) // the return item of the first hold is put once more, long after
	b.sweep()
	b.level(alloc.Level{Seeded: 1, Held: 1})
	if got := b.returns(); len(got) != 1 || got[0].Int(dynamo.AttrGeneration) != 1 {
		t.Errorf("return items: got %v, want that of the second generation alone", got)
	}
}
