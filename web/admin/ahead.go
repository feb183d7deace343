package admin

import (
	"strings"
	"time"

	"idpool/alloc"
	"idpool/templates"
)

// aheadShare is how much longer a chart is that has a forecast to show.
const aheadShare = 3

// ahead is a span with room for what a forecast says; as it is for one that says nothing of an end to come.
func (s span) ahead(f alloc.Forecast) span {
	if !willEnd(f) {
		return s
	}
	return span{s.from, s.until.Add(s.until.Sub(s.from) / aheadShare)}
}

// willEnd reports whether a forecast has an end that is still to come.
func willEnd(f alloc.Forecast) bool {
	return f.Known && !f.Never && f.Available > 0 && f.Earliest.After(f.At)
}

// addForecast draws between which levels a pool will be, from the moment of the forecast to the end of the span, and says so in the label and in the table.
func addForecast(c *templates.Chart, f alloc.Forecast, s span, y func(alloc.Count) string) {
	if c.Empty != "" || !willEnd(f) {
		return
	}
	point := func(t time.Time, n alloc.Count) string { return coordinate(s.at(t)) + "," + y(n) }
	// reaches is where a line to an end at the moment leaves the chart: the end itself, or how far it has come by then. Zero is never.
	reaches := func(end time.Time) string {
		switch {
		case end.IsZero():
			return point(s.until, f.Available)
		case !end.After(s.until):
			return point(end, 0)
		}
		part := float64(s.until.Sub(f.At)) / float64(end.Sub(f.At))
		return point(s.until, alloc.Count(float64(f.Available)*(1-part)))
	}
	points := []string{point(f.At, f.Available), reaches(f.Earliest)}
	if f.Earliest.Before(s.until) && (f.Latest.IsZero() || f.Latest.After(s.until)) {
		points = append(points, point(s.until, 0))
	}
	c.Ahead, c.Now = strings.Join(append(points, reaches(f.Latest)), " "), coordinate(s.at(f.At))
	c.Label += "; it lasts " + lasts(f)
	rows := [][]string{{f.Earliest.UTC().Format("2006-01-02 15:04"), "0", "", "forecast, at the earliest"}}
	if !f.Latest.IsZero() && !f.Latest.Equal(f.Earliest) {
		rows = [][]string{{f.Latest.UTC().Format("2006-01-02 15:04"), "0", "", "forecast, at the latest"}, rows[0]}
	}
	c.Rows = append(rows, c.Rows...)
}
