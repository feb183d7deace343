package api

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
)

// A forecast says in one word how it ends, and when only where it does.
func TestForecastsAreToldInAWord(t *testing.T) {
	noon := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	berlin := time.FixedZone("CET", 3600)
	burns := []alloc.Burn{{Window: time.Hour, Span: 30 * time.Minute, Used: 5, PerHour: 10}, {Window: 24 * time.Hour}}
	const told = `"burns":[{"window":3600,"span":1800,"used":5,"per_hour":10},{"window":86400,"span":0,"used":0,"per_hour":0}],`
	for name, tt := range map[string]struct {
		forecast alloc.Forecast
		want     string
	}{
		"nothing is known": {
			alloc.Forecast{At: noon, Never: true, Earliest: noon},
			`{"at":"2026-11-29T12:00:00Z","available":0,"burns":[],"outlook":"unknown"}`,
		},
		"it never ends": {
			alloc.Forecast{At: noon, Available: 7, Burns: burns, Known: true, Never: true},
			`{"at":"2026-11-29T12:00:00Z","available":7,` + told + `"outlook":"never"}`,
		},
		"it ends, and at the lowest rate it does not": {
			alloc.Forecast{At: noon, Available: 7, Burns: burns, Known: true, Earliest: noon.Add(time.Hour).In(berlin)},
			`{"at":"2026-11-29T12:00:00Z","available":7,` + told + `"outlook":"ends","earliest":"2026-11-29T13:00:00Z"}`,
		},
		"it ends at any rate": {
			alloc.Forecast{At: noon.In(berlin), Available: 7, Burns: burns, Known: true, Earliest: noon.Add(time.Hour), Latest: noon.Add(2 * time.Hour)},
			`{"at":"2026-11-29T12:00:00Z","available":7,` + told + `"outlook":"ends","earliest":"2026-11-29T13:00:00Z","latest":"2026-11-29T14:00:00Z"}`,
		},
	} {
		if got := canonical(newForecastAnswer(tt.forecast, ids)); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, tt.want)
		}
	}
	f := alloc.Forecast{At: noon, Available: 1<<63 - 1, Burns: []alloc.Burn{{Window: time.Hour, Span: time.Hour, Used: 1<<53 + 1, PerHour: 2}}, Known: true, Never: true}
	const want = `{"at":"2026-11-29T12:00:00Z","available":"9223372036854775807","burns":[{"window":3600,"span":3600,"used":"9007199254740993","per_hour":2}],"outlook":"never"}`
	if got := canonical(newForecastAnswer(f, numbers)); got != want {
		t.Errorf("of a sequence:\n got %s\nwant %s", got, want)
	}
}

// The newest of the samples are found by a few looks, wherever they lie.
func TestTheNewestSamplesAreFound(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	var kept []alloc.Sample // each minute of the last two days, and before that each 50 minutes
	for back := 35 * 24 * time.Hour; back > 0; {
		kept = append(kept, alloc.Sample{At: now.Add(-back), Used: alloc.Count(len(kept))})
		if back > 48*time.Hour {
			back -= 50 * time.Minute
		} else {
			back -= time.Minute
		}
	}
	year := 365 * 24 * time.Hour
	for _, tt := range []struct {
		name        string
		from, until time.Time
		limit       int
		looks       int // at most
	}{
		{"the last one", now.Add(-24 * time.Hour), now, 1, 1},
		{"all of a day", now.Add(-24 * time.Hour), now, 1500, 1},
		{"as many as there may be", now.Add(-year), now, 1500, 2},
		{"beyond the last one", now.Add(-24 * time.Hour), now.Add(100 * year), 3, 1},
		{"a thin time", now.Add(-30 * 24 * time.Hour), now.Add(-10 * 24 * time.Hour), 20, 7},
		{"a thin time, one", now.Add(-30 * 24 * time.Hour), now.Add(-10*24*time.Hour - 5*time.Minute), 1, 7},
		{"across both", now.Add(-30 * 24 * time.Hour), now.Add(-47 * time.Hour), 100, 9},
		{"before anything was kept", now.Add(-2 * year), now.Add(-year), 10, 1},
	} {
		looks := 0
		find := finder(func(from, until time.Time, limit int) (some []alloc.Sample, err error) {
			looks++
			for _, s := range kept {
				if !s.At.Before(from) && s.At.Before(until) && len(some) < limit {
					some = append(some, s)
				}
			}
			return some, nil
		})
		got, err := find.newest(tt.from, tt.until, now, tt.limit)
		var want []alloc.Sample
		for _, s := range slices.Backward(kept) {
			if !s.At.Before(tt.from) && s.At.Before(tt.until) && len(want) < tt.limit {
				want = append(want, s)
			}
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" || looks > tt.looks {
			t.Errorf("%s: %v, %d looks (-want +got):\n%s", tt.name, err, looks, diff)
		}
	}
	if all, err := finder(func(from, until time.Time, limit int) ([]alloc.Sample, error) {
		var some []alloc.Sample
		for at := from; at.Before(until) && len(some) < limit; at = at.Add(time.Minute) {
			some = append(some, alloc.Sample{At: at})
		}
		return some, nil
	}).all(now.Add(-4000*time.Minute), now); err != nil || len(all) < 3990 {
		t.Errorf("more than fit in one look: %d, %v", len(all), err)
	}
}

// A job tells what its kind has to tell, and nothing of what it is made of.
func TestAJobIsToldByItsKind(t *testing.T) {
	noon := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	all := alloc.Job{
		ID: "J", Pool: "p", By: "shop", State: alloc.JobRunning, Created: noon, Started: noon, Updated: noon.Add(time.Minute), Done: 3, Total: 6, Parts: 1, Mark: "mark",
		Tally: alloc.Tally{Added: 1, Duplicate: 2, Conflict: 3, Invalid: 4, Free: 5, Held: 6, Claimed: 7, Returning: 8, Retired: 9},
		Input: alloc.SeedFormat{CSV: true, Column: "code", Header: alloc.HeaderYes}, Inputs: []alloc.JobInput{{Digest: "digest", Lines: 4}, {Digest: "digest", Lines: 3}},
		Log: []alloc.JobEvent{{At: noon, Text: "made"}},
	}
	const times = `"state":"running","created_at":"2026-11-29T12:00:00Z","started_at":"2026-11-29T12:00:00Z","updated_at":"2026-11-29T12:01:00Z","eta":"2026-11-29T12:02:00Z","done":3,"total":6,`
	const end = `"parts":1,"log":[{"at":"2026-11-29T12:00:00Z","text":"made"}]}`
	for kind, want := range map[alloc.JobKind]string{
		alloc.JobExport: `{"id":"J","kind":"export","pool":"p","client":"shop",` + times + end,
		alloc.JobSeed: `{"id":"J","kind":"seed","pool":"p","format":"csv","client":"shop",` + times +
			`"tally":{"added":1,"duplicate":2,"conflict":3,"invalid":4},"input":{"column":"code","header":true,"parts":2,"lines":7},` + end,
		alloc.JobCount: `{"id":"J","kind":"count","pool":"p","client":"shop",` + times + `"tally":{"free":5,"held":6,"claimed":7,"returning":8,"retired":9},` + end,
	} {
		all.Kind = kind
		if got := canonical(newJobAnswer(all)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", kind, got, want)
		}
	}
}
