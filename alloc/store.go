package alloc

import (
	"context"
	"time"
)

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
	Keys
	Credentials
	Sessions
	Jobs
	Refills
	Samples
	Boards
	Rebuilds
	Repairs
	Restores
	Audits

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

	// SetPoolState moves the pool to the state if Pool.CheckTo allows it from the state that it is in at that moment (CodePoolActive where
	// an active one is to be deleted) and the pool is at version from (0: whatever it is at; CodeVersionMismatch with Current). To the present state: changes nothing, but for a deleted pool, which is
	// CodePoolDeleted whatever is asked for, its deletion again included. It takes effect in every environment within 30
	// seconds; a claim in flight ends cleanly either way. Version stays. CodePoolNotFound.
	SetPoolState(ctx context.Context, name PoolName, from Version, to PoolState) (Pool, error)

	// ListPools returns at most limit pools in the order of their names, after the name given; deleted ones included. One whose head is
	// lost is among them as PoolDamaged, with its name and what else of it is known.
	ListPools(ctx context.Context, after PoolName, limit int) ([]Pool, error)

	// Level reads how full the pool is at a cost that does not depend on its size. Right after a Sweep that left no work, with
	// no claim since and no stock in anybody's memory, Available and all counts are exact, but for this:
	//   - where more than 2,000 IDs are left to be taken into memory, Available may count an ID twice that came back or was
	//     listed again, until a Sweep has looked at it. Each looks at the 400 listed last and at 400 more in turn. Only IDs that an
	//     environment claims out of stock that is older than two minutes come to be counted so: at most what there is of such
	//     stock, and not more than a twentieth of the pool in the simulated fleet of infra/dynamo/dynamotest;
	//   - where more than 500 are held, Held may count a hold that a crash cut off in the middle of its confirmation or
	//     retirement, until its turn: each Sweep verifies 500;
	//   - a crash in the middle of a retirement may leave what it retired among the claimed until an audit counts anew.
	// From then on until the next Sweep, Available is too low by what was taken into memory and what came back, and too high by
	// what is claimed out of memory: at most so much, and never for longer. CodePoolNotFound.
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
	// or deleted, and takes nothing more. Of IDs that have come back or been retired since, Ended tells which; if all
	// have, CodeKeyEnded. CodeKeyMismatch if the Fingerprint is another; nothing changes. CodeKeyBusy while a given-up
	// attempt is being settled. No failure is stored: after CodePoolExhausted the same key may claim when there are IDs
	// again. An expired record behaves exactly like an absent one.
	//
	// With o.Hold the IDs are held, not claimed, until At + Hold. After that they come back by themselves, by the next
	// Sweep at the latest, unless they were confirmed, released or retired; also when the answer of the claim was lost and
	// nobody ever calls again. At is the time of the first request with the key.
	//
	// A pool that forgets does so with an ID at once where it is claimed without a key, KeyRetention after At where it is
	// claimed with one, and KeyRetention after its confirmation where it was held. Until then it is claimed like any
	// other: known, settled by its owner, in conflict with a seeding. After that it counts as absent.
	Claim(ctx context.Context, o ClaimOrder) (Claim, error)

	// Settle confirms, releases or retires IDs by the token of their claim, each as State.On says; PoolConfig.Settles says
	// what a release is in this pool. All or nothing: where one cannot be settled, Refused names each that cannot and
	// nothing changes; but an ID that is lost to somebody else in the very moment may leave the others settled, with
	// Unknown set. A repeat of what was done is a success that changes nothing, also a release of IDs that have come back
	// since, as long as nobody else has released them after that. It works in every state of the pool. A confirmation
	// works past the hold's time while nobody has taken the ID back: CodeNotOwner then. A released ID can be claimed again
	// after Sweep, not before, and never while its pool is deleted. IDRecord.Changed is when a confirmation or a retirement was made; of a confirmation in
	// a pool that forgets it may be missing. CodePoolNotFound, CodeIDNotFound, CodeNotOwner,
	// CodeIDRetired, CodePoolDamaged.
	//
	// After an Unknown outcome the same order is to be repeated until its outcome is known, and no other event sent before:
	// what was begun may still be carried out, a release by a later Sweep, also of an ID that was confirmed in between.
	//
	// In a pool that forgets, what it has forgotten is CodeIDNotFound. A confirmed hold is not, for as long as Claim says.
	Settle(ctx context.Context, o SettleOrder) (Settled, error)

	// Inspect reads one ID, strongly. CodePoolNotFound, CodeIDNotFound.
	Inspect(ctx context.Context, pool PoolName, id ID) (IDRecord, error)

	// RecentClaims returns at most limit IDs of the pool that somebody has now, held or claimed, each as Inspect reads it, the one taken last
	// first. It is for people to look at: its cost is bounded whatever the pool's size, and for that it may miss some. Surely there are
	// those among the RecentTaken last IDs that were claimed one after the other, each alone, by one process with nothing else going on. Never there
	// are IDs that were given back, retired or forgotten since. Maybe missing are those that an environment claimed out of stock which it
	// had taken into memory long before, as busy ones and big batches do, and those that were claimed before a rebuild of the pool. It works in every state of the
	// pool. CodePoolNotFound, CodePoolDamaged.
	RecentClaims(ctx context.Context, pool PoolName, limit int) ([]IDRecord, error)

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
	// harmless. After Sweep every free ID can be claimed, and stays so. Its cost is bounded, for each kind of work by itself, so
	// that none waits for another; More says that another run has work. Calls and Writes are what it cost. For each minute in which it runs, but for a deleted pool, it keeps a
	// Sample of the pool, SampleRetention long. It works in every state of the pool; of a deleted one it finishes what was on its way, so that no key
	// stays CodeKeyBusy, and nothing becomes claimable. CodePoolNotFound, CodePoolRebuilding, CodePoolDamaged.
	Sweep(ctx context.Context, pool PoolName) (SweepReport, error)
}

// Sequences is what hands out numbers.
type Sequences interface {
	// CreateSequence is to sequences what CreatePool is to pools. Epoch 1, Next = Start; active, or paused from its first moment on, as SequenceConfig.Birth
	// says. One that is there already stays in its state. CodeSequenceExists,
	// CodeSequenceDeleted; CodeSequenceStopped where the sequence was made before and its counter is lost.
	CreateSequence(ctx context.Context, name SequenceName, config SequenceConfig) (s Sequence, created bool, err error)

	// Sequence reads configuration and position, strongly. CodeSequenceNotFound, or CodeSequenceStopped where the
	// counter is missing although the sequence was made; a deleted one is returned with its state.
	Sequence(ctx context.Context, name SequenceName) (Sequence, error)

	// ChangeSequence is to sequences what ChangePool is to pools, with SequenceConfig.CheckChange on the present
	// position. It never moves the position. CodeSequenceStopped where the counter is lost.
	ChangeSequence(ctx context.Context, name SequenceName, from Version, config SequenceConfig) (Sequence, error)

	// SetSequenceState is to sequences what SetPoolState is to pools, with Sequence.CheckTo: one that serves is not deleted (CodeSequenceActive), and a deleted one is
	// CodeSequenceDeleted whatever is asked for. Where the counter is lost it is CodeSequenceStopped, its deletion too.
	SetSequenceState(ctx context.Context, name SequenceName, from Version, to SequenceState) (Sequence, error)

	// ListSequences returns at most limit sequences in the order of their names, after the name given. One whose
	// counter is missing is listed as stopped.
	ListSequences(ctx context.Context, after SequenceName, limit int) ([]Sequence, error)

	// Lease takes exactly o.Count consecutive numbers. A range that Lease has answered overlaps no other range that
	// any Lease of the sequence ever answered, also when the counter was lost, set back or edited by hand: then
	// CodeSequenceStopped, and the sequence stays stopped; one that was paused meanwhile stays paused, and the first lease after
	// that stops it. CodeSequenceNotFound, CodeSequenceDeleted,
	// CodeSequencePaused, CodeSequenceExhausted (with Remaining; nothing taken), CodeInvalidCount, CodeBusy. Numbers
	// rise, but a failed call, a crash or a repeat may leave a gap.
	//
	// With a key (o.Key) a repeat within KeyRetention gives the same range, epoch and token with Replayed set, also
	// when the sequence is paused, stopped, exhausted or deleted since. CodeKeyMismatch as in Claim.
	Lease(ctx context.Context, o LeaseOrder) (Range, error)

	// Watch looks whether the counter is where it must be: there, whole, not below the highest lease in the ledger, proven or not, whose record is of
	// the present epoch, and not below the high-water mark. If not, the sequence is stopped and returned as that: it is for a rebuild then. One that
	// is paused serves nobody already, and stays paused: it is returned with Sequence.Behind. If
	// so, the mark is raised to the position, and never lowered by anything. The mark is kept apart from counter and ledger. A Lease looks at it too: a range at or
	// below the mark is never answered, and the sequence is stopped. Its cost is bounded whatever the ledger's length. CodeSequenceNotFound; of a deleted
	// one, and one that a rebuild has frozen, nothing is looked at. It also keeps the copy of the configuration from which Restart makes a lost head anew.
	Watch(ctx context.Context, name SequenceName) (Sequence, error)

	// Leases returns at most limit proven entries of the ledger, highest start first, below the start given
	// (MaxNumber+1: from the top; nothing is below 0). Neighbouring leases may have been merged into one entry.
	Leases(ctx context.Context, name SequenceName, below Number, limit int) ([]LeaseRecord, error)
}

// IntentRetention is for how long at least a Trail knows the IDs of its records.
const IntentRetention = 90 * 24 * time.Hour

// Trail is the record of administrative steps, append-only: in each month a chain, in which each record has the hash of the
// one before it, and the first that of the last one of the month before.
type Trail interface {
	// Intend keeps the record of a step that is about to begin, outside the chain. A repeat changes nothing. What was recorded
	// already is intended no more.
	Intend(ctx context.Context, r AuditRecord) error

	// Record appends to the chain of the present month, which is never one before the last that has a record, and ends the
	// intent of the same ID, if there is one. The record's Link is the Store's to set, by AuditRecord.Seal. A repeat with the same ID within IntentRetention changes
	// nothing, whatever else the record says; also after an Unknown outcome, and of several at once one appends.
	Record(ctx context.Context, r AuditRecord) error

	// Intended returns at most limit records that were intended before the time and not recorded since, in the order of their IDs.
	Intended(ctx context.Context, before time.Time, limit int) ([]AuditRecord, error)

	// Records returns at most limit records, newest first, that stand before the place given, as AuditRecord.Place says it ("": from
	// the newest).
	Records(ctx context.Context, before string, limit int) ([]AuditRecord, error)

	// Months returns the ends of the chains, the oldest first; of a month whose end was cut off in the writing it may be one record behind.
	Months(ctx context.Context) ([]TrailMonth, error)

	// Chain returns at most limit records of a month's chain as they are stored, after the position given, in their order. What is missing
	// or changed is not hidden: it is for the reader to see.
	Chain(ctx context.Context, month string, after int64, limit int) ([]AuditRecord, error)
}

// Keys is the record of requests with an Idempotency-Key whose answer is kept as it was given: all but claims and leases,
// which have records of their own. Whoever opens a key carries its work out, which must be repeatable, and closes it;
// whoever finds it open does the same. KeyRetention after it was opened a record counts as absent.
type Keys interface {
	// OpenKey puts the intent with the token if no record of the key's Hash counts, and returns the record that stands
	// then: with our token if we put it, in this call or a repeat of it. An open one of another attempt is Shared from then
	// on. With an answer the record is put done at once. CodeKeyMismatch if there is one of another Fingerprint.
	OpenKey(ctx context.Context, key Key, token Token, answer []byte) (Kept, error)

	// FindKey returns the record that counts; ok is false for none. CodeKeyMismatch as in OpenKey.
	FindKey(ctx context.Context, key Key) (k Kept, ok bool, err error)

	// CloseKey keeps the answer with the record of the token, if that is open, and returns what it is then: the first
	// answer stays. A record that is gone is no error: ours is returned as done.
	CloseKey(ctx context.Context, key Key, token Token, answer []byte) (Kept, error)

	// DropKey removes the record of the token if it is open and not Shared: what was asked for was refused to the one
	// attempt that there was, and no refusal is kept. It returns the record of the token that stands then, if one does; ok
	// is false for none. So of a request whose record is gone before its retention is over, nothing was done.
	DropKey(ctx context.Context, key Key, token Token) (k Kept, ok bool, err error)
}

// Credentials is the stored bearer credentials, their quotas, and what all processes share as a secret.
type Credentials interface {
	// CreateCredential puts it at version 1 if its ID is unused; a repeat with the same Hash is a success. CodeInternal if
	// the ID is another's.
	CreateCredential(ctx context.Context, c Credential) error

	// Credential reads one, strongly. CodeCredentialNotFound.
	Credential(ctx context.Context, id CredentialID) (Credential, error)

	// ChangeCredential replaces all but ID, Client and Created if it is at version from, and raises the version to from+1.
	// A repeat of the change last made (same from, all equal) is a success. CodeCredentialNotFound, CodeVersionMismatch
	// with Current.
	ChangeCredential(ctx context.Context, from Version, c Credential) (Credential, error)

	// ListCredentials returns at most limit, in the order of their IDs, after the ID given.
	ListCredentials(ctx context.Context, after CredentialID, limit int) ([]Credential, error)

	// UseCredential keeps that the credential was used at the time, unless a later use is kept, or one at most UsedEvery before: then it
	// changes nothing. What is kept is never lowered, nor lost by a change of the credential. Of an ID that is no credential's it says nothing to anybody.
	UseCredential(ctx context.Context, id CredentialID, at time.Time) error

	// CredentialUses returns what UseCredential has kept of each, in the order of the IDs, at most 100; zero for none.
	CredentialUses(ctx context.Context, ids []CredentialID) ([]time.Time, error)

	// TakeQuota takes up to n of what the credential may use in the hour that begins at hour, of which there is limit in
	// all, and returns how many it got: 0 to n. Together all calls for an hour never get more than limit. What a call
	// with an unknown outcome took is lost to that hour.
	TakeQuota(ctx context.Context, id CredentialID, hour time.Time, n, limit Count) (Count, error)

	// SharedSecret returns 32 random bytes, the same in every process and for good; the first call ever makes them.
	SharedSecret(ctx context.Context) ([]byte, error)
}

// Sessions is who is signed in to the dashboard. A session counts as absent from its Expires on, and for good once it was ended.
type Sessions interface {
	// CreateSession puts the session if its ID was never used. A repeat is a success that changes nothing, also when the session
	// has been used since; CodeInternal where it was ended, or the ID is another's.
	CreateSession(ctx context.Context, s Session) error

	// Session reads one, strongly: one that was ended by whatever process is absent at once. ok is false for one that is absent.
	Session(ctx context.Context, id SessionID) (s Session, ok bool, err error)

	// TouchSession raises Seen and Expires. Neither is ever lowered: with times before those that stand it changes nothing. ok is
	// false for one that is absent, which stays so.
	TouchSession(ctx context.Context, id SessionID, seen, expires time.Time) (ok bool, err error)

	// EndSession ends one, if it is there: a repeat is a success. ended is false where it was absent.
	EndSession(ctx context.Context, id SessionID) (ended bool, err error)

	// EndSessions ends all of the client that are there when the call begins, and returns how many it ended. A repeat
	// carries on what was cut off.
	EndSessions(ctx context.Context, client ClientID) (Count, error)

	// ListSessions returns at most limit, in the order of their IDs, after the ID given.
	ListSessions(ctx context.Context, after SessionID, limit int) ([]Session, error)
}

// Jobs is long work, and what it reads.
type Jobs interface {
	// CreateJob puts the job at version 1 if its ID is unused; a repeat is a success. JobRetention after Created a job and
	// its parts count as absent.
	CreateJob(ctx context.Context, j Job) error

	// Job reads one, strongly. CodeJobNotFound.
	Job(ctx context.Context, id JobID) (Job, error)

	// ChangeJob replaces the job at version from, and raises the version to from+1. A repeat of the change last made is a
	// success. CodeJobNotFound, CodeVersionMismatch.
	ChangeJob(ctx context.Context, from Version, j Job) (Job, error)

	// ListJobs returns at most limit jobs, newest first, older than the one given ("": from the newest). One whose record cannot be
	// read is among them as JobDamaged, with its ID and what else of it can be read: it does not hide the others. Read alone it is
	// CodeInternal.
	ListJobs(ctx context.Context, before JobID, limit int) ([]Job, error)

	// OpenJobs returns at most limit jobs that have not ended, the oldest first, after the one given ("": from the oldest).
	// Its cost does not depend on how many have ended. One whose end was cut off may be among them for a while, and one whose record
	// cannot be read as in ListJobs, for as long as it is not known that it has ended.
	OpenJobs(ctx context.Context, after JobID, limit int) ([]Job, error)

	// FailedJobs returns at most limit jobs that have ended badly, as Job.EndedBadly says, at or after since, as their Updated says: the one that
	// ended last first, from before the place given ("": from the last), as Job.EndPlace says it. None is missing. Its cost depends on how many of these there are, and neither on those that
	// have ended well nor on those that ended before since. One whose record cannot be read as in ListJobs.
	FailedJobs(ctx context.Context, since time.Time, before string, limit int) ([]Job, error)

	// PutInput keeps a piece of a job's input, at most MaxPartBytes, under the name, if there is none of that name yet; Input
	// returns the one that is there. CodeJobNotFound where there is none.
	PutInput(ctx context.Context, job JobID, name string, data []byte) error
	Input(ctx context.Context, job JobID, name string) ([]byte, error)

	// PutPart keeps part n (from 0) of a job's result, and what Mark was after it, if there is none of that number yet;
	// Part returns the one that is there. CodeJobNotFound where there is none.
	PutPart(ctx context.Context, job JobID, n int, p Part) error
	Part(ctx context.Context, job JobID, n int) (Part, error)

	// WalkIDs returns IDs of the pool that are in the state ("" for any), from the mark on ("" from the beginning), and
	// the mark to go on from, "" at the end. A page may be empty and yet not the last; it has at most limit IDs, about. A
	// walk from beginning to end meets each ID at most once, and surely each that was there and in the state all the
	// time. Its cost a page is bounded. CodePoolNotFound, CodePoolDamaged.
	WalkIDs(ctx context.Context, pool PoolName, state State, mark string, limit int) (page []IDRecord, next string, err error)
}

// Refills is where the refill of pools stands.
type Refills interface {
	// Refill reads a pool's record, strongly; one of version 0, with nothing but Pool set, where none was ever kept.
	Refill(ctx context.Context, pool PoolName) (Refill, error)

	// ChangeRefill replaces the record if it is at version from (0: there is none), and raises the version to from+1. A repeat
	// of the change last made (same from, all equal) is a success. CodeVersionMismatch with Current.
	ChangeRefill(ctx context.Context, from Version, r Refill) (Refill, error)
}

// SampleRetention is how long samples are kept.
const SampleRetention = 35 * 24 * time.Hour

// Samples is how pools and sequences stood, a minute each.
type Samples interface {
	// PoolSamples returns at most limit samples of the pool, oldest first, taken at or after from and before until. None
	// for a pool that is not there. A sample counts to its minute: it is found by the time at which it was taken.
	PoolSamples(ctx context.Context, pool PoolName, from, until time.Time, limit int) ([]Sample, error)

	// SampleSequence keeps a sample of the sequence, if there is none of its minute yet.
	SampleSequence(ctx context.Context, name SequenceName, s Sample) error

	// SequenceSamples is to sequences what PoolSamples is to pools.
	SequenceSamples(ctx context.Context, name SequenceName, from, until time.Time, limit int) ([]Sample, error)
}
