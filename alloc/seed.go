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
)

// SeedBatch is IDs to add, distinct and valid.
type SeedBatch struct {
	Pool PoolName
	Job  JobID
	IDs  []ID // 1 to MaxSeedIDs

	// Keyless says that nobody asked for a repeat by name: the job is named after its IDs. A run that was cut off is gone
	// on with; but once it was carried to its end, its IDs are there like any others, and count so.
	Keyless bool
}

// SweepReport says what one sweep did.
type SweepReport struct {
	Pool     PoolName
	Passed   Count // listings found settled
	Relisted Count // free listings of stale stock, published again
	Returned Count // IDs that came back
	Voided   Count // given-up batches that were settled
	More     bool  // work is left for the next run: the bound of one run was reached
}

// plus adds what a later sweep of the pool did.
func (r SweepReport) plus(later SweepReport) SweepReport {
	later.Passed += r.Passed
	later.Relisted += r.Relisted
	later.Returned += r.Returned
	later.Voided += r.Voided
	return later
}
