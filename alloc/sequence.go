package alloc

import (
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"time"
)

// Number is one number of a sequence, 0 to MaxNumber. In JSON, HTML and CSV it is a string.
type Number uint64

// MaxNumber is the highest number that a sequence can hand out. The position after it still fits a Number.
const MaxNumber Number = math.MaxInt64

// Epoch counts the rebuilds of a sequence, from 1.
type Epoch int64

// SequenceState is what a sequence does at present.
type SequenceState string

// The states of a sequence. Stopped is set by the Store alone, when the ledger shows the counter to be wrong.
const (
	SequenceActive  SequenceState = "active"
	SequencePaused  SequenceState = "paused"
	SequenceStopped SequenceState = "stopped" // until it is rebuilt
	SequenceDeleted SequenceState = "deleted" // tombstone

	// Set by a rebuild alone: nothing is leased but by its test, and then only by a share of the callers.
	SequenceFrozen   SequenceState = "frozen"
	SequenceResuming SequenceState = "resuming"
)

// hasPosition reports whether the counter of a sequence in the state is to be trusted: not that of a stopped one, nor that of a frozen one, which may be
// the wrong one still.
func (s SequenceState) hasPosition() bool { return s != SequenceStopped && s != SequenceFrozen }

// Bounds of a sequence's configuration.
const (
	MaxLeaseLimit   Count = 1_000_000_000
	DefaultMaxLease Count = 1_000_000
	MaxSegment      Count = 1_000_000
	DefaultSegment  Count = 100
	MaxNext         Count = 1000 // most numbers that one call of Next may take

	DefaultResumeShare = 10 // percent
)

// SequenceConfig is what an administrator decides about a sequence. The zero value of a field means its default.
type SequenceConfig struct {
	Description string
	Start       Number // first number; default 1 unless StartAtZero; fixed at creation
	StartAtZero bool   // the first number is 0; fixed at creation
	Limit       Number // last number; default MaxNumber; may be raised, and lowered to what is leased
	MaxLease    Count  // most numbers one lease may take, 1 to MaxLeaseLimit; default DefaultMaxLease
	Segment     Count  // numbers that an environment leases at once to answer Next (never above MaxLease), 1 to MaxSegment; default DefaultSegment
	RequireKey  bool   // a lease or a next without an Idempotency-Key is refused

	AutoRebuild bool // the schedule rebuilds the sequence by itself when it has stopped, where the evidence allows
	ResumeShare int  // percent of the callers that a rebuilt sequence serves first, 1 to 100; 100 for all at once; default DefaultResumeShare

	// PeriodOf is set where the refill made the sequence to count in a period of this one, as invoices.2026 is of invoices;
	// fixed at creation, and not for clients to set. Generators take numbers of no other counter of a period: who made it
	// else has not agreed to that.
	PeriodOf SequenceName

	// BornPaused makes the sequence paused, in the same write. It says how it is to be made and is not kept, and is not for clients to set.
	BornPaused bool
}

// Birth is what is kept of the configuration of a sequence that is made, and the state in which it is: every Store calls it.
func (c SequenceConfig) Birth() (kept SequenceConfig, born SequenceState) {
	born = SequenceActive
	if c.BornPaused {
		born = SequencePaused
	}
	c.BornPaused = false
	return c, born
}

// Sequence is a sequence as stored.
type Sequence struct {
	Name    SequenceName
	Config  SequenceConfig
	State   SequenceState
	Version Version
	Epoch   Epoch
	Next    Number // lowest number not leased yet; Limit+1 when exhausted

	Share   int   // of a resuming one: percent of the callers that are served
	Rebuild JobID // of a frozen or resuming one: the rebuild that made it so
	Behind  bool  // of a paused one, as Watch alone tells: its counter is not where it must be, and whoever resumes it makes it stop
	Created time.Time
}

// WithDefaults fills in the defaults.
func (c SequenceConfig) WithDefaults() SequenceConfig {
	if c.Start == 0 && !c.StartAtZero {
		c.Start = 1
	}
	if c.Limit == 0 {
		c.Limit = MaxNumber
	}
	if c.MaxLease == 0 {
		c.MaxLease = DefaultMaxLease
	}
	if c.Segment == 0 {
		c.Segment = DefaultSegment
	}
	if c.ResumeShare == 0 {
		c.ResumeShare = DefaultResumeShare
	}
	return c
}

// Check refuses a configuration (defaults filled in) that cannot work, with CodeInvalidConfig.
func (c SequenceConfig) Check() error {
	switch {
	case c.Limit > MaxNumber:
		return Errorf(CodeInvalidConfig, "limit must be at most %d", MaxNumber)
	case c.Start != 0 && c.StartAtZero:
		return Errorf(CodeInvalidConfig, "a start of %d and start_at_zero contradict each other; leave one out", c.Start)
	case c.Start > c.Limit:
		return Errorf(CodeInvalidConfig, "start must not be above limit")
	case c.MaxLease < 1 || c.MaxLease > MaxLeaseLimit:
		return Errorf(CodeInvalidConfig, "max_lease must be 1 to %d", MaxLeaseLimit)
	case c.Segment < 1 || c.Segment > MaxSegment:
		return Errorf(CodeInvalidConfig, "segment must be 1 to %d", MaxSegment)
	case c.ResumeShare < 1 || c.ResumeShare > 100:
		return Errorf(CodeInvalidConfig, "resume_share must be 1 to 100 percent")
	}
	return checkDescription(c.Description)
}

// words says in words what the configuration is, for the trail.
func (c SequenceConfig) words() string {
	period := ""
	if c.PeriodOf != "" {
		period = fmt.Sprintf("period of %q, ", c.PeriodOf)
	}
	return period + fmt.Sprintf("start %d, limit %d, max_lease %d, segment %d, require_key %t, auto_rebuild %t, resume_share %d, description %q",
		c.Start, c.Limit, c.MaxLease, c.Segment, c.RequireKey, c.AutoRebuild, c.ResumeShare, c.Description)
}

// CheckChange refuses, with CodeInvalidConfig, a change of the start or of what it is a period of, and a limit below what
// is leased (next is the lowest number not leased yet).
func (c SequenceConfig) CheckChange(to SequenceConfig, next Number) error {
	if c.Start != to.Start {
		return Errorf(CodeInvalidConfig, "start is fixed when a sequence is created; make a new sequence instead")
	}
	if c.PeriodOf != to.PeriodOf {
		return Errorf(CodeInvalidConfig, "of which sequence it counts a period is fixed when a sequence is created")
	}
	if err := to.Check(); err != nil {
		return err
	}
	if to.Limit+1 < next {
		return Errorf(CodeInvalidConfig, "limit must not be below %d, the last number leased", next-1)
	}
	return nil
}

// CheckLease is the one rule for whether a sequence takes a new lease: every Store calls it on the sequence's state as
// it knows it before it takes anything.
func (s Sequence) CheckLease(o LeaseOrder) error {
	if err := s.checkRebuild(o); err != nil {
		return err
	}
	if err := s.checkCount(o.Count); err != nil {
		return err
	}
	if s.Config.RequireKey && o.Key == nil && !o.Segment {
		return keyRequired("sequence", string(s.Name))
	}
	if o.Refusal != nil {
		return o.Refusal
	}
	if left := s.Remaining(); left < o.Count {
		return s.exhausted(left, o.Count)
	}
	return nil
}

func (s Sequence) checkState() error {
	switch s.State {
	case SequenceDeleted:
		return s.deleted()
	case SequencePaused:
		return Errorf(CodeSequencePaused, "the sequence %q is paused; try again when an administrator has resumed it", s.Name)
	case SequenceStopped:
		return s.stopped()
	case SequenceFrozen:
		return Errorf(CodeSequenceRebuilding, "the sequence %q is being rebuilt; nothing was taken; try again in a while", s.Name).After(rebuildPause)
	}
	return nil
}

// checkRebuild refuses by the state, which the test of a rebuild passes, and everybody else whom a resuming sequence does not
// serve yet.
func (s Sequence) checkRebuild(o LeaseOrder) error {
	if o.Rebuild != "" {
		if s.State != SequenceFrozen || s.Rebuild != o.Rebuild {
			return Errorf(CodeRebuildStep, "the sequence %q is not frozen by this rebuild", s.Name)
		}
		return nil
	}
	if err := s.checkState(); err != nil {
		return err
	}
	return s.checkShare(o.By)
}

// checkShare refuses a caller whom a resuming sequence does not serve yet. It is the same callers all the time.
func (s Sequence) checkShare(by ClientID) error {
	if s.State != SequenceResuming || shareOf(by) < s.Share {
		return nil
	}
	return Errorf(CodeSequenceResuming, "the sequence %q was rebuilt and serves %d in 100 callers for now, and not this one yet; nothing was taken; try again in a while", s.Name, s.Share).
		After(rebuildPause)
}

// shareOf is a number from 0 to 99 that a client always has.
func shareOf(by ClientID) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(by)) // never returns an error
	return int(h.Sum32() % 100)
}

// rebuildPause is after how long it is worth to ask again a sequence that is being rebuilt.
const rebuildPause = 30 * time.Second

func (s Sequence) checkCount(n Count) error {
	if n < 1 || n > s.Config.MaxLease {
		return Errorf(CodeInvalidCount, "count must be 1 to %d for the sequence %q", s.Config.MaxLease, s.Name)
	}
	return nil
}

func (s Sequence) exhausted(left, n Count) error {
	var advice []string
	if left > 0 {
		advice = append(advice, "ask for fewer")
	}
	if s.Config.Limit < MaxNumber {
		advice = append(advice, "raise its limit")
	}
	if len(advice) == 0 {
		advice = append(advice, "begin another sequence")
	}
	e := Errorf(CodeSequenceExhausted, "numbers left in the sequence %q: %d, asked for: %d; %s", s.Name, left, n, strings.Join(advice, " or "))
	e.Remaining = left
	return e
}

// Remaining is how many numbers are left to lease.
func (s Sequence) Remaining() Count {
	if s.Next > s.Config.Limit {
		return 0
	}
	left := uint64(s.Config.Limit-s.Next) + 1
	return Count(min(left, math.MaxInt64))
}

// CheckTo is the one rule for changes of state by an administrator: not from deleted, to whatever state, and from stopped
// and frozen (which a rebuild ends) to deleted only; one that serves anybody, active or resuming, is paused before it is deleted. A change of
// another sequence to its present state is allowed and changes nothing.
func (s Sequence) CheckTo(to SequenceState) error {
	if err := s.CheckThere(); err != nil {
		return err
	}
	switch {
	case to == SequenceDeleted && (s.State == SequenceActive || s.State == SequenceResuming):
		return Errorf(CodeSequenceActive, "the sequence %q serves leases; pause it first, and delete it once nobody misses it", s.Name)
	case to == SequenceDeleted:
		return nil
	case s.State == SequenceStopped:
		return s.stopped()
	case s.State == SequenceFrozen, s.State == SequenceResuming:
		return Errorf(CodeSequenceRebuilding, "the sequence %q is being rebuilt; resume it, or cancel it, by its rebuild", s.Name)
	}
	return nil
}

// CheckThere refuses a sequence that was deleted.
func (s Sequence) CheckThere() error {
	if s.State == SequenceDeleted {
		return s.deleted()
	}
	return nil
}

func (s Sequence) deleted() error {
	return Errorf(CodeSequenceDeleted, "the sequence %q was deleted; its name is not used again, choose another", s.Name)
}

func (s Sequence) stopped() error {
	return Stopped(s.Name)
}

// Stopped is the error of a sequence whose counter is missing or behind its ledger.
func Stopped(name SequenceName) *Error {
	return Errorf(CodeSequenceStopped, "the sequence %q is stopped because its counter is missing or behind its leases; nothing was handed out; an administrator must rebuild it", name).
		After(time.Minute)
}

// LeaseOrder asks a Store for a range.
type LeaseOrder struct {
	Sequence SequenceName
	Count    Count
	By       ClientID
	Key      *Key // nil for none

	// Segment says that the numbers are stock from which Service answers many requests: RequireKey does not refuse it.
	Segment bool

	// Refusal is why no new lease may be made; nil for none. A repeat is answered all the same: see ClaimOrder.
	Refusal *Error

	// Rebuild is set for the test of a rebuild: it leases from the sequence that this one has frozen. "" for all else.
	Rebuild JobID
}

// Range is the answer: the numbers Start to End, both included.
type Range struct {
	Sequence SequenceName
	Start    Number
	End      Number
	Epoch    Epoch
	Token    Token
	At       time.Time
	Replayed bool
}

// Len is how many numbers the range has.
func (r Range) Len() Count { return Count(r.End-r.Start) + 1 }

// LeaseRecord is one entry of a sequence's ledger.
type LeaseRecord struct {
	Start  Number
	End    Number
	Token  Token
	By     ClientID
	At     time.Time
	Epoch  Epoch
	Proven bool // it was shown to be disjoint from all before it left the house

	Carried time.Time // when a restore entered it into this ledger; zero where a lease did, or a version that did not keep that
}
