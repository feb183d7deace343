package dynamotest

import (
	"context"
	"testing"

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

var poolMutants = []mutant{
	{
		name: "a claim does not test the state", runs: 500,
		call: untested(idTo(dynamo.StateClaimed), dynamo.AttrState),
	},
	{
		name: "a claim does not test the generation", runs: 20000,
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
		name: "a key record is replaced without its version", runs: 20000,
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
		name: "the window moves without its old value", runs: 5000,
		call: untested(movesWindow, dynamo.AttrLow),
	},
}

// apart splits the update that moves the window and raises the tail in one: the window first, the tail after it.
func apart(t dynamo.Table) dynamo.Table {
	return Through(func(ctx context.Context, c Call) Answer {
		if !movesWindow(c) {
			return c.Do(ctx, t)
		}
		lo := c
		lo.Update = dynamo.Update{Set: map[string]any{dynamo.AttrLow: c.Update.Set[dynamo.AttrLow]}}
		if a := lo.Do(ctx, t); a.Err != nil {
			return a
		}
		c.Update = cloneUpdate(c.Update)
		delete(c.Update.Set, dynamo.AttrLow)
		c.Cond = without(c.Cond, dynamo.AttrLow)
		return c.Do(ctx, t)
	})
}
