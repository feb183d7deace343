package dynamotest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"idpool/infra/dynamo"
)

// trouble is what may happen at a single write: a fault, or the death of the process. Each leaves the client with an
// answer, or with an error after which it repeats.
type trouble struct {
	name string
	at   func(write int) func(Call) Fault
}

var troubles = []trouble{
	{Refused.String(), Refused.at},
	{LostRequest.String(), LostRequest.at},
	{AppliedButFailed.String(), AppliedButFailed.at},
	{Throttled.String(), Throttled.at},
	{Repeated.String(), Repeated.at},
	{Delayed.String(), Delayed.at},
	{"death before it", func(n int) func(Call) Fault { return death(n, LostRequest) }},
	{"death after it", func(n int) func(Call) Fault { return death(n, AppliedButFailed) }},
}

// at is a plan with the fault at one write.
func (f Fault) at(write int) func(Call) Fault { return Nth(write, Call.Write, f) }

// death is a plan by which one write is the last call: it has the fault, and nothing after it is made.
func death(write int, last Fault) func(Call) Fault {
	dead, plan := false, last.at(write)
	return func(c Call) Fault {
		if dead {
			return LostRequest
		}
		f := plan(c)
		dead = f != None
		return f
	}
}

// storeOn starts a process: a Store with nothing in memory over the table.
func storeOn(t testing.TB, table dynamo.Table) *dynamo.Store {
	t.Helper()
	config := scriptConfig
	config.Table = table
	store, err := dynamo.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// attempt is a table on which the n-th write goes wrong.
type attempt struct {
	mem    *Memory
	table  dynamo.Table // mem, or what a test put around it
	faults *Faults      // the same, with the fault
	plan   func(Call) Fault
	hit    bool

	// meanwhile, if it is not nil, is done once, by somebody else, just before the first ID is taken through faults.
	meanwhile func()
}

// watch puts a wrapper below the fault.
func (a *attempt) watch(t dynamo.Table) {
	a.table = t
	a.faults = NewFaults(t, func(c Call) Fault {
		if then := a.meanwhile; then != nil && idTo(dynamo.StateClaimed, dynamo.StateHeld)(c) {
			a.meanwhile = nil
			then()
		}
		f := a.plan(c)
		a.hit = a.hit || f != None
		return f
	})
}

// atEveryWrite runs the scenario once for every trouble at every write that it makes through attempt.faults. The
// scenario has a fresh table and a bubble of its own.
func atEveryWrite(t *testing.T, scenario func(t *testing.T, a *attempt)) {
	for _, trouble := range troubles {
		t.Run(trouble.name, func(t *testing.T) {
			writes := 0
			for hit := true; hit; writes++ {
				synctest.Test(t, func(t *testing.T) {
					a := &attempt{mem: NewMemory(), plan: trouble.at(writes)}
					a.watch(a.mem)
					scenario(t, a)
					hit = a.hit
				})
				if t.Failed() {
					t.Fatalf("with the fault at write %d", writes)
				}
				if writes > 200 {
					t.Fatal("the operation does not come to an end")
				}
			}
			if writes < 2 {
				t.Fatal("the operation makes no write")
			}
			t.Logf("%d writes", writes-1)
		})
	}
}

// again carries an operation out as a client does: once, and on an error once more in another process, undisturbed. It
// returns the answer that the client has in the end, and the error of the first attempt.
func again[T any](t *testing.T, a *attempt, f func(context.Context, *dynamo.Store) (T, error)) (result T, first error) {
	t.Helper()
	result, first = f(t.Context(), storeOn(t, a.faults))
	if first == nil {
		return result, nil
	}
	time.Sleep(2 * time.Second)
	result, err := f(t.Context(), storeOn(t, a.table))
	if err != nil {
		t.Fatalf("the repeat (after %v): %v", first, err)
	}
	return result, first
}
