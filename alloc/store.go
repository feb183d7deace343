package alloc

import "context"

// Store is an engine: DynamoDB, SQLite, PostgreSQL. Each method is one whole business step: atomic in its effect,
// repeatable, and recoverable by itself after a crash at any point. What the engine does for it does not show.
//
// Every error is an *Error. The codes named at a method are the ones it decides; beside them every method may return
// CodeThrottled, CodeUnavailable and CodeInternal. With Unknown set the step may have been applied; without it nothing
// was taken or changed. A call whose context has ended before it begins is CodeUnavailable, with nothing taken or changed.
// What a method returned without error is durable. A Store is safe for concurrent use, and any
// number of Stores over the same data, in any number of processes, keep every promise together. Nothing (no lease,
// clock, lock or cache) is trusted for uniqueness. A Store never blocks past the context's end.
type Store interface {
	Pools
	Claims
	Sequences
	Trail

	// Ready makes one cheap read, to show that the engine answers.
	Ready(ctx context.Context) error
}

// Pools is the administration of pools.
type Pools interface {
	// CreatePool makes the pool (defaults filled in, checked) if its name is unused; State, Version and Created are the
	// Store's to set (active, 1, now). Of several at once, one creates it. created is false if the pool was there with
	// an equal configuration: a repeat. CodePoolExists with another configuration, CodePoolDeleted for a tombstone,
	// CodePoolDamaged where the pool was made before and its head is lost.
	CreatePool(ctx context.Context, name PoolName, config PoolConfig) (p Pool, created bool, err error)

	// Pool reads configuration and state, strongly. CodePoolNotFound; a deleted pool is returned with its state.
	// CodePoolDamaged where the head is lost.
	Pool(ctx context.Context, name PoolName) (Pool, error)

	// ChangePool replaces the configuration if the pool is at version from, and raises the version. A repeat of the
	// change last made (same from, equal configuration) is a success that changes nothing. CodeVersionMismatch with
	// Current; CodePoolNotFound, CodePoolDeleted; CodeInvalidConfig by PoolConfig.CheckChange. It takes effect in every
	// environment within 30 seconds.
	ChangePool(ctx context.Context, name PoolName, from Version, config PoolConfig) (Pool, error)

	// SetPoolState moves the pool to the state if Pool.CheckTo allows it. To the present state: changes nothing, but for
	// a deleted pool, which is CodePoolDeleted whatever is asked for, its deletion again included. It takes effect in
	// every environment within 30 seconds; a claim in flight ends cleanly either way. Version stays. CodePoolNotFound.
	SetPoolState(ctx context.Context, name PoolName, to PoolState) (Pool, error)

	// ListPools returns at most limit pools in the order of their names, after the name given; deleted ones included.
	ListPools(ctx context.Context, after PoolName, limit int) ([]Pool, error)

	// Level reads how full the pool is at a cost that does not depend on its size. Right after Sweep, with no claim
	// since and no stock in anybody's memory, Available and all counts are exact; but where much is left, Available may
	// count an ID twice that came back or was listed again, until its turn comes. CodePoolNotFound.
	Level(ctx context.Context, name PoolName) (Level, error)
}

// Claims is what pools are for.
type Claims interface {
	// Claim takes exactly o.Count different IDs, each free until then, or none. Once it has answered, no other claim
	// ever gets one of them. o has passed CheckClaimOrder; Pool.CheckClaim decides what the pool adds.
	//
	// CodePoolExhausted means that fewer than o.Count IDs were free: with N free IDs and any number of callers of one
	// ID each, exactly N succeed. CodeBusy: it could not be told in time; nothing was taken. CodePoolNotFound,
	// CodePoolDeleted, CodePoolPaused, CodeInvalidCount, CodePoolRebuilding, CodePoolDamaged.
	//
	// Without a key an Unknown outcome may leave IDs claimed that nobody heard of; they are never handed out again.
	//
	// With a key (o.Key) the first request of a Hash decides; within KeyRetention a repeat, from any process and after
	// any crash, gives the same IDs in the same order with Replayed set, also when the pool is empty, paused, draining
	// or deleted, and takes nothing more. CodeKeyMismatch if the Fingerprint is another; nothing changes. CodeKeyEnded if
	// all its IDs have come back or been retired since. CodeKeyBusy while a given-up attempt is being settled. No
	// failure is stored: after CodePoolExhausted the same key may claim when there are IDs again. An expired record
	// behaves exactly like an absent one.
	Claim(ctx context.Context, o ClaimOrder) (Claim, error)

	// Inspect reads one ID, strongly. CodePoolNotFound, CodeIDNotFound.
	Inspect(ctx context.Context, pool PoolName, id ID) (IDRecord, error)

	// Seed adds the IDs that the pool does not know and says of each, in order, what became of it. An added ID can be
	// claimed when Seed returns. A repeat with the same Job, also after an Unknown outcome or a crash half-way, ends in
	// the same pool: an ID that this job put counts as added again, and every one of them is claimable if it was not
	// claimed since. With Keyless that holds until the batch was carried to its end: a repeat after that counts its IDs as
	// duplicates or conflicts. IDs already there are never changed, whatever their state. CodePoolNotFound,
	// CodePoolDeleted, CodePoolDraining, CodePoolRebuilding, CodePoolDamaged.
	//
	// In a pool that forgets, where an ID that was claimed is gone, a repeat of a job's batch (same Job, same IDs in the
	// same order) must not put again what was claimed since. So a Store keeps a record of each batch: for 90 days at
	// least, as what is repeated later than that counts as a new seeding.
	Seed(ctx context.Context, b SeedBatch) ([]SeedOutcome, error)

	// Sweep does what keeps the pool healthy: it publishes again what sleeping or dead environments took into memory
	// and did not claim, finishes what is on its way back, settles batches given up, and counts. Any number at once is
	// harmless. After Sweep every free ID can be claimed, and stays so. Its cost is bounded; More says that another
	// run has work. It works in every state of the pool; of a deleted one it finishes what was on its way, so that no key
	// stays CodeKeyBusy, and nothing becomes claimable. CodePoolNotFound, CodePoolRebuilding, CodePoolDamaged.
	Sweep(ctx context.Context, pool PoolName) (SweepReport, error)
}

// Sequences is what hands out numbers.
type Sequences interface {
	// CreateSequence is to sequences what CreatePool is to pools. Epoch 1, Next = Start. CodeSequenceExists,
	// CodeSequenceDeleted; CodeSequenceStopped where the sequence was made before and its counter is lost.
	CreateSequence(ctx context.Context, name SequenceName, config SequenceConfig) (s Sequence, created bool, err error)

	// Sequence reads configuration and position, strongly. CodeSequenceNotFound, or CodeSequenceStopped where the
	// counter is missing although the sequence was made; a deleted one is returned with its state.
	Sequence(ctx context.Context, name SequenceName) (Sequence, error)

	// ChangeSequence is to sequences what ChangePool is to pools, with SequenceConfig.CheckChange on the present
	// position. It never moves the position. CodeSequenceStopped where the counter is lost.
	ChangeSequence(ctx context.Context, name SequenceName, from Version, config SequenceConfig) (Sequence, error)

	// SetSequenceState is to sequences what SetPoolState is to pools, with Sequence.CheckTo: a deleted one is
	// CodeSequenceDeleted whatever is asked for. Where the counter is lost it is CodeSequenceStopped, its deletion too.
	SetSequenceState(ctx context.Context, name SequenceName, to SequenceState) (Sequence, error)

	// ListSequences returns at most limit sequences in the order of their names, after the name given. One whose
	// counter is missing is listed as stopped.
	ListSequences(ctx context.Context, after SequenceName, limit int) ([]Sequence, error)

	// Lease takes exactly o.Count consecutive numbers. A range that Lease has answered overlaps no other range that
	// any Lease of the sequence ever answered, also when the counter was lost, set back or edited by hand: then
	// CodeSequenceStopped, and the sequence stays stopped. CodeSequenceNotFound, CodeSequenceDeleted,
	// CodeSequencePaused, CodeSequenceExhausted (with Remaining; nothing taken), CodeInvalidCount, CodeBusy. Numbers
	// rise, but a failed call, a crash or a repeat may leave a gap.
	//
	// With a key (o.Key) a repeat within KeyRetention gives the same range, epoch and token with Replayed set, also
	// when the sequence is paused, stopped, exhausted or deleted since. CodeKeyMismatch as in Claim.
	Lease(ctx context.Context, o LeaseOrder) (Range, error)

	// Leases returns at most limit proven entries of the ledger, highest start first, below the start given (0: from
	// the top). Neighbouring leases may have been merged into one entry.
	Leases(ctx context.Context, name SequenceName, below Number, limit int) ([]LeaseRecord, error)
}

// Trail is the record of administrative steps, append-only.
type Trail interface {
	// Record appends; a repeat with the same ID changes nothing.
	Record(ctx context.Context, r AuditRecord) error

	// Records returns at most limit records, newest first, older than the record ID given ("": from the newest).
	Records(ctx context.Context, before string, limit int) ([]AuditRecord, error)
}
