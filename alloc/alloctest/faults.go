package alloctest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"idpool/alloc"
)

// bothForms are the faults in pairs: refused, and applied but reported as failed; unknowable are those that a caller
// cannot tell apart.
var (
	bothForms  = []Fault{Refused, RefusedUnknown, AppliedButFailed, Throttled}
	unknowable = []Fault{RefusedUnknown, AppliedButFailed}
)

var faultCases = []testCase{
	{"K12 a claim whose answer is lost, or that is refused, is repeated with its key and ends with one answer", func(w *world) {
		w.full("p", 40)
		taken := alloc.Count(0)
		for i, faults := range faultSeries() {
			o := keyedOrder("p", 2, fmt.Sprint(i))
			w.claimThrough(o, Script("Claim", faults...))
			taken += 2
			equal(w, w.free("p"), 40-taken, fmt.Sprintf("free IDs after the faults %v", faults))
		}
	}},
	{"P13 the claim of the last ID whose answer is lost is answered to its key", func(w *world) {
		w.full("p", 1)
		o := keyedOrder("p", 1, "k")
		w.claimThrough(o, Script("Claim", AppliedButFailed, AppliedButFailed))
		w.refuse(w.open(), order("p", 1), alloc.CodePoolExhausted, "Claim of an empty pool")
	}},
	{"without a key no fault hands out an ID twice, and what nobody heard of is lost and counted", func(w *world) {
		w.full("p", 40)
		for _, faults := range faultSeries() {
			f := NewFaulty(w.open(), Script("Claim", faults...))
			if _, err := w.patiently(f, order("p", 1)); err != nil {
				w.Fatalf("Claim without a key after the faults %v: got %v, want an ID", faults, err)
			}
		}
	}},
	{"C33 a seeding whose answer is lost, or that is refused, is repeated and ends in the same pool", func(w *world) {
		w.pool("p", alloc.PoolConfig{MaxBatch: alloc.MaxBatchLimit})
		total := 0
		for i, faults := range faultSeries() {
			job := fmt.Sprintf("job-%d-", i)
			b := alloc.SeedBatch{Pool: "p", Job: alloc.JobID(job), IDs: someIDs(job, 3)}
			for _, o := range w.seedPatiently(NewFaulty(w.open(), Script("Seed", faults...)), b) {
				equal(w, o, alloc.SeedAdded, fmt.Sprintf("outcome after the faults %v", faults))
			}
			total += 3
			equal(w, w.free("p"), alloc.Count(total), fmt.Sprintf("free IDs after the faults %v", faults))
		}
		equal(w, w.drain(w.open(), "p"), alloc.Count(total), "IDs that can be claimed")
	}},
	{"a creation and a change whose answers are lost are repeated and end as one", func(w *world) {
		config := alloc.PoolConfig{MaxBatch: 7}.WithDefaults()
		f := NewFaulty(w.open(), nil)
		for i, faults := range faultSeries() {
			name := alloc.PoolName(fmt.Sprintf("p-%d", i))
			f.SetPlan(Script("CreatePool", faults...))
			w.untilDone("CreatePool", func() error { _, _, err := f.CreatePool(w.Context(), name, config); return err })
			other := config
			other.MaxBatch = 9
			f.SetPlan(Script("ChangePool", faults...))
			w.untilDone("ChangePool", func() error { _, err := f.ChangePool(w.Context(), name, 1, other); return err })
			equal(w, w.readPool(name).Version, 2, "version")
			equal(w, w.readPool(name).Config, other, "configuration")
		}
	}},
	{"K24 a lease whose answer is lost, or that is refused, is repeated with its key and ends with one range", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		var leased []alloc.Range
		for i, faults := range faultSeries() {
			o := keyedLease("s", 5, fmt.Sprint(i))
			f := NewFaulty(w.open(), Script("Lease", faults...))
			r, err := w.leasePatiently(f, o)
			w.ok(err, fmt.Sprintf("Lease after the faults %v", faults))
			again := r
			again.Replayed = false
			w.replayLease(w.open(), o, again)
			leased = append(leased, r)
		}
		w.disjoint(leased)
	}},
	{"a lease without a key whose answer is lost leaves a gap, never a number twice", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		var leased []alloc.Range
		for _, faults := range faultSeries() {
			r, err := w.leasePatiently(NewFaulty(w.open(), Script("Lease", faults...)), leaseOrder("s", 5))
			w.ok(err, fmt.Sprintf("Lease after the faults %v", faults))
			leased = append(leased, r)
		}
		w.disjoint(leased)
	}},
	{"a record of the trail whose answer is lost is repeated and stands once", func(w *world) {
		r := w.record(0)
		f := NewFaulty(w.open(), Script("Record", AppliedButFailed, Refused, AppliedButFailed))
		w.untilDone("Record", func() error { return f.Record(w.Context(), r) })
		w.sameTrail(w.trail(10), []alloc.AuditRecord{r})
	}},
	{"a sweep whose answer is lost is repeated and harms nothing", func(w *world) {
		w.full("p", 20)
		w.claim(w.open(), order("p", 3))
		w.clock.Advance(staleStock)
		f := NewFaulty(w.open(), Script("Sweep", AppliedButFailed, Throttled, AppliedButFailed))
		w.untilDone("Sweep", func() error { _, err := f.Sweep(w.Context(), "p"); return err })
		equal(w, w.drain(w.open(), "p"), 17, "IDs left")
	}},
	{"many callers with keys, half of all calls going wrong, end with an answer each that is repeated anywhere", func(w *world) {
		const callers, ids = 12, 30
		w.full("p", ids)
		w.together(callers, func(i int) {
			rng := rand.New(rand.NewPCG(uint64(i), 1))
			o := keyedOrder("p", alloc.Count(1+i%3), fmt.Sprint(i))
			first, err := w.patiently(NewFaulty(w.open(), Sometimes(rng.IntN, 2, bothForms...)), o)
			if err != nil {
				w.Errorf("Claim with a key through faults: got %v, want IDs", err)
				return
			}
			again, err := w.patiently(w.open(), o)
			if err != nil || !again.Replayed || !slices.Equal(first.IDs, again.IDs) {
				w.Errorf("the repeat elsewhere: got %+v and %v, want %+v replayed", again, err, first)
			}
		})
		w.settle("p")
		equal(w, w.drain(w.open(), "p"), ids-(callers/3)*(1+2+3), "IDs left")
	}},
	{"many callers without keys, half of all calls going wrong, get no ID twice", func(w *world) {
		const callers = 12
		w.full("p", 60)
		w.together(callers, func(i int) {
			rng := rand.New(rand.NewPCG(uint64(i), 2))
			f := NewFaulty(w.open(), Sometimes(rng.IntN, 2, bothForms...))
			for range 4 {
				if _, err := w.patiently(f, order("p", 1)); err != nil && !alloc.Is(err, alloc.CodePoolExhausted) {
					w.Errorf("Claim through faults: got %v, want an ID or pool_exhausted", err)
				}
			}
		})
	}},
	{"C11 a claim that was held for hours and then carried out takes nothing that another has", func(w *world) {
		w.full("p", 10)
		warm := w.open()
		w.claim(warm, order("p", 1))
		f := NewFaulty(warm, Script("Claim", Delayed))
		var late sync.WaitGroup
		late.Go(func() {
			if _, err := w.tryClaim(f, order("p", 1)); err != nil && !alloc.Is(err, alloc.CodePoolExhausted) {
				w.Errorf("the held claim: got %v, want an ID or pool_exhausted", err)
			}
		})
		<-f.Held()
		w.clock.Advance(3 * time.Hour)
		w.sweep("p")
		w.claim(w.open(), order("p", 8))
		f.Release()
		late.Wait()
		w.refuse(warm, order("p", 1), alloc.CodePoolExhausted, "Claim of an empty pool")
	}},
}

// faultSeries are the faults of one call and its repeats: each alone, and those of unknown outcome followed by each.
func faultSeries() [][]Fault {
	var series [][]Fault
	for _, first := range bothForms {
		series = append(series, []Fault{first})
	}
	for _, first := range unknowable {
		for _, second := range bothForms {
			series = append(series, []Fault{first, second})
		}
	}
	return series
}

// claimThrough claims with a key through faults, as a client that repeats, each time to another process, and checks that
// the answer is repeated.
func (w *world) claimThrough(o alloc.ClaimOrder, plan Plan) {
	w.Helper()
	f := NewFaulty(w.open(), plan)
	first, err := w.patiently(f, o)
	w.ok(err, "Claim with a key through faults")
	w.replay(w.open(), o, first)
}

// untilDone repeats a step as long as the answer allows it.
func (w *world) untilDone(what string, step func() error) {
	w.Helper()
	for range patience {
		if err := step(); !repeatable(err) {
			w.ok(err, what+" through faults")
			return
		}
	}
	w.Fatalf("%s through faults: got no answer in %d repeats", what, patience)
}
