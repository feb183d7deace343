package dynamotest

import (
	"strings"

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
var scriptConfig = dynamo.Config{}
