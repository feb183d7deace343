package admin

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"idpool/alloc"
	"idpool/templates"
)

// The boxes in which templates draws.
const (
	chartWide, chartHigh = 720.0, 200.0
)

// coordinate writes a place in a drawing; a tenth of a pixel is seen by nobody.
func coordinate(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

// span is the time that a drawing shows.
type span struct{ from, until time.Time }

// at is where a moment stands on a line of chartWide.
func (s span) at(t time.Time) float64 {
	whole := s.until.Sub(s.from)
	if whole <= 0 {
		return chartWide
	}
	return min(chartWide, max(0, chartWide*float64(t.Sub(s.from))/float64(whole)))
}

// thinned leaves at most about so many of a list, the first and the last among them.
func thinned[T any](all []T, most int) []T {
	if len(all) <= most {
		return all
	}
	step := float64(len(all)-1) / float64(most-1)
	some := make([]T, 0, most)
	for i := range most {
		some = append(some, all[int(math.Round(float64(i)*step))])
	}
	return some
}

// share is a part of a whole, from 0 to 1; 1 of nothing.
func share[N ~int64](part, whole N) float64 {
	if whole <= 0 {
		return 1
	}
	return min(1, max(0, float64(part)/float64(whole)))
}

// rule is a threshold of a chart.
type rule struct {
	at   alloc.Count
	text string
	tone templates.Tone
}

// levelChart draws what was available over the span, with thresholds. Where it rises from one sample to the next, something was added.
func levelChart(title string, samples []alloc.Sample, s span, rules []rule) templates.Chart {
	c := templates.Chart{Title: title, Head: []string{"Time, UTC", "Available", "Used since the one before"}}
	if len(samples) < 2 {
		c.Empty = "There are not enough samples yet: the schedule takes one each minute."
		return c
	}
	top := alloc.Count(1)
	for _, p := range samples {
		top = max(top, p.Available)
	}
	for _, r := range rules {
		top = max(top, r.at)
	}
	top, step := roundUp(top)
	y := func(n alloc.Count) string { return coordinate(chartHigh * (1 - share(n, top))) }
	var line strings.Builder
	shown := thinned(samples, 240)
	for i, p := range shown {
		x := coordinate(s.at(p.At))
		line.WriteString(x + "," + y(p.Available) + " ")
		if i > 0 && p.Available > shown[i-1].Available+top/50 {
			c.Events = append(c.Events, templates.Event{X: x, Y: y(p.Available), Text: fmt.Sprintf("%s more at %s", grouped(p.Available-shown[i-1].Available), p.At.UTC().Format("15:04"))})
		}
	}
	c.Line = strings.TrimSpace(line.String())
	first, last := coordinate(s.at(shown[0].At)), coordinate(s.at(shown[len(shown)-1].At))
	c.Area = first + "," + coordinate(chartHigh) + " " + c.Line + " " + last + "," + coordinate(chartHigh)
	for n := alloc.Count(0); n <= top; n += step {
		c.Steps = append(c.Steps, templates.Tick{At: y(n), Text: short(n)})
	}
	for _, r := range rules {
		if r.at > 0 {
			c.Rules = append(c.Rules, templates.Rule{Y: y(r.at), Text: r.text, Tone: r.tone})
		}
	}
	c.Ticks = timeTicks(s)
	c.Label = fmt.Sprintf("%s: %s at the beginning, %s at the end", title, grouped(samples[0].Available), grouped(samples[len(samples)-1].Available))
	c.Rows = chartRows(thinned(samples, 48))
	return c
}

// chartRows are the samples as a table, the newest first.
func chartRows(samples []alloc.Sample) (rows [][]string) {
	for i := range slices.Backward(samples) {
		used := ""
		if i > 0 {
			used = grouped(max(0, samples[i].Used-samples[i-1].Used))
		}
		rows = append(rows, []string{samples[i].At.UTC().Format("2006-01-02 15:04"), grouped(samples[i].Available), used})
	}
	return rows
}

// timeTicks are about six moments that people name.
func timeTicks(s span) (ticks []templates.Tick) {
	whole := s.until.Sub(s.from)
	step, layout := 4*time.Hour, "15:04"
	switch {
	case whole <= 2*time.Hour:
		step = 15 * time.Minute
	case whole <= 8*time.Hour:
		step = time.Hour
	case whole > 36*time.Hour:
		step, layout = 24*time.Hour, "2 Jan"
	}
	for t := s.from.UTC().Truncate(step).Add(step); !t.After(s.until); t = t.Add(step) {
		ticks = append(ticks, templates.Tick{At: coordinate(s.at(t)), Text: t.Format(layout)})
	}
	return ticks
}

// roundUp is a round number not below n, and the step by which it is reached in four or five.
func roundUp(n alloc.Count) (top, step alloc.Count) {
	size := math.Pow(10, math.Floor(math.Log10(max(1, float64(n)))))
	for _, m := range []float64{1, 2, 2.5, 4, 5, 10} {
		if top = alloc.Count(math.Ceil(m * size)); top >= n {
			break
		}
	}
	top = max(top, 4)
	return top, max(1, top/4)
}

// short writes a number in a few characters: "12k", "3.4M".
func short(n alloc.Count) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v := float64(n); v >= unit.size {
			return strings.TrimSuffix(strconv.FormatFloat(v/unit.size, 'f', 1, 64), ".0") + unit.name
		}
	}
	return strconv.FormatInt(int64(n), 10)
}
