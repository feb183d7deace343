package alloc

// JobID names one seeding: the same job repeated knows its own IDs.
type JobID string

// MaxSeedIDs is the most IDs that one call of Store.Seed takes.
const MaxSeedIDs = 5000

// SeedOutcome is what became of one ID of a batch.
type SeedOutcome string

// The outcomes that a Store gives.
const (
	SeedAdded     SeedOutcome = "added"     // this job put it; it can be claimed
	SeedDuplicate SeedOutcome = "duplicate" // it was there before, free or on its way back
	SeedConflict  SeedOutcome = "conflict"  // it was there before, and is taken (held, claimed or retired)
	SeedInvalid   SeedOutcome = "invalid"   // against the rule of CheckID; Service's, never a Store's
	SeedUnneeded  SeedOutcome = "unneeded"  // of a batch with UpTo: not added now, as there were enough; a repeat may add it
)

// SeedBatch is IDs to add, distinct and valid.
type SeedBatch struct {
	Pool PoolName
	Job  JobID
	IDs  []ID // 1 to MaxSeedIDs

	// Keyless says that nobody asked for a repeat by name: the job is named after its IDs. A run that was cut off is gone
	// on with; but once it was carried to its end, its IDs are there like any others, and count so.
	Keyless bool

	// UpTo makes the batch one of a refill: its IDs are added in order only while fewer than UpTo are available, as Level
	// would tell in that very moment; 0 for all, always. However many such batches and others are added at once, those with UpTo never
	// lift the pool above it: what decides and what adds is one write. Those that are not needed any more are SeedUnneeded, cannot be
	// claimed, and do not count as seeded. A repeat with the same Job, IDs and a higher UpTo, or when some were claimed,
	// goes on. With it IDs have at most 128 bytes and are at most MaxRefillIDs.
	UpTo Count
}

// MaxRefillIDs is the most IDs that a batch of a refill has.
const MaxRefillIDs = 500

// SweepReport says what one sweep did.
type SweepReport struct {
	Pool     PoolName
	Passed   Count // listings found settled
	Relisted Count // free listings of stale stock, published again
	Returned Count // IDs that came back
	Voided   Count // given-up batches that were settled
	Leased   Count // free IDs that it has left to those who have them in memory; they are among the available ones. 0 where the engine has no such stock
	Calls    Count // of the store that the sweep made, reads and writes; 0 where the engine does not count
	Writes   Count // of these, those that write
	More     bool  // work is left for the next run: the bound of one run was reached
}

// plus adds what a later sweep of the pool did.
func (r SweepReport) plus(later SweepReport) SweepReport {
	later.Passed += r.Passed
	later.Relisted += r.Relisted
	later.Returned += r.Returned
	later.Voided += r.Voided
	later.Calls += r.Calls
	later.Writes += r.Writes
	return later
}
