package dynamo_test

import (
	"fmt"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

// mostCalls is the bound that sweep_cost.go states.
const mostCalls = 25_000

// crowd is how much there is of everything in a pool that nobody has swept for long.
type crowd struct{ stale, holds, over, released, voids int }

// crowded is a bench whose pool has all of it.
func crowded(t testing.TB, c crowd) *bench {
	t.Helper()
	b := newBench(t)
	b.pool(alloc.PoolConfig{})
	n, now := 0, b.clock.Now().UnixMilli()
	taken := func(state, reason string, end int64) {
		it := dynamo.Item{
			"pk": fmt.Sprintf("I#p#id-%06d", n), "sk": "I", dynamo.AttrState: state, dynamo.AttrGeneration: int64(0), dynamo.AttrJob: "setup",
			dynamo.AttrToken: "T" + fmt.Sprint(n), dynamo.AttrTaken: now, dynamo.AttrHoldEnd: end,
		}
		b.mem.Set(it)
		b.putReturn(it, reason, end)
		n++
	}
	for range c.holds {
		taken(dynamo.StateHeld, dynamo.ReasonHold, now+int64(time.Hour/time.Millisecond))
	}
	for range c.over {
		taken(dynamo.StateHeld, dynamo.ReasonHold, now-1)
	}
	for range c.released {
		taken(dynamo.StateReturning, dynamo.ReasonRelease, 0)
	}
	for i := range c.voids {
		hash := fmt.Sprintf("h%04d", i)
		b.mem.Set(dynamo.Item{"pk": "K#" + hash, "sk": "K", "s": dynamo.RecordVoid, "t": "T", "v": int64(2), "fp": "f", "l": []string{}, "a": int64(1)})
		b.mem.Set(dynamo.Item{"pk": "P#p#R", "sk": "V#" + hash + "#T", dynamo.AttrReason: dynamo.ReasonVoid, "k": hash, "t": "T", "v": int64(1), "d": int64(1)})
	}
	chunks := int64(c.stale / 20)
	for i := range chunks {
		ls := make([]string, 20)
		for j := range ls {
			id := fmt.Sprintf("id-%06d", n)
			ls[j] = "0 " + id
			b.mem.Set(dynamo.Item{"pk": "I#p#" + id, "sk": "I", dynamo.AttrState: dynamo.StateFree, dynamo.AttrGeneration: int64(0), dynamo.AttrJob: "setup"})
			n++
		}
		b.mem.Set(dynamo.Item{"pk": fmt.Sprintf("P#p#1#%d", i), "sk": "C", dynamo.AttrListings: ls, dynamo.AttrBefore: i * 20, dynamo.AttrSeeded: int64(20), dynamo.AttrSource: "s"})
	}
	b.edit(dynamo.Key{PK: "P#p", SK: "H"}, func(h dynamo.Item) {
		h[dynamo.AttrNext], h[dynamo.AttrTail] = chunks, chunks
		h[dynamo.AttrPublished], h[dynamo.AttrSeeded] = chunks*20, int64(n)
		h[dynamo.AttrLeasedAt] = now
	})
	b.clock.Advance(15 * time.Minute)
	return b
}

func TestTheCostOfASweepIsBoundedAndNoKindOfWorkWaitsForAnother(t *testing.T) {
	c := crowd{stale: 100_000, holds: 5_000, over: 5_000, released: 5_000, voids: 2_000}
	if raced {
		c.stale = 20_000
	}
	b := crowded(t, c)
	s := b.open()
	var sum alloc.SweepReport
	runs := 0
	for more := true; more; runs++ {
		if runs == 40 {
			t.Fatalf("after %d runs there is work left: %+v", runs, sum)
		}
		b.mem.ResetUsage()
		r, err := s.Sweep(t.Context(), "p")
		if err != nil {
			t.Fatal(err)
		}
		u := b.mem.Usage()
		if r.Calls != alloc.Count(u.RoundTrips()) || r.Writes != alloc.Count(u.Writes()) {
			t.Errorf("run %d: reported %d calls and %d writes, made %d and %d", runs, r.Calls, r.Writes, u.RoundTrips(), u.Writes())
		}
		if r.Calls > mostCalls {
			t.Errorf("run %d: got %d calls, want at most %d", runs, r.Calls, mostCalls)
		}
		if runs == 0 && (r.Relisted == 0 || r.Returned == 0 || r.Voided == 0) {
			t.Errorf("the first run: got %+v, want something of every kind", r)
		}
		t.Logf("run %d: %+v", runs, r)
		sum.Relisted, sum.Returned, sum.Voided = sum.Relisted+r.Relisted, sum.Returned+r.Returned, sum.Voided+r.Voided
		more = r.More
	}
	if sum.Relisted != alloc.Count(c.stale) || sum.Returned != 10_000 || sum.Voided != 2_000 {
		t.Errorf("%d runs: got %+v, want %d listed again, each once, 10000 returned, 2000 settled", runs, sum, c.stale)
	}
	b.level(alloc.Level{Seeded: alloc.Count(c.stale) + 15_000, Available: alloc.Count(c.stale) + 10_000, Held: 5_000})
}

func TestASweepOfAnIdlePoolMakesFewCalls(t *testing.T) {
	b := filled(t, 1000, alloc.PoolConfig{})
	b.clock.Advance(15 * time.Minute)
	b.sweep()
	b.clock.Advance(time.Minute)
	r, err := b.open().Sweep(t.Context(), "p")
	if err != nil || r.More || r.Calls > 10 || r.Writes > 4 {
		t.Errorf("got %+v and %v, want at most 10 calls, 4 of them writes", r, err)
	}
}

// What cannot be done, for whatever reason, keeps nothing else waiting: not the same kind of work, nor another.
func TestWhatFailsInASweepKeepsNothingElseWaiting(t *testing.T) {
	b := crowded(t, crowd{stale: 2_000, released: 1_400, voids: 3})
	b.table.Plan(func(c dynamotest.Call) dynamotest.Fault { // of the first page, and of the voids
		if c.Op == dynamotest.OpUpdate && (c.Key() == idItem("id-000003") || c.Key().PK == "K#h0000") {
			return dynamotest.Refused
		}
		return dynamotest.None
	})
	var sum alloc.SweepReport
	for range 8 {
		r, err := b.open().Sweep(t.Context(), "p")
		sum.Relisted, sum.Returned, sum.Voided = sum.Relisted+r.Relisted, sum.Returned+r.Returned, sum.Voided+r.Voided
		_ = err // some of them fail
		b.clock.Advance(time.Minute)
	}
	if sum.Relisted != 2_000 || b.census()[alloc.StateReturning] != 1 || sum.Voided != 2 {
		t.Errorf("got %+v and %v, want all done but for one return and one key", sum, b.census())
	}
	b.table.Plan(nil)
	b.sweep()
	b.level(alloc.Level{Seeded: 3_400, Available: 3_400})
}

func (b *bench) census() map[alloc.State]alloc.Count { return census(b.TB, b.mem.Items(), "p") }
