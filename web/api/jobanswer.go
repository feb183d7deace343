package api

import (
	"time"

	"idpool/alloc"
	"idpool/web"
)

type jobAnswer struct {
	ID      alloc.JobID    `json:"id"`
	Kind    alloc.JobKind  `json:"kind"`
	Pool    alloc.PoolName `json:"pool"`
	Of      alloc.State    `json:"of,omitzero"`     // of an export: the state of the IDs; absent for all
	Format  string         `json:"format,omitzero"` // of what an export writes, or a seeding reads
	Client  alloc.ClientID `json:"client"`
	Why     string         `json:"why,omitzero"`
	State   alloc.JobState `json:"state"`
	Created time.Time      `json:"created_at"`
	Started time.Time      `json:"started_at,omitzero"`
	Updated time.Time      `json:"updated_at"`
	ETA     time.Time      `json:"eta,omitzero"`   // absent where it cannot be told
	Done    alloc.Count    `json:"done"`           // entries or IDs
	Total   alloc.Count    `json:"total,omitzero"` // what done is at the end; absent where that is not known
	Tally   any            `json:"tally,omitempty"`
	Input   *inputAnswer   `json:"input,omitempty"` // of a seeding
	Parts   int            `json:"parts"`           // of the result that can be read, from 0; all of them once it is done
	Failure string         `json:"failure,omitzero"`
	Log     []eventAnswer  `json:"log"`
}

// seedTally and countTally are what jobs of these kinds have met.
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

// inputAnswer says how a seeding's file is read, and what of it has come.
type inputAnswer struct {
	Column string `json:"column,omitzero"`
	Header *bool  `json:"header,omitempty"` // nil where it is recognised
	Parts  int    `json:"parts"`            // that have come; the next one has this number
	Lines  int    `json:"lines"`
}

type eventAnswer struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// formatText is that of a seeding with one ID a line.
const formatText = "text"

func newJobAnswer(j alloc.Job) jobAnswer {
	a := jobAnswer{
		ID: j.ID, Kind: j.Kind, Pool: j.Pool, Of: j.Of, Format: j.Format, Client: j.By, Why: j.Why, State: j.State,
		Created: utc(j.Created), Started: utc(j.Started), Updated: utc(j.Updated), Done: j.Done, Total: j.Total, Parts: j.Parts, Failure: j.Failure,
		Log: make([]eventAnswer, len(j.Log)),
	}
	if at, ok := web.ETA(j); ok {
		a.ETA = utc(at)
	}
	for i, e := range j.Log {
		a.Log[i] = eventAnswer{utc(e.At), e.Text}
	}
	t := j.Tally
	switch j.Kind {
	case alloc.JobSeed:
		a.Tally = seedTally{t.Added, t.Duplicate, t.Conflict, t.Invalid}
		a.Format, a.Input = formatOf(j.Input), newInputAnswer(j)
	case alloc.JobCount:
		a.Tally = countTally{t.Free, t.Held, t.Claimed, t.Returning, t.Retired}
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
	in := inputAnswer{Column: j.Input.Column, Parts: len(j.Inputs)}
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
