package dynamo_test

import (
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

// manyHolds are more than one sweep looks at.
const manyHolds = 10_500

// holdMany claims that many for a time.
func (b *bench) holdMany(s *dynamo.Store, hold time.Duration) (ids []alloc.ID) {
	b.Helper()
	for range manyHolds / 500 {
		ids = append(ids, b.claim(s, wantHold(500, hold)).IDs...)
	}
	return ids
}

func TestMoreHoldsThanOneSweepLooksAtAreCountedByTheNext(t *testing.T) {
	const spare = 500
	b := filled(t, manyHolds+spare, alloc.PoolConfig{MaxBatch: 1000})
	b.holdMany(b.open(), time.Hour)
	b.clock.Advance(3 * time.Minute)
	r, err := b.open().Sweep(t.Context(), "p")
	if err != nil || !r.More {
		t.Fatalf("the first sweep: got %+v and %v, want it to have left something", r, err)
	}
	for range 3 { // from where it stopped, then from the beginning again
		b.sweep()
		b.level(alloc.Level{Seeded: manyHolds + spare, Available: spare, Held: manyHolds})
	}
	b.clock.Advance(time.Hour)
	b.sweep()
	b.level(alloc.Level{Seeded: manyHolds + spare, Available: manyHolds + spare})
}

func TestOfManyHoldsBesideAnOpenChunkEachIsCountedOnceAndThoseThatLackAReturnItemGetOne(t *testing.T) {
	const spare = 500
	b := filled(t, manyHolds+spare, alloc.PoolConfig{MaxBatch: 1000})
	b.claim(b.open(), want(1)) // 19 of its chunk stay in its stock: the window begins there, and all that is held stands in it
	ids := b.holdMany(b.open(), time.Hour)
	level := alloc.Level{Seeded: manyHolds + spare, Available: spare - 1, Held: manyHolds, Claimed: 1}
	puts := func() (n int) {
		for _, c := range b.table.Seen() {
			if c.Op == dynamotest.OpPut && isReturnItem(c) {
				n++
			}
		}
		return n
	}
	puts()
	for range 2 {
		b.sweep()
		b.level(level)
	}
	if n := puts(); n > 0 {
		t.Errorf("return items that were put again: got %d, want none", n)
	}
	for _, id := range []alloc.ID{ids[7], ids[manyHolds/2], ids[manyHolds-7]} { // their holder was cut off
		b.mem.Drop(dynamo.Key{PK: "P#p#R", SK: "I#" + string(id) + "#0"})
	}
	for range 2 {
		b.sweep()
		b.level(level)
	}
	if n := puts(); n != 3 {
		t.Errorf("return items that were put: got %d, want the 3 that lacked", n)
	}
	b.clock.Advance(time.Hour + time.Minute)
	b.sweep()
	b.level(alloc.Level{Seeded: manyHolds + spare, Available: manyHolds + spare - 1, Claimed: 1})
}

func TestADeletedPoolWithManyHoldsFinishesWhatIsOnItsWay(t *testing.T) {
	b := filled(t, manyHolds, alloc.PoolConfig{MaxBatch: 1000})
	ids := b.holdMany(b.open(), alloc.MaxHold)
	last := ids[manyHolds-1] // it stands behind all that one run looks at
	c := b.mem.Item(idItem(last))
	b.mem.Set(dynamo.Item{"pk": "K#h", "sk": "K", "s": dynamo.RecordVoid, "t": "T", "v": int64(2), "fp": "f", "l": []string{}, "a": int64(1)})
	b.mem.Set(dynamo.Item{"pk": "P#p#R", "sk": "V#h#T", dynamo.AttrReason: dynamo.ReasonVoid, "k": "h", "t": "T", "v": int64(1), "d": int64(1)})
	for _, to := range []alloc.PoolState{alloc.PoolPaused, alloc.PoolDeleted} {
		if _, err := b.open().SetPoolState(t.Context(), "p", 0, to); err != nil {
			t.Fatal(err)
		}
	}
	b.settle(b.open(), alloc.EventRelease, alloc.Token(c.Str(dynamo.AttrToken)), last)
	r, err := b.open().Sweep(t.Context(), "p")
	if err != nil || r.Voided != 1 {
		t.Errorf("the first sweep: got %+v and %v, want it to have settled the key that was given up", r, err)
	}
	b.sweep()
	if got := b.stateOf(last); got != alloc.StateFree {
		t.Errorf("the released ID: got %s, want it free", got)
	}
	for _, id := range ids[:3] {
		if got := b.stateOf(id); got != alloc.StateHeld {
			t.Errorf("%s: got %s, want it held", id, got)
		}
	}
	if n := len(b.returns()); n != manyHolds-1 {
		t.Errorf("return items: got %d, want those of the %d holds", n, manyHolds-1)
	}
}

// confirmedByHand confirms a hold as one does that is cut off before it has removed the return item.
func (b *bench) confirmedByHand(id alloc.ID) {
	b.Helper()
	b.edit(idItem(id), func(it dynamo.Item) {
		it[dynamo.AttrState] = dynamo.StateClaimed
		delete(it, dynamo.AttrHoldEnd)
	})
}

func TestOfManyHoldsASweepReadsTheIDsOfAFewAndOfAllInTurn(t *testing.T) {
	const spare = 500
	b := filled(t, manyHolds+spare, alloc.PoolConfig{MaxBatch: 1000})
	s := b.open()
	ids := b.holdMany(s, alloc.MaxHold)
	b.clock.Advance(3 * time.Minute)
	b.sweep()
	for _, id := range ids[:5] {
		b.confirmedByHand(id)
	}
	const runs = 2 * (manyHolds/500 + 1) // each sweep takes two, of the same minute
	reads := 0
	b.table.Seen()
	for range runs / 2 {
		b.clock.Advance(time.Minute)
		b.sweep()
		for _, c := range b.table.Seen() {
			if c.Key().SK == "I" && !c.Write() {
				reads += len(c.Keys)
			}
		}
	}
	if reads > 2*manyHolds {
		t.Errorf("%d sweeps of %d holds read %d IDs, want each about once", runs/2, manyHolds, reads)
	}
	b.level(alloc.Level{Seeded: manyHolds + spare, Available: spare, Held: manyHolds - 5, Claimed: 5})
	if n := len(b.returns()); n != manyHolds-5 {
		t.Errorf("return items: got %d, want those of the %d holds", n, manyHolds-5)
	}
}

func TestWhoeverEndsAHoldRemovesItsReturnItem(t *testing.T) {
	for _, policy := range keepAndForget {
		for _, e := range []alloc.Event{alloc.EventConfirm, alloc.EventRetire} {
			for _, n := range []alloc.Count{1, 3} {
				b := filled(t, 20, alloc.PoolConfig{Policy: policy})
				gone, stays := b.claim(b.open(), wantHold(n, time.Hour)), b.claim(b.open(), wantHold(1, time.Hour))
				b.settle(b.open(), alloc.EventRelease, gone.Token, gone.IDs...)
				b.sweep() // what comes next is of their second generation, or of other IDs
				for range 20 / n {
					c, err := b.open().Claim(t.Context(), wantHold(n, time.Hour))
					if err != nil {
						break
					}
					b.settle(b.open(), e, c.Token, c.IDs...)
				}
				if got := b.returns(); len(got) != 1 || got[0].Str(dynamo.AttrID) != string(stays.IDs[0]) {
					t.Errorf("%s of %d, %s: return items: got %v, want that of %s alone", e, n, policy, got, stays.IDs[0])
				}
			}
		}
	}
}
