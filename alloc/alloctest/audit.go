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
	got, err := w.open().Level(w.Context(), name)
	w.ok(err, "Level")
	census := w.fixture.Census(w.TB, name)
	there := census[alloc.StateFree] + census[alloc.StateHeld] + census[alloc.StateReturning] + census[alloc.StateRetired]
	most := a.taken
	for _, n := range a.unheard {
		most += n
	}
	gone := a.added - there // claimed, or forgotten
	if gone < a.taken || gone > most || census[alloc.StateClaimed] > gone {
		w.Errorf("the pool %q: got %v of %d IDs, want from %d answered to %d with those that nobody heard of taken", name, census, a.added, a.taken, most)
	}
	want := alloc.Level{
		Available: census[alloc.StateFree],
		Seeded:    a.added,
		Held:      census[alloc.StateHeld],
		Claimed:   gone,
		Returning: census[alloc.StateReturning],
		Retired:   census[alloc.StateRetired],
		CountedAt: got.CountedAt,
	}
	if merged(got) != want {
		w.Errorf("the pool %q after a sweep: got the level %+v, want it to count what was added and what the data has, %+v", name, got, want)
	}
	w.kept(name, got, census)
}

// merged counts what is forgotten as claimed: what is claimed with a key from a pool that forgets may be counted as
// either while the key lives.
func merged(l alloc.Level) alloc.Level {
	l.Claimed, l.Forgotten = l.Claimed+l.Forgotten, 0
	return l
}

// kept proves that a pool that keeps has forgotten nothing.
func (w *world) kept(name alloc.PoolName, level alloc.Level, census map[alloc.State]alloc.Count) {
	w.Helper()
	p, err := w.open().Pool(w.Context(), name)
	w.ok(err, "Pool")
	if p.Config.Policy == alloc.PolicyKeep && (level.Forgotten != 0 || level.Claimed != census[alloc.StateClaimed]) {
		w.Errorf("the pool %q, which keeps: got the level %+v of %v, want every claimed ID there and none forgotten", name, level, census)
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
