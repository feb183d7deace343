package dynamotest

import (
	"context"
	"strings"
	"testing"

	"idpool/infra/dynamo"
)

func TestMutantsOfBatchesUpToALevelAreCaught(t *testing.T) {
	for _, m := range fillMutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			m.kind = fills
			m.caught(t)
		})
	}
}

var fillMutants = []mutant{
	{
		name: "a run that takes a batch over does not close the tail to the one before it", runs: 1000,
		around: tailLeftOpen,
	},
	{
		name: "an ID is let go whoever has taken it since", runs: 2000,
		call: untested(letsGo, dynamo.AttrTurn),
	},
	{
		name: "a run that was overtaken changes the record of the batch", runs: 1000,
		call: untested(updatesBatch, dynamo.AttrRun),
	},
	{
		name: "a chunk counts up to a level that was told by other counts", runs: 1000,
		call: untested(raisesTail, dynamo.AttrWindowFree, dynamo.AttrDead),
	},
}

// updatesBatch tells whether the call changes the record of a batch.
func updatesBatch(c Call) bool { return c.Op == OpUpdate && strings.HasPrefix(c.Key().PK, "J#") }

// letsGo is an update of an ID's item that lets it go.
func letsGo(c Call) bool {
	return write(kindID, OpUpdate)(c) && c.Update.Set[dynamo.AttrPut] == putLoose
}

func raisesTail(c Call) bool { return updatesHead(c) && c.Update.Set[dynamo.AttrTail] != nil }

// tailLeftOpen leaves out the empty chunk that closes the tail, and raises the tail over none.
func tailLeftOpen(next dynamo.Table) dynamo.Table {
	return Through(func(ctx context.Context, c Call) Answer {
		switch {
		case write(kindChunk, OpPut)(c) && len(listingsOf(c.Item)) == 0:
			return Answer{}
		case raisesTail(c) && c.Update.Add[dynamo.AttrPublished] == 0 && c.Update.Set[dynamo.AttrLow] == nil && len(c.Update.Remove) == 0:
			return Call{Op: OpGet, Keys: c.Keys}.Do(ctx, next)
		}
		return c.Do(ctx, next)
	})
}
