package dynamo_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo/dynamotest"
)

// TestASeedingThatGoesOnAfterARebuildReadsWhatIsOfItself cuts off a batch in a pool of 4,000 other IDs, rebuilds, and repeats the batch: it finds out what of
// it the rebuild has listed without the chunks of the others, and each of its IDs is counted and handed out once.
func TestASeedingThatGoesOnAfterARebuildReadsWhatIsOfItself(t *testing.T) {
	for _, at := range []int{0, 330, 700, 940} {
		b := filled(t, 4000, alloc.PoolConfig{})
		ids := make([]alloc.ID, 900)
		for i, id := range someIDs(900) {
			ids[i] = "cut-" + id
		}
		batch := alloc.SeedBatch{Pool: "p", Job: "cut", IDs: ids}
		if !b.cutOff(batch, at) {
			t.Fatalf("a batch of %d IDs has no write %d", len(ids), at)
		}
		b.rebuild("j")
		read := 0
		s := processAt(t, dynamotest.Through(func(ctx context.Context, c dynamotest.Call) dynamotest.Answer {
			for _, k := range c.Keys {
				if k.SK == "C" && !c.Write() && strings.HasPrefix(k.PK, "P#p#") {
					read++
				}
			}
			return c.Do(ctx, b.table)
		}), b.clock.Now)
		outcomes, err := s.Seed(t.Context(), batch)
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range outcomes {
			if o != alloc.SeedAdded {
				t.Fatalf("cut off at %d, %s is %s, want added", at, ids[i], o)
			}
		}
		if read > 20 {
			t.Errorf("cut off at %d, the repeat has read %d chunks, of more than 200", at, read)
		}
		t.Logf("cut off at %d, the repeat has read %d chunks", at, read)
		if again, err := b.open().Seed(t.Context(), batch); err != nil || again[0] != alloc.SeedAdded {
			t.Errorf("repeated once more: %v, %v", again[0], err)
		}
		b.sweep()
		b.level(alloc.Level{Available: 4900, Seeded: 4900})
		if met := b.walk(); len(met) != 4900 {
			t.Errorf("a walk met %d IDs, want 4900", len(met))
		}
	}
}

// What a rebuild has written down of a batch expires. A batch that goes on after that reads all chunks, and lists no ID twice.
func TestASeedingThatGoesOnLongAfterARebuildListsNoIDTwice(t *testing.T) {
	b := filled(t, 200, alloc.PoolConfig{})
	ids := make([]alloc.ID, 900)
	for i, id := range someIDs(900) {
		ids[i] = "cut-" + id
	}
	batch := alloc.SeedBatch{Pool: "p", Job: "cut", IDs: ids}
	if !b.cutOff(batch, 700) {
		t.Fatal("the batch has no write 700")
	}
	b.rebuild("j")
	b.clock.Advance(2*alloc.JobRetention + time.Minute)
	dropped := 0
	for _, it := range b.mem.Items() {
		if exp := it.Int("exp"); exp > 0 && exp <= b.clock.Now().Unix() {
			b.mem.Drop(it.Key())
			if strings.HasPrefix(it.Str("sk"), "T#") {
				dropped++
			}
		}
	}
	if dropped == 0 {
		t.Fatal("nothing of what the rebuild has written down of the batch has expired")
	}
	outcomes, err := b.open().Seed(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range outcomes {
		if o != alloc.SeedAdded {
			t.Fatalf("%s is %s, want added", ids[i], o)
		}
	}
	b.sweep()
	b.level(alloc.Level{Available: 1100, Seeded: 1100})
	if met := b.walk(); len(met) != 1100 {
		t.Errorf("a walk met %d IDs, want 1100", len(met))
	}
}
