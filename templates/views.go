// Package templates has the pages of the dashboard: templ components over view models of plain values. A component takes
// one view model and calls nothing; every number, time and address in it is ready to be shown. The generated files are
// committed: run `make generate` after a change of a .templ file.
package templates

// Frame is what stands around every page.
type Frame struct {
	Title       string
	Environment string // shown on every page and in its title
	Kind        string // colour of the environment: "production", "local" or "other"
	Stylesheet  string // addresses of static files
	Icon        string
	AsOf        Time
}

// Time is a moment, absolute and in UTC.
type Time struct {
	Machine string // RFC 3339, for <time datetime>
	Text    string
	Stale   bool // older than it should be
}

// Tone is what colour and shape a state has; the words beside it say the same.
type Tone string

// The tones.
const (
	ToneGood Tone = "good"
	ToneWarn Tone = "warn" // will need a person
	ToneBad  Tone = "bad"  // needs a person now
	ToneOff  Tone = "off"  // somebody switched it off
)

// State is a state in words, with its tone.
type State struct {
	Tone Tone
	Text string
}

// Meter is a gauge from 0 to Max.
type Meter struct {
	Value, Max string // decimal numbers
	Label      string // the same in words
	Tone       Tone
}

// Failure stands in for a part of a page that could not be read.
type Failure struct {
	Message   string
	RequestID string
	Retry     string // address
}

// Paging are addresses of other pages of a list; "" for none.
type Paging struct {
	First string
	Next  string
}

// Overview is the first page.
type Overview struct {
	Frame     Frame
	Pools     PoolsPanel
	Sequences SequencesPanel
}

// PoolsPanel shows pools with their levels.
type PoolsPanel struct {
	Rows    []PoolRow
	Paging  Paging
	Failure *Failure
}

// PoolRow is one pool. Where Unknown is set, its level could not be read, and it says why.
type PoolRow struct {
	Name        string
	Description string
	State       State
	Why         string // what there is to say of the state; "" for nothing
	Unknown     string
	Meter       Meter
	Available   string
	Marks       string // between which levels it is kept, in words; "" for none
	Claimed     string
	Others      string // what is neither free nor claimed, in words; "" for nothing
	Seeded      string
	Counted     Time // when all but Available were counted; no Machine before the first count
}

// SequencesPanel shows sequences with their positions.
type SequencesPanel struct {
	Rows    []SequenceRow
	Paging  Paging
	Failure *Failure
}

// SequenceRow is one sequence.
type SequenceRow struct {
	Name        string
	Description string
	State       State
	Meter       Meter
	Used        string // percent
	Next        string // "" where it is not known, or where there is none
	Limit       string
	Epoch       string
}

// ErrorPage says that a page cannot be shown.
type ErrorPage struct {
	Frame     Frame
	Heading   string
	Message   string
	RequestID string
}
