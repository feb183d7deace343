package dynamotest

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"idpool/infra/dynamo"
)

// quiet is a test whose failures are kept, and fail nothing else.
type quiet struct {
	testing.TB
	mu       sync.Mutex
	failures []string
}

// failuresOf runs a test and returns what it failed with: nothing if it passed.
func failuresOf(t *testing.T, test func(t testing.TB)) []string {
	q := &quiet{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done) // a fatal failure ends this goroutine
		test(q)
	}()
	<-done
	return q.failures
}

func (q *quiet) fail(message string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.failures = append(q.failures, strings.TrimSpace(message))
}

func (q *quiet) Error(args ...any)                 { q.fail(fmt.Sprintln(args...)) }
func (q *quiet) Errorf(format string, args ...any) { q.fail(fmt.Sprintf(format, args...)) }
func (q *quiet) Fail()                             { q.fail("failed") }
func (q *quiet) FailNow()                          { q.fail("failed"); runtime.Goexit() }
func (q *quiet) Fatal(args ...any)                 { q.Error(args...); runtime.Goexit() }
func (q *quiet) Fatalf(format string, args ...any) { q.Errorf(format, args...); runtime.Goexit() }

func ofLedger(c Call) bool { return c.Op == OpQuery && c.Query.PK == countedPK+"#L" }

// alone makes a lease that proves itself, and the watch, meet no lease of another.
func alone(c Call, a Answer) Answer {
	if ofLedger(c) && c.Query.Descending {
		keep := 0
		if c.Query.To != "" { // the first is its own
			keep = min(len(a.Page.Items), 1)
		}
		a.Page.Items, a.Page.More = a.Page.Items[:keep], false
	}
	return a
}

// unmarked makes the high-water mark be absent.
func unmarked(a Answer) Answer {
	a.Items = slices.Clone(a.Items)
	for i, it := range a.Items {
		if it != nil && it.Key() == (dynamo.Key{PK: countedPK, SK: "W"}) {
			a.Items[i] = nil
		}
	}
	return a
}

// beginningOnly makes a walk over the ledger meet, of the leases from before any rebuild, the first few.
func beginningOnly(c Call, a Answer) Answer {
	if ofLedger(c) && !c.Query.Descending {
		a.Page.Items = slices.DeleteFunc(slices.Clone(a.Page.Items), func(it dynamo.Item) bool { return it.Int("ep") == 1 && it.Str("sk") > "00000000000000000020" })
	}
	return a
}

func isCounted(c Call) bool { return c.Key() == dynamo.Key{PK: countedPK, SK: "H"} }

// low makes a restart put the counter at the first number.
func low(c Call) Call {
	if _, restarts := c.Update.Set["base"]; restarts && isCounted(c) {
		c.Update.Set = maps.Clone(c.Update.Set)
		c.Update.Set["base"], c.Update.Set[attrLast] = int64(0), int64(0)
	}
	if _, restarts := c.Item["base"]; restarts && c.Op == OpPut && isCounted(c) {
		c.Item = maps.Clone(c.Item)
		c.Item["base"], c.Item[attrLast] = int64(0), int64(0)
	}
	return c
}

const (
	twice  = "and was given" // a number
	closed = "at last it is frozen"
)

// Stores that hand out a number twice when a sequence has come to harm, or would if nothing else held. said is what a play says of it.
var corruptionMutants = []struct {
	where string // the only harm with which it has to be caught; "" for any
	said  string
	mutant
}{
	{"", closed, mutant{name: "a restart puts the counter low", call: low}}, // the verification sees it, each time
	{"the counter is lost", twice, mutant{name: "a plan begins low, and nothing else is seen", answer: func(c Call, a Answer) Answer {
		return beginningOnly(c, unmarked(alone(c, a)))
	}}},
	{"the counter is set back", twice, mutant{name: "a counter that is set back is not seen", answer: func(c Call, a Answer) Answer {
		return unmarked(alone(c, a))
	}, call: weakened(func(c Call) bool { return c.Op == OpUpdate && c.Update.Add != nil && isCounted(c) }, func(c dynamo.Cond) dynamo.Cond {
		return withoutOp(c, dynamo.OpGe, attrLast)
	})}},
}

// The plays of the matrix find what a Store does wrong, by what they are there for.
func TestMutantsAreCaughtByWhatASequenceLoses(t *testing.T) {
	for _, m := range corruptionMutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			for i, h := range sequenceHarms {
				if m.where != "" && m.where != h.what {
					continue
				}
				failed := failuresOf(t, func(t testing.TB) { playSequence(t, uint64(i), []harm{h}, m.table) })
				if at := slices.IndexFunc(failed, func(s string) bool { return strings.Contains(s, m.said) }); at >= 0 {
					t.Logf("caught where %s: %s", h.what, failed[at])
					return
				}
			}
			t.Errorf("no play finds what is wrong with it")
		})
	}
}
