package alloc

import (
	"time"

	"idpool/alloc/generator"
)

// Refill is where a pool's refill stands, as stored. At most one batch of IDs is on its way into the pool at a time: whoever
// finds one carries it on. A new one is begun on condition of the record's version, by whoever has read that before the
// level by which it was decided. So no two runs fill the same gap.
type Refill struct {
	Pool    PoolName
	Version Version // 0 where none was ever kept
	Updated time.Time

	// The batch on its way. With Filling and without IDs it is ordered: whoever comes makes its IDs, under its name.
	Batch JobID // names it as Store.Seed is told
	IDs   []ID
	UpTo  Count // see SeedBatch

	Filling bool // below low seen, target not reached yet

	// Burning is the restore that retires free IDs of the pool in the order in which they are handed out, or has done so last; "" for none. Every change
	// leaves it, but that by which another restore takes its place.
	Burning JobID

	// Why the generator can make no more IDs; "" while it can. It is said once, when it becomes so, and again when it is so
	// anew after it was over.
	Dry      string
	DrySince time.Time

	// Generator is that by which the batch is made, or which is dry. IDs may be of the one before it, of the same sequence: that
	// was changed when they were made already.
	Generator generator.Config
}
