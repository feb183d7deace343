package alloc

import (
	"context"
	"slices"
	"time"
)

// RebuildStep is how far the rebuild of a sequence is. Each step is stored before the next begins, so that it is carried on by
// whoever comes, and each may be asked for again.
type RebuildStep string

// The steps, in their order.
const (
	RebuildGathering RebuildStep = "gathering" // the sequence is frozen, and the ledger is being read
	RebuildPlanned   RebuildStep = "planned"   // there is a plan, to be confirmed
	RebuildApplied   RebuildStep = "applied"   // the counter stands where the plan says, in a new epoch; the sequence is frozen still
	RebuildVerified  RebuildStep = "verified"  // test numbers were leased and are apart from all leases
	RebuildResuming  RebuildStep = "resuming"  // a share of the callers is served
	RebuildDone      RebuildStep = "done"
	RebuildCancelled RebuildStep = "cancelled" // before it was applied
)

// Ended reports whether the rebuild goes no further.
func (s RebuildStep) Ended() bool { return s == RebuildDone || s == RebuildCancelled || s == "" }

// Bounds of a rebuild.
const (
	MaxMargin     Count = 1_000_000_000_000
	DefaultMargin Count = 1000
	TestNumbers   Count = 10 // that the verification leases; they are burned
)

// Rebuild is the last rebuild of a sequence, or the one that is on. A sequence has one at a time.
type Rebuild struct {
	Sequence SequenceName
	ID       JobID // of this rebuild
	Version  Version
	Change   Token // sets the last change apart from all others
	Step     RebuildStep
	By       ClientID // who began it
	Why      string
	Auto     bool // the schedule did
	Started  time.Time
	Updated  time.Time

	Was      SequenceState // before it was frozen
	Epoch    Epoch         // of the counter that is replaced, 0 where it is lost
	Config   SequenceConfig
	Reported Number    // highest number that the operator or an importing system knows of; with HasReported
	Margin   Count     // numbers that are left out above the highest source
	Since    time.Time // what was leased after this may be missing from the ledger, as after a restore; zero for nothing
	Share    int       // percent of the callers that are served first
	Base     Number    // where an earlier plan that was applied has put the counter: all below is used or given up; 0 for none
	Replaces string    // the plan that was applied, and in whose place this one is planned; "" for none

	HasReported bool
	Ledger      LedgerSum // what was read of the ledger, up to its Mark
	Sources     []Source  // with what each said, whether it was asked or not
	Plan        RebuildPlan
	Tested      []Number  // first and last of the test numbers
	Check       LedgerSum // what the verification has read of the ledger, up to its Mark
	Applied     time.Time
	Resumed     time.Time
	Autos       []time.Time // when the schedule began one of the sequence, within the last day; they stay with the next rebuild
	Log         []JobEvent  // the last MaxJobEvents
}

// LedgerSum is what a walk over a whole ledger has met.
type LedgerSum struct {
	Mark     string // where it goes on; "" before the beginning and after the end
	Whole    bool   // it has come to the end
	Entries  Count  // that can be read
	Unproven Count  // of these
	Damaged  Count  // that cannot be read; they are not among Entries
	Blind    Number // greatest start of the damaged ones: how far they go is not known; with Damaged
	Overlaps Count  // proven ones that overlap one before
	Highest  Number // greatest end; with Entries
	Epoch    Epoch  // greatest
	Reach    Number // greatest end of the proven ones
}

// SourceKind is what tells where a sequence stands.
type SourceKind string

// The sources.
const (
	SourceCounter  SourceKind = "counter"  // the position itself; for a plan it is never enough
	SourceLedger   SourceKind = "ledger"   // greatest end of all leases, proven or not
	SourceReported SourceKind = "reported" // by the operator or an importing system
	SourceMark     SourceKind = "mark"     // the high-water mark, which is kept apart
	SourceSamples  SourceKind = "samples"  // the newest sample of the sequence
	SourceRebuild  SourceKind = "rebuild"  // where the rebuild before has put the counter; see Rebuild.Base
	SourceWindow   SourceKind = "window"   // what may have been leased since Rebuild.Since, by the highest rate known, doubled
)

// Source is what one source said.
type Source struct {
	Kind  SourceKind
	Known bool
	Last  Number    // highest number that is used by what it says; with Known. Of SourceCounter −1 is said as not Known
	At    time.Time // when it was so; zero for now
	Note  string    // in words
}

// RebuildPlan is where the counter is to stand.
type RebuildPlan struct {
	ID     string // of this very plan; another evidence or request makes another
	Floor  Number // lowest number that no source says is used
	Next   Number // Floor + margin
	Burned Count  // numbers that nobody gets: from the counter, or, where that is lost, from the highest lease, up to Next
	Epoch  Epoch  // new one
}

// Evidence is what a Store knows of where a sequence stands, beside its ledger.
type Evidence struct {
	Sequence   Sequence // state, version and configuration: of the head, where there is one, else of the copy, which knows of each pause
	Counter    bool     // the head is there and whole: Sequence.Next and Epoch are its own
	Configured bool     // there is a head or a copy: Sequence.Config is known
	Marked     bool
	Mark       Number // highest number that is used by the high-water mark; with Marked
	MarkedAt   time.Time
	Epoch      Epoch // highest that the mark or the copy knows of
}

// RestartOrder asks a Store to put the counter of a frozen or lost sequence where a plan says.
type RestartOrder struct {
	Sequence SequenceName
	Rebuild  JobID
	From     Epoch // that the counter has now; 0 where it is lost or damaged
	To       Epoch // above From, and above every epoch that the ledger or the mark knows of
	Next     Number
	Config   SequenceConfig // for a head that is made anew
}

// Rebuilds is the way back of sequences. The procedure is Service's; here are its steps.
type Rebuilds interface {
	// Rebuild reads the record of a sequence's rebuild, strongly; one of version 0, with nothing but Sequence set, where there never was one.
	Rebuild(ctx context.Context, name SequenceName) (Rebuild, error)

	// ChangeRebuild replaces the record if it is at version from (0: there is none), and raises the version to from+1. A repeat
	// of the change last made (same from, same Change) is a success. CodeVersionMismatch with Current.
	ChangeRebuild(ctx context.Context, from Version, r Rebuild) (Rebuild, error)

	// Evidence reads, strongly. CodeSequenceNotFound where the sequence was never made, CodeSequenceDeleted. A head that is lost or damaged is no error.
	Evidence(ctx context.Context, name SequenceName) (Evidence, error)

	// WalkLedger returns entries of the whole ledger, the lowest start first, unproven and damaged ones too (these with End 0 and no Token), from the mark on ("" from the
	// beginning), and the mark to go on from, "" at the end.
	WalkLedger(ctx context.Context, name SequenceName, mark string, limit int) (page []LeaseRecord, next string, err error)

	// Freeze makes the sequence frozen by the rebuild, so that no lease raises the counter any more, and returns it as it was before. A
	// repeat is a success, and returns the state before as the one that it was. One whose head is lost or damaged is frozen by that alone; it is returned as stopped. One that resumes after another rebuild is
	// frozen again, from SequenceResuming. CodeRebuildStep where another rebuild has frozen it; CodeSequenceNotFound, CodeSequenceDeleted.
	Freeze(ctx context.Context, name SequenceName, rebuild JobID) (was Sequence, err error)

	// Restart puts the counter to o.Next in the epoch o.To, if it is in o.From or lost as o says, and makes a lost head anew. The
	// sequence is frozen by o.Rebuild after it. A repeat is a success that changes nothing. The counter is never lowered: CodeRebuildStep where it stands above
	// o.Next, where the epoch is another, or it is frozen by another rebuild. CodeSequenceNotFound, CodeSequenceDeleted.
	Restart(ctx context.Context, o RestartOrder) (Sequence, error)

	// Thaw ends what Freeze began, or serves a share of the callers (SequenceResuming, 1 to 99), or more of them: to is the state after it. A
	// repeat is a success. A sequence without a counter stays stopped. CodeRebuildStep where the rebuild has not frozen it.
	Thaw(ctx context.Context, name SequenceName, rebuild JobID, to SequenceState, share int) (Sequence, error)
}

// RebuildRequest asks for a plan. What it does not say stays as it was said before, where it goes on with a plan that was not applied, or
// replaces one that was.
type RebuildRequest struct {
	Sequence    SequenceName
	Why         string
	Reported    Number // highest number that is used, by what the operator or an importing system knows; with HasReported. Not below what was reported before
	HasReported bool
	NoReported  bool           // what was reported before does not count any more: with HasReported, Reported stands in its place, and may be below it
	Margin      Count          // 0 for not said, which is DefaultMargin at first; at most MaxMargin
	Since       time.Time      // see Rebuild.Since; zero for not said. What is said for a plan counts no more once that was applied: Rebuild.Base has it
	NoSince     bool           // what was said of that before does not count any more
	Config      SequenceConfig // for a sequence whose head is lost, without a copy; zero for not said

	// Replaces is the ID of a plan that was applied, and that this one is to replace before all callers are served; "" for none. The sequence is
	// frozen again, and stays closed until the new plan was verified.
	Replaces string
}

// RebuildApproval says that a plan may be carried out.
type RebuildApproval struct {
	Sequence SequenceName
	Plan     string // the ID of the plan that was looked at
	Exhausts bool   // it may leave nothing to anybody: see Rebuild.Exhausts
}

// RebuildSeen is the rebuild that somebody has looked at before asking for a step of it.
type RebuildSeen struct {
	ID   JobID  // of the rebuild
	Plan string // the ID of the plan that it had; "" for none,

	// What was reported for it: before there is a plan nothing else tells two looks apart.
	Reported    Number
	HasReported bool
}

// Seen is the rebuild as it is here.
func (r Rebuild) Seen() RebuildSeen {
	return RebuildSeen{ID: r.ID, Plan: r.Plan.ID, Reported: r.Reported, HasReported: r.HasReported}
}

// checkSeen refuses a step of a rebuild that is not the one that was looked at; of none, every rebuild is right.
func (r Rebuild) checkSeen(seen []RebuildSeen) error {
	if len(seen) == 0 || r.Version == 0 || slices.Contains(seen, r.Seen()) {
		return nil
	}
	return Errorf(CodePlanChanged, "the sequence %q has another rebuild, or another plan, by now; look at that, and make a new plan of this step if it is right; nothing was changed", r.Sequence)
}
