// Package alloctest is the proof that an alloc.Store keeps its contract: a conformance suite that every Store passes, a
// plain reference model, and a wrapper that injects faults. Only tests import it.
package alloctest

import (
	"testing"
	"time"

	"idpool/alloc"
)

// Fixture is one empty engine under test.
type Fixture struct {
	// Open returns a Store over the fixture's data as a new process would have it: with nothing in memory. A nil now is
	// time.Now. What needs closing is closed by t.Cleanup.
	Open func(t testing.TB, now func() time.Time) alloc.Store

	// Census counts the pool's IDs by state from the data itself, not through a Store.
	Census func(t testing.TB, pool alloc.PoolName) map[alloc.State]alloc.Count

	// SetCounter sets a sequence's counter by hand, so that next would be handed out next, as an operator's mistake or
	// the restore of one item would.
	SetCounter func(t testing.TB, name alloc.SequenceName, next alloc.Number)

	// DropCounter removes what holds a sequence's counter; the ledger stays.
	DropCounter func(t testing.TB, name alloc.SequenceName)
}
