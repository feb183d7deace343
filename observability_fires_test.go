package idpool_test

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"idpool/alloc"
	"idpool/infra/metrics"
)

// watch is an alarm on a number of the schedule's runs.
type watch struct {
	metric, operator string
	threshold        float64
}

// fires reports whether the alarm would be on if every run said so.
func (w watch) fires(value float64) bool {
	switch w.operator {
	case "LessThanThreshold":
		return value < w.threshold
	case "GreaterThanThreshold":
		return value > w.threshold
	}
	return value >= w.threshold
}

// watches are the alarms on the numbers of runs, with the defaults of the parameters as thresholds.
func watches(t *testing.T) map[string]watch {
	t.Helper()
	text, err := os.ReadFile("infra/observability.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Parameters map[string]struct {
			Default yaml.Node `yaml:"Default"`
		} `yaml:"Parameters"`
		Resources map[string]struct {
			Properties map[string]yaml.Node `yaml:"Properties"`
		} `yaml:"Resources"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	all := map[string]watch{}
	for id, r := range file.Resources {
		p := r.Properties
		if p["Namespace"].Value != metrics.Namespace || made()[p["MetricName"].Value] != "table" {
			continue
		}
		w := watch{metric: p["MetricName"].Value, operator: p["ComparisonOperator"].Value}
		threshold := p["Threshold"].Value
		if p["Threshold"].Tag == "!Ref" {
			threshold = file.Parameters[threshold].Default.Value
		}
		if w.threshold, err = strconv.ParseFloat(threshold, 64); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		all[id] = w
	}
	return all
}

// TestAnAlarmFiresWhereItShouldAndNowhereElse takes each report as what every run says, and looks which alarms that puts on.
func TestAnAlarmFiresWhereItShouldAndNowhereElse(t *testing.T) {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	ends := func(hours int) alloc.Forecast {
		return alloc.Forecast{At: at, Known: true, Earliest: at.Add(time.Duration(hours) * time.Hour)}
	}
	pools := func(p alloc.PoolStanding) alloc.TendReport { return alloc.TendReport{Pools: []alloc.PoolStanding{p}} }
	full := alloc.Level{Available: 100, Seeded: 1000}
	tests := []struct {
		name   string
		report alloc.TendReport
		want   []string
	}{
		{"nothing there", alloc.TendReport{}, nil},
		{"a pool that is well", pools(alloc.PoolStanding{State: alloc.PoolActive, Level: full, Low: 50, Forecast: ends(100)}), nil},
		{"a pool below its mark", pools(alloc.PoolStanding{State: alloc.PoolActive, Level: full, Low: 101}), []string{"PoolsLow"}},
		{"a draining one", pools(alloc.PoolStanding{State: alloc.PoolDraining, Level: alloc.Level{Seeded: 10}, Low: 101, Forecast: ends(1)}), nil},
		{"an empty pool", pools(alloc.PoolStanding{State: alloc.PoolActive, Level: alloc.Level{Seeded: 10}}), []string{"PoolsEmpty"}},
		{"a pool that was never seeded", pools(alloc.PoolStanding{State: alloc.PoolActive}), nil},
		{"a pool that runs out", pools(alloc.PoolStanding{State: alloc.PoolActive, Level: full, Forecast: ends(71)}), []string{"RunwayShort"}},
		{"a pool that is filled does not", pools(alloc.PoolStanding{State: alloc.PoolActive, Level: full, Filled: true, Forecast: ends(1)}), nil},
		{"a dry generator", pools(alloc.PoolStanding{State: alloc.PoolActive, Level: full, Filled: true, Dry: true, Forecast: ends(1)}), []string{"GeneratorDry", "RunwayShort"}},
		{
			"a sequence that overflows soon",
			alloc.TendReport{Sequences: []alloc.SequenceStanding{{State: alloc.SequenceActive, Forecast: ends(2)}}},
			[]string{"RunwayShort"},
		},
		{"a stopped sequence", alloc.TendReport{Sequences: []alloc.SequenceStanding{{State: alloc.SequenceStopped}}}, []string{"SequenceStopped"}},
		{"a damaged pool", alloc.TendReport{Failed: map[alloc.PoolName]error{"p": alloc.Errorf(alloc.CodePoolDamaged, "x")}}, []string{"PoolDamaged"}},
		{"a frozen sequence", alloc.TendReport{Sequences: []alloc.SequenceStanding{{State: alloc.SequenceFrozen}}}, []string{"RebuildStands"}},
		{"one that serves a share", alloc.TendReport{Sequences: []alloc.SequenceStanding{{State: alloc.SequenceResuming}}}, []string{"RebuildStands"}},
		{"a rebuild by the schedule", alloc.TendReport{Rebuilds: []alloc.Rebuild{{Auto: true}}}, []string{"SequenceRebuilt"}},
		{"a rebuild by a person", alloc.TendReport{Rebuilds: []alloc.Rebuild{{}}}, nil},
		{"a step that nobody heard of", alloc.TendReport{Unheard: 1}, []string{"StepUnheard"}},
		{"a job under way", alloc.TendReport{Open: 1, Oldest: at.Add(-29 * time.Minute)}, nil},
		{"a job that stands still", alloc.TendReport{Open: 1, Oldest: at.Add(-31 * time.Minute)}, []string{"JobStands"}},
		{"pools that the time was over for", alloc.TendReport{Left: 1}, []string{"SweepBehind"}},
	}
	all := watches(t)
	never := maps.Clone(all)
	delete(never, "RefillSilent") // it fires where no run says anything
	for _, tt := range tests {
		values := map[string]float64{}
		for _, v := range metrics.Run(at, tt.report, nil) {
			values[v.Name] = v.Of
		}
		var got []string
		for id, w := range all {
			if w.fires(values[w.metric]) {
				got = append(got, id)
				delete(never, id)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	audit := alloc.Job{Kind: alloc.JobAudit, State: alloc.JobDone, Verdict: alloc.VerdictHealthy}
	ill, broken, known := audit, audit, audit
	ill.Verdict, ill.Tally.Findings = alloc.VerdictFindings, 1
	broken.Tally.Findings, broken.Tally.Trail = 1, 1
	known.Tally.Findings, known.Tally.Informing = 1, 1
	for _, tt := range []struct {
		name string
		job  alloc.Job
		want []string
	}{
		{"an audit that has found nothing", audit, nil},
		{"one that has found something", ill, []string{"AuditFindings"}},
		{"one of a broken trail", broken, []string{"TrailBroken"}},
		{"one of an acknowledged break", known, nil},
	} {
		values := map[string]float64{}
		for _, v := range metrics.Audit(tt.job) {
			values[v.Name] = v.Of
		}
		var got []string
		for id, w := range all {
			if value, is := values[w.metric]; is && w.fires(value) {
				got = append(got, id)
				delete(never, id)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	for id := range never {
		t.Errorf("no report puts %s on", id)
	}
}
