package dynamo_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo/dynamotest"
)

// C33: a seeding without a key is cut off and sent again. That goes on with it: each ID is listed and counted once, so
// the level is exact, however often it is sent.
func TestAKeylessSeedingThatWasCutOffIsGoneOnWith(t *testing.T) {
	const n = 400
	for _, calls := range []int{1, 2, 20, 170, 200, 350, 420} {
		t.Run(fmt.Sprintf("after %d calls", calls), func(t *testing.T) {
			b := newBench(t)
			b.pool(alloc.PoolConfig{})
			batch := alloc.SeedBatch{Pool: "p", Job: "named-after-its-IDs", IDs: numbered(n), Keyless: true}
			made := make(chan struct{}, calls)
			table := dynamotest.Through(func(ctx context.Context, c dynamotest.Call) dynamotest.Answer {
				select {
				case made <- struct{}{}:
					return c.Do(ctx, b.mem)
				default:
					return dynamotest.Answer{Err: alloc.Errorf(alloc.CodeInternal, "the process is dead")}
				}
			})
			if _, err := processAt(t, table, b.clock.Now).Seed(t.Context(), batch); err == nil {
				t.Fatal("the seeding was not cut off")
			}
			for round, want := range []alloc.SeedOutcome{alloc.SeedAdded, alloc.SeedDuplicate, alloc.SeedDuplicate} {
				b.clock.Advance(time.Minute)
				outcomes, err := b.open().Seed(t.Context(), batch)
				if err != nil {
					t.Fatal(err)
				}
				for i, o := range outcomes {
					if o != want {
						t.Fatalf("sent again %d times, %q is %s, want %s", round+1, batch.IDs[i], o, want)
					}
				}
				b.settled(alloc.PolicyKeep, n, 0)
			}
		})
	}
}

func numbered(n int) []alloc.ID {
	ids := make([]alloc.ID, n)
	for i := range ids {
		ids[i] = alloc.ID(fmt.Sprintf("no-%04d", i))
	}
	return ids
}
