package alloctest

import (
	"fmt"
	"time"

	"idpool/alloc"
)

var useCases = []testCase{
	{"the last use of a credential is kept, to some minutes, and never lowered", func(w *world) {
		c := w.credential("aaaaaaaaaaaa")
		w.ok(w.open().CreateCredential(w.Context(), c), "CreateCredential")
		at := w.clock.Now()
		w.lastUsed(map[alloc.CredentialID]time.Time{c.ID: {}, "bbbbbbbbbbbb": {}})
		for _, step := range []struct{ used, want time.Duration }{
			{0, 0},
			{0, 0},
			{alloc.UsedEvery, 0},
			{alloc.UsedEvery + time.Second, alloc.UsedEvery + time.Second},
			{-time.Hour, alloc.UsedEvery + time.Second},
			{time.Second, alloc.UsedEvery + time.Second},
			{time.Hour, time.Hour},
		} {
			w.ok(w.elsewhere().UseCredential(w.Context(), c.ID, at.Add(step.used)), "UseCredential")
			w.lastUsed(map[alloc.CredentialID]time.Time{c.ID: at.Add(step.want), "bbbbbbbbbbbb": {}})
		}
	}},
	{"a use changes nothing of a credential, and a change of a credential nothing of its use", func(w *world) {
		c := w.credential("aaaaaaaaaaaa")
		w.ok(w.open().CreateCredential(w.Context(), c), "CreateCredential")
		before, at := w.readCredential(c.ID), w.clock.Now()
		w.ok(w.open().UseCredential(w.Context(), c.ID, at), "UseCredential")
		w.sameCredential(w.readCredential(c.ID), before)
		changed := before
		changed.Description = "another"
		_, err := w.open().ChangeCredential(w.Context(), 1, changed)
		w.ok(err, "ChangeCredential after a use")
		w.lastUsed(map[alloc.CredentialID]time.Time{c.ID: at})
		w.ok(w.open().CreateCredential(w.Context(), c), "CreateCredential again")
		w.lastUsed(map[alloc.CredentialID]time.Time{c.ID: at})
	}},
	{"of many uses at once one stays that was one of them", func(w *world) {
		stores, at := w.processes(8), w.clock.Now()
		w.together(len(stores), func(i int) {
			if err := stores[i].UseCredential(w.Context(), "aaaaaaaaaaaa", at.Add(time.Duration(i)*time.Second)); err != nil {
				w.Errorf("UseCredential beside others: %v", err)
			}
		})
		last, err := w.open().CredentialUses(w.Context(), []alloc.CredentialID{"aaaaaaaaaaaa"})
		w.ok(err, "CredentialUses")
		if last[0].Before(at) || last[0].After(at.Add(7*time.Second)) {
			w.Errorf("last used %v, want one of those from %v on", last[0], at)
		}
	}},
}

// lastUsed holds that these are the uses that are kept, in whatever process.
func (w *world) lastUsed(want map[alloc.CredentialID]time.Time) {
	w.Helper()
	var ids []alloc.CredentialID
	for id := range want {
		ids = append(ids, id)
	}
	for _, s := range []alloc.Store{w.open(), w.elsewhere()} {
		last, err := s.CredentialUses(w.Context(), ids)
		w.ok(err, "CredentialUses")
		equal(w, len(last), len(ids), "answers")
		for i, id := range ids {
			if !last[i].Equal(want[id]) || last[i].IsZero() != want[id].IsZero() {
				w.Fatalf("%s was last used %v, want %v", id, last[i], fmt.Sprint(want[id]))
			}
		}
	}
}
