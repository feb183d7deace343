package metrics_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/infra/metrics"
)

var at = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// ending is a forecast that ends in so many hours.
func ending(hours int) alloc.Forecast {
	return alloc.Forecast{At: at, Known: true, Earliest: at.Add(time.Duration(hours) * time.Hour), Burns: []alloc.Burn{{PerHour: 10}, {PerHour: 4}}}
}

func busy() alloc.TendReport {
	return alloc.TendReport{
		Swept:   []alloc.SweepReport{{Pool: "a", Relisted: 3, Returned: 2, Calls: 9, Writes: 4}, {Pool: "b", Voided: 1, Calls: 5}},
		Failed:  map[alloc.PoolName]error{"c": errors.New("x")},
		Left:    1,
		Jobs:    []alloc.JobReport{{Err: errors.New("x")}, {}},
		Refills: []alloc.RefillReport{{Pool: "a", Added: 100}, {Pool: "b", Added: 1, Err: errors.New("x")}},
		Pools: []alloc.PoolStanding{
			{Pool: "a", State: alloc.PoolActive, Level: alloc.Level{Available: 50, Seeded: 90, Held: 5}, Low: 60, Target: 100, Filled: true, Forecast: ending(5)},
			{Pool: "b", State: alloc.PoolActive, Level: alloc.Level{Seeded: 10}, Filled: true, Dry: true, Forecast: ending(40)},
			{Pool: "c", State: alloc.PoolPaused, Forecast: ending(1)},
			{Pool: "d", State: alloc.PoolDraining, Level: alloc.Level{Seeded: 10}, Forecast: ending(1)},
			{Pool: "e", State: alloc.PoolActive, Level: alloc.Level{Available: 1, Seeded: 10}, Forecast: alloc.Forecast{At: at, Known: true, Never: true}},
		},
		Sequences: []alloc.SequenceStanding{{Sequence: "s", State: alloc.SequenceActive, Left: 7, Forecast: ending(30)}, {Sequence: "t", State: alloc.SequenceStopped}},
		Open:      4, Oldest: at.Add(-90 * time.Second), Sent: 2,
	}
}

func TestTheLinesOfARun(t *testing.T) {
	var got bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&got, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	log := func(s metrics.Set, r alloc.TendReport, err error) {
		for _, line := range s.Lines(at, r, err) {
			logger.LogAttrs(t.Context(), slog.LevelInfo, "metrics", line...)
		}
	}
	log(metrics.Set{Table: "idpool"}, alloc.TendReport{}, nil) // idle: data all the same
	log(metrics.Set{Table: "idpool"}, alloc.TendReport{}, errors.New("x"))
	log(metrics.Set{Table: "idpool", Pools: true}, busy(), nil)
	const file = "testdata/run.jsonl"
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s (-want +got), write it anew with -update:\n%s", file, diff)
	}
	for line := range bytes.Lines(got.Bytes()) {
		checkLine(t, line)
	}
}

// checkLine holds a line against the embedded metric format: each metric is a number of the line, each dimension a text that
// is not empty, and CloudWatch takes at most 100 metrics and 30 dimensions of a line.
func checkLine(t *testing.T, line []byte) {
	t.Helper()
	var members map[string]any
	var said struct {
		AWS struct {
			CloudWatchMetrics []struct {
				Namespace  string
				Dimensions [][]string
				Metrics    []struct{ Name, Unit string }
			}
		} `json:"_aws"`
	}
	if err := errors.Join(json.Unmarshal(line, &members), json.Unmarshal(line, &said)); err != nil {
		t.Fatal(err)
	}
	if len(said.AWS.CloudWatchMetrics) != 1 {
		t.Fatalf("no metrics in %s", line)
	}
	d := said.AWS.CloudWatchMetrics[0]
	if d.Namespace != metrics.Namespace || len(d.Dimensions) != 1 || len(d.Metrics) == 0 || len(d.Metrics) > 100 {
		t.Errorf("%+v", d)
	}
	for _, name := range d.Dimensions[0] {
		if text, ok := members[name].(string); !ok || text == "" {
			t.Errorf("the dimension %s is %v", name, members[name])
		}
	}
	for _, m := range d.Metrics {
		if _, ok := members[m.Name].(float64); !ok || m.Unit != "Count" && m.Unit != "None" {
			t.Errorf("the metric %s in %s is %v", m.Name, m.Unit, members[m.Name])
		}
	}
}

func TestRunway(t *testing.T) {
	filled := alloc.PoolStanding{State: alloc.PoolActive, Level: alloc.Level{Available: 50, Seeded: 90}, Filled: true, Forecast: ending(5)}
	dry, bare, paused, empty := filled, filled, filled, filled
	dry.Dry, bare.Filled, paused.Filled, paused.State = true, false, false, alloc.PoolPaused
	empty.Filled, empty.Level.Available, empty.Forecast = false, 0, ending(0)
	unseeded, fresh := empty, empty
	unseeded.Level.Seeded, fresh.Level, fresh.Forecast = 0, alloc.Level{Available: 3}, ending(2)
	short := filled
	short.Supply = ending(3)
	sequence := alloc.SequenceStanding{State: alloc.SequenceActive, Forecast: ending(7)}
	far := alloc.SequenceStanding{State: alloc.SequenceActive, Forecast: ending(metrics.RunwayCap + 1)}
	tests := []struct {
		name      string
		pools     []alloc.PoolStanding
		sequences []alloc.SequenceStanding
		want      float64
	}{
		{"nothing there", nil, nil, metrics.RunwayCap},
		{"a pool that is filled does not run out", []alloc.PoolStanding{filled}, nil, metrics.RunwayCap},
		{"a pool whose generator is dry does", []alloc.PoolStanding{filled, dry}, nil, 5},
		{"one whose generator can make few more does", []alloc.PoolStanding{filled, short}, nil, 3},
		{"a pool without a generator does", []alloc.PoolStanding{bare}, []alloc.SequenceStanding{sequence}, 5},
		{"a paused one is not used", []alloc.PoolStanding{paused}, []alloc.SequenceStanding{sequence}, 7},
		{"an empty one has ended", []alloc.PoolStanding{bare, empty}, nil, 0},
		{"one that was never seeded has not begun", []alloc.PoolStanding{bare, unseeded}, nil, 5},
		{"one that was seeded since it was counted has", []alloc.PoolStanding{bare, fresh}, nil, 2},
		{"nothing is known of it", []alloc.PoolStanding{{State: alloc.PoolActive}}, nil, metrics.RunwayCap},
		{"very long is capped", nil, []alloc.SequenceStanding{far}, metrics.RunwayCap},
	}
	for _, tt := range tests {
		if got := metrics.Runway(alloc.TendReport{Pools: tt.pools, Sequences: tt.sequences}); got != tt.want {
			t.Errorf("%s: %v hours, want %v", tt.name, got, tt.want)
		}
	}
}
