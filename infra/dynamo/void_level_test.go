package dynamo_test

import (
	"testing"
	"testing/synctest"

	"idpool/alloc"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

// A row of chunks was voided, of which all but the first said that what was voided stands before them. An environment leases some
// of them and is gone: the level is what it was, and a refill does not lift the pool above its UpTo.
func TestVoidedChunksTellTheLevelThatIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.pool(alloc.PoolConfig{MaxBatch: 1000})
		b.seed(b.open(), "setup", someIDs(5))
		b.leaveAtTheTail()
		b.seed(b.open(), "plain", []alloc.ID{"one", "two", "three"})
		b.sweep()
		b.says(8, 8)
		one := b.open()
		for range 5 {
			b.claim(one, want(1))
		}
		gone := false
		table := dynamotest.NewFaults(b.mem, func(c dynamotest.Call) dynamotest.Fault {
			if gone = gone || b.head().Int(dynamo.AttrNext) == 12; gone {
				return dynamotest.LostRequest
			}
			return dynamotest.None
		})
		if _, err := processAt(t, table, b.clock.Now).Claim(t.Context(), want(1)); err == nil {
			t.Fatal("it got an ID")
		}
		b.says(3, 8)
		var later []alloc.ID
		for _, id := range someIDs(20) {
			later = append(later, "later-"+id)
		}
		b.fill(alloc.SeedBatch{Pool: "p", Job: "later", IDs: later, UpTo: 10})
		if n := len(b.drain(b.open())); n > 10 {
			t.Errorf("a refill up to 10 has lifted the pool to %d that can be claimed", n)
		}
	})
}
