package alloctest

import (
	"fmt"
	"slices"

	"idpool/alloc"
)

var repairCases = []testCase{
	{"a rebuild of a healthy pool meets each ID once and leaves everything as it is", func(w *world) {
		m := w.mixture("p")
		before := w.readPool("p")
		equal(w, w.poolEvidence("p").Head, true, "Head")
		done := w.rebuiltPool("p", "rebuild")
		equal(w, done.Met, mixed, "IDs that were met")
		got := done.Tally
		got.Free, got.Returning = got.Free+got.Returning, 0 // a step may have brought some back
		equal(w, got, alloc.Tally{Free: nFree + nReturned, Held: nHeld, Claimed: nClaimed, Retired: nRetired}, "tally")
		samePool(w, w.readPool("p"), before)
		e := w.poolEvidence("p")
		equal(w, e.Rebuilding, "", "rebuild that is on")
		equal(w, e.Head && e.Configured && len(e.Damage) == 0, true, "a whole head and no damage")
		w.whole(m)
	}},
	{"a rebuild says with each step how far it is, in a pool that keeps and in one that forgets", func(w *world) {
		for _, policy := range []alloc.Policy{alloc.PolicyKeep, alloc.PolicyForget} {
			pool := alloc.PoolName("far-" + policy)
			w.pool(pool, alloc.PoolConfig{Policy: policy, MaxBatch: alloc.MaxBatchLimit})
			w.seedNew(pool, "first", someIDs(string(pool)+"-", 300))
			for range 10 {
				w.claim(w.open(), order(pool, 20))
			}
			w.settle(pool)
			w.knownProgress(alloc.PoolRebuildOrder{Pool: pool, Job: "rebuild"}, policy == alloc.PolicyKeep)
		}
	}},
	{"a rebuild leaves a paused and a draining pool as they are", func(w *world) {
		for _, state := range []alloc.PoolState{alloc.PoolPaused, alloc.PoolDraining} {
			pool := alloc.PoolName("p-" + state)
			w.full(pool, 10)
			w.setState(pool, state)
			before := w.readPool(pool)
			w.rebuiltPool(pool, "rebuild")
			samePool(w, w.readPool(pool), before)
			w.setState(pool, alloc.PoolActive)
			equal(w, w.drain(w.open(), pool), 10, "IDs that can be claimed")
		}
	}},
	{"a pool that is lost in any part is whole after its rebuild, and whatever a caller sees before that is refused or right", func(w *world) {
		for name, harm := range map[alloc.PoolName][]DamageKind{
			"head": {LoseHead}, "queue": {LoseQueue}, "both": {LoseHead, LoseQueue}, "count": {SkewCount}, "copy": {LoseCopy}, "all": {LoseHead, LoseCopy, LoseQueue},
		} {
			m := w.mixture(name)
			if !w.harm(name, harm...) {
				continue
			}
			w.damaged(m)
			w.rebuildPool(alloc.PoolRebuildOrder{Pool: name, Job: "rebuild", Policy: alloc.PolicyKeep})
			w.clock.Advance(stateDelay)
			e := w.poolEvidence(name)
			equal(w, e.Head && e.Configured && len(e.Damage) == 0, true, fmt.Sprintf("a whole head and no damage of %q", name))
			w.batchesAgain(name)
			w.whole(m)
		}
	}},
	{"a head that is lost with its copy is made anew only with the policy that is said", func(w *world) {
		w.full("p", 5)
		if w.harm("p", LoseHead, LoseCopy); w.poolEvidence("p").Configured {
			w.rebuiltPool("p", "rebuild") // the form of this engine has its configuration in one place, which cannot be lost alone
			return
		}
		_, err := w.open().RebuildPool(w.Context(), alloc.PoolRebuildOrder{Pool: "p", Job: "rebuild"})
		w.want(err, alloc.CodeInvalidConfig, "RebuildPool without a policy")
		w.rebuildPool(alloc.PoolRebuildOrder{Pool: "p", Job: "rebuild", Policy: alloc.PolicyKeep, FoldCase: true})
		p := w.readPool("p")
		equal(w, p.Config, alloc.PoolConfig{Policy: alloc.PolicyKeep, FoldCase: true}.WithDefaults(), "configuration")
		w.setState("p", alloc.PoolActive)
	}},
	{"IDs that were listed and are gone are retired by a rebuild, and never free again", func(w *world) {
		ids := w.full("p", 20)
		warm := w.open()
		w.claim(warm, order("p", 1))
		var lost []alloc.ID
		for _, id := range ids {
			if len(lost) < 3 && w.inspect("p", id).State == alloc.StateFree {
				if !w.damage(Damage{Kind: LoseID, Pool: "p", ID: id}) {
					return // the form of this engine has each ID in one place: what is gone is gone
				}
				lost = append(lost, id)
			}
		}
		done := w.rebuiltPool("p", "rebuild")
		equal(w, done.Tally.Lost, 3, "IDs that were lost")
		slices.Sort(done.Gone)
		slices.Sort(lost)
		equal(w, fmt.Sprint(done.Gone), fmt.Sprint(lost), "IDs that are named as lost")
		equal(w, done.Tally.Missing, 0, "IDs that are missing")
		w.are("p", lost, alloc.StateRetired)
		w.book.lose("p", lost)
		for _, o := range w.seed(w.open(), "p", "again", lost) {
			equal(w, o, alloc.SeedConflict, "outcome of an ID that was lost")
		}
		equal(w, w.drain(warm, "p")+w.drain(w.open(), "p"), 16, "IDs that can be claimed")
	}},
	{"a rebuild says how many IDs are gone with all that listed them, each time it is asked, and they count no more", func(w *world) {
		ids := w.full("p", 20)
		w.claim(w.open(), order("p", 4))
		w.settle("p")
		var gone []alloc.ID
		for _, id := range ids {
			if len(gone) < 3 && w.inspect("p", id).State == alloc.StateFree {
				if !w.damage(Damage{Kind: LoseTrace, Pool: "p", ID: id}) {
					w.damage(Damage{Kind: LoseID, Pool: "p", ID: id}) // and below what lists it
				}
				gone = append(gone, id)
			}
		}
		w.harm("p", LoseQueue)
		w.book.vanish("p", gone)
		done, steps := w.rebuildPool(alloc.PoolRebuildOrder{Pool: "p", Job: "rebuild"})
		equal(w, done.Tally.Missing, 3, "IDs that are missing")
		equal(w, done.Tally.Lost, 0, "IDs that were listed and are gone")
		again, err := w.open().RebuildPool(w.Context(), steps[len(steps)-1])
		w.ok(err, "RebuildPool again")
		equal(w, again.Tally.Missing, 3, "IDs that are missing when its last step is repeated")
		w.clock.Advance(stateDelay)
		w.sweep("p")
		level, err := w.open().Level(w.Context(), "p")
		w.ok(err, "Level")
		equal(w, level.Seeded, 17, "Seeded")
		w.healthy("p")
		equal(w, w.rebuiltPool("p", "another").Tally.Missing, 0, "IDs that are missing in the next rebuild")
		equal(w, w.drain(w.open(), "p"), 13, "IDs that can be claimed")
	}},
	{"a rebuild of a pool that forgets counts what was forgotten as before", func(w *world) {
		w.forgetting("p", 20)
		warm := w.open()
		w.claim(warm, order("p", 3))
		w.claim(warm, keyedOrder("p", 2, "k"))
		held := w.claim(warm, holdOrder("p", 2, holdTime))
		w.settle("p")
		w.rebuiltPool("p", "rebuild")
		w.sweep("p")
		level, err := w.open().Level(w.Context(), "p")
		w.ok(err, "Level")
		equal(w, level.Seeded, 20, "Seeded")
		w.release(w.open(), held)
		w.settle("p")
		equal(w, w.drain(warm, "p")+w.drain(w.open(), "p"), 15, "IDs that can be claimed")
	}},
	{"a pool that is not there, or deleted, is not rebuilt", func(w *world) {
		w.full("deleted", 3)
		w.setState("deleted", alloc.PoolDeleted)
		equal(w, w.poolEvidence("deleted").Pool.State, alloc.PoolDeleted, "state")
		for pool, code := range map[alloc.PoolName]alloc.Code{"none": alloc.CodePoolNotFound, "deleted": alloc.CodePoolDeleted} {
			_, err := w.open().RebuildPool(w.Context(), alloc.PoolRebuildOrder{Pool: pool, Job: "rebuild", Policy: alloc.PolicyKeep})
			w.want(err, code, "RebuildPool")
		}
		_, err := w.open().PoolEvidence(w.Context(), "none")
		w.want(err, alloc.CodePoolNotFound, "PoolEvidence")
	}},
	{"a rebuild that is abandoned leaves the pool open and as it was", func(w *world) {
		m := w.mixture("p")
		before := w.readPool("p")
		s := w.open()
		w.ok(s.AbandonRebuild(w.Context(), "p", "never begun"), "AbandonRebuild of one that is not on")
		if w.beginRebuild(s, "p", "rebuild") {
			equal(w, w.poolEvidence("p").Rebuilding, "rebuild", "rebuild that is on")
			_, err := w.open().RebuildPool(w.Context(), alloc.PoolRebuildOrder{Pool: "p", Job: "another"})
			w.want(err, alloc.CodePoolRebuilding, "RebuildPool by another job")
			w.ok(w.open().AbandonRebuild(w.Context(), "p", "another"), "AbandonRebuild of another job")
			equal(w, w.poolEvidence("p").Rebuilding, "rebuild", "rebuild that is on")
		}
		for range 2 {
			w.ok(w.open().AbandonRebuild(w.Context(), "p", "rebuild"), "AbandonRebuild")
			equal(w, w.poolEvidence("p").Rebuilding, "", "rebuild that is on")
		}
		samePool(w, w.readPool("p"), before)
		w.clock.Advance(stateDelay)
		w.seedNew("p", "after", someIDs("q-", 3))
		m.ids = append(m.ids, someIDs("q-", 3)...)
		w.met(m)
		equal(w, w.rebuiltPool("p", "next").Met, mixed+3, "IDs that the next rebuild meets")
		w.met(m)
	}},
	{"from the first step of a rebuild on claims go on out of memory, and what changes the queue waits", func(w *world) {
		w.full("p", 30)
		warm := w.open()
		w.claim(warm, order("p", 1))
		if !w.beginRebuild(w.open(), "p", "rebuild") {
			return // the engine does it all in one step
		}
		if _, err := w.tryClaim(warm, order("p", 1)); err != nil {
			w.want(err, alloc.CodePoolRebuilding, "Claim during a rebuild")
		}
		if _, err := w.tryClaim(w.open(), order("p", 1)); err != nil {
			w.want(err, alloc.CodePoolRebuilding, "Claim in a cold process during a rebuild")
		}
		_, err := w.open().Seed(w.Context(), alloc.SeedBatch{Pool: "p", Job: "late", IDs: []alloc.ID{"late"}})
		w.want(err, alloc.CodePoolRebuilding, "Seed during a rebuild")
		_, err = w.open().Sweep(w.Context(), "p")
		w.want(err, alloc.CodePoolRebuilding, "Sweep during a rebuild")
		_, err = w.open().Carry(w.Context(), "p", w.point(), []alloc.IDRecord{{Pool: "p", ID: "late", State: alloc.StateRetired, At: w.clock.Now()}})
		w.want(err, alloc.CodePoolRebuilding, "Carry during a rebuild")
		w.rebuiltPool("p", "rebuild")
		w.seedNew("p", "late", []alloc.ID{"late"})
		w.drain(warm, "p")
		w.settle("p")
		w.drain(w.open(), "p")
		equal(w, w.free("p"), 0, "free IDs")
	}},
}

// harm does all of the damages, and reports whether the engine has anything to lose of one of the kinds.
func (w *world) harm(pool alloc.PoolName, kinds ...DamageKind) (done bool) {
	w.Helper()
	for _, kind := range kinds {
		done = w.damage(Damage{Kind: kind, Pool: pool}) || done
	}
	return done
}

// damaged proves that nothing of a damaged pool is answered wrongly: an ID is claimed once, or it is said what is the matter.
func (w *world) damaged(m mixture) {
	w.Helper()
	w.listed(m.pool, w.poolEvidence(m.pool).Head)
	_, created, err := w.open().CreatePool(w.Context(), m.pool, alloc.PoolConfig{MaxBatch: alloc.MaxBatchLimit}.WithDefaults())
	equal(w, created, false, "CreatePool of a damaged pool: created")
	if err != nil {
		w.want(err, alloc.CodePoolDamaged, "CreatePool of a damaged pool")
	}
	if _, err := w.open().Sweep(w.Context(), m.pool); err != nil {
		w.want(err, alloc.CodePoolDamaged, "Sweep of a damaged pool")
	}
	_, err = w.open().Seed(w.Context(), alloc.SeedBatch{Pool: m.pool, Job: "first", IDs: m.ids})
	if err != nil {
		w.want(err, alloc.CodePoolDamaged, "Seed of a damaged pool")
	}
}

// listed proves that a pool is in the list, as damaged where its head is lost, and only then.
func (w *world) listed(name alloc.PoolName, head bool) {
	w.Helper()
	pools, err := w.open().ListPools(w.Context(), "", 100)
	w.ok(err, "ListPools")
	for _, p := range pools {
		if p.Name == name {
			equal(w, p.State == alloc.PoolDamaged, !head, "listed as damaged")
			return
		}
	}
	w.Fatalf("the pool %q is not listed: %v", name, pools)
}

// batchesAgain repeats a seeding after a rebuild: its IDs are its own, and nothing is added.
func (w *world) batchesAgain(pool alloc.PoolName) {
	w.Helper()
	for _, o := range w.seed(w.open(), pool, "first", someIDs(string(pool)+"-", mixed)) {
		equal(w, o, alloc.SeedAdded, "outcome of a seeding that is repeated after a rebuild")
	}
}

// beginRebuild does the first step, and reports whether there are more.
func (w *world) beginRebuild(s alloc.Store, pool alloc.PoolName, job alloc.JobID) bool {
	w.Helper()
	done, err := s.RebuildPool(w.Context(), alloc.PoolRebuildOrder{Pool: pool, Job: job})
	w.ok(err, "RebuildPool")
	return done.Next != ""
}
