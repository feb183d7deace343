package templates

import "strconv"

// Spark is a line over time without axes: the words beside it say what it shows.
type Spark struct {
	Points string // of a polyline in a box of 114 by 22; "" for no data
	X, Y   string // where it ends
	Label  string // the same in words
}

// Level is a gauge with thresholds: what is available against a whole, held beyond it.
type Level struct {
	Free  string // widths and places in a box of 152 by 14
	Held  string
	Marks []string
	Tone  Tone
	Label string
}

// Chart is a level over time with thresholds, marks and a table of the same data.
type Chart struct {
	Title  string
	Label  string // what it shows, in words
	Line   string // points of a polyline in a box of 720 by 200
	Area   string // the same, closed at the bottom
	Ahead  string // points of a polygon: between which levels it will be; "" for no forecast
	Now    string // where that begins
	Rules  []Rule
	Ticks  []Tick // along the time
	Steps  []Tick // along the level
	Events []Event
	Head   []string
	Rows   [][]string
	Empty  string // why there is nothing to show; "" where there is
}

// Rule is a threshold.
type Rule struct {
	Y, Text string
	Tone    Tone
}

// Tick is a mark of an axis.
type Tick struct{ At, Text string }

// Event is something that happened: a refill, a seeding.
type Event struct{ X, Y, Text string }

// The box of a chart.
const (
	chartWide = 720
	chartHigh = 200
)

// percent is a place in the box of a chart as a part of its width or height: axes and marks are drawn in their own size on any screen, and
// only the line is stretched.
func percent(at string, whole float64) string {
	place, err := strconv.ParseFloat(at, 64)
	if err != nil {
		return "0%"
	}
	return strconv.FormatFloat(100*place/whole, 'f', 2, 64) + "%"
}
