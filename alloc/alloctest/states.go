package alloctest

import (
	"fmt"
	"sync/atomic"

	"idpool/alloc"
)

var stateCases = []testCase{
	{"SetPoolState moves between active, paused and draining and leaves version and configuration alone", func(w *world) {
		w.pool("p", alloc.PoolConfig{MaxBatch: 7})
		want := w.readPool("p")
		for _, to := range []alloc.PoolState{
			alloc.PoolPaused, alloc.PoolPaused, alloc.PoolDraining, alloc.PoolActive, alloc.PoolActive, alloc.PoolDraining, alloc.PoolPaused,
		} {
			want.State = to
			got, err := w.open().SetPoolState(w.Context(), "p", 0, to)
			w.ok(err, "SetPoolState to "+string(to))
			samePool(w, got, want)
			samePool(w, w.readPool("p"), want)
		}
	}},
	{"SetPoolState from another version than the pool's is version_mismatch and changes nothing", func(w *world) {
		w.pool("p", alloc.PoolConfig{MaxBatch: 7})
		_, err := w.open().ChangePool(w.Context(), "p", 1, alloc.PoolConfig{MaxBatch: 8}.WithDefaults())
		w.ok(err, "ChangePool")
		want := w.readPool("p")
		for _, from := range []alloc.Version{1, 3, 1 << 40} {
			_, err := w.open().SetPoolState(w.Context(), "p", from, alloc.PoolPaused)
			equal(w, w.wantError(err, alloc.CodeVersionMismatch, "SetPoolState").Current, 2, "Current")
			samePool(w, w.readPool("p"), want)
		}
		for _, to := range []alloc.PoolState{alloc.PoolPaused, alloc.PoolPaused, alloc.PoolDeleted} {
			want.State = to
			got, err := w.open().SetPoolState(w.Context(), "p", 2, to)
			w.ok(err, "SetPoolState from the pool's version")
			samePool(w, got, want)
		}
		_, err = w.open().SetPoolState(w.Context(), "p", 1, alloc.PoolActive)
		w.want(err, alloc.CodePoolDeleted, "SetPoolState of a deleted pool, from another version")
	}},
	{"of changes of state and of configuration at once, each from the version it read, those that come late are version_mismatch", func(w *world) {
		w.pool("p", alloc.PoolConfig{MaxBatch: 7})
		n := w.callers() / 5
		stores := w.processes(2 * n)
		var changed atomic.Int64
		w.together(2*n, func(i int) {
			if i%2 == 0 {
				_, err := stores[i].SetPoolState(w.Context(), "p", 1, alloc.PoolPaused)
				if err != nil && !alloc.Is(err, alloc.CodeVersionMismatch) {
					w.Errorf("SetPoolState beside changes: got %v, want success or version_mismatch", err)
				}
				return
			}
			_, err := stores[i].ChangePool(w.Context(), "p", 1, alloc.PoolConfig{MaxBatch: alloc.Count(10 + i)}.WithDefaults())
			switch {
			case err == nil:
				changed.Add(1)
			case !alloc.Is(err, alloc.CodeVersionMismatch):
				w.Errorf("ChangePool beside others: got %v, want success or version_mismatch", err)
			}
		})
		equal(w, changed.Load(), 1, "changes from one version")
		equal(w, w.readPool("p").Version, 2, "version")
	}},
	{"a paused pool refuses claims in every process within 30 seconds and loses nothing", func(w *world) {
		ids := w.full("p", 20)
		warm := w.open()
		w.claim(warm, order("p", 2))
		w.setState("p", alloc.PoolPaused)
		for name, s := range map[string]alloc.Store{"warm": warm, "cold": w.open()} {
			w.refuse(s, order("p", 1), alloc.CodePoolPaused, "Claim in a "+name+" process")
			w.refuse(s, keyedOrder("p", 1, "new key, "+name), alloc.CodePoolPaused, "Claim with a new key in a "+name+" process")
		}
		equal(w, w.free("p"), alloc.Count(len(ids)-2), "free IDs while paused")
		w.setState("p", alloc.PoolActive)
		w.claim(warm, order("p", 1))
		equal(w, w.drain(w.open(), "p"), alloc.Count(len(ids)-3), "IDs left after the pause")
	}},
	{"a paused pool takes seeds and sweeps, and what was added can be claimed after it is resumed", func(w *world) {
		w.full("p", 2)
		w.setState("p", alloc.PoolPaused)
		w.seedNew("p", "second", someIDs("more-", 3))
		w.sweep("p")
		w.setState("p", alloc.PoolActive)
		w.claim(w.open(), order("p", 5))
	}},
	{"a draining pool refuses seeds within 30 seconds and answers claims", func(w *world) {
		w.full("p", 5)
		warm := w.open()
		w.seed(warm, "p", "second", someIDs("more-", 1))
		w.setState("p", alloc.PoolDraining)
		for name, s := range map[string]alloc.Store{"warm": warm, "cold": w.open()} {
			_, err := s.Seed(w.Context(), alloc.SeedBatch{Pool: "p", Job: "third", IDs: []alloc.ID{"late"}})
			w.want(err, alloc.CodePoolDraining, "Seed in a "+name+" process")
		}
		w.claim(warm, order("p", 2))
		equal(w, w.drain(w.open(), "p"), 4, "IDs left in a draining pool")
		w.setState("p", alloc.PoolActive)
		w.seedNew("p", "third", []alloc.ID{"late"})
		w.claim(warm, order("p", 1))
	}},
	{"only a pool that is paused or drained is deleted", func(w *world) {
		for i, first := range []alloc.PoolState{alloc.PoolPaused, alloc.PoolDraining} {
			name := alloc.PoolName(fmt.Sprintf("p%d", i))
			w.pool(name, alloc.PoolConfig{})
			want := w.readPool(name)
			for range 2 {
				for _, from := range []alloc.Version{0, 1} {
					_, err := w.open().SetPoolState(w.Context(), name, from, alloc.PoolDeleted)
					w.want(err, alloc.CodePoolActive, "SetPoolState of an active pool to deleted")
					samePool(w, w.readPool(name), want)
				}
				w.setState(name, first)
				w.setState(name, alloc.PoolActive)
			}
			w.setState(name, first)
			w.setState(name, alloc.PoolDeleted)
		}
	}},
	{"C53 a deleted pool is told apart, refuses everything, and its name is never used again", func(w *world) {
		w.full("p", 5)
		warm := w.open()
		w.claim(warm, order("p", 1))
		before := w.readPool("p")
		w.setState("p", alloc.PoolDeleted)
		equal(w, w.readPool("p").State, alloc.PoolDeleted, "state of the deleted pool")
		for name, s := range map[string]alloc.Store{"warm": warm, "cold": w.open()} {
			w.refuse(s, order("p", 1), alloc.CodePoolDeleted, "Claim in a "+name+" process")
			w.refuse(s, keyedOrder("p", 1, "key, "+name), alloc.CodePoolDeleted, "Claim with a key in a "+name+" process")
			_, err := s.Seed(w.Context(), alloc.SeedBatch{Pool: "p", Job: "second", IDs: []alloc.ID{"late"}})
			w.want(err, alloc.CodePoolDeleted, "Seed in a "+name+" process")
			_, _, err = s.CreatePool(w.Context(), "p", before.Config)
			w.want(err, alloc.CodePoolDeleted, "CreatePool with the configuration it had")
			_, _, err = s.CreatePool(w.Context(), "p", alloc.PoolConfig{MaxBatch: 3}.WithDefaults())
			w.want(err, alloc.CodePoolDeleted, "CreatePool with another configuration")
			_, err = s.ChangePool(w.Context(), "p", before.Version, alloc.PoolConfig{MaxBatch: 3}.WithDefaults())
			w.want(err, alloc.CodePoolDeleted, "ChangePool")
			for _, to := range []alloc.PoolState{alloc.PoolActive, alloc.PoolPaused, alloc.PoolDraining, alloc.PoolDeleted} {
				_, err = s.SetPoolState(w.Context(), "p", 0, to)
				w.want(err, alloc.CodePoolDeleted, fmt.Sprintf("SetPoolState to %s", to))
			}
		}
		equal(w, w.readPool("p").State, alloc.PoolDeleted, "state of the deleted pool")
	}},
	{"C53 claims in flight end cleanly when their pool is deleted, the last one too", func(w *world) {
		n := w.callers()
		w.full("p", 2*n)
		stores := w.processes(n)
		w.setState("p", alloc.PoolDraining)
		var done atomic.Int64
		w.together(n+1, func(i int) {
			if i == n {
				if _, err := w.open().SetPoolState(w.Context(), "p", 0, alloc.PoolDeleted); err != nil {
					w.Errorf("SetPoolState beside claims: got %v, want no error", err)
				}
				return
			}
			_, err := w.patiently(stores[i], order("p", 1))
			switch {
			case err == nil:
				done.Add(1)
			case !alloc.Is(err, alloc.CodePoolDeleted):
				w.Errorf("Claim beside the deletion: got %v, want an ID or pool_deleted", err)
			}
		})
		if taken := w.fixture.Census(w.TB, "p")[alloc.StateClaimed]; taken != alloc.Count(done.Load()) {
			w.Errorf("claimed IDs of the deleted pool: got %d, want the %d answered", taken, done.Load())
		}
		w.clock.Advance(stateDelay)
		for _, s := range stores {
			w.refuse(s, order("p", 1), alloc.CodePoolDeleted, "Claim after the deletion")
		}
	}},
	{"claims in flight end cleanly while their pool is paused and resumed", func(w *world) {
		n := w.callers() / 2
		w.full("p", 2*n)
		stores := w.processes(n)
		var done atomic.Int64
		w.together(n+1, func(i int) {
			for round := range 4 {
				if i == n {
					to := []alloc.PoolState{alloc.PoolPaused, alloc.PoolActive}[round%2]
					if _, err := w.open().SetPoolState(w.Context(), "p", 0, to); err != nil {
						w.Errorf("SetPoolState beside claims: got %v, want no error", err)
					}
					w.clock.Advance(stateDelay)
					continue
				}
				switch _, err := w.patiently(stores[i], order("p", 1)); {
				case err == nil:
					done.Add(1)
				case !alloc.Is(err, alloc.CodePoolPaused) && !alloc.Is(err, alloc.CodePoolExhausted):
					w.Errorf("Claim beside pauses: got %v, want an ID, pool_paused or pool_exhausted", err)
				}
			}
		})
		w.setState("p", alloc.PoolActive)
		equal(w, w.drain(w.open(), "p")+alloc.Count(done.Load()), alloc.Count(2*n), "IDs claimed beside and after the pauses")
	}},
}
