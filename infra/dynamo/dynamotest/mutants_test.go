package dynamotest

import (
	"context"
	"testing"

	"idpool/infra/dynamo"
)

// mutant is the Store's protocol with one thing left out, made by changing its calls on their way to the table. Each
// must be caught: if the schedules find no fault in it, they prove nothing about the thing that was left out.
type mutant struct {
	name string
	kind kind
	runs int // schedules within which one breaks a promise

	call   func(Call) Call           // changes a call on its way; nil: not
	answer func(Call, Answer) Answer // changes an answer on its way back; nil: not
}

// table is the table through which the mutant sees the world.
func (m mutant) table(t dynamo.Table) dynamo.Table {
	return Through(func(ctx context.Context, c Call) Answer {
		if m.call != nil {
			c = m.call(c)
		}
		a := c.Do(ctx, t)
		if m.answer != nil {
			a = m.answer(c, a)
		}
		return a
	})
}

// without returns the condition with each test of one of the attributes taken out.
func without(c dynamo.Cond, attrs ...string) dynamo.Cond {
	for _, name := range attrs {
		if c.Attr == name {
			return dynamo.Cond{}
		}
	}
	if len(c.Of) > 0 {
		parts := make([]dynamo.Cond, len(c.Of))
		for i, p := range c.Of {
			parts[i] = without(p, attrs...)
		}
		c.Of = parts
	}
	return c
}

// caught plays schedules of the mutant until one breaks a promise.
func (m mutant) caught(t *testing.T) {
	for seed := uint64(1); seed <= uint64(m.runs); seed++ {
		if broken, _ := playSeed(t, m.kind, seed, m.table, false); len(broken) > 0 {
			t.Logf("caught by seed %d: %s", seed, broken[0])
			return
		}
	}
	t.Errorf("%d schedules found no fault in it", m.runs)
}

func TestMutantsOfSequencesAreCaught(t *testing.T) {
	for _, m := range sequenceMutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			m.kind = sequences
			m.caught(t)
		})
	}
}

var sequenceMutants = []mutant{
	{
		name: "proof left out", runs: 500,
		answer: func(c Call, a Answer) Answer {
			if isProof(c) {
				a.Page.Items = a.Page.Items[:min(len(a.Page.Items), 1)]
				for _, it := range a.Page.Items {
					it["pr"] = true
				}
			}
			return a
		},
	},
	{
		name: "the proof ends at any record, proven or not", runs: 5000,
		answer: func(c Call, a Answer) Answer {
			if isProof(c) {
				for _, it := range a.Page.Items {
					it["pr"] = true
				}
			}
			return a
		},
	},
	{
		name: "the record of a range replaces what is there", runs: 2000,
		call: func(c Call) Call {
			if c.Op == OpPut && isLedger(c) {
				c.Cond = dynamo.Cond{}
			}
			return c
		},
	},
	{
		name: "no test of the limit", runs: 2000,
		call: func(c Call) Call {
			if c.Op == OpUpdate && c.Key() == counterKey {
				c.Cond = without(c.Cond, attrLast)
			}
			return c
		},
	},
	{
		name: "no test of the state", runs: 2000,
		call: func(c Call) Call {
			if c.Op == OpUpdate && c.Key() == counterKey && c.Update.Add != nil {
				c.Cond = without(c.Cond, attrState)
			}
			return c
		},
	},
	{
		name: "the key's record replaces another", runs: 500,
		call: func(c Call) Call {
			if c.Op == OpPut && isKeyRecord(c) {
				c.Cond = dynamo.Cond{}
			}
			return c
		},
	},
}
