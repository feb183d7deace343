package alloc

import (
	"time"

	"idpool/alloc/generator"
)

// Bounds of what a pool is kept filled to.
const (
	MaxTarget      Count = 10_000_000
	MaxRunwayHours       = 24 * 365
)

// Marks says between which levels a pool is kept. Below low it is filled up to target, by its generator if it has one; where
// it has none, low is the level of which somebody is to be told. Hours count as so many IDs as are used in that time at the
// rate of the last hour or of the last day, whichever is higher. Where both are given, the higher one counts. The zero
// value of a field means none.
type Marks struct {
	Low         Count // 0 to MaxTarget
	Target      Count // above Low where there is a generator, to MaxTarget
	LowHours    int   // 0 to MaxRunwayHours
	TargetHours int   // above LowHours where that is given, to MaxRunwayHours
}

// Refill is where a pool's refill stands, as stored. At most one batch of IDs is on its way into the pool at a time: whoever
// finds one carries it on. A new one is begun on condition of the record's version, by whoever has read that before the
// level by which it was decided. So no two runs fill the same gap.
type Refill struct {
	Pool    PoolName
	Version Version // 0 where none was ever kept
	Updated time.Time

	// The batch on its way; without IDs there is none.
	Batch JobID // names it as Store.Seed is told
	IDs   []ID
	UpTo  Count // see SeedBatch

	Filling bool // below low seen, target not reached yet

	// Why the generator can make no more IDs; "" while it can. It is said once, when it becomes so, and again when it is so
	// anew after it was over.
	Dry      string
	DrySince time.Time

	Generator generator.Config // by which the batch was made, or which is dry
}

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

	// Known says that there is a rate to tell by. Never: at none of the known rates it ends (within MaxForecast). Else it ends at
	// Earliest, by the highest rate, and at Latest, by the lowest; Latest is zero where at the lowest it never does.
	Known    bool
	Never    bool
	Earliest time.Time
	Latest   time.Time
}

// MaxForecast is the furthest a forecast looks; beyond it is never.
const MaxForecast = 100 * 365 * 24 * time.Hour

// ForecastWindows are the windows over which use is looked at.
func ForecastWindows() []time.Duration { return []time.Duration{time.Hour, 24 * time.Hour} }
