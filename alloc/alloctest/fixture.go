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

	// DropCounter removes what holds a sequence's counter; the ledger, the mark and the copy stay.
	DropCounter func(t testing.TB, name alloc.SequenceName)

	// Damage does harm to the data itself, past every Store and whatever protects it there. It reports whether the engine has
	// anything of that kind to lose: false, with nothing changed, where its form does not let that harm be. What it
	// reports is the same each time. What is named must be there: the test is stopped where it is not.
	Damage func(t testing.TB, d Damage) (done bool)

	// Clone makes another engine that has all data of this one, as a backup that is restored beside it does. Nobody is at work meanwhile.
	Clone func(t testing.TB) Fixture

	// Through is Open of a process that asks gate before each call that it makes of what keeps its data, and does with it what gate says:
	// Pass, RefusedUnknown or AppliedButFailed. So it can be cut off in the middle of a step. nil where a step cannot be cut in two.
	Through func(t testing.TB, now func() time.Time, gate func() Fault) alloc.Store

	// Snapshot keeps a copy of all data, and returns what puts the data back to it, as the restore of a backup does: what was
	// written since is gone. It may be put back several times. No Store is at work meanwhile; those that are open stay so, with what
	// they have in memory.
	Snapshot func(t testing.TB) (restore func(t testing.TB))
}

// Damage is one harm that is done to stored data.
type Damage struct {
	Kind     DamageKind
	Pool     alloc.PoolName
	ID       alloc.ID
	Sequence alloc.SequenceName
	Number   alloc.Number
	Month    string
	Position int64
}

// DamageKind is what is harmed.
type DamageKind string

// The kinds. All else stays as it is.
const (
	// Of Pool.
	LoseHead  DamageKind = "lose head"  // what holds its configuration, its state and where its queue stands; the copy stays
	LoseCopy  DamageKind = "lose copy"  // the copy of its configuration that is kept apart; its name stays known
	LoseQueue DamageKind = "lose queue" // all that lists its free IDs, beside their own records
	SkewCount DamageKind = "skew count" // it counts one ID more as seeded than there ever were

	// Of ID in Pool.
	LoseID    DamageKind = "lose ID"    // its own record is gone; where it was listed it stays so
	LoseTrace DamageKind = "lose trace" // its own record is gone, and nothing lists it

	// Of Sequence.
	LoseSequenceCopy DamageKind = "lose sequence copy" // the copy of its configuration that is kept apart; its name stays known
	LoseMark         DamageKind = "lose mark"          // its high-water mark, with nothing else that is kept beside it
	CutLedger        DamageKind = "cut ledger"         // all entries of its ledger that start at Number or above
	DamageLease      DamageKind = "damage lease"       // the entry of its ledger that starts at Number cannot be read any more

	// Of the record of the trail that stands in Month at Position. The ends of the months, as Trail.Months tells them, stay.
	LoseRecord   DamageKind = "lose record"   // it is gone
	ChangeRecord DamageKind = "change record" // its Detail is "changed by hand", and its Hash as it was
)
