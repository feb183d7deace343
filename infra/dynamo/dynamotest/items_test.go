package dynamotest

import (
	"strconv"
	"strings"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// What the schedules, mutants and the model check know of the items: keys and a few attributes, as the comments of
// infra/dynamo give them.

// Of a sequence.
const attrLast = "last" // highest number leased

var counterKey = dynamo.Key{PK: "S#" + string(sequence), SK: "H"}

func isLedger(c Call) bool { return c.Key().PK == "S#"+string(sequence)+"#L" }

// isProof tells whether the call walks the ledger down from the end of a range; a listing begins at the top.
func isProof(c Call) bool { return c.Op == OpQuery && isLedger(c) && c.Query.To != "" }

// Of both.
const attrState = "st"

func isKeyRecord(c Call) bool { return strings.HasPrefix(c.Key().PK, "K#") }

// scriptConfig is what the Stores of schedules are made of, but for table and clock.
var scriptConfig = dynamo.Config{IntN: func(int) int { return 0 }}

// What an item of the pool is.
type itemKind int

const (
	kindOther itemKind = iota
	kindID
	kindHead
	kindChunk
	kindReturn
	kindRecord
	kindRebuild // where the pool's rebuild is
)

func kindOf(k dynamo.Key) itemKind {
	own := "P#" + string(pool)
	switch {
	case strings.HasPrefix(k.PK, "I#"+string(pool)+"#"):
		return kindID
	case k == dynamo.Key{PK: own, SK: "H"}:
		return kindHead
	case k == dynamo.Key{PK: own, SK: "M"}:
		return kindRebuild
	case strings.HasPrefix(k.PK, own+"#") && k.SK == "C":
		return kindChunk
	case k.PK == own+"#R":
		return kindReturn
	case strings.HasPrefix(k.PK, "K#"):
		return kindRecord
	}
	return kindOther
}

var headKey = dynamo.Key{PK: "P#" + string(pool), SK: "H"}

// stateForgotten is the state of an ID that a pool with PolicyForget has handed out without a key.
const stateForgotten alloc.State = "forgotten"

// putLoose is what dynamo.AttrPut says of an ID that is free and was let go.
const putLoose = "l"

// states are the states of ID items as stored.
var states = map[string]alloc.State{
	dynamo.StateFree: alloc.StateFree, dynamo.StateHeld: alloc.StateHeld, dynamo.StateClaimed: alloc.StateClaimed,
	dynamo.StateReturning: alloc.StateReturning, dynamo.StateRetired: alloc.StateRetired, dynamo.StateForgotten: stateForgotten,
}

func stateOf(it dynamo.Item) alloc.State { return states[it.Str(dynamo.AttrState)] }

func idOf(it dynamo.Item) alloc.ID {
	return alloc.ID(strings.TrimPrefix(it.Str("pk"), "I#"+string(pool)+"#"))
}

func idKey(id alloc.ID) dynamo.Key {
	return dynamo.Key{PK: "I#" + string(pool) + "#" + string(id), SK: "I"}
}

// chunkNumber is the place of a chunk in the queue.
func chunkNumber(k dynamo.Key) int64 {
	n, err := strconv.ParseInt(k.PK[strings.LastIndexByte(k.PK, '#')+1:], 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// chunkSeries is the series in which it stands.
func chunkSeries(k dynamo.Key) int64 {
	parts := strings.Split(k.PK, "#")
	n, err := strconv.ParseInt(parts[len(parts)-2], 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// listingsOf are the listings of a chunk or key record.
func listingsOf(it dynamo.Item) []listing {
	var list []listing
	for _, s := range it.List(dynamo.AttrListings) {
		g, id, _ := strings.Cut(s, " ")
		n, err := strconv.ParseInt(g, 36, 64)
		if err != nil {
			panic(err)
		}
		list = append(list, listing{alloc.ID(id), n})
	}
	return list
}

func chunkKey(n int64) dynamo.Key {
	return dynamo.Key{PK: "P#" + string(pool) + "#1#" + strconv.FormatInt(n, 10), SK: "C"}
}
