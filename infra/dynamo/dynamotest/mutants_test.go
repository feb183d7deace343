package dynamotest

import (
	"context"
	"slices"
	"testing"

	"idpool/infra/dynamo"
)

// mutant is the Store's protocol with one thing left out, made by changing its calls on their way to the table. Each
// must be caught: if the schedules find no fault in it, they prove nothing about the thing that was left out.
type mutant struct {
	name string

	// One of the three says what is different.
	call   func(Call) Call                      // changes a call on its way
	answer func(Call, Answer) Answer            // changes an answer on its way back
	around func(next dynamo.Table) dynamo.Table // anything

	// How it is caught: by random schedules, one of so many of them, or by the one written down. If both are given,
	// by both.
	kind     kind
	runs     int
	schedule func(*script)
}

// table is the table through which the mutant's Store sees the world.
func (m mutant) table(next dynamo.Table) dynamo.Table {
	if m.around != nil {
		return m.around(next)
	}
	return Through(func(ctx context.Context, c Call) Answer {
		if m.call != nil {
			c = m.call(c)
		}
		a := c.Do(ctx, next)
		if m.answer != nil {
			a = m.answer(c, a)
		}
		return a
	})
}

// without returns the condition with each test of one of the attributes taken out.
func without(c dynamo.Cond, attrs ...string) dynamo.Cond {
	if slices.Contains(attrs, c.Attr) {
		return dynamo.Cond{}
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

// caught fails the test unless each of the ways finds a broken promise.
func (m mutant) caught(t *testing.T) {
	if m.schedule != nil {
		failed, trace := play(t, m.table, m.schedule)
		if failed == "" {
			t.Errorf("the schedule finds no fault in it:\n%s", trace)
		} else {
			t.Logf("caught by the schedule: %s", failed)
		}
	}
	for seed := uint64(1); seed <= uint64(m.runs); seed++ {
		if broken := playSeed(t, m.kind, seed, m.table, false).broken; len(broken) > 0 {
			t.Logf("caught by seed %d: %s", seed, broken[0])
			return
		}
	}
	if m.runs > 0 {
		t.Errorf("%d schedules find no fault in it", m.runs)
	}
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
		name: "proof left out", runs: 500, schedule: caseP02(provesRecord, putsRecord),
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
		schedule: caseP02(provesRecord, walksLedger),
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
