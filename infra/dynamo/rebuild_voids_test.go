package dynamo_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"idpool/alloc"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

// TestARebuildReadsGivenUpKeysOfAllPoolsInBatches gives up 500 keys of 20 IDs of another pool, and one of this pool, whose return item is lost.
func TestARebuildReadsGivenUpKeysOfAllPoolsInBatches(t *testing.T) {
	b := filled(t, 20, alloc.PoolConfig{})
	own := b.claim(b.open(), wantKeyed(2, "own"))
	var listings []string
	for n := range 20 {
		listings = append(listings, fmt.Sprintf("0 other-%d", n))
	}
	for n := range 500 {
		b.mem.Set(dynamo.Item{
			"pk": fmt.Sprintf("K#%03d", n), "sk": "K", dynamo.AttrState: dynamo.RecordVoid, dynamo.AttrToken: fmt.Sprint("token", n),
			dynamo.AttrVersion: int64(1), dynamo.AttrListings: append([]string{fmt.Sprintf("0 first-%d", n)}, listings...),
		})
	}
	for _, it := range b.mem.Items() {
		if it.Str(dynamo.AttrToken) == string(own.Token) && it.Str("sk") == "K" {
			b.edit(it.Key(), func(it dynamo.Item) { it[dynamo.AttrState] = dynamo.RecordVoid })
		}
	}
	var mu sync.Mutex
	calls, between, most := 0, 0, 0
	note := func(c dynamotest.Call) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case c.Op == dynamotest.OpScan:
			between = 0
		case c.Op == dynamotest.OpGetMany:
			calls++
			between += len(c.Keys)
			most = max(most, between)
		}
	}
	s := processAt(t, dynamotest.Through(func(ctx context.Context, c dynamotest.Call) dynamotest.Answer {
		note(c)
		return c.Do(ctx, b.table)
	}), b.clock.Now)
	b.rebuildFrom(s, alloc.PoolRebuildOrder{Pool: "p", Job: "j"})
	if calls > 60 {
		t.Errorf("%d reads of several items, of 501 keys; want no more than some for each hundred", calls)
	}
	if most > 8*1100 {
		t.Errorf("%d items were read of one round of the scan", most)
	}
	b.sweep()
	b.level(alloc.Level{Available: 20, Seeded: 20})
	t.Logf("%d reads, of one round %d items", calls, most)
}
