package alloc

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// maxOnBoard is how many pools, and how many sequences, a board has at most: the most urgent ones.
const maxOnBoard = 20_000

// trendHours is how many hours a trend has.
const trendHours = 24

// Board is how each pool and sequence stood at the end of a run of the schedule. It is a copy, as old as At says: pages order by it,
// and nothing is decided by it. The zero Board is none.
type Board struct {
	At        time.Time
	Pools     []PoolOnBoard     // the most urgent first
	Sequences []SequenceOnBoard // the most urgent first

	Throttled   Count     // pools and sequences of a run for which the engine was asked for more than it takes, so that they were left to the next
	ThrottledAt time.Time // of the last run that met any; what other processes meet it does not know. Zero for none
}

// PoolOnBoard is how a pool stood. What could not be looked at is as it stood before, at its own At.
type PoolOnBoard struct {
	Pool     PoolName
	At       time.Time // of the look; zero if there was none that went well
	State    PoolState
	Level    Level
	Low      Count // by its marks and the rates of the moment; 0 for none
	Target   Count
	Filled   bool // it has a generator
	Filling  bool
	Dry      string    // why the generator can make no more; "" while it can
	Failed   string    // why its refill went no further in the last run; "" for nothing
	Refilled time.Time // when its generator added IDs last; zero for not known
	Unknown  string    // why the last look failed; "" for nothing
	Burns    []Burn
	Trend    Trend

	Stock      Count     // IDs that are free and cannot be leased: in somebody's memory, or listed nowhere. A sweep brings the first back when they are not claimed
	StockSince time.Time // since when it has stayed just so, and nobody has claimed or given back; zero for no stock
	Behind     time.Time // since when its sweeps leave work, in each run; zero where the last one left none
}

// SequenceOnBoard is how a sequence stood.
type SequenceOnBoard struct {
	Sequence SequenceName
	At       time.Time
	State    SequenceState
	Start    Number
	Limit    Number
	Next     Number // lowest that is not leased; 0 where the position is not to be trusted
	Left     Count
	Burns    []Burn
}

// Trend is what was available in each of the last hours, the newest last: as of the last look in that hour, −1 for not known.
type Trend struct {
	Hour   int64 // of the newest, counted from the epoch
	Counts []Count
}

// at returns the trend with what is available now.
func (t Trend) at(now time.Time, available Count) Trend {
	hour := now.Unix() / 3600
	counts := slices.Clone(t.Counts)
	for missing := hour - t.Hour; missing > 0 && len(counts) > 0; missing-- {
		if counts = append(counts, -1); missing > trendHours {
			counts = nil
		}
	}
	if len(counts) == 0 {
		counts = []Count{-1}
	}
	counts[len(counts)-1] = available
	return Trend{max(hour, t.Hour), counts[max(0, len(counts)-trendHours):]}
}

// Samples are the points of a trend: what is known of it.
func (t Trend) Samples() (samples []Sample) {
	for i, n := range t.Counts {
		if n >= 0 {
			samples = append(samples, Sample{At: time.Unix((t.Hour-int64(len(t.Counts)-1-i))*3600, 0).UTC(), Available: n})
		}
	}
	return samples
}

// trendOf is the trend that samples show, in the order of their times.
func trendOf(samples []Sample) (t Trend) {
	for _, s := range samples {
		t = t.at(s.At, s.Available)
	}
	return t
}

// Forecast is how long the pool lasts by what it had then.
func (p PoolOnBoard) Forecast() Forecast { return poolForecast(p.At, p.Level, p.Burns) }

// Forecast is how long the sequence lasts by what it had then.
func (q SequenceOnBoard) Forecast() Forecast {
	if !q.State.hasPosition() {
		return Forecast{At: q.At}
	}
	return forecastOf(q.At, q.Left, q.Burns)
}

// How long stock stays, and sweeps leave work, before that needs a person: longer than a sweep waits until it lists stock again.
const (
	strandedAfter = 20 * time.Minute
	behindAfter   = 5 * time.Minute
)

// IsStranded reports whether IDs of the pool lie where nobody gets them: nobody claims, and they do not come back.
func (p PoolOnBoard) IsStranded() bool {
	return !p.StockSince.IsZero() && p.At.Sub(p.StockSince) >= strandedAfter
}

// IsBehind reports whether the pool's sweeps do not come to their end.
func (p PoolOnBoard) IsBehind() bool { return !p.Behind.IsZero() && p.At.Sub(p.Behind) >= behindAfter }

// Empty reports whether an active pool has nothing to claim, although it was begun.
func (p PoolOnBoard) Empty() bool {
	return p.State == PoolActive && p.Level.Available == 0 && p.Level.Seeded > 0
}

// IsLow reports whether the pool is below its low mark, and is to be filled.
func (p PoolOnBoard) IsLow() bool { return p.State == PoolActive && p.Level.Available < p.Low }

// urgency is how soon a pool needs a person, as a key that sorts the most urgent first.
func (p PoolOnBoard) urgency() string {
	class := 5
	switch {
	case p.State == PoolDamaged || p.Unknown != "":
		class = 0
	case p.State == PoolPaused, p.State == PoolDraining, p.State == PoolDeleted:
		class = 7
	case p.Empty():
		class = 1
	case p.IsLow() && (p.Dry != "" || !p.Filled):
		class = 2
	case p.IsLow():
		class = 3
	case p.Dry != "", p.Failed != "":
		class = 4
	case p.At.IsZero(), p.Level.Seeded == 0:
		class = 6
	}
	return urgencyKey(class, p.Forecast(), string(p.Pool))
}

func (q SequenceOnBoard) urgency() string {
	class := 5
	switch {
	case q.State == SequenceStopped:
		class = 0
	case q.State == SequenceFrozen:
		class = 1
	case q.State == SequencePaused, q.State == SequenceDeleted:
		class = 7
	case q.Left <= 0:
		class = 2
	case q.State != SequenceActive:
		class = 3
	case q.IsEnding():
		class = 4
	}
	return urgencyKey(class, q.Forecast(), string(q.Sequence))
}

func urgencyKey(class int, f Forecast, name string) string {
	minutes := int64(math.MaxInt64)
	if left, ok := f.Runway(); ok {
		minutes = int64(left.Minutes())
	}
	return fmt.Sprintf("%d %019d %s", class, minutes, name)
}

// sorted returns the board in its order.
func (b Board) sorted() Board {
	b.Pools = byKey(b.Pools, PoolOnBoard.urgency)
	b.Sequences = byKey(b.Sequences, SequenceOnBoard.urgency)
	return b
}

// byKey returns the list in the order of its keys, each of which is made once.
func byKey[T any](list []T, key func(T) string) []T {
	type keyed struct {
		key string
		of  T
	}
	all := make([]keyed, len(list))
	for i, t := range list {
		all[i] = keyed{key(t), t}
	}
	slices.SortFunc(all, func(a, b keyed) int { return cmp.Compare(a.key, b.key) })
	sorted := make([]T, len(list))
	for i, k := range all {
		sorted[i] = k.of
	}
	return sorted
}
