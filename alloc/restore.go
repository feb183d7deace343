package alloc

import (
	"context"
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
	CarryKnown  CarryOutcome = "known"   // it was, or is further on, or nobody has it
	CarryClash  CarryOutcome = "clash"   // somebody else has taken it since the restore: an ID that is in two hands; nothing was changed
	CarryBehind CarryOutcome = "behind"  // what was said is of an earlier life, which is over: nothing to do

	CarryUnreadable CarryOutcome = "unreadable" // of a lease in the old table, or in a log: it could not be carried, as its entry cannot be read
)

// Restores is the way back after a backup was restored.
type Restores interface {
	// Stock returns IDs of the pool that are free, in about the order in which they would be handed out, from the mark on ("" from the beginning), and the mark
	// to go on from, "" at the end. A page may be empty and yet not the last. It surely meets each ID that is free all the time. CodePoolNotFound, CodePoolDamaged.
	Stock(ctx context.Context, pool PoolName, mark string, limit int) (page []IDRecord, next string, err error)

	// Carry makes each ID what the record says of it, as Standing.Carry decides, by one conditional write an ID. point is the time to which
	// the backup was restored. An ID that the pool does not know is added, and counted as seeded. A repeat is a success, and none of it a clash, as
	// long as nobody has taken or settled the ID in between. What it makes of an ID has its IDRecord.Changed of then. Of one ID several records are carried in their order. What is carried cannot be had by any
	// claim from then on, whatever stock lies in whose memory. At most 1,000 records. CodePoolNotFound, CodePoolDeleted, CodePoolRebuilding, CodePoolDamaged.
	Carry(ctx context.Context, pool PoolName, point time.Time, taken []IDRecord) ([]CarryOutcome, error)

	// LookUp reads IDs, strongly, and returns those that the pool knows, as Inspect does, in whatever order. At most 1,000. CodePoolNotFound, CodePoolDamaged.
	LookUp(ctx context.Context, pool PoolName, ids []ID) ([]IDRecord, error)

	// CarryLeases enters each lease into the ledger, as LeaseRecord.Carries decides by the entries that are there, by a conditional write each: so a rebuild
	// begins above them, and above what is there. What it enters has its LeaseRecord.Carried of then. No two begin at the same number. A repeat is a success, and its outcomes are CarryKnown, or CarryClash as before.
	// At most 1,000. CodeRebuildStep while somebody may lease (Sequence.CheckCarry), CodeSequenceNotFound, CodeSequenceDeleted.
	CarryLeases(ctx context.Context, name SequenceName, leases []LeaseRecord) ([]CarryOutcome, error)
}

// Old is what is read of the old table, where that is still there.
type Old interface {
	LookUp(ctx context.Context, pool PoolName, ids []ID) ([]IDRecord, error)
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
	AtMost   *Count    // of a pool: of RestoreBurn, nil for all; of RestoreLog required. See JobSpec
	Why      string
	Intent   Token
}
