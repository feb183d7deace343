package alloc

import "time"

// RefillReport says what one run of the schedule did to fill a pool.
type RefillReport struct {
	Pool    PoolName
	Added   Count  // IDs
	Batches int    // that were carried to their end
	Dry     string // why the generator can make no more; "" while it can
	DryNow  bool   // it has become so in this run: nobody was told before
	Err     error  // why the run went no further; nil where it did all it could
}

// PoolStanding is how a pool stood at the end of a run, for those who watch.
type PoolStanding struct {
	Pool     PoolName
	State    PoolState
	Level    Level
	Low      Count // by its marks and the rates of the moment; 0 for none
	Target   Count
	Filled   bool // it has a generator
	Dry      bool // which can make no more
	Forecast Forecast

	// Room is how many more IDs the generator can make, of numbers in the present period, and Supply how long they last together
	// with what is free. Supply knows nothing where there is no end to that.
	Room   Count
	Supply Forecast
}

// IsLow reports whether the pool is below its low mark, and is to be filled: one that is drained is not.
func (p PoolStanding) IsLow() bool { return p.State != PoolDraining && p.Level.Available < p.Low }

// RefillStanding is where a pool's refill stands, for whoever may read the pool. Which IDs wait is not told: they are free codes.
type RefillStanding struct {
	Pool     PoolName
	Version  Version // 0 where it was never filled
	Updated  time.Time
	Filling  bool  // below low seen, target not reached yet
	Waiting  Count // IDs that are made and not in the pool yet
	Dry      string
	DrySince time.Time
}

// SequenceStanding is how a sequence stood at the end of a run.
type SequenceStanding struct {
	Sequence SequenceName
	State    SequenceState
	Behind   bool   // see Sequence.Behind
	Left     Count  // numbers
	Next     Number // lowest that is not leased; 0 where the position is not to be trusted
	Forecast Forecast
}

// Faulty reports whether its counter is lost or wrong: it is for a rebuild.
func (s SequenceStanding) Faulty() bool { return s.State == SequenceStopped || s.Behind }

// Runway is how long it lasts at the highest known rate; ok is false where it never ends or nothing is known.
func (f Forecast) Runway() (left time.Duration, ok bool) {
	if !f.Known || f.Never {
		return 0, false
	}
	return max(0, f.Earliest.Sub(f.At)), true
}

// Preview is what a generator would make, and what is to be known before it is saved.
type Preview struct {
	Examples []string // five; of a sequence the numbers are those that would come next, and none is taken
	Space    string   // how many IDs there can be, in digits, of a sequence from now on in the present period; "" where that is not counted (UUIDv7, ULID)
	Bits     float64  // binary logarithm of the space, of what is random about an ID
	Target   Count    // of the pool

	// Of Random at the target: how likely one more draw is an ID that is there already, and how many guesses find one that is, on average.
	Collision float64
	Guesses   float64
}

// PreviewRequest asks for a preview. The pool need not exist.
type PreviewRequest struct {
	Pool   PoolName
	Config PoolConfig
}

// SeedJobRequest asks for a job that takes a file in parts and adds its IDs.
type SeedJobRequest struct {
	Pool   PoolName
	Format SeedFormat
	Why    string // up to MaxDescription bytes; "" for nothing
	Intent Token  // of Keyed; "" for none
}

// CountRequest asks for an exact count.
type CountRequest struct {
	Pool   PoolName
	Why    string // as in SeedJobRequest
	Intent Token  // of Keyed; "" for none
}
