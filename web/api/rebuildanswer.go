package api

import (
	"fmt"
	"time"

	"idpool/alloc"
)

type rebuildAnswer struct {
	Sequence  alloc.SequenceName  `json:"sequence"`
	ID        alloc.JobID         `json:"id"`
	Step      alloc.RebuildStep   `json:"step"`
	Client    alloc.ClientID      `json:"client"`
	Why       string              `json:"why,omitzero"`
	Automatic bool                `json:"automatic"`
	Started   time.Time           `json:"started_at"`
	Updated   time.Time           `json:"updated_at"`
	Was       alloc.SequenceState `json:"was"`
	Epoch     alloc.Epoch         `json:"epoch,omitzero"` // of the counter that is replaced; absent where it is lost
	Config    sequenceConfig      `json:"config"`
	Reported  *numberText         `json:"reported,omitempty"`
	Margin    alloc.Count         `json:"margin"`
	Since     time.Time           `json:"since,omitzero"`
	Share     int                 `json:"share,omitzero"`
	Replaces  string              `json:"replaces,omitzero"`
	Ledger    ledgerSum           `json:"ledger"`
	Sources   []sourceAnswer      `json:"sources"`
	Plan      *planAnswer         `json:"plan,omitempty"`
	Tested    *spanAnswer         `json:"tested,omitempty"`
	Check     *ledgerSum          `json:"check,omitempty"` // nil before the verification has begun
	Applied   time.Time           `json:"applied_at,omitzero"`
	Resumed   time.Time           `json:"resumed_at,omitzero"`
	NextStep  string              `json:"next_step"`
	Log       []eventAnswer       `json:"log"`
}

// ledgerSum is what was read of the ledger until now, for the plan or for the verification.
type ledgerSum struct {
	Whole    bool        `json:"whole"`
	Entries  alloc.Count `json:"entries"`
	Unproven alloc.Count `json:"unproven"`
	Damaged  alloc.Count `json:"damaged"`
	Blind    *numberText `json:"blind,omitempty"` // greatest start of the damaged ones
	Overlaps alloc.Count `json:"overlaps"`
	Highest  *numberText `json:"highest,omitempty"` // absent where there is no entry
	Reach    *numberText `json:"reach,omitempty"`   // absent where none is proven
	Epoch    alloc.Epoch `json:"epoch,omitzero"`
}

type sourceAnswer struct {
	Kind  alloc.SourceKind `json:"kind"`
	Known bool             `json:"known"`
	Last  *numberText      `json:"last,omitempty"` // with known
	At    time.Time        `json:"at,omitzero"`
	Note  string           `json:"note,omitzero"`
}

type planAnswer struct {
	ID       string       `json:"id"`
	Floor    alloc.Number `json:"floor,string"`
	Next     alloc.Number `json:"next,string"`
	Burned   amount       `json:"burned"`
	Left     amount       `json:"left"`
	Exhausts bool         `json:"exhausts"`
	Epoch    alloc.Epoch  `json:"epoch"`
	Warnings []string     `json:"warnings"`
}

// spanAnswer is the numbers from start to end, both included.
type spanAnswer struct {
	Start alloc.Number `json:"start,string"`
	End   alloc.Number `json:"end,string"`
}

func newRebuildAnswer(r alloc.Rebuild) rebuildAnswer {
	a := rebuildAnswer{
		Sequence: r.Sequence, ID: r.ID, Step: r.Step, Client: r.By, Why: r.Why, Automatic: r.Auto, Started: utc(r.Started), Updated: utc(r.Updated),
		Was: r.Was, Epoch: r.Epoch, Config: newSequenceConfig(r.Config), Margin: r.Margin, Since: utc(r.Since), Share: r.Share, Replaces: r.Replaces, NextStep: nextStep(r),
		Ledger: newLedgerSum(r.Ledger), Sources: make([]sourceAnswer, len(r.Sources)), Applied: utc(r.Applied), Resumed: utc(r.Resumed), Log: events(r.Log),
	}
	if r.HasReported {
		a.Reported = &numberText{r.Reported}
	}
	for i, s := range r.Sources {
		a.Sources[i] = newSourceAnswer(s)
	}
	if p := r.Plan; p.ID != "" {
		a.Plan = &planAnswer{
			ID: p.ID, Floor: p.Floor, Next: p.Next, Burned: numbers(p.Burned), Left: numbers(r.Left()), Exhausts: r.Exhausts(), Epoch: p.Epoch,
			Warnings: append([]string{}, r.Warnings()...),
		}
	}
	if len(r.Tested) > 0 {
		a.Tested = &spanAnswer{r.Tested[0], r.Tested[len(r.Tested)-1]}
		a.Check = new(newLedgerSum(r.Check))
	}
	return a
}

// nextStep says in words what comes next.
func nextStep(r alloc.Rebuild) string {
	at := fmt.Sprintf("POST /v1/sequences/%s/rebuild", r.Sequence)
	replace := fmt.Sprintf("or %s with replaces, the id of the plan, for another one, until which the sequence is closed", at)
	switch r.Step {
	case alloc.RebuildGathering:
		return "the ledger is being read: send " + at + " once more, or wait"
	case alloc.RebuildPlanned:
		exhausts := ""
		if r.Exhausts() {
			exhausts = ", and exhausts: true, as it leaves nothing to anybody"
		}
		return fmt.Sprintf("look at the plan, then %[1]s/apply with plan, its id, and confirm, the name of the sequence%[2]s; or %[1]s for another plan; or %[1]s/cancel", at, exhausts)
	case alloc.RebuildApplied:
		return fmt.Sprintf("the counter is being verified: send %s/apply once more, or wait; %s", at, replace)
	case alloc.RebuildVerified:
		return fmt.Sprintf("%s/resume serves a share of the callers, and with share: 100 all; %s", at, replace)
	case alloc.RebuildResuming:
		return fmt.Sprintf("%s/resume with share: 100 serves all; POST /v1/sequences/%s/pause nobody; %s", at, r.Sequence, replace)
	case alloc.RebuildDone:
		if r.Was == alloc.SequencePaused {
			return fmt.Sprintf("it is over, and has left the sequence paused: POST /v1/sequences/%s/resume", r.Sequence)
		}
		return "nothing: it is over"
	}
	return "nothing: it was cancelled; " + at + " begins another"
}

func newLedgerSum(l alloc.LedgerSum) ledgerSum {
	a := ledgerSum{Whole: l.Whole, Entries: l.Entries, Unproven: l.Unproven, Damaged: l.Damaged, Overlaps: l.Overlaps, Epoch: l.Epoch}
	if l.Damaged > 0 {
		a.Blind = &numberText{l.Blind}
	}
	if l.Entries > 0 {
		a.Highest = &numberText{l.Highest}
	}
	if l.Entries > l.Unproven {
		a.Reach = &numberText{l.Reach}
	}
	return a
}

func newSourceAnswer(s alloc.Source) sourceAnswer {
	a := sourceAnswer{Kind: s.Kind, Known: s.Known, At: utc(s.At), Note: s.Note}
	if s.Known {
		a.Last = &numberText{s.Last}
	}
	return a
}

// sequenceEvidence is what every source says where a sequence stands, and whether something is wrong.
type sequenceEvidence struct {
	Sequence   alloc.SequenceName  `json:"sequence"`
	At         time.Time           `json:"at"`
	State      alloc.SequenceState `json:"state,omitzero"` // absent where it could not be read
	Epoch      alloc.Epoch         `json:"epoch,omitzero"`
	Configured bool                `json:"configured"`
	Fault      string              `json:"fault,omitzero"`
	Sources    []seenAnswer        `json:"sources"`
}

// seenAnswer is a source with when it was read, and what it says beside the others.
type seenAnswer struct {
	sourceAnswer
	Says alloc.Saying `json:"says"`
	Read time.Time    `json:"read_at"`
}

func newSequenceEvidence(e alloc.SequenceEvidence) sequenceEvidence {
	a := sequenceEvidence{
		Sequence: e.Sequence, At: utc(e.At), State: e.State, Epoch: e.Epoch, Configured: e.Configured, Fault: e.Fault, Sources: make([]seenAnswer, len(e.Sources)),
	}
	for i, s := range e.Sources {
		a.Sources[i] = seenAnswer{newSourceAnswer(s.Source), s.Says, utc(s.Read)}
	}
	return a
}
