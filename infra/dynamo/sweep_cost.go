package dynamo

import (
	"context"
	"sync/atomic"

	"idpool/alloc"
)

// What a sweep may cost, in calls of the table: at most 25,000, beside the repeats of calls that failed. Each kind
// of work has a share of its own, after which it leaves the rest to the next run: so however much there is of one kind,
// the others have their turn in the same run. A share is overstepped by what was begun: one key that was given up, one
// page of return items, one slice of the window.
const (
	voidsShare   = 3_000 // keys given up
	returnsShare = 6_000 // releases, and holds that are over
	tidyShare    = 4_000 // what is leased, listed and counted

	// relistMost is how many listings a run publishes again, and relistBatch how many chunks of them go with one move of
	// the low mark. A sweep that is cut off leaves one batch at the tail that the mark does not know of: the next one
	// must find it among the last checkFar chunks, or it would list all of it once more.
	relistMost  = 8_000
	relistBatch = checkFar - 4
)

// meter is a Table that counts what it is asked.
type meter struct {
	Table
	calls, writes atomic.Int64
}

func (m *meter) read() { m.calls.Add(1) }

func (m *meter) write() {
	m.calls.Add(1)
	m.writes.Add(1)
}

func (m *meter) Get(ctx context.Context, k Key) (Item, error) {
	m.read()
	return m.Table.Get(ctx, k)
}

func (m *meter) GetMany(ctx context.Context, keys []Key) ([]Item, error) {
	m.read()
	return m.Table.GetMany(ctx, keys)
}

func (m *meter) Query(ctx context.Context, q Query) (Page, error) {
	m.read()
	return m.Table.Query(ctx, q)
}

func (m *meter) Scan(ctx context.Context, sc Scan) ([]Item, Key, error) {
	m.read()
	return m.Table.Scan(ctx, sc)
}

func (m *meter) Put(ctx context.Context, it Item, c Cond) error {
	m.write()
	return m.Table.Put(ctx, it, c)
}

func (m *meter) Update(ctx context.Context, k Key, u Update, c Cond) (Item, error) {
	m.write()
	return m.Table.Update(ctx, k, u, c)
}

func (m *meter) Delete(ctx context.Context, k Key, c Cond) (Item, error) {
	m.write()
	return m.Table.Delete(ctx, k, c)
}

// newSweep is a run over a Store of its own, which has nothing in memory and whose table counts.
func (s *Store) newSweep(pool alloc.PoolName) *sweep {
	m := &meter{Table: s.table}
	return &sweep{
		s: &Store{table: m, now: s.now, intN: s.intN}, memory: &s.pools, meter: m,
		pool: pool, report: alloc.SweepReport{Pool: pool}, holds: map[string]bool{},
	}
}

// cost is what the run has cost.
func (w *sweep) cost() (calls, writes alloc.Count) {
	return alloc.Count(w.meter.calls.Load()), alloc.Count(w.meter.writes.Load())
}

// share is a part of the cost of a run.
type share struct {
	meter *meter
	until int64
}

func (w *sweep) share(calls int64) share { return share{w.meter, w.meter.calls.Load() + calls} }

func (s share) spent() bool { return s.meter.calls.Load() >= s.until }
