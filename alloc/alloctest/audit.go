package alloctest

import (
	"maps"
	"slices"

	"idpool/alloc"
)

// closeBooks holds the data against everything that was answered, pool by pool.
func (w *world) closeBooks() {
	w.Helper()
	for _, name := range slices.Sorted(maps.Keys(w.book.pools)) {
		a := w.book.pools[name]
		p, err := w.open().Pool(w.Context(), name)
		w.ok(err, "Pool")
		if p.State == alloc.PoolDeleted {
			// What a deleted pool still counts is not promised; that it has lost nothing that was taken, is.
			w.owned(name, a)
			continue
		}
		w.settle(name)
		w.balance(name, a)
		w.owned(name, a)
	}
}

// balance proves that every ID that was added is somewhere, once, and that Level says so.
func (w *world) balance(name alloc.PoolName, a *account) {
	w.Helper()
	level, err := w.open().Level(w.Context(), name)
	w.ok(err, "Level")
	census := w.fixture.Census(w.TB, name)
	sum := alloc.Count(0)
	for _, n := range census {
		sum += n
	}
	gone := census[alloc.StateClaimed] + level.Forgotten
	most := a.taken
	for _, n := range a.unheard {
		most += n
	}
	switch {
	case sum+level.Forgotten != a.added:
		w.Errorf("the pool %q: got %v and %d forgotten, want %d IDs in all", name, census, level.Forgotten, a.added)
	case gone < a.taken || gone > most:
		w.Errorf("the pool %q: got %d IDs claimed or forgotten, want from %d answered to %d with those that nobody heard of", name, gone, a.taken, most)
	}
	want := alloc.Level{
		Available: census[alloc.StateFree],
		Seeded:    a.added,
		Held:      census[alloc.StateHeld],
		Claimed:   census[alloc.StateClaimed],
		Returning: census[alloc.StateReturning],
		Retired:   census[alloc.StateRetired],
		Forgotten: level.Forgotten,
		CountedAt: level.CountedAt,
	}
	if level != want {
		w.Errorf("the pool %q after a sweep: got the level %+v, want what the data counts, %+v", name, level, want)
	}
}

// owned proves on a sample that IDs belong to whom the answer said.
func (w *world) owned(name alloc.PoolName, a *account) {
	w.Helper()
	p, err := w.open().Pool(w.Context(), name)
	w.ok(err, "Pool")
	if p.Config.Policy == alloc.PolicyForget {
		return
	}
	const sample = 20
	s := w.open()
	for i, id := range slices.Sorted(maps.Keys(a.owner)) {
		if i == sample {
			break
		}
		r, err := s.Inspect(w.Context(), name, id)
		w.ok(err, "Inspect of a claimed ID")
		if r.State != alloc.StateClaimed || r.Token != a.owner[id] {
			w.Errorf("the ID %q of %q: got %s by %s, want it claimed by %s", id, name, r.State, r.Token, a.owner[id])
		}
	}
}
