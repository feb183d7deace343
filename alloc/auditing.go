package alloc

import "context"

// The verdicts of an audit.
const (
	VerdictHealthy  = "healthy"
	VerdictFindings = "findings"
)

// MaxFindings is how many findings an audit shows; it counts them all.
const MaxFindings = 100

// FindingKind is what an audit may find.
type FindingKind string

// The findings about pools.
const (
	FindHead         FindingKind = "head"          // the head is lost, or its marks contradict each other
	FindChunk        FindingKind = "chunk"         // a chunk below the tail is lost, or damaged
	FindCounts       FindingKind = "counts"        // seeded is not free + held + claimed + returning + retired + forgotten, or a count is off
	FindLostID       FindingKind = "lost_id"       // a chunk lists an ID that has no item
	FindUnlisted     FindingKind = "unlisted"      // a free ID is in no chunk that is still to be used: nobody can get it
	FindSetBack      FindingKind = "set_back"      // an ID is free that was taken, and has not come back: it was made free past the Store. Nobody is given it
	FindDamagedID    FindingKind = "damaged_id"    // an ID's item cannot be read, or says that it is free and has an owner: nobody is given it
	FindKey          FindingKind = "key"           // a key record and the IDs that it names do not fit
	FindOverdueHold  FindingKind = "overdue_hold"  // a hold is past its time for longer than two runs of the schedule
	FindNoReturn     FindingKind = "no_return"     // held, returning or given up, and nothing brings it back
	FindNothingHeard FindingKind = "nothing_heard" // claimed under a key whose answer was never given in its retention: nobody may know of it. For information
)

// The findings about sequences, and about the trail.
const (
	FindCounter FindingKind = "counter" // the counter is lost, damaged, or behind its leases
	FindMark    FindingKind = "mark"    // the counter is below the high-water mark
	FindOverlap FindingKind = "overlap" // two proven leases overlap
	FindLease   FindingKind = "lease"   // an entry of the ledger cannot be read, or lies outside the sequence
	FindGaps    FindingKind = "gaps"    // numbers that the counter has passed, and of which the ledger has no entry; see Gaps. For information
	FindTrail   FindingKind = "trail"   // a record of the trail is missing, changed, or out of its place
	FindIntent  FindingKind = "intent"  // a step was begun, and nothing says how it ended

	FindAcknowledged FindingKind = "acknowledged" // as FindTrail, and somebody has acknowledged it. For information
)

// Remedy is what is offered for a finding, where that is safe.
type Remedy string

// The remedies.
const (
	RemedyNone    Remedy = ""
	RemedyRebuild Remedy = "rebuild" // of the pool or the sequence
	RemedySweep   Remedy = "sweep"
)

// Finding is one thing that an audit has found.
type Finding struct {
	Kind   FindingKind
	On     string // which ID, chunk, lease or record
	Detail string // in words
	Remedy Remedy
	Seen   string // of FindTrail and FindAcknowledged: what was seen at that place, as Acknowledge wants it
}

// Unreadable is what is offered for an entry of a ledger that cannot be read, and what the finding says to that. A rebuild reads it no better. So it is offered only where it
// mends something: where the entry begins where the counter is to go, or has stopped the sequence, or will at the next lease.
func Unreadable(mends bool) (Remedy, string) {
	if mends {
		return RemedyRebuild, "a rebuild puts the counter above it"
	}
	return RemedyNone, "the counter stands above it, so nobody gets its numbers again; who has them, from its start up to the next entry, is for the systems to say that use them"
}

// AuditOrder asks for the next step of the verification of a pool or a sequence.
type AuditOrder struct {
	Job    JobID
	Step   string // "" for the first; else AuditStep.Next of the one before
	Sample int    // percent of the IDs, or leases, that are looked at; 100 for all. What it leaves out is drawn by the ID or lease itself
}

// AuditStep says what a step has met.
type AuditStep struct {
	Next     string // "" at the end
	Done     Count  // IDs or leases that were looked at
	Tally    Tally  // of IDs, by state
	Findings []Finding
}

// Audits is what a Store verifies of itself. A step is bounded in time and memory, whatever there is to be verified; it changes nothing that anybody else
// reads, and may be repeated. On a healthy Store it finds nothing but what is for information, whatever else is going on at the same time: what might be a finding is looked at again until it is
// certain. That is promised where no clock is wrong by more than five minutes, that of a process which does the audit or that of another. A finding is reported once.
type Audits interface {
	// AuditPool verifies a pool. CodePoolNotFound; a head that is lost is a finding.
	AuditPool(ctx context.Context, pool PoolName, o AuditOrder) (AuditStep, error)

	// AuditSequence verifies a sequence. CodeSequenceNotFound; a counter that is lost is a finding. Of an entry that is lost from the middle of the ledger, or from its top below the
	// mark, it sees the gap, which may as well be that of a lease that was cut off: FindGaps, once, at the end, whatever the sample is. A counter that is set back, and the ledger
	// cut above it, within the time in which the mark was not raised (a minute), nothing in the Store shows.
	AuditSequence(ctx context.Context, name SequenceName, o AuditOrder) (AuditStep, error)
}

// AuditRequest asks for an audit of a pool or a sequence (one of the two is named), and of the trail with it.
type AuditRequest struct {
	Pool     PoolName
	Sequence SequenceName
	Sample   int        // 1 to 100 percent; 0 for 100
	Known    TrailMonth // an end of the trail that was noted elsewhere, as an audit before has said it; zero for none
	Why      string
	Intent   Token
}
