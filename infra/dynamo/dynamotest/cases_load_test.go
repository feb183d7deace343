package dynamotest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// P15: for an hour, ten releases a second and two sweepers. Listings per free ID stay near one, and so do the chunks
// that a search has to read.
func TestP15AnHourOfReleasesAndTwoSweepers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := NewMemory()
		ctx := t.Context()
		admin := storeOn(t, mem)
		if _, _, err := admin.CreatePool(ctx, pool, alloc.PoolConfig{}.WithDefaults()); err != nil {
			t.Fatal(err)
		}
		const size = 2000
		if _, err := admin.Seed(ctx, alloc.SeedBatch{Pool: pool, Job: "job", IDs: ids("id", size)}); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(ctx, time.Hour)
		defer stop()
		for n := range 2 {
			sweeper := storeOn(t, mem)
			go func() {
				time.Sleep(time.Duration(n) * 17 * time.Second)
				for ctx.Err() == nil {
					if _, err := sweeper.Sweep(context.WithoutCancel(ctx), pool); err != nil {
						t.Errorf("sweeper %d: %v", n, err)
					}
					time.Sleep(time.Minute)
				}
			}()
		}
		clients := []*dynamo.Store{storeOn(t, mem), storeOn(t, mem), storeOn(t, mem)}
		most := 0.0
		for n := 0; ctx.Err() == nil; n++ {
			c, err := clients[n%len(clients)].Claim(context.WithoutCancel(ctx), order(1, ""))
			if err == nil {
				release := alloc.SettleOrder{Pool: pool, Event: alloc.EventRelease, IDs: c.IDs, Token: c.Token}
				if _, err := clients[(n+1)%len(clients)].Settle(context.WithoutCancel(ctx), release); err != nil {
					t.Fatalf("release %d: %v", n, err)
				}
			} else if !alloc.Is(err, alloc.CodePoolExhausted) && !alloc.Is(err, alloc.CodeBusy) {
				t.Fatalf("claim %d: %v", n, err)
			}
			time.Sleep(100 * time.Millisecond)
			if n%600 == 599 {
				most = max(most, listingsPerID(mem))
			}
		}
		synctest.Wait()
		time.Sleep(5 * time.Minute) // both sweepers have ended
		t.Logf("at most %.2f listings per ID", most)
		if most < 1 || most > 1.5 {
			t.Errorf("up to %.2f listings per ID, want one or little more", most)
		}
		for range 2 {
			if _, err := admin.Sweep(t.Context(), pool); err != nil {
				t.Fatal(err)
			}
		}
		l, err := admin.Level(t.Context(), pool)
		if err != nil || l.Available != size || l.Seeded != size {
			t.Errorf("in the end the level is %+v, %v; want all %d available", l, err, size)
		}
	})
}

// listingsPerID counts what the window lists of free IDs against how many are free.
func listingsPerID(mem *Memory) float64 {
	head := mem.Item(headKey)
	listings, free := 0, map[alloc.ID]bool{}
	for n := head.Int(dynamo.AttrLow); n < head.Int(dynamo.AttrTail); n++ {
		for _, l := range listingsOf(mem.Item(chunkKey(n))) {
			it := mem.Item(idKey(l.id))
			if stateOf(it) == alloc.StateFree && it.Int(dynamo.AttrGeneration) == l.g {
				listings++
				free[l.id] = true
			}
		}
	}
	return float64(listings) / float64(max(1, len(free)))
}
