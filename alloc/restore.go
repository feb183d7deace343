package alloc

import (
	"context"
	"slices"
	"time"
)

// RestoreSource is from what is known what was taken after the point to which a backup was restored.
type RestoreSource string

// The sources.
const (
	RestoreLog   RestoreSource = "log"   // a log that JobLog has written, received in parts
	RestoreTable RestoreSource = "table" // the old table, where it is still there: see Config.Old
	RestoreBurn  RestoreSource = "burn"  // nothing: what may have been taken is retired
)

// CarryOutcome is what became of one ID.
type CarryOutcome string

// The outcomes.
const (
	CarryDone   CarryOutcome = "carried" // it is now as it was said to be
	CarryKnown  CarryOutcome = "known"   // it was, or is further on
	CarryClash  CarryOutcome = "clash"   // somebody else has taken it since the restore, in the same generation: an ID that is in two hands
	CarryBehind CarryOutcome = "behind"  // what was said is of an earlier life: nothing to do

	CarryUnreadable CarryOutcome = "unreadable" // of a lease in the old table: it could not be carried, as its entry cannot be read
)

// carryOrder is the order of the states of one generation.
var carryOrder = []State{StateFree, StateHeld, StateClaimed, StateReturning, StateRetired}

// Carries is the one rule for what is to become of an ID that the pool has as r, of which the record says something: every Store
// calls it, and writes where it is CarryDone. What a burning has retired has no token and is nobody's; a burning takes nothing
// that has an owner.
func (r IDRecord) Carries(record IDRecord) CarryOutcome {
	switch {
	case record.Generation < r.Generation:
		return CarryBehind
	case record.State == StateFree:
		return CarryKnown
	case record.Generation > r.Generation, r.State == StateFree:
		return CarryDone
	case r.State == StateRetired && r.Token == "":
		return CarryKnown
	case r.Token != record.Token:
		return CarryClash
	case slices.Index(carryOrder, record.State) > slices.Index(carryOrder, r.State):
		return CarryDone
	}
	return CarryKnown
}

// Restores is the way back after a backup was restored.
type Restores interface {
	// Stock returns IDs of the pool that are free, in about the order in which they would be handed out, from the mark on ("" from the beginning), and the mark
	// to go on from, "" at the end. A page may be empty and yet not the last. It surely meets each ID that is free all the time. CodePoolNotFound, CodePoolDamaged.
	Stock(ctx context.Context, pool PoolName, mark string, limit int) (page []IDRecord, next string, err error)

	// Carry makes each ID what the record says of it, if that is ahead of what the pool has: a higher generation, or the same one and
	// a later state (free, held, claimed, returning, retired). An ID that the pool does not know is added with it, and counted as seeded. A record that says free changes nothing, unless the
	// pool does not know the ID: then it is added as retired, as it may have been taken since. It is one conditional write an ID that decides; a repeat is a success. At most 1,000
	// records. CodePoolNotFound, CodePoolDeleted, CodePoolRebuilding, CodePoolDamaged.
	Carry(ctx context.Context, pool PoolName, taken []IDRecord) ([]CarryOutcome, error)

	// CarryLeases enters leases into the ledger that it does not have, as they are; one that has the same start stays, unless the given one ends later. So a rebuild begins above them. A repeat
	// is a success. At most 1,000. CodeSequenceNotFound, CodeSequenceDeleted.
	CarryLeases(ctx context.Context, name SequenceName, leases []LeaseRecord) (entered int, err error)
}

// Old is what is read of the old table, where that is still there.
type Old interface {
	WalkIDs(ctx context.Context, pool PoolName, state State, mark string, limit int) (page []IDRecord, next string, err error)
	WalkLedger(ctx context.Context, name SequenceName, mark string, limit int) (page []LeaseRecord, next string, err error)
}

// LogRequest asks for a log of what was taken of a pool, or leased of a sequence: one of the two is named.
type LogRequest struct {
	Pool     PoolName
	Sequence SequenceName
	Since    time.Time
	Why      string
	Intent   Token
}

// RestoreRequest asks for a restore of a pool or a sequence: one of the two is named.
type RestoreRequest struct {
	Pool     PoolName
	Sequence SequenceName
	Source   RestoreSource
	Point    time.Time // to which the backup was restored; required
	AtMost   Count     // of RestoreBurn on a pool: see JobSpec
	Why      string
	Intent   Token
}
