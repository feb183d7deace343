package dynamo_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

// C39: stock that lies in the memory of dead processes does not keep IDs from cold ones, however long the window is.
func TestColdProcessesFindFreeIDsInALongWindow(t *testing.T) {
	b := filled(t, 4200, alloc.PoolConfig{}) // 210 chunks: more than one search reads
	for range 210 {
		b.claim(b.open(), want(1)) // each leases a chunk and is never heard of again
	}
	b.mem.ResetUsage()
	const more = 40
	for range more {
		b.claim(b.open(), want(1))
	}
	if u := b.mem.Usage(); u.ReadUnits > more*450 {
		t.Errorf("%d cold claims of a window with plenty read %d units, want at most 450 each", more, u.ReadUnits)
	}
}

// C39, P14: that a batch is larger than what is left is found out once, not with every repeat; and it says nothing of a
// claim of fewer.
func TestARefusedBatchIsCheapToRefuseAgain(t *testing.T) {
	b := filled(t, 1000, alloc.PoolConfig{})
	p := b.open()
	for range 990 {
		b.claim(p, want(1))
	}
	b.refuse(p, want(20), alloc.CodePoolExhausted)
	b.mem.ResetUsage()
	b.refuse(p, want(20), alloc.CodePoolExhausted)
	b.refuse(p, want(11), alloc.CodePoolExhausted)
	if u := b.mem.Usage(); u.ReadUnits > 2 || u.WriteUnits > 0 {
		t.Errorf("two more refusals cost %d read and %d write units, want a read of the head each", u.ReadUnits, u.WriteUnits)
	}
	b.claim(p, want(10))
	b.refuse(p, want(1), alloc.CodePoolExhausted)
}

// K22: a replay in a cold process reads head, record and IDs. It takes no stock and searches nothing.
func TestAReplayInAColdProcessTakesNoStock(t *testing.T) {
	for _, left := range []int{0, 1, 999} {
		b := filled(t, 1000, alloc.PoolConfig{})
		p, o := b.open(), wantKeyed(1, "k")
		first := b.claim(p, o)
		for range 999 - left {
			b.claim(p, want(1))
		}
		leased := b.head().Int(dynamo.AttrNext)
		b.mem.ResetUsage()
		again := b.claim(b.open(), o)
		if !again.Replayed || again.IDs[0] != first.IDs[0] {
			t.Errorf("with %d left the repeat got %v, want %v again", left, again, first)
		}
		if u := b.mem.Usage(); u.WriteUnits > 0 || u.ReadUnits > 3 {
			t.Errorf("with %d left a replay cost %d write and %d read units, want 0 and 3", left, u.WriteUnits, u.ReadUnits)
		}
		if now := b.head().Int(dynamo.AttrNext); now != leased {
			t.Errorf("with %d left a replay leased %d chunks", left, now-leased)
		}
	}
}

// A client that leaves in the middle of a batch takes nothing with it.
func TestWhatABatchHasTakenComesBackWhenTheClientLeaves(t *testing.T) {
	b := filled(t, 1000, alloc.PoolConfig{})
	ctx, cancel := context.WithCancel(t.Context())
	var taken atomic.Int64 // some of its writes go side by side
	table := dynamotest.Through(func(c context.Context, call dynamotest.Call) dynamotest.Answer {
		if c.Err() != nil {
			return dynamotest.Answer{Err: alloc.Errorf(alloc.CodeUnavailable, "the context has ended")}
		}
		a := call.Do(c, b.mem)
		if call.Op == dynamotest.OpUpdate && call.Key().SK == "I" {
			if taken.Add(1) == 3 {
				cancel()
			}
		}
		return a
	})
	if _, err := processAt(t, table, b.clock.Now).Claim(ctx, want(100)); !alloc.Is(err, alloc.CodeUnavailable) {
		t.Fatalf("the batch answered %v, want unavailable", err)
	}
	b.clock.Advance(20 * time.Minute)
	b.sweep()
	level, err := b.open().Level(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	if level.Available != 1000 {
		t.Errorf("%d IDs are available, want all 1000", level.Available)
	}
}

// C53: a batch that was given up half-way is settled also when its pool has been deleted meanwhile.
func TestAVoidKeyOfADeletedPoolIsSettled(t *testing.T) {
	b, s, o := shortOf(t, 5, func(c dynamotest.Call) bool {
		return isRecord(c) && c.Update.Set[dynamo.AttrState] == dynamo.RecordVoid
	})
	if _, err := s.Claim(t.Context(), o); err == nil {
		t.Fatal("a batch of more than there are was answered")
	}
	for _, to := range []alloc.PoolState{alloc.PoolPaused, alloc.PoolDeleted} {
		if _, err := b.open().SetPoolState(t.Context(), "p", 0, to); err != nil {
			t.Fatal(err)
		}
	}
	b.refuse(b.open(), o, alloc.CodeKeyBusy)
	b.clock.Advance(time.Minute)
	b.sweep()
	b.refuse(b.open(), o, alloc.CodePoolDeleted)
}

// C39: what is left of a large pool lies scattered in the memory of dead processes and among what is taken. Many processes
// at once get all of it, each claim within a bounded number of calls, and nobody runs after the others for ever.
func TestC39TheLastHundredthOfALargePoolForManyProcessesAtOnce(t *testing.T) {
	const size, left, callers = 20_000, 200, 40
	b := filled(t, size, alloc.PoolConfig{MaxBatch: 1000})
	s := b.open()
	for range (size - left) / 100 {
		if b.head().Int(dynamo.AttrNext)%50 == 0 {
			b.clock.Advance(3 * time.Minute)
			b.sweep()
		}
		b.claim(s, want(99))
		b.claim(b.open(), want(1)) // it leases a chunk, and is never heard of again
	}
	b.clock.Advance(15 * time.Minute)
	b.sweep()
	var most atomic.Int64
	var got, lost atomic.Int64
	var all sync.WaitGroup
	for range callers {
		var calls atomic.Int64
		table := dynamotest.Through(func(ctx context.Context, c dynamotest.Call) dynamotest.Answer {
			calls.Add(1)
			return c.Do(ctx, b.table)
		})
		p := processAt(t, table, b.clock.Now)
		all.Go(func() {
			for {
				calls.Store(0)
				c, err := p.Claim(t.Context(), want(1))
				for now, was := calls.Load(), most.Load(); now > was && !most.CompareAndSwap(was, now); was = most.Load() {
					continue
				}
				if alloc.Is(err, alloc.CodeBusy) {
					continue
				}
				if err != nil {
					refused(t, err, alloc.CodePoolExhausted)
					return
				}
				got.Add(1)
				lost.Add(int64(c.Lost))
			}
		})
	}
	all.Wait()
	if got.Load() != left {
		t.Errorf("got %d IDs, want the %d that were left", got.Load(), left)
	}
	t.Logf("at most %d calls a claim; %d IDs tried in vain", most.Load(), lost.Load())
	if most.Load() > 300 || lost.Load() > 10*left {
		t.Errorf("a claim made up to %d calls, and %d IDs were tried in vain: want at most 300, and ten for each claimed", most.Load(), lost.Load())
	}
}
