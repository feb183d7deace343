package alloc

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"time"
)

// JobKind is what a stored job does.
type JobKind string

// The kinds.
const (
	JobExport JobKind = "export" // writes the IDs of a pool that are in one state, or all, as CSV or JSON lines
	JobSeed   JobKind = "seed"   // adds the IDs of a file that was received in parts; its result is what was not added
	JobCheck  JobKind = "check"  // looks what would become of the IDs of a seeding's file, and adds nothing; its result is what would not be added
	JobCount  JobKind = "count"  // counts the IDs of a pool by their states, one by one

	JobRebuild JobKind = "rebuild" // rebuilds the queue of a pool from its IDs
	JobAudit   JobKind = "audit"   // verifies a pool or a sequence, and the trail; its result is its findings, in lines of JSON
	JobLog     JobKind = "log"     // writes what was taken of a pool, or leased of a sequence, in lines of JSON: with that it can be restored
	JobRestore JobKind = "restore" // carries forward what was taken after the point to which a backup was restored; its result is what it did, in lines of JSON
)

// JobState is how far a stored job is.
type JobState string

// The states of a job.
const (
	JobReceiving JobState = "receiving" // its input is on the way in; of JobSeed, and JobRestore of a log
	JobQueued    JobState = "queued"
	JobRunning   JobState = "running"
	JobDone      JobState = "done"
	JobFailed    JobState = "failed"
	JobCancelled JobState = "cancelled"
	JobDamaged   JobState = "damaged" // its record cannot be read; of lists alone, and never stored
)

// Ended reports whether a job in the state goes no further.
func (s JobState) Ended() bool { return s == JobDone || s == JobFailed || s == JobCancelled }

// EndedBadly reports whether the job has ended so that a person should look at it: it has failed, or it was to verify something and has findings.
func (j Job) EndedBadly() bool {
	return j.State == JobFailed || j.State == JobDone && j.Verdict == VerdictFindings
}

// EndPlace is where the job stands among those that have ended badly: by its end, and beside others of the same moment by its ID.
func (j Job) EndPlace() string { return EndPlaceOf(j.Updated, j.ID) }

// EndPlaceOf is the EndPlace of a job that ended then.
func EndPlaceOf(end time.Time, id JobID) string {
	return fmt.Sprintf("%020d#%s", max(0, end.UnixNano()), id)
}

// JobRetention is how long a job and its parts are kept after it was made.
const JobRetention = 7 * 24 * time.Hour

// MaxPartBytes is the greatest size of one part of a job's result.
const MaxPartBytes = 300 << 10

// Job is long work as stored. Each step raises Version, and puts its part of the result before it moves Mark. Its times
// are whole seconds.
type Job struct {
	ID      JobID
	Kind    JobKind
	Pool    PoolName
	Spec    JobSpec
	Of      State  // of JobExport: the state of the IDs; "" for all
	Format  string // of JobExport: "csv" or "json"
	By      ClientID
	State   JobState
	Version Version
	Created time.Time
	Updated time.Time // when it was made, or last moved on; a try that failed leaves it, and is in the log
	Done    Count     // IDs written, counted, listed, looked at or carried, or entries settled
	Parts   int       // parts of the result that are there; part 0 of a job that is done is, though it may be empty. JobCount has none, and JobRebuild only where IDs are gone
	Mark    string    // where the next step goes on; "" at the beginning. Of a job with a file the number of the next piece; before it is started, how its file is read on
	Tries   int       // attempts at the next step that failed
	Faults  int       // of these, those whose reason does not pass by itself
	Failure string    // with JobFailed: what a client may read of it
	Verdict string    // of JobAudit that is done: VerdictHealthy or VerdictFindings, of the pool or the sequence. Of one of the trail alone: of that

	Change  Token      // sets the last change apart from all others; "" before the first
	Why     string     // what its maker says it is for; "" for nothing
	Started time.Time  // of the first step; zero before
	Total   Count      // what Done will be at the end, where that is known; else 0
	Tally   Tally      // of what is done
	Log     []JobEvent // the last MaxJobEvents
	Input   SeedFormat // of JobSeed: how its parts are read
	Column  int        // of JobSeed: the column of the IDs, from 0; -1 until the first record of its file was read
	Inputs  []JobInput // of JobSeed and JobRestore: the parts that were received, in their order
}

// Equal reports whether the jobs are the same in every field.
func (j Job) Equal(k Job) bool {
	logs, inputs := slices.Equal(j.Log, k.Log), slices.Equal(j.Inputs, k.Inputs)
	return logs && inputs && reflect.DeepEqual(j.plain(), k.plain())
}

// plain is the job without its lists.
func (j Job) plain() Job {
	j.Log, j.Inputs = nil, nil
	return j
}

// JobSpec is what else a job is to do.
type JobSpec struct {
	Sequence SequenceName  // what it is about where it is about no pool; of JobAudit, JobLog, JobRestore
	Sample   int           // of JobAudit: percent of the IDs or leases that it looks at, 1 to 100
	Since    time.Time     // of JobLog: what was taken before is left out; zero for nothing. Of JobRestore: the point to which the backup was restored
	Source   RestoreSource // of JobRestore
	AtMost   Count         // of JobRestore: how many free IDs are burned; with RestoreBurn 0 for all, with RestoreLog 0 for none, and nothing else is burned then
	Policy   Policy        // of JobRebuild: of a pool whose head is lost, without a copy; "" for not said
	FoldCase bool          // with Policy
	File     JobID         // of JobCheck: the seeding whose file it looks at
	Check    JobID         // of JobSeed: the job that was made last to look at its file; "" for none
	FirstNew string        // of JobCheck: of the IDs that would be added the first SeedExamples, one a line,
	LastNew  ID            // and the last
	Known    TrailMonth    // of JobAudit: an end of the trail that was noted elsewhere; zero for none
	Verified TrailMonth    // of JobAudit that is done: the end of the trail, up to which it was verified
}

// JobEvent is something that happened to a job, for whoever looks at it.
type JobEvent struct {
	At   time.Time
	Text string
}

// MaxJobEvents is how many events a job keeps. MaxJobInputs is how many parts of a file it takes, and MaxInputBytes the greatest
// size of one.
const (
	MaxJobEvents  = 20
	MaxJobInputs  = 200
	MaxInputBytes = 4 << 20
)

// Tally counts what a job has met. Of JobSeed entries by outcome, of JobCount IDs by state.
type Tally struct {
	Added, Duplicate, Conflict, Invalid     Count // of JobSeed, and of JobCheck as they would be. Of JobRestore: Duplicate was so already, Conflict is in two hands, Invalid could not be carried for another reason
	Free, Held, Claimed, Returning, Retired Count // of JobCount, JobRebuild and JobAudit
	Lost                                    Count // of JobRebuild: IDs that were listed and are gone, or were set back to free; they are retired. Of JobAudit: IDs that are gone
	Missing                                 Count // of JobRebuild: IDs that were counted and are gone, with all that listed them
	Carried, Burned                         Count // of JobRestore
	Findings                                Count // of JobAudit, all
	Trail, Informing                        Count // of these, about the trail; and for information alone
	Looked, ToLook                          Count // of JobRebuild, and JobRestore of a pool: see Progress
}

// JobInput is one received part of a job's input, kept in pieces.
type JobInput struct {
	Digest  string // SHA-256 of its bytes, in hexadecimal: a repeat of the part is known by it
	Pieces  int
	Entries Count
	Lines   int // of the file that it has, so that the next part's are counted on
}

// touched is when it was last changed, by a try that failed too.
func (j Job) touched() time.Time {
	if n := len(j.Log); n > 0 && j.Log[n-1].At.After(j.Updated) {
		return j.Log[n-1].At
	}
	return j.Updated
}

// expired reports whether the job counts as absent.
func (j Job) expired(now time.Time) bool { return !now.Before(j.Created.Add(JobRetention)) }

// Part is one piece of a job's result.
type Part struct {
	Data  []byte // at most MaxPartBytes
	IDs   Count  // in it; of JobSeed the entries that were not added
	Tally Tally  // what the step that made it has met
	Next  string // the mark after it
}

// newIntent makes a token that begins with the time, so that what is named after it sorts by that: 48 bits of
// milliseconds, then 80 random ones.
func newIntent(at time.Time) Token {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], uint64(at.UnixMilli())<<16)
	rand.Read(b[6:]) // never returns an error
	return Token(encodeBits(b))
}

// newJobID names a job after the intent, so that every attempt makes the same one.
func newJobID(intent Token, now time.Time) JobID {
	if intent == "" {
		intent = newIntent(now)
	}
	return JobID(intent)
}

// check refuses what is no ID of a stored job: there is none.
func (id JobID) check() error {
	if !isToken(Token(id)) {
		return JobNotFound(id)
	}
	return nil
}
