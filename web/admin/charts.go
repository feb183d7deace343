package admin

import (
	"cmp"
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

// maxMarks is how many marks a chart has at most: of more, those of which most was added.
const maxMarks = 60

// addedBetween is how many IDs were seeded or made from one sample to the next. What was seeded in all is what is available and what is not; what came
// back from those who had it was there before.
func addedBetween(one, next alloc.Sample) alloc.Count {
	return max(0, next.Available+next.Used-one.Available-one.Used)
}

// marksOf are where IDs were added, each at the sample that shows it first. Over more than a day they say the day.
func marksOf(shown []alloc.Sample, s span, y func(alloc.Count) string) (marks []templates.Event) {
	layout := "15:04"
	if s.until.Sub(s.from) > 24*time.Hour {
		layout = "2 Jan 15:04"
	}
	var filled []int
	for i := 1; i < len(shown); i++ {
		if addedBetween(shown[i-1], shown[i]) > 0 {
			filled = append(filled, i)
		}
	}
	if len(filled) > maxMarks {
		slices.SortStableFunc(filled, func(a, b int) int {
			return cmp.Compare(addedBetween(shown[b-1], shown[b]), addedBetween(shown[a-1], shown[a]))
		})
		filled = filled[:maxMarks]
		slices.Sort(filled)
	}
	for _, i := range filled {
		p := shown[i]
		marks = append(marks, templates.Event{
			X: coordinate(s.at(p.At)), Y: y(p.Available), Text: fmt.Sprintf("%s added, %s UTC", grouped(addedBetween(shown[i-1], p)), p.At.UTC().Format(layout)),
		})
	}
	return marks
}

// levelChart draws what was available over the span, with thresholds, marks where something was added, and what is forecast.
func levelChart(title string, samples []alloc.Sample, s span, rules []rule, f alloc.Forecast) templates.Chart {
	s = s.ahead(f)
	c := templates.Chart{Title: title, Head: []string{"Time, UTC", "Available", "Used since the one before", "Added since the one before"}}
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
	for _, p := range shown {
		line.WriteString(coordinate(s.at(p.At)) + "," + y(p.Available) + " ")
	}
	c.Events = marksOf(shown, s, y)
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
	c.Label = fmt.Sprintf("%s: %s at the beginning, %s at the end, %s added", title, grouped(samples[0].Available), grouped(samples[len(samples)-1].Available),
		grouped(addedBetween(samples[0], samples[len(samples)-1])))
	c.Rows = chartRows(thinned(samples, 48))
	addForecast(&c, f, s, y)
	return c
}

// chartRows are the samples as a table, the newest first.
func chartRows(samples []alloc.Sample) (rows [][]string) {
	for i := range slices.Backward(samples) {
		used, added := "", ""
		if i > 0 {
			used = grouped(max(0, samples[i].Used-samples[i-1].Used))
			if n := addedBetween(samples[i-1], samples[i]); n > 0 {
				added = grouped(n)
			}
		}
		rows = append(rows, []string{samples[i].At.UTC().Format("2006-01-02 15:04"), grouped(samples[i].Available), used, added})
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
	case whole > 8*24*time.Hour:
		step, layout = 5*24*time.Hour, "2 Jan"
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
