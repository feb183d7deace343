package alloc

import "time"

// Sample is how a pool or a sequence stood at a time.
type Sample struct {
	At        time.Time
	Available Count // free IDs, or numbers left
	Used      Count // of a pool seeded − available, of a sequence numbers leased: between two samples it grows by what was used and not given back
}

// Burn is how fast a pool or a sequence was used over a window.
type Burn struct {
	Window  time.Duration // asked for: an hour or a day
	Span    time.Duration // of it there are samples for; 0 for none, and then nothing is known
	Used    Count         // in Span, net of what came back; never below 0
	PerHour float64
}

// Forecast is how long a pool or a sequence lasts if it is used as it was, and nothing is added.
type Forecast struct {
	At        time.Time
	Available Count
	Burns     []Burn // the windows of ForecastWindows, in their order

	// Known says that there is a rate to tell by, or that the end has come. Never: at none of the known rates it ends (within MaxForecast). Else it ends at
	// Earliest, by the highest rate, and at Latest, by the lowest; Latest is zero where at the lowest it never does. What has
	// ended already ends At, whatever the rates: nothing burns where nothing is left.
	Known    bool
	Never    bool
	Earliest time.Time
	Latest   time.Time
}

// MaxForecast is the furthest a forecast looks; beyond it is never.
const MaxForecast = 100 * 365 * 24 * time.Hour

// ForecastWindows are the windows over which use is looked at.
func ForecastWindows() []time.Duration { return []time.Duration{time.Hour, 24 * time.Hour} }

// minSpan is the shortest time between two samples by which a rate is told.
const minSpan = 2 * time.Minute

// burnOf is the burn over the window from one sample to another.
func burnOf(window time.Duration, from, to Sample) Burn {
	b := Burn{Window: window}
	if span := to.At.Sub(from.At); span >= minSpan {
		b.Span, b.Used = span, max(0, to.Used-from.Used)
		b.PerHour = float64(b.Used) / span.Hours()
	}
	return b
}

// fastest is the highest known rate; 0 where none is known.
func fastest(burns []Burn) (perHour float64) {
	for _, b := range burns {
		perHour = max(perHour, b.PerHour)
	}
	return perHour
}

// poolForecast is forecastOf for a pool. Of one that was never seeded nothing is known: it has not begun, so it does not end.
func poolForecast(at time.Time, l Level, burns []Burn) Forecast {
	if l.Seeded == 0 && l.Available == 0 {
		return Forecast{At: at, Burns: burns}
	}
	return forecastOf(at, l.Available, burns)
}

// forecastOf tells how long what is available lasts at the rates.
func forecastOf(at time.Time, available Count, burns []Burn) Forecast {
	f := Forecast{At: at, Available: available, Burns: burns}
	if available <= 0 {
		f.Known, f.Earliest, f.Latest = true, at, at
		return f
	}
	var first, last time.Duration
	ends, goesOn := false, false // at one of the rates at least
	for _, b := range burns {
		if b.Span == 0 {
			continue
		}
		f.Known = true
		left, ok := lasts(available, b.PerHour)
		switch {
		case !ok:
			goesOn = true
		case !ends:
			ends, first, last = true, left, left
		default:
			first, last = min(first, left), max(last, left)
		}
	}
	f.Never = f.Known && !ends
	if ends {
		f.Earliest = at.Add(first)
	}
	if ends && !goesOn {
		f.Latest = at.Add(last)
	}
	return f
}

// lasts is how long so many last at the rate; ok is false for never.
func lasts(available Count, perHour float64) (left time.Duration, ok bool) {
	hours := float64(available) / perHour // +Inf without a rate
	if hours > MaxForecast.Hours() {
		return 0, false
	}
	return time.Duration(hours * float64(time.Hour)), true
}
