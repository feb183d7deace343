package admin

import (
	"fmt"
	"strings"

	"idpool/alloc"
	"idpool/templates"
)

// The boxes in which templates draws in a row of a table.
const (
	sparkWide, sparkHigh = 112.0, 20.0
	barWide              = 152.0
)

// spark draws what was available over the span, of samples in the order of their times.
func spark(samples []alloc.Sample, s span, words string) templates.Spark {
	if len(samples) < 2 {
		return templates.Spark{Label: "no samples yet"}
	}
	low, high := samples[0].Available, samples[0].Available
	for _, p := range samples {
		low, high = min(low, p.Available), max(high, p.Available)
	}
	bottom := min(low, high*9/10)
	var points strings.Builder
	var x, y float64
	for _, p := range thinned(samples, 60) {
		x, y = s.at(p.At)*sparkWide/chartWide, min(sparkHigh, 2+sparkHigh*(1-share(p.Available-bottom, high-bottom)))
		if points.Len() > 0 {
			points.WriteByte(' ')
		}
		points.WriteString(coordinate(x) + "," + coordinate(y))
	}
	label := fmt.Sprintf("%s: from %s to %s, at least %s, at most %s", words,
		grouped(samples[0].Available), grouped(samples[len(samples)-1].Available), grouped(low), grouped(high))
	return templates.Spark{Points: points.String(), X: coordinate(x), Y: coordinate(y), Label: label}
}

// bar draws a level against a whole, with thresholds.
func bar(free, held, whole alloc.Count, marks []alloc.Count, tone templates.Tone, label string) templates.Level {
	l := templates.Level{Free: coordinate(barWide * share(free, whole)), Tone: tone, Label: label}
	if free <= 0 {
		l.Free = "0"
	}
	if held > 0 {
		l.Held = coordinate(barWide * share(free+held, whole))
	}
	for _, m := range marks {
		if m > 0 && m < whole {
			l.Marks = append(l.Marks, coordinate(barWide*share(m, whole)))
		}
	}
	return l
}
