package sql

import (
	"fmt"
	"testing"
	"time"

	"idpool/alloc"
)

// A batch of a refill may wait for years until its last IDs are needed. In a pool that forgets, its first ones were handed out and
// forgotten by then, and only the batch's record tells: it is kept as long as there is something to add.
func TestABatchThatWaitsIsRemembered(t *testing.T) {
	s, path, now := clocked(t)
	forgetting(t, s, "by-hand")
	b := alloc.SeedBatch{Pool: "p", Job: "refill", UpTo: 11}
	for i := range 30 {
		b.IDs = append(b.IDs, alloc.ID(fmt.Sprintf("n-%02d", i)))
	}
	seen := map[alloc.ID]bool{}
	round := func(added int) {
		t.Helper()
		outcomes, err := s.Seed(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, o := range outcomes {
			if o == alloc.SeedAdded {
				n++
			}
		}
		if n != added {
			t.Errorf("%d IDs of the batch were added so far, want %d", n, added)
		}
		c, err := s.Claim(t.Context(), alloc.ClaimOrder{Pool: "p", Count: 11, By: "x"})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range c.IDs {
			if seen[id] {
				t.Errorf("%s was handed out twice", id)
			}
			seen[id] = true
		}
		*now = now.Add(seedRetention + 24*time.Hour)
		if _, err := s.Sweep(t.Context(), "p"); err != nil {
			t.Fatal(err)
		}
	}
	round(10)
	round(21)
	b.UpTo, b.IDs = 20, b.IDs[:30:30]
	if outcomes, err := s.Seed(t.Context(), b); err != nil || outcomes[29] != alloc.SeedAdded {
		t.Fatalf("%v, %v: want the last ones added", outcomes, err)
	}
	*now = now.Add(seedRetention + 24*time.Hour)
	if _, err := s.Sweep(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
	if left := ask[int](t, path, `SELECT count(*) FROM seed_batches`); left != 0 {
		t.Errorf("%d records of batches are left that have nothing to add", left)
	}
}
