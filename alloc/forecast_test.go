package alloc_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

var noon = time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)

// rates are burns of so many IDs an hour; below 0 nothing is known.
func rates(perHour ...float64) (burns []alloc.Burn) {
	for i, r := range perHour {
		b := alloc.Burn{Window: alloc.ForecastWindows()[i]}
		if r >= 0 {
			b.Span, b.PerHour = time.Hour, r
		}
		burns = append(burns, b)
	}
	return burns
}

func TestForecasts(t *testing.T) {
	in := func(d time.Duration) time.Time { return noon.Add(d) }
	const year = 365 * 24 * time.Hour
	for _, c := range []struct {
		name      string
		available alloc.Count
		burns     []alloc.Burn
		want      alloc.Forecast // Known, Never, Earliest, Latest
	}{
		{"nothing known", 100, rates(-1, -1), alloc.Forecast{}},
		{"empty, and nothing known of rates", 0, rates(-1, -1), alloc.Forecast{Known: true, Earliest: noon, Latest: noon}},
		{"nothing burns", 100, rates(0, 0), alloc.Forecast{Known: true, Never: true}},
		{"nothing burns, and little is known", 100, rates(0, -1), alloc.Forecast{Known: true, Never: true}},
		{"both burn", 100, rates(50, 20), alloc.Forecast{Known: true, Earliest: in(2 * time.Hour), Latest: in(5 * time.Hour)}},
		{"both burn, the day faster", 100, rates(20, 50), alloc.Forecast{Known: true, Earliest: in(2 * time.Hour), Latest: in(5 * time.Hour)}},
		{"the hour alone burns", 100, rates(50, 0), alloc.Forecast{Known: true, Earliest: in(2 * time.Hour)}},
		{"the day alone burns", 100, rates(0, 50), alloc.Forecast{Known: true, Earliest: in(2 * time.Hour)}},
		{"the hour alone is known", 100, rates(50, -1), alloc.Forecast{Known: true, Earliest: in(2 * time.Hour), Latest: in(2 * time.Hour)}},
		{"the day alone is known", 100, rates(-1, 50), alloc.Forecast{Known: true, Earliest: in(2 * time.Hour), Latest: in(2 * time.Hour)}},
		{"empty, and nothing burns as nothing is left", 0, rates(0, 0), alloc.Forecast{Known: true, Earliest: noon, Latest: noon}},
		{"empty, and it burnt", 0, rates(0, 50), alloc.Forecast{Known: true, Earliest: noon, Latest: noon}},
		{"beyond all dates", 1 << 62, rates(1, 1e-9), alloc.Forecast{Known: true, Never: true}},
		{"just within a hundred years", alloc.Count(100 * year / time.Hour), rates(1, 1), alloc.Forecast{Known: true, Earliest: in(100 * year), Latest: in(100 * year)}},
		{"just beyond a hundred years", alloc.Count(100*year/time.Hour) + 1, rates(1, 1), alloc.Forecast{Known: true, Never: true}},
		{"within them by the higher rate only", alloc.Count(100*year/time.Hour) + 1, rates(2, 1), alloc.Forecast{Known: true, Earliest: in(50*year + 30*time.Minute)}},
	} {
		c.want.At, c.want.Available, c.want.Burns = noon, c.available, c.burns
		if diff := cmp.Diff(c.want, alloc.ForecastOf(noon, c.available, c.burns)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestBurns(t *testing.T) {
	ago := func(d time.Duration, used alloc.Count) alloc.Sample {
		return alloc.Sample{At: noon.Add(-d), Used: used}
	}
	const hour, day = time.Hour, 24 * time.Hour
	for _, c := range []struct {
		name      string
		samples   []alloc.Sample
		used      alloc.Count // now
		hour, day alloc.Burn
	}{
		{"no samples", nil, 10, alloc.Burn{}, alloc.Burn{}},
		{"a pool of a minute and a half", []alloc.Sample{ago(90*time.Second, 0)}, 50, alloc.Burn{}, alloc.Burn{}},
		{
			"a pool of two minutes",
			[]alloc.Sample{ago(2*time.Minute, 0), ago(time.Minute, 5)},
			10,
			alloc.Burn{Span: 2 * time.Minute, Used: 10, PerHour: 300},
			alloc.Burn{Span: 2 * time.Minute, Used: 10, PerHour: 300},
		},
		{
			"both windows",
			[]alloc.Sample{ago(25*hour, 0), ago(24*hour, 100), ago(2*hour, 200), ago(hour, 280), ago(time.Minute, 340)},
			340,
			alloc.Burn{Span: hour, Used: 60, PerHour: 60},
			alloc.Burn{Span: day, Used: 240, PerHour: 10},
		},
		{
			"the day alone",
			[]alloc.Sample{ago(12*hour, 100)},
			340,
			alloc.Burn{},
			alloc.Burn{Span: 12 * hour, Used: 240, PerHour: 20},
		},
		{
			"more came back than was used",
			[]alloc.Sample{ago(20*hour, 500), ago(hour, 300), ago(time.Minute, 200)},
			180,
			alloc.Burn{Span: hour - time.Minute},
			alloc.Burn{Span: 20*hour - time.Minute},
		},
		{
			"a seeding that no sweep has counted looks like a return",
			[]alloc.Sample{ago(hour, 100), ago(30*time.Minute, 150)},
			-800,
			alloc.Burn{Span: 30 * time.Minute, Used: 50, PerHour: 100},
			alloc.Burn{Span: 30 * time.Minute, Used: 50, PerHour: 100},
		},
	} {
		queries := 0
		burns, _, err := alloc.BurnsUpTo(alloc.Sample{At: noon, Used: c.used}, func(from, until time.Time, limit int) (found []alloc.Sample, err error) {
			queries++
			for _, s := range c.samples {
				if !s.At.Before(from) && s.At.Before(until) && len(found) < limit {
					found = append(found, s)
				}
			}
			return found, nil
		})
		c.hour.Window, c.day.Window = hour, day
		if diff := cmp.Diff([]alloc.Burn{c.hour, c.day}, burns); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", c.name, err, diff)
		}
		if queries > 2 {
			t.Errorf("%s: %d queries, want two at most", c.name, queries)
		}
	}
}

// A day of a pool and a sequence that are used evenly, with a run of the schedule each minute.
func TestForecastsOfADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := alloctest.NewModel(nil)
		s, ctx := newService(t, m), asAdmin(t.Context())
		if _, _, err := s.CreatePool(ctx, pool, filled(200, 240, random)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.CreateSequence(ctx, sequence, alloc.SequenceConfig{Limit: 100_000}); err != nil {
			t.Fatal(err)
		}
		var r alloc.TendReport
		for minute, step := 0, 1; minute < 26*60; minute += step {
			if step = 5; minute < 5 || minute >= 24*60 {
				step = 1
			}
			var err error
			if r, err = s.Tend(ctx); err != nil || len(r.Pools) != 1 || len(r.Sequences) != 1 {
				t.Fatalf("the run tells of %+v, %v", r, err)
			}
			if f := r.Pools[0].Forecast; f.Known != (minute >= 2) {
				t.Fatalf("in minute %d the forecast is %+v", minute, f)
			}
			if minute >= 25*60 { // 120 an hour; before that 60
				if _, err := m.Claim(ctx, alloc.ClaimOrder{Pool: pool, Count: 1}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := m.Claim(ctx, alloc.ClaimOrder{Pool: pool, Count: alloc.Count(step)}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Lease(ctx, alloc.LeaseRequest{Sequence: sequence, Count: alloc.Count(10 * step)}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(step) * time.Minute)
		}
		f, err := s.PoolForecast(ctx, pool)
		if err != nil || f.Burns[0].PerHour < 118 || f.Burns[0].PerHour > 122 || f.Burns[1].PerHour < 60 || f.Burns[1].PerHour > 65 || !f.Known || f.Never {
			t.Fatalf("the pool's forecast is %+v, %v", f, err)
		}
		if left, ok := f.Runway(); !ok || left < 97*time.Minute || left > 122*time.Minute || f.Latest.Sub(f.At) < 3*time.Hour || f.Latest.Sub(f.At) > 4*time.Hour {
			t.Errorf("the pool with %d IDs lasts for %s, at most until %s", f.Available, left, f.Latest)
		}
		f, err = s.SequenceForecast(ctx, sequence)
		if err != nil || f.Burns[0].PerHour != 600 || f.Burns[1].PerHour != 600 || !f.Earliest.Equal(f.Latest) {
			t.Errorf("the sequence's forecast is %+v, %v", f, err)
		}
		samples, err := s.SequenceSamples(ctx, sequence, f.At.Add(-time.Hour), f.At, 1500)
		if err != nil || len(samples) != 60 {
			t.Errorf("of an hour there are %d samples, %v, want 60", len(samples), err)
		}
		samples, err = s.PoolSamples(ctx, pool, f.At.Add(-time.Hour), f.At, 7)
		if err != nil || len(samples) != 7 {
			t.Errorf("there are %d samples, %v, want the 7 asked for", len(samples), err)
		}
		for _, limit := range []int{0, 1501} {
			_, err = s.PoolSamples(ctx, pool, f.At.Add(-time.Hour), f.At, limit)
			wantCode(t, err, alloc.CodeInvalidRequest)
		}
		_, err = s.SequenceSamples(ctx, sequence, f.At, f.At, 1)
		wantCode(t, err, alloc.CodeInvalidRequest)
		_, err = s.PoolSamples(ctx, "missing", f.At.Add(-1), f.At, 1)
		wantCode(t, err, alloc.CodePoolNotFound)
	})
}

// A sequence that stands still is sampled often enough that it is known to last for ever, and no more often.
func TestAnIdleSequence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := alloctest.NewModel(nil)
		store := alloctest.NewFaulty(m, nil)
		s, ctx := newService(t, store), asAdmin(t.Context())
		if _, _, err := s.CreateSequence(ctx, sequence, alloc.SequenceConfig{}); err != nil {
			t.Fatal(err)
		}
		for minute := range 24 * 60 {
			r, err := s.Tend(ctx)
			if err != nil || minute > 2 && !r.Sequences[0].Forecast.Never {
				t.Fatalf("in minute %d: %+v, %v, want never", minute, r.Sequences, err)
			}
			time.Sleep(time.Minute)
		}
		if n := called(store, "SampleSequence"); n > 30 {
			t.Errorf("in a day %d samples were kept, want one an hour, about", n)
		}
		must(t, m.SetSequenceState, sequence, alloc.SequenceDeleted)
		if r, err := s.Tend(ctx); err != nil || len(r.Sequences) != 0 {
			t.Errorf("of a deleted sequence the run tells %+v, %v", r.Sequences, err)
		}
	})
}

// A pool that was used up has ended, before there is any sample; one that was never seeded has not begun.
func TestTheForecastOfAnEmptyPool(t *testing.T) {
	p := newPlant(t, alloc.PoolConfig{}.WithDefaults())
	if f, err := p.PoolForecast(p.ctx, pool); err != nil || f.Known {
		t.Errorf("never seeded: %+v, %v", f, err)
	}
	p.seedByHand("j", "A")
	p.claim(1)
	p.run() // by which it is known that it was seeded
	if f, err := p.PoolForecast(p.ctx, pool); err != nil || !f.Known || f.Never || !f.Earliest.Equal(f.At) || !f.Latest.Equal(f.At) {
		t.Errorf("used up: %+v, %v", f, err)
	}
	p.createSequence("s", alloc.SequenceConfig{Limit: 1})
	if _, err := p.Lease(p.ctx, alloc.LeaseRequest{Sequence: "s", Count: 1}); err != nil {
		t.Fatal(err)
	}
	if f, err := p.SequenceForecast(p.ctx, "s"); err != nil || !f.Known || !f.Earliest.Equal(f.At) {
		t.Errorf("a sequence that is used up: %+v, %v", f, err)
	}
}
