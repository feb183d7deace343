package alloctest

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"idpool/alloc"
	"idpool/alloc/generator"
)

// settleAndFill settles all pools, and then may fill one: what is available is exact right after a sweep with no stock in
// anybody's memory.
func (m *machine) settleAndFill(t *rapid.T) {
	m.settle(t)
	m.changeRefill(t)
	if rapid.Bool().Draw(t, "fill") {
		m.refill(t)
	}
}

// refill fills a pool up to a level, with a new batch or with one that was begun before.
func (m *machine) refill(t *rapid.T) {
	b := m.refillBatch(t)
	b.UpTo = alloc.Count(rapid.IntRange(1, 16).Draw(t, "level"))
	m.seedBatch(m.process(t), b)
}

// refillBatch draws a batch. Its IDs are its own, but in a pool that keeps some may be those of plain seedings.
func (m *machine) refillBatch(t *rapid.T) alloc.SeedBatch {
	if len(m.refills) > 0 && rapid.Bool().Draw(t, "repeat") {
		return m.refills[rapid.IntRange(0, len(m.refills)-1).Draw(t, "batch")]
	}
	m.made++
	job := fmt.Sprintf("refill-%d", m.made)
	b := alloc.SeedBatch{Pool: m.pool(t), Job: alloc.JobID(job), IDs: someIDs(job+"-", rapid.IntRange(1, 6).Draw(t, "size"))}
	slices.Reverse(b.IDs) // their order is the batch's, not that of their names
	if b.Pool != m.pools[1] {
		others := rapid.SliceOfNDistinct(rapid.SampledFrom(someIDs("id-", 14)), 0, 4, rapid.ID[alloc.ID]).Draw(t, "others")
		b.IDs = slices.Insert(b.IDs, rapid.IntRange(0, len(b.IDs)).Draw(t, "place"), others...)
	}
	m.refills = append(m.refills, b)
	return b
}

// changeRefill changes the record of a pool's refill, now and then from a version that it is not at, and reads it.
func (m *machine) changeRefill(t *rapid.T) {
	want, err := m.model.Refill(m.ctx(), m.pool(t))
	m.w.ok(err, "Refill of the model")
	from := want.Version + alloc.Version(rapid.SampledFrom([]int{0, 0, 0, -1, 1}).Draw(t, "ahead"))
	r := alloc.Refill{Pool: want.Pool, Batch: "batch", UpTo: 7, Filling: rapid.Bool().Draw(t, "filling")}
	if rapid.Bool().Draw(t, "with IDs") {
		r.IDs = someIDs("id-", 3)
	}
	if rapid.Bool().Draw(t, "dry") {
		r.Dry, r.DrySince, r.Generator = "no more", m.w.clock.Now().Truncate(time.Hour), generator.Config{Kind: generator.ULID}
	}
	if want.Version > 0 && rapid.IntRange(0, 2).Draw(t, "again") == 0 {
		r, from = want, want.Version-1
	}
	want, wantErr := m.model.ChangeRefill(m.ctx(), max(0, from), r)
	got, gotErr := m.process(t).ChangeRefill(m.ctx(), max(0, from), r)
	m.same("ChangeRefill of "+string(r.Pool), gotErr, wantErr)
	if gotErr == nil {
		m.w.sameRefill(got, want)
	}
	got, gotErr = m.process(t).Refill(m.ctx(), r.Pool)
	want, wantErr = m.model.Refill(m.ctx(), r.Pool)
	m.same("Refill of "+string(r.Pool), gotErr, wantErr)
	m.w.sameRefill(got, want)
}
