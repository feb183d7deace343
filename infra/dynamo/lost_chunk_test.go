package dynamo_test

import (
	"testing"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// TestALostChunkIsToldOfWhenClaimsHavePassedIt loses three chunks in the middle of the queue. Claims go on with others, the evidence has the
// chunks from when they are near, and the next sweep says so once claims have passed them, for as long as they are not rebuilt.
func TestALostChunkIsToldOfWhenClaimsHavePassedIt(t *testing.T) {
	b := filled(t, 8000, alloc.PoolConfig{}) // 400 chunks
	for _, n := range []string{"150", "151", "152"} {
		b.mem.Drop(dynamo.Key{PK: "P#p#1#" + n, SK: "C"})
	}
	seen := func() int {
		e, err := b.open().PoolEvidence(t.Context(), "p")
		if err != nil {
			t.Fatal(err)
		}
		return len(e.Damage)
	}
	if n := seen(); n != 0 {
		t.Errorf("the evidence says %d things of chunks that are far off", n)
	}
	var given []alloc.ID
	s := b.open()
	for b.head().Int(dynamo.AttrNext) <= 160 {
		given = append(given, b.claim(s, want(10)).IDs...)
		if n := b.head().Int(dynamo.AttrNext); n > 60 && n < 150 && seen() != 3 {
			t.Fatalf("the evidence says %d things while chunk %d is leased next, want 3", seen(), n)
		}
	}
	for range 2 {
		_, err := b.open().Sweep(t.Context(), "p")
		refused(t, err, alloc.CodePoolDamaged)
	}
	if n := seen(); n != 3 {
		t.Errorf("the evidence says %d things after they were passed, want 3", n)
	}
	b.rebuild("j")
	b.sweep()
	if n := seen(); n != 0 {
		t.Errorf("the evidence says %d things after the rebuild", n)
	}
	b.level(alloc.Level{Available: alloc.Count(8000 - len(given)), Seeded: 8000, Claimed: alloc.Count(len(given))})
	for range 30 {
		given = append(given, b.claim(s, want(100)).IDs...)
	}
	distinct(t, given)
}
