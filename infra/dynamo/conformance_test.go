package dynamo_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

func TestStoreKeepsTheContractOnMemory(t *testing.T) { alloctest.Run(t, inMemory) }

func TestStoreAgreesWithTheModelOnMemory(t *testing.T) { alloctest.RunModel(t, inMemory) }

func TestStoreIsLinearizableOnMemory(t *testing.T) { alloctest.RunLinearizable(t, inMemory) }

func TestStoreTravelsInTimeOnMemory(t *testing.T) {
	alloctest.RunTimeTravels(t, alloctest.TimeTravels{Runs: 150, Bubble: true}, inMemory)
}

func inMemory(*testing.T) alloctest.Fixture { return onMemory(dynamotest.NewMemory()) }

func onMemory(mem *dynamotest.Memory) alloctest.Fixture {
	f := fixture(mem, func(testing.TB) []dynamo.Item { return mem.Items() })
	f.Clone = func(testing.TB) alloctest.Fixture {
		c := dynamotest.NewMemory()
		for _, it := range mem.Items() {
			c.Set(it)
		}
		return onMemory(c)
	}
	return f
}

// fixture is an engine on a table. items reads all that is in it, past every Store.
func fixture(table dynamo.Table, items func(testing.TB) []dynamo.Item) alloctest.Fixture {
	return alloctest.Fixture{
		Open: func(t testing.TB, now func() time.Time) alloc.Store {
			t.Helper()
			s, err := dynamo.New(dynamo.Config{Table: table, Now: now})
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		Census: func(t testing.TB, pool alloc.PoolName) map[alloc.State]alloc.Count {
			t.Helper()
			return census(t, items(t), pool)
		},
		SetCounter: func(t testing.TB, name alloc.SequenceName, next alloc.Number) {
			t.Helper()
			_, err := table.Update(t.Context(), dynamo.Key{PK: "S#" + string(name), SK: "H"},
				dynamo.Update{Set: map[string]any{"last": int64(next) - 1}}, dynamo.Exists("pk"))
			if err != nil {
				t.Fatal(err)
			}
		},
		DropCounter: func(t testing.TB, name alloc.SequenceName) {
			t.Helper()
			if _, err := table.Delete(t.Context(), dynamo.Key{PK: "S#" + string(name), SK: "H"}, dynamo.Exists("pk")); err != nil {
				t.Fatal(err)
			}
		},
		Through: func(t testing.TB, now func() time.Time, gate func() alloctest.Fault) alloc.Store {
			t.Helper()
			s, err := dynamo.New(dynamo.Config{Table: through(table, gate), Now: now})
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		Damage:   func(t testing.TB, d alloctest.Damage) bool { return damage(t, table, d) },
		Snapshot: func(t testing.TB) func(testing.TB) { return snapshot(t, table) },
	}
}

// through is the table for a process that asks gate before each call. One that it does not survive fails with a code on which nothing is
// tried again: nobody waits for it.
func through(table dynamo.Table, gate func() alloctest.Fault) dynamo.Table {
	return dynamotest.Through(func(ctx context.Context, c dynamotest.Call) dynamotest.Answer {
		switch gate() {
		case alloctest.Pass:
			return c.Do(ctx, table)
		case alloctest.AppliedButFailed:
			c.Do(context.WithoutCancel(ctx), table)
		}
		e := alloc.Errorf(alloc.CodeInternal, "the process is dead")
		e.Unknown = c.Write()
		return dynamotest.Answer{Err: e}
	})
}

// states names what the ID items say.
var states = map[string]alloc.State{
	dynamo.StateFree: alloc.StateFree, dynamo.StateHeld: alloc.StateHeld, dynamo.StateClaimed: alloc.StateClaimed,
	dynamo.StateReturning: alloc.StateReturning, dynamo.StateRetired: alloc.StateRetired,
}

// census counts a pool's IDs. What was taken from a pool that forgets counts as forgotten, though its item stays for a
// while; what a batch has let go is not in the pool.
func census(t testing.TB, items []dynamo.Item, pool alloc.PoolName) map[alloc.State]alloc.Count {
	t.Helper()
	forgets := false
	counts := map[alloc.State]alloc.Count{}
	for _, it := range items {
		if it.Str("pk") == "P#"+string(pool) && it.Str("sk") == "H" {
			forgets = it.Str(dynamo.AttrPolicy) == string(alloc.PolicyForget)
		}
	}
	for _, it := range items {
		if !strings.HasPrefix(it.Str("pk"), "I#"+string(pool)+"#") {
			continue
		}
		state := it.Str(dynamo.AttrState)
		if state == dynamo.StateFree && it.Str(dynamo.AttrPut) == "l" {
			continue
		}
		if forgets && (state == dynamo.StateClaimed || state == dynamo.StateForgotten) {
			continue
		}
		if states[state] == "" {
			t.Errorf("the item %v has no state that is known", it)
		}
		counts[states[state]]++
	}
	return counts
}
