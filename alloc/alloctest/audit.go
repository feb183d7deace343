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
		if a.unbooked {
			continue
		}
		p, err := w.elsewhere().Pool(w.Context(), name)
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
	got, err := w.elsewhere().Level(w.Context(), name)
	w.ok(err, "Level")
	census := w.fixture.Census(w.TB, name)
	there := census[alloc.StateFree] + census[alloc.StateHeld] + census[alloc.StateReturning] + census[alloc.StateRetired]
	gone := a.added - there // claimed, or forgotten
	sum := a.sum(w.clock.Now())
	for state, n := range map[alloc.State]struct{ got, least, unsure alloc.Count }{
		alloc.StateClaimed:   {gone, sum.claimed, sum.unsure},
		alloc.StateHeld:      {census[alloc.StateHeld], sum.held, sum.unsure},
		alloc.StateRetired:   {census[alloc.StateRetired], sum.retired, sum.unsure},
		alloc.StateReturning: {census[alloc.StateReturning], 0, 0}, // it was swept
	} {
		if n.got < n.least || n.got > n.least+n.unsure {
			w.Errorf("the pool %q: got %d %s of %d IDs (%v), want from %d answered to %d with those of which nobody heard",
				name, n.got, state, a.added, census, n.least, n.least+n.unsure)
		}
	}
	if census[alloc.StateClaimed] > gone {
		w.Errorf("the pool %q: got %v of %d IDs, more than were added", name, census, a.added)
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
	p, err := w.elsewhere().Pool(w.Context(), name)
	w.ok(err, "Pool")
	if p.Config.Policy == alloc.PolicyKeep && (level.Forgotten != 0 || level.Claimed != census[alloc.StateClaimed]) {
		w.Errorf("the pool %q, which keeps: got the level %+v of %v, want every claimed ID there and none forgotten", name, level, census)
	}
}

// owned proves on a sample that IDs belong to whom the answers said, and not to whom they do not.
func (w *world) owned(name alloc.PoolName, a *account) {
	w.Helper()
	p, err := w.elsewhere().Pool(w.Context(), name)
	w.ok(err, "Pool")
	if p.Config.Policy == alloc.PolicyForget {
		return
	}
	const sample = 20
	s, now := w.elsewhere(), w.clock.Now()
	for i, id := range slices.Sorted(maps.Keys(a.terms)) {
		if i == sample {
			break
		}
		r, err := s.Inspect(w.Context(), name, id)
		w.ok(err, "Inspect of an ID that was taken")
		switch t, holder := a.occupant(id, now), a.term(id, r.Token); {
		case t != nil && (r.Token != t.token || t.state() != "" && r.State != t.state()):
			w.Errorf("the ID %q of %q: got %s by %s, want it %s by %s", id, name, r.State, r.Token, t.state(), t.token)
		case p.State != alloc.PoolDeleted && holder != nil && holder.over(now) && r.State != alloc.StateFree:
			w.Errorf("the ID %q of %q: got %s by %s, whose time is over", id, name, r.State, r.Token)
		}
	}
}
