package admin

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/generator"
)

// A mark is where IDs were added, by the counts; IDs that came back are none, and use in the same minute hides none.
func TestAChartMarksWhatWasAdded(t *testing.T) {
	at := func(minute int, available, used alloc.Count) alloc.Sample {
		return alloc.Sample{At: noon.Add(time.Duration(minute) * time.Minute), Available: available, Used: used}
	}
	s := span{noon, noon.Add(time.Hour)}
	c := levelChart("Level", []alloc.Sample{at(0, 100, 0), at(10, 60, 40), at(20, 80, 20), at(30, 75, 1025), at(40, 70, 1030)}, s, nil, alloc.Forecast{})
	if len(c.Events) != 1 || c.Events[0].Text != "1,000 added, 12:30 UTC" || c.Events[0].X != coordinate(chartWide/2) {
		t.Errorf("the marks are %+v, want one of 1,000 at half past", c.Events)
	}
	if got := strings.Join(c.Rows[1], "|"); got != "2026-11-29 12:30|75|1,005|1,000" {
		t.Errorf("the table says %s", got)
	}
	if got := strings.Join(c.Rows[2], "|"); got != "2026-11-29 12:20|80|0|" {
		t.Errorf("the table says %s of what came back", got)
	}
	if !strings.HasSuffix(c.Label, "100 at the beginning, 70 at the end, 1,000 added") {
		t.Error(c.Label)
	}
	var many []alloc.Sample
	for i := range 200 {
		many = append(many, at(i, 100, alloc.Count(10*i+i*i)))
	}
	c = levelChart("Level", many, span{noon, noon.Add(48 * time.Hour)}, nil, alloc.Forecast{})
	if len(c.Events) != maxMarks || c.Events[maxMarks-1].Text != "407 added, 29 Nov 15:19 UTC" || c.Events[0].Text >= c.Events[maxMarks-1].Text {
		t.Errorf("%d marks, %+v to %+v; want the %d greatest in the order of their times", len(c.Events), c.Events[0], c.Events[len(c.Events)-1], maxMarks)
	}
}

// A forecast is drawn from now to where it ends, or as far as the chart goes.
func TestAChartShowsWhatIsForecast(t *testing.T) {
	samples := []alloc.Sample{{At: noon, Available: 100}, {At: noon.Add(3 * time.Hour), Available: 80}}
	s := span{noon, noon.Add(3 * time.Hour)}
	after := func(hours int) time.Time { return noon.Add(3*time.Hour + time.Duration(hours)*time.Minute*15) } // the chart goes four of them on
	of := func(earliest, latest int) alloc.Forecast {
		f := alloc.Forecast{At: s.until, Available: 80, Known: true, Earliest: after(earliest)}
		if latest > 0 {
			f.Latest = after(latest)
		}
		return f
	}
	for name, tt := range map[string]struct {
		f     alloc.Forecast
		ahead string
		rows  int
	}{
		"both ends":        {of(1, 2), "540,40 585,200 630,200", 4},
		"one end":          {of(2, 2), "540,40 630,200 630,200", 3},
		"one end is far":   {of(2, 8), "540,40 630,200 720,200 720,120", 4},
		"both are far":     {of(8, 16), "540,40 720,120 720,80", 4},
		"perhaps never":    {of(2, 0), "540,40 630,200 720,200 720,40", 3},
		"at the very edge": {of(4, 4), "540,40 720,200 720,200", 3},
		"not known":        {alloc.Forecast{At: s.until, Available: 80}, "", 2},
		"never":            {alloc.Forecast{At: s.until, Available: 80, Known: true, Never: true}, "", 2},
		"it has ended":     {alloc.Forecast{At: s.until, Known: true, Earliest: s.until, Latest: s.until}, "", 2},
	} {
		c := levelChart("Level", samples, s, nil, tt.f)
		if c.Ahead != tt.ahead || len(c.Rows) != tt.rows || (c.Now != "") != (tt.ahead != "") || strings.Contains(c.Label, "; it lasts ") != (tt.ahead != "") {
			t.Errorf("%s: drawn %q, from %q, %d rows, %s; want %q, %d rows", name, c.Ahead, c.Now, len(c.Rows), c.Label, tt.ahead, tt.rows)
		}
	}
	if c := levelChart("Level", samples[:1], s, nil, of(1, 2)); c.Ahead != "" || c.Empty == "" {
		t.Errorf("without samples there is %+v", c)
	}
}

// What the schedule fills in stands in the chart of the pool's page.
func TestARefillIsMarkedOnThePage(t *testing.T) {
	s := newSystem(t, nil, root)
	ctx := alloc.WithCaller(t.Context(), root)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := s.svc.CreatePool(ctx, "codes", alloc.PoolConfig{Generator: generator.Config{Kind: generator.Random, Length: 12}, Marks: alloc.Marks{Low: 10, Target: 50}})
	check(err)
	for i := range 8 {
		_, err := s.svc.Tend(ctx)
		check(err)
		s.clock = s.clock.Add(time.Minute)
		if i == 4 {
			_, err := s.svc.Claim(ctx, alloc.ClaimRequest{Pool: "codes", Count: 45})
			check(err)
		}
	}
	page := s.page("/pools/codes")
	for _, want := range []string{fmt.Sprintf("<title>%s added, ", "45"), "<td>45</td>", "Added since the one before"} {
		if !strings.Contains(page, want) {
			t.Errorf("the chart lacks %q:\n%s", want, page)
		}
	}
}
