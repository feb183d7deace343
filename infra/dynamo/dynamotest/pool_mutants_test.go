package dynamotest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"idpool/infra/dynamo"
)

func TestMutantsOfPoolsAreCaught(t *testing.T) {
	for _, m := range poolMutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			m.kind = pools
			m.caught(t)
		})
	}
}

// on is a change of the calls that match.
func on(match func(Call) bool, change func(*Call)) func(Call) Call {
	return func(c Call) Call {
		if match(c) {
			change(&c)
		}
		return c
	}
}

// untested takes the tests of attributes out of the conditions of the calls that match.
func untested(match func(Call) bool, attrs ...string) func(Call) Call {
	return on(match, func(c *Call) { c.Cond = without(c.Cond, attrs...) })
}

// idTo is an update of any ID's item to one of the states.
func idTo(states ...string) func(Call) bool {
	return func(c Call) bool {
		if c.Op != OpUpdate || kindOf(c.Key()) != kindID {
			return false
		}
		for _, s := range states {
			if c.Update.Set[dynamo.AttrState] == s {
				return true
			}
		}
		return false
	}
}

// takesID is the update by which a claim takes an ID.
func takesID(c Call) bool {
	_, owner := c.Update.Set[dynamo.AttrToken]
	return owner && idTo(dynamo.StateClaimed, dynamo.StateHeld)(c)
}

var poolMutants = []mutant{
	{
		name: "a claim tests neither the state nor whether there is an owner", runs: 500,
		call: untested(takesID, dynamo.AttrState, dynamo.AttrToken),
	},
	{
		name: "a claim does not test whether there is an owner", schedule: caseFreeAndOwned,
		call: untested(takesID, dynamo.AttrToken),
	},
	{
		name: "a claim does not test the generation", schedule: caseLateClaim,
		call: untested(idTo(dynamo.StateClaimed), dynamo.AttrGeneration),
	},
	{
		name: "the way back does not test the token", runs: 5000,
		call: untested(idTo(dynamo.StateReturning), dynamo.AttrToken),
	},
	{
		name: "a key record is put over another", runs: 500,
		call: on(write(kindRecord, OpPut), func(c *Call) { c.Cond = dynamo.Cond{} }),
	},
	{
		name: "a key record is replaced without its version", schedule: caseTwoExchanges,
		call: untested(write(kindRecord, OpUpdate), dynamo.AttrVersion),
	},
	{
		name: "an ID is put over another", runs: 500,
		call: on(write(kindID, OpPut), func(c *Call) { c.Cond = dynamo.Cond{} }),
	},
	{
		name: "a chunk is put over another", runs: 2000,
		call: on(write(kindChunk, OpPut), func(c *Call) { c.Cond = dynamo.Cond{} }),
	},
	{
		name: "the tail is raised without its old value", runs: 5000,
		call: untested(updatesHead, dynamo.AttrTail),
	},
	{
		name: "stock is leased beyond the tail", runs: 500,
		call: untested(leasesStock, dynamo.AttrNext),
	},
	{
		name: "the head's updates do not test series and rebuild", schedule: caseP03(seedsOver, rebuildOver),
		call: untested(updatesHead, dynamo.AttrSeries, dynamo.AttrRebuild),
	},
	{
		name: "an ID is freed before it is published", runs: 5000, schedule: caseFreedBeforePublished,
		around: freedFirst,
	},
	{
		name: "the low mark moves apart from the tail", runs: 20000,
		around: apart,
	},
	{
		name: "the record of a void that never happened keeps its version", schedule: caseLateVoid,
		around: versionKept,
	},
	{
		name: "a return item is dropped by age", runs: 20000, schedule: caseP08,
		around: droppedByAge,
	},
	{
		name: "the return item of a void record comes after it", schedule: caseP12,
		around: voidFirst,
	},
	{
		name: "a void record expires", runs: 0, schedule: caseP12,
		call: on(recordTo(dynamo.RecordVoid), func(c *Call) { c.Update.Remove = nil }),
	},
	{
		name: "a claim does not know its own token", runs: 2000,
		answer: func(c Call, a Answer) Answer {
			if failed, ok := errors.AsType[*dynamo.ConditionFailed](a.Err); ok && kindOf(c.Key()) == kindID && failed.Old != nil {
				failed.Old[dynamo.AttrToken] = "somebody else's"
			}
			return a
		},
	},
	{
		name: "a key record is changed without its token", schedule: caseLateFailure,
		call: untested(write(kindRecord, OpUpdate), dynamo.AttrToken),
	},
	{
		// Against a rule of the protocol, that every change raises the version; see the next for what it is good for.
		name: "the record of a void key is ended without raising its version", runs: 2000,
		call: on(recordTo(dynamo.RecordFailed), func(c *Call) { c.Update.Add = nil }),
	},
	{
		// Every condition on a record's version also tests that it is live, and a record that has left that state never
		// returns to it, as a new one has a new token. So either of the two is enough, and both left out are too much.
		name:     "a record is ended without raising its version, and changed without a test of its state",
		schedule: caseRepeatedVoid,
		call: func(c Call) Call {
			c = untested(write(kindRecord, OpUpdate), dynamo.AttrState)(c)
			return on(recordTo(dynamo.RecordVoid, dynamo.RecordFailed), func(c *Call) { c.Update.Add = nil })(c)
		},
	},
}

// leasesStock is the update of the head that takes chunks.
func leasesStock(c Call) bool { return updatesHead(c) && c.Update.Add[dynamo.AttrNext] > 0 }

// apart splits the update that moves the window and raises the tail in one: the window first, the tail after it.
func apart(next dynamo.Table) dynamo.Table {
	return Through(func(ctx context.Context, c Call) Answer {
		if _, both := c.Update.Set[dynamo.AttrTail]; !both || !movesWindow(c) {
			return c.Do(ctx, next)
		}
		low := c
		low.Update = dynamo.Update{Set: map[string]any{dynamo.AttrLow: c.Update.Set[dynamo.AttrLow]}}
		if a := low.Do(ctx, next); a.Err != nil {
			return a
		}
		delete(c.Update.Set, dynamo.AttrLow)
		c.Cond = without(c.Cond, dynamo.AttrLow)
		return c.Do(ctx, next)
	})
}

// freedFirst frees an ID as soon as it is returning, before anything lists it.
func freedFirst(next dynamo.Table) dynamo.Table {
	return Through(func(ctx context.Context, c Call) Answer {
		a := c.Do(ctx, next)
		if a.Err == nil && idTo(dynamo.StateReturning)(c) {
			Call{
				Op: OpUpdate, Keys: c.Keys,
				Update: dynamo.Update{
					Set:    map[string]any{dynamo.AttrState: dynamo.StateFree},
					Add:    map[string]int64{dynamo.AttrGeneration: 1},
					Remove: []string{dynamo.AttrToken, dynamo.AttrTaken, dynamo.AttrBy, dynamo.AttrKey},
				},
				Cond: dynamo.All(dynamo.Eq(dynamo.AttrState, dynamo.StateReturning), dynamo.Eq(dynamo.AttrGeneration, a.Item.Int(dynamo.AttrGeneration))),
			}.Do(ctx, next)
		}
		return a
	})
}

// versionKept leaves out the write that only raises the version of a key record.
func versionKept(next dynamo.Table) dynamo.Table {
	return Through(func(ctx context.Context, c Call) Answer {
		if write(kindRecord, OpUpdate)(c) && len(c.Update.Set) == 0 && len(c.Update.Remove) == 0 {
			c = Call{Op: OpGet, Keys: c.Keys}
		}
		return c.Do(ctx, next)
	})
}

// droppedByAge drops return items that are older than ten minutes, whatever became of their IDs.
func droppedByAge(next dynamo.Table) dynamo.Table {
	return Through(func(ctx context.Context, c Call) Answer {
		a := c.Do(ctx, next)
		if c.Op != OpQuery || kindOf(c.Key()) != kindReturn {
			return a
		}
		a.Page.Items = slices.DeleteFunc(a.Page.Items, func(it dynamo.Item) bool {
			old := it.Int(dynamo.AttrDue) < time.Now().Add(-10*time.Minute).UnixMilli()
			if old {
				Call{Op: OpDelete, Keys: []dynamo.Key{it.Key()}}.Do(ctx, next)
			}
			return old
		})
		return a
	})
}

// voidFirst puts the return item of a void record after the record has become void.
func voidFirst(next dynamo.Table) dynamo.Table {
	var mu sync.Mutex
	waiting := map[string]Call{} // by the hash of the key
	return Through(func(ctx context.Context, c Call) Answer {
		if write(kindReturn, OpPut)(c) && c.Item.Str(dynamo.AttrReason) == dynamo.ReasonVoid {
			mu.Lock()
			defer mu.Unlock()
			waiting["K#"+c.Item.Str(dynamo.AttrKey)] = c
			return Answer{}
		}
		a := c.Do(ctx, next)
		if a.Err == nil && recordTo(dynamo.RecordVoid)(c) {
			mu.Lock()
			put := waiting[c.Key().PK]
			mu.Unlock()
			put.Do(ctx, next)
		}
		return a
	})
}
