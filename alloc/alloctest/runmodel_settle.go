package alloctest

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"idpool/alloc"
)

// claimedTwice is a claim of the Store and of the model: each made a token of its own.
type claimedTwice struct {
	got, want alloc.Claim
	released  map[alloc.ID]bool // answered so
}

// remember keeps a claim, to be settled later.
func (m *machine) remember(got, want alloc.Claim) {
	if !got.Replayed {
		m.claims = append(m.claims, claimedTwice{got, want, map[alloc.ID]bool{}})
	}
}

// settleSome settles some of the IDs of a claim, perhaps one that has ended long ago, and now and then another's too.
func (m *machine) settleSome(t *rapid.T) {
	if len(m.claims) == 0 {
		return
	}
	m.settleClaim(t, m.claims[rapid.IntRange(0, len(m.claims)-1).Draw(t, "claim")])
}

// settleLate settles a hold when its time is over and nobody has swept. What a pool that forgets has of a key that has
// expired meanwhile it may forget before a sweep too, so there all of the hold must still be held.
func (m *machine) settleLate(t *rapid.T) {
	holds := slices.DeleteFunc(slices.Clone(m.claims), func(c claimedTwice) bool {
		return c.got.State != alloc.StateHeld || c.got.Pool == m.pools[1] && !m.allHeld(c.want)
	})
	if len(holds) == 0 {
		return
	}
	c := holds[rapid.IntRange(0, len(holds)-1).Draw(t, "hold")]
	if left := c.want.HeldUntil.Sub(m.w.clock.Now()); left > 0 {
		m.w.pass(left)
	}
	for slices.ContainsFunc(m.expiries(), m.w.clock.Now().Equal) {
		m.w.clock.Advance(time.Second)
	}
	m.settleClaim(t, c)
	m.sweep()
}

// allHeld reports whether the model has all of a hold as held.
func (m *machine) allHeld(c alloc.Claim) bool {
	return !slices.ContainsFunc(c.IDs, func(id alloc.ID) bool {
		r := m.model.data.pools[c.Pool].ids[id]
		return r == nil || r.State != alloc.StateHeld || r.Token != c.Token
	})
}

func (m *machine) settleClaim(t *rapid.T, c claimedTwice) {
	ids := slices.Clone(c.got.IDs)[:rapid.IntRange(1, len(c.got.IDs)).Draw(t, "how many")]
	if other := rapid.SampledFrom(someIDs("id-", 16)).Draw(t, "other"); !slices.Contains(ids, other) && rapid.IntRange(0, 7).Draw(t, "with another") == 0 {
		ids = append(ids, other)
	}
	event := rapid.SampledFrom(usualEvents).Draw(t, "event")
	if event == alloc.EventRelease && m.lapsed(c, ids) {
		return // whether the end of a hold counts as its release is not promised
	}
	got, gotErr := m.w.settlePatiently(m.process(t), settleOrder(event, c.got, ids...))
	want, wantErr := m.model.Settle(m.ctx(), settleOrder(event, c.want, ids...))
	what := fmt.Sprintf("%s of %v in %s", event, ids, c.got.Pool)
	m.same(what, gotErr, wantErr)
	if gotErr == nil {
		equal(m.w, got.State, want.State, what)
		equal(m.w, fmt.Sprint(got.IDs), fmt.Sprint(want.IDs), what)
		for _, id := range ids {
			c.released[id] = c.released[id] || event == alloc.EventRelease
		}
	} else if g, w := fmt.Sprint(asError(gotErr).IDs), fmt.Sprint(asError(wantErr).IDs); g != w {
		m.w.Fatalf("%s: got the refusal of %s, the model has %s", what, g, w)
	}
}

// lapsed reports whether one of the IDs came back to its pool although nobody released it.
func (m *machine) lapsed(c claimedTwice, ids []alloc.ID) bool {
	return slices.ContainsFunc(ids, func(id alloc.ID) bool {
		r := m.model.data.pools[c.want.Pool].ids[id]
		return r != nil && r.last == c.want.Token && !c.released[id]
	})
}

// keptKey opens, finds, closes or drops a kept key, by one of a few attempts.
func (m *machine) keptKey(t *rapid.T) {
	k := someKey(rapid.SampledFrom([]string{"k1", "k2"}).Draw(t, "key") + fmt.Sprint(m.run))
	if rapid.IntRange(0, 5).Draw(t, "other request") == 0 {
		k.Fingerprint = someKey("other").Fingerprint
	}
	token := m.tokens[rapid.IntRange(0, len(m.tokens)-1).Draw(t, "attempt")]
	answer := []byte(rapid.SampledFrom([]string{"first", "second"}).Draw(t, "answer"))
	s := m.process(t)
	var got, want alloc.Kept
	var gotErr, wantErr error
	var gotOK, wantOK bool
	what := rapid.SampledFrom([]string{"OpenKey", "OpenKey with an answer", "FindKey", "CloseKey", "DropKey"}).Draw(t, "call")
	switch what {
	case "OpenKey":
		got, gotErr = s.OpenKey(m.ctx(), k, token, nil)
		want, wantErr = m.model.OpenKey(m.ctx(), k, token, nil)
	case "OpenKey with an answer":
		got, gotErr = s.OpenKey(m.ctx(), k, token, answer)
		want, wantErr = m.model.OpenKey(m.ctx(), k, token, answer)
	case "FindKey":
		got, gotOK, gotErr = s.FindKey(m.ctx(), k)
		want, wantOK, wantErr = m.model.FindKey(m.ctx(), k)
	case "CloseKey":
		k.Fingerprint = m.fingerprint(k) // an attempt that closes has opened
		got, gotErr = s.CloseKey(m.ctx(), k, token, answer)
		want, wantErr = m.model.CloseKey(m.ctx(), k, token, answer)
	case "DropKey":
		got, gotOK, gotErr = s.DropKey(m.ctx(), k, token)
		want, wantOK, wantErr = m.model.DropKey(m.ctx(), k, token)
	}
	m.same(what, gotErr, wantErr)
	if gotOK != wantOK || got.Token != want.Token || got.Done != want.Done || got.Shared != want.Shared || !bytes.Equal(got.Answer, want.Answer) {
		m.w.Fatalf("%s of %s by %s: got %+v (%t), the model has %+v (%t)", what, k.Hash, token, got, gotOK, want, wantOK)
	}
}

// fingerprint is that of the record which the key has, or its own.
func (m *machine) fingerprint(k alloc.Key) string {
	if kept, there := m.model.data.kept[k.Hash]; there {
		return kept.fingerprint
	}
	return k.Fingerprint
}

// takeQuota takes of a quota whose limit changes.
func (m *machine) takeQuota(t *rapid.T) {
	id := alloc.CredentialID(fmt.Sprintf("a%011d", m.run))
	n := alloc.Count(rapid.IntRange(0, 9).Draw(t, "n"))
	limit := alloc.Count(rapid.IntRange(1, 30).Draw(t, "limit"))
	got, err := m.process(t).TakeQuota(m.ctx(), id, m.w.hour(), n, limit)
	m.w.ok(err, "TakeQuota")
	want, err := m.model.TakeQuota(m.ctx(), id, m.w.hour(), n, limit)
	m.w.ok(err, "TakeQuota of the model")
	equal(m.w, got, want, fmt.Sprintf("TakeQuota of %d with the limit %d", n, limit))
}
