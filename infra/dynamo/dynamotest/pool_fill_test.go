package dynamotest

import (
	"fmt"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// fillRun is one random schedule of a pool that is filled up to a level: several runs of one batch with UpTo at once, beside
// plain seedings and another such batch of the same IDs, claims and sweeps.
type fillRun struct{ *poolRun }

// everythingNeeded is a level that no pool of a schedule reaches.
const everythingNeeded = 1000

func fills(t *testing.T, seed uint64, mutate func(dynamo.Table) dynamo.Table) runner {
	return newFillRun(t, seed, mutate)
}

func newFillRun(t *testing.T, seed uint64, mutate func(dynamo.Table) dynamo.Table) *fillRun {
	r := &fillRun{newPoolRun(t, seed, mutate)}
	r.long, r.jumps = false, 10*time.Hour
	r.w.fills = newFillBooks()
	r.weights = weights([]int{2, 6, 12}[r.rng.IntN(3)])
	r.size = 2 + r.rng.IntN(9)
	ids := make([]alloc.ID, r.size)
	for i := range ids {
		ids[i] = alloc.ID(fmt.Sprintf("id%d", i))
	}
	stretch := func() []alloc.ID {
		from := r.rng.IntN(r.size)
		return ids[from : from+1+r.rng.IntN(r.size-from)]
	}
	most := func() alloc.Count { return alloc.Count(1 + r.rng.IntN(r.size+1)) }
	r.jobs = []alloc.SeedBatch{{Pool: pool, Job: "fill", IDs: ids, UpTo: most()}}
	if r.chance(50) {
		r.jobs = append(r.jobs, alloc.SeedBatch{Pool: pool, Job: "plain", IDs: stretch()})
	}
	if r.chance(25) {
		r.jobs = append(r.jobs, alloc.SeedBatch{Pool: pool, Job: "fill2", IDs: stretch(), UpTo: most()})
	}
	r.forms = nil
	for _, form := range []struct {
		n int
		f func(*process)
	}{{1 + r.rng.IntN(8), r.fill}, {r.rng.IntN(4), r.seed}, {r.rng.IntN(6), r.claimKeyless}, {r.rng.IntN(2), r.claimKeyed}, {r.rng.IntN(3), r.sweep}, {r.rng.IntN(3), r.recount}} {
		for range form.n {
			r.forms = append(r.forms, form.f)
		}
	}
	return r
}

// fill begins another run of the batch, now and then up to another level.
func (r *fillRun) fill(p *process) {
	b := r.jobs[0]
	if r.chance(10) {
		b.UpTo = alloc.Count(1 + r.rng.IntN(r.size+1))
	}
	r.seeds(p, b)
}

// recount makes the head tell another level, as a sweep does that has counted: what was placed by the old one may not fit
// any more. Without it that takes an ID that comes back between two writes.
func (r *fillRun) recount(*process) {
	it := r.mem.Item(headKey)
	if it == nil || it.Str(dynamo.AttrRebuild) != "" {
		return
	}
	it[dynamo.AttrWindowFree] = int64(r.rng.IntN(r.size + 1))
	r.mem.Set(it)
	r.w.head = it
	r.note("recounted: %v", it)
}

func (r *fillRun) run() {
	defer r.stop()
	r.open()
	r.storm(r.next)
	r.calm()
	if len(r.broken) == 0 {
		r.settleFills()
	}
}

// settleFills shows that all is whole when nothing is under way: first with as much as was asked for, then with all.
func (r *fillRun) settleFills() {
	p := r.spawn()
	r.rebuiltAtLast()
	r.activate()
	for _, b := range r.jobs {
		r.quietly(r.seeds(p, b))
	}
	r.pass(time.Minute)
	r.sweeps()
	r.quietSweeps()
	r.reap()
	r.walks()
	for _, b := range r.jobs {
		r.quietly(r.seeds(p, b))
	}
	r.reap()
	r.nothingTwice()
	for _, b := range r.jobs {
		if b.UpTo > 0 {
			b.UpTo = everythingNeeded
		}
		r.quietly(r.seeds(p, b))
	}
	for _, k := range r.keys {
		r.retry(k)
	}
	r.pass(longestHold + wrong)
	r.quietSweeps()
	r.reap()
	r.countsOnce()
	r.walks()
	r.drain()
	r.census()
}

func TestBatchesUpToALevelCountEachIDOnce(t *testing.T) {
	runs := 700
	if raced {
		runs = 150
	}
	search(t, fills, runs, "a chunk voided", "an ID that was let go, added by another batch", "a late write that was applied")
}
