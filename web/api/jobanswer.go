package api

import (
	"time"

	"idpool/alloc"
	"idpool/web"
)

type jobAnswer struct {
	ID       alloc.JobID        `json:"id"`
	Kind     alloc.JobKind      `json:"kind"`
	Pool     alloc.PoolName     `json:"pool,omitzero"` // absent where it is about none
	Sequence alloc.SequenceName `json:"sequence,omitzero"`
	Of       alloc.State        `json:"of,omitzero"`     // of an export: the state of the IDs; absent for all
	Format   string             `json:"format,omitzero"` // of what an export writes, or a seeding reads
	specAnswer
	Client  alloc.ClientID `json:"client"`
	Why     string         `json:"why,omitzero"`
	State   alloc.JobState `json:"state"`
	Created time.Time      `json:"created_at"`
	Started time.Time      `json:"started_at,omitzero"`
	Updated time.Time      `json:"updated_at"`
	ETA     time.Time      `json:"eta,omitzero"`   // absent where it cannot be told
	Done    alloc.Count    `json:"done"`           // entries or IDs
	Total   alloc.Count    `json:"total,omitzero"` // what done is at the end; absent where that is not known
	Way     *progress      `json:"progress,omitempty"`
	Tally   any            `json:"tally,omitempty"`
	Input   *inputAnswer   `json:"input,omitempty"` // of a seeding
	Parts   int            `json:"parts"`           // of the result that can be read, from 0; all of them once it is done
	Failure string         `json:"failure,omitzero"`
	Verdict string         `json:"verdict,omitzero"` // of an audit that is done
	Trail   string         `json:"trail_verdict,omitzero"`
	End     *trailEnd      `json:"trail_end,omitempty"`
	Log     []eventAnswer  `json:"log"`
}

// progress is how far a job is that looks at some IDs twice.
type progress struct {
	Done      alloc.Count `json:"done"`
	Total     alloc.Count `json:"total"`
	Estimated bool        `json:"estimated"`
}

// specAnswer is what else the job was asked for.
type specAnswer struct {
	Sample   int                 `json:"sample,omitzero"`     // of an audit: percent
	Since    time.Time           `json:"since,omitzero"`      // of a log
	Point    time.Time           `json:"point,omitzero"`      // of a restore
	Source   alloc.RestoreSource `json:"source,omitzero"`     // of a restore
	AtMost   alloc.Count         `json:"at_most,omitzero"`    // of a restore
	File     alloc.JobID         `json:"file,omitzero"`       // of a check
	Policy   alloc.Policy        `json:"policy,omitzero"`     // of a pool's rebuild
	FoldCase *bool               `json:"fold_case,omitempty"` // with policy
}

func newSpecAnswer(j alloc.Job) specAnswer {
	s := j.Spec
	a := specAnswer{Sample: s.Sample, Source: s.Source, AtMost: s.AtMost, File: s.File, Policy: s.Policy}
	if s.Policy != "" {
		a.FoldCase = &s.FoldCase
	}
	if j.Kind == alloc.JobRestore {
		a.Point = utc(s.Since)
	} else {
		a.Since = utc(s.Since)
	}
	return a
}

// What jobs of these kinds have met.
type seedTally struct {
	Added     alloc.Count `json:"added"`
	Duplicate alloc.Count `json:"duplicate"`
	Conflict  alloc.Count `json:"conflict"`
	Invalid   alloc.Count `json:"invalid"`
}

type countTally struct {
	Free      alloc.Count `json:"free"`
	Held      alloc.Count `json:"held"`
	Claimed   alloc.Count `json:"claimed"`
	Returning alloc.Count `json:"returning"`
	Retired   alloc.Count `json:"retired"`
}

type rebuildTally struct {
	countTally
	Lost    alloc.Count `json:"lost"`
	Missing alloc.Count `json:"missing,omitzero"` // of a rebuild alone
}

type auditTally struct {
	*rebuildTally             // of a pool alone
	Findings      alloc.Count `json:"findings"`
	TrailFindings alloc.Count `json:"trail_findings"`
	Information   alloc.Count `json:"information"`
}

type restoreTally struct {
	Carried    alloc.Count `json:"carried"`
	Burned     alloc.Count `json:"burned"`
	Known      alloc.Count `json:"known"`
	Clash      alloc.Count `json:"clash"`
	NotCarried alloc.Count `json:"not_carried"`
}

// newTally is what the job has met, nil for one that counts nothing but what is done.
func newTally(j alloc.Job) any {
	t := j.Tally
	counts := countTally{t.Free, t.Held, t.Claimed, t.Returning, t.Retired}
	switch j.Kind {
	case alloc.JobSeed, alloc.JobCheck:
		return seedTally{t.Added, t.Duplicate, t.Conflict, t.Invalid}
	case alloc.JobCount:
		return counts
	case alloc.JobRebuild:
		return rebuildTally{counts, t.Lost, t.Missing}
	case alloc.JobAudit:
		a := auditTally{Findings: t.Findings, TrailFindings: t.Trail, Information: t.Informing}
		if j.Pool != "" {
			a.rebuildTally = &rebuildTally{counts, t.Lost, 0}
		}
		return a
	case alloc.JobRestore:
		return restoreTally{t.Carried, t.Burned, t.Duplicate, t.Conflict, t.Invalid}
	}
	return nil
}

// inputAnswer says how a seeding's file is read, and what of it has come.
type inputAnswer struct {
	Column string `json:"column,omitzero"`
	Header *bool  `json:"header,omitempty"` // nil where it is recognised
	Ranges bool   `json:"ranges,omitzero"`
	Parts  int    `json:"parts"` // that have come; the next one has this number
	Lines  int    `json:"lines"`
}

type eventAnswer struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

func events(log []alloc.JobEvent) []eventAnswer {
	a := make([]eventAnswer, len(log))
	for i, e := range log {
		a[i] = eventAnswer{utc(e.At), e.Text}
	}
	return a
}

// formatText is that of a seeding with one ID a line.
const formatText = "text"

func newJobAnswer(j alloc.Job) jobAnswer {
	a := jobAnswer{
		ID: j.ID, Kind: j.Kind, Pool: j.Pool, Of: j.Of, Format: j.Format, Client: j.By, Why: j.Why, State: j.State,
		Created: utc(j.Created), Started: utc(j.Started), Updated: utc(j.Updated), Done: j.Done, Total: j.Total, Parts: j.Parts, Failure: j.Failure,
		Log: events(j.Log), Tally: newTally(j), Verdict: j.Verdict, Trail: j.TrailVerdict(), Sequence: j.Spec.Sequence, specAnswer: newSpecAnswer(j),
	}
	if end := j.Spec.Verified; end.Month != "" {
		a.End = &trailEnd{Month: end.Month, Position: alloc.Number(end.Last), Hash: end.Hash}
	}
	if p := j.Progress(); j.Tally.ToLook > 0 {
		a.Way = &progress{p.Done, p.Total, p.Estimated}
	}
	if at, ok := web.ETA(j); ok {
		a.ETA = utc(at)
	}
	switch {
	case j.Kind == alloc.JobSeed:
		a.Format, a.Input = formatOf(j.Input), newInputAnswer(j)
	case j.Kind == alloc.JobRestore && j.Spec.Source == alloc.RestoreLog:
		a.Input = newInputAnswer(j)
	}
	return a
}

func formatOf(f alloc.SeedFormat) string {
	if f.CSV {
		return formatCSV
	}
	return formatText
}

func newInputAnswer(j alloc.Job) *inputAnswer {
	in := inputAnswer{Column: j.Input.Column, Ranges: j.Input.Ranges, Parts: len(j.Inputs)}
	switch j.Input.Header {
	case alloc.HeaderYes:
		in.Header = new(true)
	case alloc.HeaderNo:
		in.Header = new(false)
	}
	for _, part := range j.Inputs {
		in.Lines += part.Lines
	}
	return &in
}
