package dynamotest

import (
	"context"
	"sync"
	"testing"

	"idpool/infra/dynamo"
)

func TestMutantsOfHoldsAndSettlingAreCaught(t *testing.T) {
	for _, m := range ownerMutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			m.kind = pools
			m.caught(t)
		})
	}
}

// confirms is the update of a confirmation: unlike that of a claim it sets no token.
func confirms(c Call) bool {
	_, claims := c.Update.Set[dynamo.AttrToken]
	return idTo(dynamo.StateClaimed)(c) && !claims
}

// expires is the update by which a hold is over: it tests the hold's end.
func expires(c Call) bool {
	return idTo(dynamo.StateReturning)(c) && tests(c.Cond, dynamo.AttrHoldEnd)
}

// releases is the update of a release, and of all else that comes back without having been held for a time.
func releases(c Call) bool {
	return idTo(dynamo.StateReturning)(c) && !tests(c.Cond, dynamo.AttrHoldEnd)
}

// tests tells whether a condition has a test of the attribute.
func tests(c dynamo.Cond, attr string) bool {
	if c.Attr == attr {
		return true
	}
	for _, part := range c.Of {
		if tests(part, attr) {
			return true
		}
	}
	return false
}

var ownerMutants = []mutant{
	{
		name: "a confirmation does not test the token", schedule: caseForeignToken,
		call: untested(confirms, dynamo.AttrToken),
	},
	{
		name: "a confirmation does not test the state", runs: 3000, schedule: caseLateConfirm,
		call: untested(confirms, dynamo.AttrState),
	},
	{
		name: "a retirement does not test the token", schedule: caseForeignToken,
		call: untested(idTo(dynamo.StateRetired), dynamo.AttrToken),
	},
	{
		name: "a retirement does not test the state", runs: 3000, schedule: caseLateRetire,
		call: untested(idTo(dynamo.StateRetired), dynamo.AttrState),
	},
	{
		name: "a release does not test the token", schedule: caseFrozenRelease,
		call: untested(releases, dynamo.AttrToken, dynamo.AttrGeneration),
	},
	{
		name: "a release puts its return item after it", runs: 5000, schedule: caseReleaseCutOff,
		around: returningFirst,
	},
	{
		// That it is held is tested too: so this takes a hold that goes on.
		name: "a hold expires without a test of its end", schedule: caseP04(renewsX),
		call: untested(expires, dynamo.AttrHoldEnd),
	},
	{
		name: "a hold expires whatever it has become", runs: 3000, schedule: caseP04(confirmsX),
		call: func(c Call) Call {
			if expires(c) {
				c.Cond = dynamo.All(without(c.Cond, dynamo.AttrHoldEnd, dynamo.AttrState), dynamo.Ne(dynamo.AttrState, dynamo.StateFree))
			}
			return c
		},
	},
	{
		name: "a hold is answered without a return item", runs: 500, schedule: caseP10,
		around: noReturnOfHolds,
	},
	{
		// A token owns an ID in one generation only, so either of the two is enough.
		name: "an ID is freed without its generation and token", schedule: caseLateFree,
		call: untested(idTo(dynamo.StateFree), dynamo.AttrGeneration, dynamo.AttrToken),
	},
	{
		name: "an ID that came back does not say from whom", schedule: caseLastToken,
		call: on(idTo(dynamo.StateFree), func(c *Call) { delete(c.Update.Set, dynamo.AttrLast) }),
	},
	{
		name: "an ID that came back says for ever from whom it did first", schedule: caseLastToken,
		around: firstStays,
	},
	{
		name: "the return item of a hold is deleted whatever is in its place", schedule: caseHoldsDeletion,
		call: untested(write(kindReturn, OpDelete), dynamo.AttrReason),
	},
	{
		name: "a pool that forgets does so with what is confirmed, and takes it back by any return item",
		runs: 500, schedule: caseReleaseBesideConfirm,
		call: func(c Call) Call {
			if _, forgets := c.Update.Set[dynamo.AttrExpires]; confirms(c) && forgets {
				c.Update.Set[dynamo.AttrState] = dynamo.StateForgotten
			}
			if bringsBack := !c.Update.Quiet; releases(c) && bringsBack {
				c.Cond = dynamo.Any(c.Cond, dynamo.All(without(c.Cond, dynamo.AttrState), dynamo.Eq(dynamo.AttrState, dynamo.StateForgotten)))
			}
			return c
		},
	},
	{
		// Against a rule of walks: what a batch lists of another's that was cut off is said to be in doubt.
		name: "a chunk of doubt does not say so", runs: 5000,
		call: on(write(kindChunk, OpPut), func(c *Call) { delete(c.Item, dynamo.AttrDoubt) }),
	},
	{
		name: "a record is not ended when an ID of it comes back", schedule: caseEndedRecord,
		around: notEnded,
	},
}

// returningFirst holds back the return item of a release until its ID is returning.
func returningFirst(next dynamo.Table) dynamo.Table {
	var mu sync.Mutex
	waiting := map[string]Call{} // by token
	return Through(func(ctx context.Context, c Call) Answer {
		if write(kindReturn, OpPut)(c) && c.Item.Str(dynamo.AttrReason) == dynamo.ReasonRelease {
			mu.Lock()
			defer mu.Unlock()
			waiting["I#"+string(pool)+"#"+c.Item.Str(dynamo.AttrID)] = c
			return Answer{}
		}
		a := c.Do(ctx, next)
		if a.Err == nil && releases(c) {
			mu.Lock()
			put, ok := waiting[c.Key().PK]
			delete(waiting, c.Key().PK)
			mu.Unlock()
			if ok {
				put.Do(ctx, next)
			}
		}
		return a
	})
}

// noReturnOfHolds says that the return items of holds are put, and puts none.
func noReturnOfHolds(next dynamo.Table) dynamo.Table {
	return Through(func(ctx context.Context, c Call) Answer {
		if write(kindReturn, OpPut)(c) && c.Item.Str(dynamo.AttrReason) == dynamo.ReasonHold {
			return Answer{}
		}
		return c.Do(ctx, next)
	})
}

// firstStays frees an ID without overwriting whom it came back from the first time.
func firstStays(next dynamo.Table) dynamo.Table {
	return Through(func(ctx context.Context, c Call) Answer {
		if idTo(dynamo.StateFree)(c) {
			if it, err := next.Get(ctx, c.Key()); err == nil && it.Bytes(dynamo.AttrLast) != nil {
				delete(c.Update.Set, dynamo.AttrLast)
			}
		}
		return c.Do(ctx, next)
	})
}

// notEnded leaves out the write that ends a key record.
func notEnded(next dynamo.Table) dynamo.Table {
	return Through(func(ctx context.Context, c Call) Answer {
		if recordTo(dynamo.RecordEnded)(c) {
			c = Call{Op: OpGet, Keys: c.Keys}
		}
		return c.Do(ctx, next)
	})
}
