package alloctest

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
)

var walkCases = []testCase{
	{"a walk meets each ID of a pool once, whatever the size of its pages, and says of it what Inspect says", func(w *world) {
		n := size(200)
		ids := w.full("p", n)
		w.full("p-", 3)
		w.full("q", 3)
		s := w.open()
		w.claim(s, order("p", 5))
		w.claim(s, holdOrder("p", 3, aHold))
		w.release(s, w.claim(s, order("p", 2)))
		w.retire(s, w.claim(s, order("p", 2)))
		for _, limit := range []int{7, n, 10 * n} {
			met := w.walk("p", "", limit)
			slices.SortFunc(met, func(a, b alloc.IDRecord) int { return strings.Compare(string(a.ID), string(b.ID)) })
			equal(w, len(met), n, fmt.Sprintf("IDs in pages of %d", limit))
			for i, r := range met {
				equal(w, r.ID, ids[i], "ID")
				if i%10 == 0 {
					w.sameRecord(r, w.inspect("p", r.ID))
				}
			}
		}
	}},
	{"a walk of a state meets the IDs in that state and no others", func(w *world) {
		w.full("p", 30)
		s := w.open()
		claimed, held, back, retired := w.claim(s, order("p", 5)), w.claim(s, holdOrder("p", 3, aHold)), w.claim(s, order("p", 2)), w.claim(s, order("p", 4))
		w.release(s, back)
		w.retire(s, retired)
		for _, limit := range []int{1, 3, 100} {
			for state, want := range map[alloc.State][]alloc.ID{
				alloc.StateClaimed: claimed.IDs, alloc.StateHeld: held.IDs, alloc.StateReturning: back.IDs, alloc.StateRetired: retired.IDs,
			} {
				var got []alloc.ID
				for _, r := range w.walk("p", state, limit) {
					w.sameRecord(r, w.inspect("p", r.ID))
					got = append(got, r.ID)
				}
				want := slices.Clone(want)
				slices.Sort(want)
				slices.Sort(got)
				equal(w, fmt.Sprint(got), fmt.Sprint(want), fmt.Sprintf("IDs that are %s, in pages of %d", state, limit))
			}
			equal(w, len(w.walk("p", alloc.StateFree, limit)), 16, "IDs that are free")
		}
	}},
	{"a walk of a pool without IDs, or without any in the state, ends and meets none", func(w *world) {
		w.pool("empty", alloc.PoolConfig{})
		w.full("p", 40)
		equal(w, len(w.walk("empty", "", 10)), 0, "IDs of an empty pool")
		equal(w, len(w.walk("p", alloc.StateRetired, 10)), 0, "retired IDs")
	}},
	{"C51 a walk meets IDs that look alike, each as what it is", func(w *world) {
		w.pool("p", alloc.PoolConfig{})
		w.seedNew("p", "first", lookAlikes)
		w.full("p.", 2)
		var got []alloc.ID
		for _, r := range w.walk("p", "", 3) {
			got = append(got, r.ID)
		}
		want := slices.Clone(lookAlikes)
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			w.Fatalf("IDs of a walk (-seeded +met):\n%s", diff)
		}
	}},
	{"a deleted pool can be walked", func(w *world) {
		w.full("p", 12)
		w.claim(w.open(), order("p", 5))
		w.setState("p", alloc.PoolDeleted)
		equal(w, len(w.walk("p", alloc.StateClaimed, 3)), 5, "claimed IDs")
	}},
	{"a walk beside claims, returns and seedings meets no ID twice, and surely each that stays", func(w *world) {
		const walkers, workers, staying, moving = 3, 3, 30, 20
		w.full("p", staying+moving)
		stays := map[alloc.ID]bool{}
		for _, id := range w.claim(w.open(), order("p", staying)).IDs {
			stays[id] = true
		}
		stores := w.processes(walkers + workers + 1)
		var busy sync.WaitGroup
		busy.Add(walkers)
		ended := make(chan struct{})
		go func() { busy.Wait(); close(ended) }()
		w.together(len(stores), func(i int) {
			switch {
			case i < walkers:
				defer busy.Done()
				w.walkBeside(stores[i], []alloc.State{"", alloc.StateClaimed}[i%2], stays)
			case i == walkers:
				w.sweepUntil(stores[i], "p", ended)
			default:
				w.stir(stores, i, ended)
			}
		})
	}},
}

// walk walks from beginning to end, each page in another process than the last, and stops the test if it meets an ID twice or does not
// end.
func (w *world) walk(pool alloc.PoolName, state alloc.State, limit int) (met []alloc.IDRecord) {
	w.Helper()
	seen, mark := map[alloc.ID]bool{}, ""
	stores := []alloc.Store{w.elsewhere(), w.open()}
	for i := range 1000 {
		page, next, err := stores[i%2].WalkIDs(w.Context(), pool, state, mark, limit)
		w.ok(err, "WalkIDs")
		for _, r := range page {
			if seen[r.ID] || r.Pool != pool || state != "" && r.State != state {
				w.Fatalf("a walk of what is %q in %q: got %+v, seen before: %t; want each that is so once", state, pool, r, seen[r.ID])
			}
			seen[r.ID] = true
		}
		met = append(met, page...)
		if next == "" {
			return met
		}
		mark = next
	}
	w.Fatalf("a walk of %q has not ended after 1000 pages", pool)
	return nil
}

// walkBeside walks beside others. It must not stop the test.
func (w *world) walkBeside(s alloc.Store, state alloc.State, stays map[alloc.ID]bool) {
	w.Helper()
	for range 3 {
		seen, mark := map[alloc.ID]bool{}, ""
		for pages := 0; pages == 0 || mark != ""; pages++ {
			page, next, err := s.WalkIDs(w.Context(), "p", state, mark, 5)
			if repeatable(err) {
				continue
			}
			if err != nil || pages > 1000 {
				w.Errorf("WalkIDs beside others: got %v on page %d, want pages and an end", err, pages)
				return
			}
			for _, r := range page {
				if seen[r.ID] {
					w.Errorf("a walk beside others met %q twice", r.ID)
				}
				seen[r.ID] = true
			}
			mark = next
			for range 10 {
				runtime.Gosched() // so that much happens between two pages
			}
		}
		for id := range stays {
			if !seen[id] {
				w.Errorf("a walk of what is %q missed %q, which stayed so all the time", state, id)
			}
		}
	}
}

// stir claims, gives back and seeds until the others have ended.
func (w *world) stir(stores []alloc.Store, i int, ended <-chan struct{}) {
	w.Helper()
	rng := rand.New(rand.NewPCG(uint64(i), 9))
	for round := 0; ; round++ {
		select {
		case <-ended:
			return
		default:
		}
		if round < 4 {
			job := fmt.Sprintf("job-%d-%d-", i, round)
			w.seedPatiently(stores[i], alloc.SeedBatch{Pool: "p", Job: alloc.JobID(job), IDs: someIDs(job, 3)})
		}
		c, err := w.patiently(stores[i], order("p", alloc.Count(1+rng.IntN(4))))
		if err == nil {
			_, err = w.settlePatiently(stores[i], settleOrder(alloc.EventRelease, c))
		}
		if err != nil && !alloc.Is(err, alloc.CodePoolExhausted) && !repeatable(err) {
			w.Errorf("a claim and its release beside walks: got %v, want IDs or pool_exhausted", err)
		}
	}
}

func (w *world) sameRecord(got, want alloc.IDRecord) {
	w.Helper()
	if diff := cmp.Diff(want, got, noMetadata, cmp.Comparer(sameTime)); diff != "" {
		w.Fatalf("ID of a walk (-Inspect +WalkIDs):\n%s", diff)
	}
}
