package alloctest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"

	"idpool/alloc"
)

var repairRaceCases = []testCase{
	{"C16 each step of a rebuild done twice, and again when it has ended, changes nothing", func(w *world) {
		m := w.mixture("p")
		w.harm("p", LoseQueue)
		o, steps := alloc.PoolRebuildOrder{Pool: "p", Job: "rebuild"}, []alloc.PoolRebuildOrder{}
		for range 1000 {
			steps = append(steps, o)
			first, err := w.open().RebuildPool(w.Context(), o)
			w.ok(err, "RebuildPool")
			again, err := w.open().RebuildPool(w.Context(), o)
			w.ok(err, "RebuildPool again")
			equal(w, again.Next, first.Next, "Next of a step that is repeated")
			if o.Step = first.Next; o.Step == "" {
				break
			}
		}
		for _, o := range steps {
			w.lateStep(o)
		}
		w.met(m)
		w.rebuiltPool("p", "second")
		for _, o := range steps[min(1, len(steps)-1):] { // the first one may begin a rebuild
			w.lateStep(o)
		}
		w.met(m)
		w.rebuiltPool("p", "third")
		w.whole(m)
	}},
	{"C16 a rebuild that many do at once ends as one", func(w *world) {
		m := w.mixture("p")
		w.harm("p", LoseHead, LoseQueue)
		stores := w.processes(8)
		w.together(len(stores), func(i int) { w.rebuildPatiently(stores[i], alloc.PoolRebuildOrder{Pool: "p", Job: "rebuild"}) })
		w.clock.Advance(stateDelay)
		w.whole(m)
	}},
	{"steps of the rebuild of a pool whose answers are lost are repeated, and end as one", func(w *world) {
		m := w.mixture("p")
		w.harm("p", LoseHead, LoseQueue)
		rng := rand.New(rand.NewPCG(1, 4))
		f := NewFaulty(w.open(), Sometimes(rng.IntN, 2, bothForms...))
		w.rebuildPatiently(f, alloc.PoolRebuildOrder{Pool: "p", Job: "rebuild"})
		w.clock.Advance(stateDelay)
		f.SetPlan(Script("AbandonRebuild", bothForms...))
		w.untilDone("AbandonRebuild", func() error { return f.AbandonRebuild(w.Context(), "p", "rebuild") })
		w.whole(m)
	}},
	{"P03 a rebuild beside claims, returns, seedings and sweeps loses no ID and hands out none twice", func(w *world) {
		const workers, ids = 4, 60
		w.full("p", ids)
		stores := w.processes(workers + 3)
		ended := make(chan struct{})
		w.together(len(stores), func(i int) {
			switch {
			case i < workers:
				w.workBeside(stores[i], i, ended)
			case i == workers:
				w.sweepBeside(stores[i], ended)
			case i == workers+1:
				defer close(ended)
				for n := range 4 {
					o := alloc.PoolRebuildOrder{Pool: "p", Job: alloc.JobID(fmt.Sprint("rebuild-", n))}
					w.together(2, func(j int) { w.rebuildPatiently(stores[workers+1+j], o) })
				}
			}
		})
		w.settle("p")
		free := w.free("p")
		w.walk("p", "", 7)
		equal(w, w.drain(w.open(), "p"), free, "IDs that can be claimed")
	}},
	{"a seeding that was cut off before a rebuild is carried to its end by its repeat", func(w *world) {
		w.full("p", 5)
		for round := range 6 {
			rng := rand.New(rand.NewPCG(uint64(round), 8))
			job := fmt.Sprintf("job-%d-", round)
			b := alloc.SeedBatch{Pool: "p", Job: alloc.JobID(job), IDs: someIDs(job, 30)}
			w.book.offer("p", b.IDs)
			ctx, cancel := context.WithTimeout(w.Context(), cutOff(rng))
			_, _ = w.open().Seed(ctx, b)
			cancel()
			w.rebuiltPool("p", alloc.JobID("rebuild-"+job))
			for _, o := range w.seedPatiently(w.open(), b) {
				equal(w, o, alloc.SeedAdded, "outcome of a seeding that was cut off")
			}
		}
		w.settle("p")
		w.walk("p", "", 20)
		equal(w, w.drain(w.open(), "p"), 5+6*30, "IDs that can be claimed")
	}},
	{"stock in memory from before a rebuild is harmless, however old", func(w *world) {
		m := w.mixture("p")
		for round := range 3 {
			w.rebuiltPool("p", alloc.JobID(fmt.Sprint("rebuild-", round)))
			w.claim(m.warm, order("p", 1))
			w.claim(w.open(), order("p", 1))
			w.sweep("p")
		}
		w.clock.Advance(staleStock)
		w.sweep("p")
		w.drain(m.warm, "p")
		w.settle("p")
		w.drain(w.open(), "p")
		w.met(m)
	}},
}

// lateStep does a step again when its rebuild has ended: it may be refused, and changes nothing.
func (w *world) lateStep(o alloc.PoolRebuildOrder) {
	w.Helper()
	before := w.readPool(o.Pool)
	if _, err := w.open().RebuildPool(w.Context(), o); err != nil && asError(err) == nil {
		w.Fatalf("a step that comes late: got the bare error %v, want an *alloc.Error", err)
	}
	equal(w, w.poolEvidence(o.Pool).Rebuilding, "", "rebuild that is on after a step that comes late")
	samePool(w, w.readPool(o.Pool), before)
}

// workBeside claims, settles and seeds beside rebuilds until they have ended.
func (w *world) workBeside(s alloc.Store, i int, ended <-chan struct{}) {
	w.Helper()
	rng := rand.New(rand.NewPCG(uint64(i), 6))
	var mine sync.WaitGroup
	defer mine.Wait()
	for round := 0; ; round++ {
		select {
		case <-ended:
			return
		default:
		}
		o := order("p", alloc.Count(1+rng.IntN(3)))
		c, err := w.patiently(s, o)
		switch {
		case err == nil:
			_, err = w.settlePatiently(s, settleOrder([]alloc.Event{alloc.EventRelease, alloc.EventConfirm, alloc.EventRelease}[rng.IntN(3)], c))
		case round < 3:
			err = w.seedBeside(s, alloc.SeedBatch{Pool: "p", Job: alloc.JobID(fmt.Sprint("job-", i)), IDs: someIDs(fmt.Sprintf("job-%d-%d-", i, round), 3)})
		}
		if err != nil && !repeatable(err) && !alloc.Is(err, alloc.CodePoolExhausted) && !alloc.Is(err, alloc.CodePoolRebuilding) {
			w.Errorf("a caller beside a rebuild: got %v, want success, pool_exhausted or pool_rebuilding", err)
		}
	}
}

// seedBeside seeds beside rebuilds: what is refused is repeated.
func (w *world) seedBeside(s alloc.Store, b alloc.SeedBatch) error {
	w.book.offer(b.Pool, b.IDs)
	for {
		outcomes, err := s.Seed(w.Context(), b)
		if err == nil {
			w.book.seeded(b.Pool, b.IDs, outcomes)
		}
		if !repeatable(err) && !alloc.Is(err, alloc.CodePoolRebuilding) {
			return err
		}
	}
}

// sweepBeside sweeps beside rebuilds until they have ended.
func (w *world) sweepBeside(s alloc.Store, ended <-chan struct{}) {
	w.Helper()
	for {
		select {
		case <-ended:
			return
		default:
		}
		if _, err := s.Sweep(w.Context(), "p"); err != nil && !repeatable(err) && !alloc.Is(err, alloc.CodePoolRebuilding) {
			w.Errorf("Sweep beside a rebuild: got %v, want success or pool_rebuilding", err)
		}
	}
}
