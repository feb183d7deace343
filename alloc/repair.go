package alloc

import "context"

// PoolEvidence is what a Store knows of a pool's condition at a glance.
type PoolEvidence struct {
	Pool       Pool     // of the head, or of the copy that is kept of its configuration
	Head       bool     // the head is there and whole
	Configured bool     // there is a head or a copy
	Rebuilding JobID    // the rebuild that is on; "" for none
	Published  Count    // chunks, or what the engine has in their place; 0 where that is not known
	Damage     []string // what is seen to be lost or damaged at a glance, in words
}

// PoolRebuildOrder asks for the next step of a rebuild.
type PoolRebuildOrder struct {
	Pool PoolName
	Job  JobID
	Step string // "" for the first; else PoolRebuilt.Next of the one before

	// Of a pool whose head is lost, without a copy. The rest of its configuration is the default's.
	Policy   Policy // "" for not said
	FoldCase bool
}

// PoolRebuilt says what a step did.
type PoolRebuilt struct {
	Next  string // "" at the end: the pool is rebuilt and open
	Met   Count  // IDs of this step
	Tally Tally  // of them, by state; Lost is IDs that were listed and are gone, and IDs that were set back: they are retired. Missing: see RebuildPool
	Total Count  // how many there will be in all, where that is known; 0 for not known

	// Looked is at how many IDs the step has looked, some of them for the second time: also at those that it does not meet yet. Left is how many looks there are
	// to come after it, as far as is known. A repeat of the step says the same.
	Looked, Left Count

	// Of those that are lost the first MaxFindings of either kind; a repeat of the step says the same.
	Gone    []ID // they were listed, and had no item
	SetBack []ID // they were free, and had been taken
}

// Repairs is the way back of pools: from the items of its IDs, which are the truth.
type Repairs interface {
	// PoolEvidence reads, strongly. CodePoolNotFound where the pool was never made; a deleted one is returned with its state.
	PoolEvidence(ctx context.Context, pool PoolName) (PoolEvidence, error)

	// RebuildPool does a step: bounded in time and memory, whatever the pool's size, and repeatable by several at once and long
	// after. From the first step on claims out of memory go on, all that changes the queue is CodePoolRebuilding. After the last one every ID that
	// was free and listed, or returning, when the rebuild began can be claimed after Sweep, once; what is held, on its way back or given up comes back as before, also where its return item was lost; an ID that was
	// taken is never free, nor is one handed out that was made free by hand and has its owner still; an ID that was put by a seeding that was cut off is either claimable or is added by the seeding's repeat; Level is right after a
	// Sweep, and WalkIDs meets each ID once. IDs that were listed and are gone are retired, never free again (in a pool that forgets they are gone for good).
	// So is an ID that was set back to free, past the Store, when it had been taken, where the Store has what shows that: AbandonRebuild leaves it retired.
	//
	// IDs that were counted as seeded and are gone with all that listed them nobody can name. The last step says how many, as Missing, also when it is
	// repeated; from then on they count no more, so this is the last that is heard of them: a seeding of such an ID adds it anew, also where it was taken.
	// In a pool that forgets they may count as forgotten instead. Where the head is lost, how many were counted is known by a sample, or not at all.
	//
	// It works in every state but
	// deleted, and the state stays. The pool's version and configuration stay, or are those of the copy. CodePoolRebuilding where another job rebuilds
	// it, CodePoolNotFound, CodePoolDeleted; CodeInvalidConfig where the head is lost, there is no copy, and o.Policy is not said.
	RebuildPool(ctx context.Context, o PoolRebuildOrder) (PoolRebuilt, error)

	// AbandonRebuild ends the rebuild of the job before its last step: the pool is open and as it was, also where it was damaged. One that is not on is a success.
	AbandonRebuild(ctx context.Context, pool PoolName, job JobID) error
}

// PoolRebuildRequest asks for the rebuild of a pool.
type PoolRebuildRequest struct {
	Pool     PoolName
	Why      string
	Policy   Policy // of a pool whose head is lost, without a copy; "" for not said
	FoldCase *bool  // the same; nil for not said
	Intent   Token  // of Keyed; "" for none
}
