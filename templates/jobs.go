package templates

// JobsPage is the list of jobs.
type JobsPage struct {
	Frame Frame
	Panel JobsPanel
}

// JobsPanel shows jobs.
type JobsPanel struct {
	Rows    []JobRow
	Paging  Paging
	Failure *Failure
}

// JobRow is one job.
type JobRow struct {
	Title      string // "Seed vouchers"
	Href       string // "" for one that cannot be looked at
	Why        string
	State      State
	Value, Max string // how far it is; Max is "" where nobody knows how much there is to do
	Percent    string
	Done       string // "30,500 of 50,000"
	Left       string // "40 s left"; "" where nobody can say
	Failed     string // "12"; "" for none
	By         string
	Started    Time // no Machine where it has not: then Text says since when it waits
}

// Results are the files of a job's result, a page of them at a time.
type Results struct {
	Files         []Link
	Before, After string // addresses of the pages beside this one; "" for none
}

// JobPage is one job.
type JobPage struct {
	Frame      Frame
	Row        JobRow
	Failure    string
	HowFar     string // "42 %, 40 s left"; "" where nobody can say
	Buttons    []Link
	Tally      []Fact
	Facts      []Fact
	Results    Results
	ResultNote string
	Log        []Fact // Time and Value
	Trail      TrailPart
}
