package dynamotest

import (
	"strings"
	"testing"

	"idpool/infra/dynamo"
)

// Each condition of the way back of sequences, left out.
var sequenceRebuildMutants = []mutant{
	{
		name: "a lease does not test that the counter stands at the mark", schedule: caseBelowMark,
		call: weakened(isIncrement, func(c dynamo.Cond) dynamo.Cond {
			return withoutOp(c, dynamo.OpGe, attrLast)
		}),
	},
	{
		name: "a step of a rebuild does not test that no other was made", schedule: caseLateFreeze,
		call: weakened(isStep, func(c dynamo.Cond) dynamo.Cond { return without(c, "rt", "rb", attrState) }),
	},
	{
		name: "a lease does not test the share of the callers", schedule: caseSharedLess,
		call: weakened(isIncrement, func(c dynamo.Cond) dynamo.Cond { return without(c, "shr") }),
	},
	{
		name: "a test does not test whose freeze it is", schedule: caseTestOfAnother,
		call: weakened(isIncrement, func(c dynamo.Cond) dynamo.Cond { return without(c, "rb") }),
	},
	{
		name: "a stop does not test the epoch, nor the state", runs: 600,
		call: weakened(func(c Call) bool {
			return c.Op == OpUpdate && c.Key() == counterKey && c.Update.Set[attrState] == "stopped" && c.Update.Set["rt"] == nil
		}, func(dynamo.Cond) dynamo.Cond { return dynamo.Exists("pk") }),
	},
	{
		name: "the mark is put whatever it was", schedule: caseLateMark,
		call: weakened(func(c Call) bool { return c.Op == OpPut && c.Key() == markKey }, func(dynamo.Cond) dynamo.Cond { return dynamo.Cond{} }),
	},
	{
		name: "a head is made anew whatever is there", schedule: caseLateRestart,
		call: weakened(func(c Call) bool { return c.Op == OpPut && c.Key() == counterKey }, func(dynamo.Cond) dynamo.Cond { return dynamo.Cond{} }),
	},
	{
		name: "the record of a rebuild is put whatever its version", runs: 600,
		call: weakened(func(c Call) bool { return c.Op == OpPut && c.Key() == rebuildKey }, func(dynamo.Cond) dynamo.Cond { return dynamo.Cond{} }),
	},
}

// weakened changes the condition of the calls that match.
func weakened(match func(Call) bool, weaken func(dynamo.Cond) dynamo.Cond) func(Call) Call {
	return func(c Call) Call {
		if match(c) {
			c.Cond = weaken(c.Cond)
		}
		return c
	}
}

// isStep tells whether the call is a step of a rebuild on a head that is there.
func isStep(c Call) bool {
	return c.Op == OpUpdate && c.Key() == counterKey && c.Update.Set["rt"] != nil
}

func isIncrement(c Call) bool {
	return c.Op == OpUpdate && c.Key() == counterKey && c.Update.Add != nil
}

// withoutOp returns the condition with the comparisons of the attribute by that operator taken out.
func withoutOp(c dynamo.Cond, op dynamo.Op, attr string) dynamo.Cond {
	if c.Op == op && c.Attr == attr {
		return dynamo.Cond{}
	}
	parts := make([]dynamo.Cond, len(c.Of))
	for i, p := range c.Of {
		parts[i] = withoutOp(p, op, attr)
	}
	if len(parts) > 0 {
		c.Of = parts
	}
	return c
}

func TestMutantsOfSequenceRebuildsAreCaught(t *testing.T) {
	for _, m := range sequenceRebuildMutants {
		t.Run(strings.ReplaceAll(m.name, ",", ""), func(t *testing.T) {
			t.Parallel()
			m.kind = rebuilds
			m.caught(t)
		})
	}
}
