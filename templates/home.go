package templates

// Overview is the first page.
type Overview struct {
	Frame     Frame
	Sub       string // "5 pools, 3 sequences"
	Verdicts  []Verdict
	Pools     LinesPanel
	Sequences SequenceLinesPanel
	Jobs      JobsPanel
	Trail     TrailPanel
}

// Verdict is a line that says what needs a person, or that nothing does.
type Verdict struct {
	Tone    Tone
	Word    string // "Exhausted"
	Of      []Link // what it is about, before Text
	Text    string
	Help    Link // "" for none
	Problem *Failure
}

// LinesPanel shows pools as they stand and as they stood.
type LinesPanel struct {
	Rows    []PoolLine
	Paging  Paging
	Failure *Failure
}

// PoolLine is one pool. Where Unknown is set, its level could not be read, and it says why.
type PoolLine struct {
	Name        string
	Description string
	Unknown     string
	Level       Level
	Available   string
	Held        string // "" for none
	Claimed     string
	Spark       Spark
	Burn        string // of the last hour, an hour
	Day         string // of the last day, an hour; "" where it is not known
	Lasts       string
	State       State
	Why         string
}

// SequenceLinesPanel shows sequences, the most urgent first.
type SequenceLinesPanel struct {
	Rows    []SequenceLine
	Paging  Paging
	Failure *Failure
}

// SequenceLine is one sequence. Where Unknown is set, it could not be read, and it says why.
type SequenceLine struct {
	Row     SequenceRow
	Unknown string
	Rate    string // of the last hour, an hour
	Day     string // of the last day, an hour; "" where it is not known
	Ends    string
}

// TrailPanel shows the last administrative steps. It is hidden from who may not read them.
type TrailPanel struct {
	Hidden  bool
	Rows    []TrailRow
	Failure *Failure
}
