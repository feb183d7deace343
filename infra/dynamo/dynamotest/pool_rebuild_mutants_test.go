package dynamotest

import (
	"strings"
	"testing"

	"idpool/infra/dynamo"
)

func TestMutantsOfPoolRebuildsAreCaught(t *testing.T) {
	for _, m := range poolRebuildMutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			m.caught(t)
		})
	}
}

// isPage is the put of what a step lists.
func isPage(c Call) bool { return c.Op == OpPut && strings.HasPrefix(c.Key().SK, "M#") }

// isListedOfBatch is the put of what a step lists of a batch.
func isListedOfBatch(c Call) bool { return c.Op == OpPut && strings.HasPrefix(c.Key().SK, "T#") }

// marksHead is the update that marks the head, or takes a mark away.
func marksHead(c Call) bool {
	_, marks := c.Update.Set[dynamo.AttrRebuild]
	return updatesHead(c) && marks
}

// replacesHead is the put of the head of a new series.
func replacesHead(c Call) bool { return write(kindHead, OpPut)(c) && c.Item.Int(dynamo.AttrSeries) > 1 }

var poolRebuildMutants = []mutant{
	{
		name: "the head's updates do not test that no rebuild is on", kind: rebuilt, runs: 1000,
		call: untested(func(c Call) bool { return updatesHead(c) && !marksHead(c) }, dynamo.AttrRebuild),
	},
	{
		name: "the head is marked although it was opened since", kind: rebuilt, runs: 1000,
		call: untested(marksHead, dynamo.AttrAbandons),
	},
	{
		name: "a page is put over another", kind: rebuilt, runs: 1000,
		call: on(isPage, func(c *Call) { c.Cond = dynamo.Cond{} }),
	},
	{
		name: "what is listed of a batch that may go on is not written down", kind: rebuilt, runs: 3000,
		call: on(isListedOfBatch, func(c *Call) { c.Item[dynamo.AttrListings] = []string{} }),
	},
	{
		name: "a batch that is taken over when it is done does not say so", kind: rebuilt, runs: 5000,
		call: on(write(kindOther, OpUpdate), func(c *Call) { delete(c.Update.Set, dynamo.AttrAgain) }),
	},
	{
		name: "the head is replaced without its mark", kind: rebuilt, runs: 1000,
		call: untested(replacesHead, dynamo.AttrRebuild, dynamo.AttrSeries),
	},
}
