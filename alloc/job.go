package alloc

import (
	"crypto/rand"
	"encoding/binary"
	"time"
)

// JobKind is what a stored job does.
type JobKind string

// JobExport writes the IDs of a pool that are in one state, or all, as CSV or JSON lines.
const JobExport JobKind = "export"

// JobState is how far a stored job is.
type JobState string

// The states of a job.
const (
	JobQueued    JobState = "queued"
	JobRunning   JobState = "running"
	JobDone      JobState = "done"
	JobFailed    JobState = "failed"
	JobCancelled JobState = "cancelled"
)

// Ended reports whether a job in the state goes no further.
func (s JobState) Ended() bool { return s == JobDone || s == JobFailed || s == JobCancelled }

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
	Of      State  // of JobExport: the state of the IDs; "" for all
	Format  string // of JobExport: "csv" or "json"
	By      ClientID
	State   JobState
	Version Version
	Created time.Time
	Updated time.Time
	Done    Count  // IDs written
	Parts   int    // parts of the result that are there; part 0 of a job that is done is, though it may be empty
	Mark    string // where the next step goes on; "" at the beginning
	Tries   int    // attempts at the next step that failed
	Failure string // with JobFailed: what a client may read of it
}

// expired reports whether the job counts as absent.
func (j Job) expired(now time.Time) bool { return !now.Before(j.Created.Add(JobRetention)) }

// Part is one piece of a job's result.
type Part struct {
	Data []byte // at most MaxPartBytes
	IDs  Count  // in it
	Next string // the mark after it
}

// newIntent makes a token that begins with the time, so that what is named after it sorts by that: 48 bits of
// milliseconds, then 80 random ones.
func newIntent(at time.Time) Token {
	b := stamp(at)
	rand.Read(b[6:]) // never returns an error
	return Token(encodeBits(b))
}

// stamp is a time as an intent begins with it, and zeros.
func stamp(at time.Time) (b [16]byte) {
	binary.BigEndian.PutUint64(b[:], uint64(at.UnixMilli())<<16)
	return b
}

// beginning is the least ID of a job whose intent was made at that time.
func beginning(at time.Time) JobID { return JobID(encodeBits(stamp(at))) }

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
