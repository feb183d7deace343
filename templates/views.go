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
	Script      string
	Icon        string
	AsOf        Time

	Nav      []Link // the screens; none on a page that is shown to nobody in particular
	Find     string // what is looked for; with Nav
	Who      string // who is signed in, with the role; "" for nobody
	SignOut  bool   // there is a session to end
	ReadOnly bool   // nothing can be changed here
	Done     string // what was just done, in a sentence; "" for nothing
	Refresh  Refresh
}

// Link is a link of a page.
type Link struct {
	Text, Href string
	Current    bool // it is the page itself
	Main       bool // of several steps the one that leads on
	Danger     bool // the step destroys, or cannot be undone
}

// Refresh says how often a page brings its live parts up to date. The zero value is a page without any.
type Refresh struct {
	Seconds int    // 0 for not now
	Switch  Link   // starts or stops it
	Words   string // "every 10 s", "paused"
}

// Time is a moment, absolute and in UTC.
type Time struct {
	Machine string // RFC 3339, for <time datetime>
	Text    string
	Away    string // how far from now: "3 min ago", "in 2 d"; "" where nothing is said of it
	Stale   bool   // older than it should be
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

// PoolsPage is the list of pools.
type PoolsPage struct {
	Frame    Frame
	Buttons  []Link
	Fields   []Field // of the filter
	Filtered bool
	Clear    string // address without a filter
	Note     string // what there is to say of the whole list; "" for nothing
	Panel    LinesPanel
}

// PoolPage is one pool.
type PoolPage struct {
	Frame        Frame
	Description  string
	Row          PoolRow
	Buttons      []Link
	Waiting      []Link // seedings that wait for somebody
	Facts        []Fact // how it is configured
	Forecast     ForecastPanel
	Recent       RecentPanel
	Trail        TrailPart
	Ranges       []Link // of the chart
	Chart        Chart
	ChartFailure *Failure
}

// ForecastPanel says how long something lasts.
type ForecastPanel struct {
	Lasts   string
	Burns   []Fact
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

// SequencesPage is the list of sequences.
type SequencesPage struct {
	Frame    Frame
	Buttons  []Link
	Fields   []Field // of the filter
	Filtered bool
	Clear    string // address without a filter
	Note     string // what there is to say of the whole list; "" for nothing
	Panel    SequenceLinesPanel
}

// SequencePage is one sequence.
type SequencePage struct {
	Frame       Frame
	Description string
	Row         SequenceRow
	Buttons     []Link
	Facts       []Fact
	Forecast    ForecastPanel
	Leases      LeasesPanel
	Trail       TrailPart
}

// LeasesPanel shows a ledger, the highest first.
type LeasesPanel struct {
	Rows    []LeaseRow
	Paging  Paging
	Failure *Failure
}

// LeaseRow is one lease.
type LeaseRow struct {
	Start, End, Count string
	Gap               string // numbers between it and the one below that nobody has leased; "" for none
	By                string
	At                Time
	Epoch             string
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
	Next      []Link // what helps
	RequestID string
}
