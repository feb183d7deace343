package alloctest

import (
	"bytes"
	"context"
	"time"

	"idpool/alloc"
)

var keyMutants = []mutant{
	{"a repeat does not tell what has ended", []string{
		"a repeat tells which of its IDs", "K25 a batch of many is repeated in its order", "in a deleted pool a key is told", "in a pool that forgets a key is told",
	}, func(m *Model) alloc.Store { return silent{m} }},
	{"a repeat tells what another made of its IDs", []string{"two keys that had one ID"}, func(m *Model) alloc.Store { return gossiping{m} }},
	{"a repeat of which all has ended is answered", []string{"a repeat of which all IDs have come back"}, func(m *Model) alloc.Store {
		return undying{m}
	}},
	{"a key that has ended claims anew at once", []string{"a repeat of which all IDs have come back", "K10 many repeats beside the release"}, func(m *Model) alloc.Store {
		return reborn{m}
	}},
	{"a key is not required", []string{"K04 where a key is required, a claim", "K04 where a key is required, a lease"}, func(m *Model) alloc.Store {
		return lax{m}
	}},
	{"a state is set from whatever version", []string{"SetPoolState from another version", "SetSequenceState from another version"}, func(m *Model) alloc.Store {
		return unconcerned{m}
	}},

	{"whoever comes second gets an intent of his own", []string{"whoever comes second gets", "K10 many who open and close"}, func(m *Model) alloc.Store {
		return welcoming{m}
	}},
	{"the last answer to a key stays", []string{"CloseKey keeps the answer, and the first", "K10 many who open and close"}, func(m *Model) alloc.Store {
		return lastAnswer{m}
	}},
	{"an answer given with the intent is not kept", []string{"OpenKey with an answer puts", "K20 an expired key is opened anew", "an answer is kept byte for byte"}, func(m *Model) alloc.Store {
		return deferring{m}
	}},
	{"the fingerprint of a kept key is not compared", []string{"K08 the same key with another request is key_mismatch, open"}, func(m *Model) alloc.Store {
		return credulous{m}
	}},
	{"a kept key is found for ever", []string{"K20 a kept key is found a second", "the retention of a key counts"}, func(m *Model) alloc.Store {
		return everlasting{m}
	}},
	{"the retention of a kept key counts from its answer", []string{"the retention of a key counts"}, func(m *Model) alloc.Store {
		return prolonging{m}
	}},
	{"a late attempt closes the record of another", []string{"K17 an attempt that overran", "DropKey removes an open record"}, func(m *Model) alloc.Store {
		return overrunning{m}
	}},
	{"a drop takes whatever is there", []string{"DropKey leaves what is done", "K17 an attempt that overran"}, func(m *Model) alloc.Store {
		return sweepingKeys{m}
	}},
	{"a drop leaves the record", []string{"DropKey removes an open record", "K13 an opening, a closing and a drop"}, func(m *Model) alloc.Store {
		return keepingKeys{m}
	}},
	{"a drop takes what others have found", []string{"DropKey leaves what another attempt has found"}, func(m *Model) alloc.Store {
		return unshared{m}
	}},
	{"a drop does not tell what it left", []string{"DropKey leaves what is done", "DropKey leaves what another attempt has found"}, func(m *Model) alloc.Store {
		return reticent{m}
	}},
	{"an answer is kept as text", []string{"an answer is kept byte for byte"}, func(m *Model) alloc.Store { return textual{m} }},
}

type silent struct{ *Model }

func (s silent) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	c, err := s.Model.Claim(ctx, o)
	c.Ended = nil
	return c, err
}

type gossiping struct{ *Model }

func (s gossiping) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	c, err := s.Model.Claim(ctx, o)
	for i, e := range c.Ended {
		if r, rerr := s.Inspect(ctx, o.Pool, e.ID); rerr == nil && r.State == alloc.StateRetired {
			c.Ended[i].State = r.State
		}
	}
	return c, err
}

type undying struct{ *Model }

func (s undying) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	c, err := s.Model.Claim(ctx, o)
	if alloc.Is(err, alloc.CodeKeyEnded) {
		s.data.mu.Lock()
		defer s.data.mu.Unlock()
		c = s.data.claims[o.Key.Hash].answer
		c.Replayed = true
		return c, nil
	}
	return c, err
}

type reborn struct{ *Model }

func (s reborn) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	c, err := s.Model.Claim(ctx, o)
	if alloc.Is(err, alloc.CodeKeyEnded) {
		s.data.mu.Lock()
		delete(s.data.claims, o.Key.Hash)
		s.data.mu.Unlock()
		return s.Model.Claim(ctx, o)
	}
	return c, err
}

type lax struct{ *Model }

func (s lax) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	if o.Key == nil {
		o.Key = &alloc.Key{Hash: string(alloc.NewToken())}
	}
	return s.Model.Claim(ctx, o)
}

func (s lax) Lease(ctx context.Context, o alloc.LeaseOrder) (alloc.Range, error) {
	o.Segment = true
	return s.Model.Lease(ctx, o)
}

type unconcerned struct{ *Model }

func (s unconcerned) SetPoolState(ctx context.Context, name alloc.PoolName, _ alloc.Version, to alloc.PoolState) (alloc.Pool, error) {
	return s.Model.SetPoolState(ctx, name, 0, to)
}

func (s unconcerned) SetSequenceState(ctx context.Context, name alloc.SequenceName, _ alloc.Version, to alloc.SequenceState) (alloc.Sequence, error) {
	return s.Model.SetSequenceState(ctx, name, 0, to)
}

type welcoming struct{ *Model }

func (s welcoming) OpenKey(ctx context.Context, key alloc.Key, token alloc.Token, answer []byte) (alloc.Kept, error) {
	k, err := s.Model.OpenKey(ctx, key, token, answer)
	if err == nil && !k.Done {
		k.Token = token
	}
	return k, err
}

type lastAnswer struct{ *Model }

func (s lastAnswer) CloseKey(ctx context.Context, key alloc.Key, token alloc.Token, answer []byte) (alloc.Kept, error) {
	s.reopen(key, token)
	return s.Model.CloseKey(ctx, key, token, answer)
}

// reopen makes the record of the token open again; of any, if the token is "".
func (m *Model) reopen(key alloc.Key, token alloc.Token) {
	m.data.mu.Lock()
	defer m.data.mu.Unlock()
	if k, there := m.data.kept[key.Hash]; there && (k.answer.Token == token || token == "") {
		k.answer.Done = false
		m.data.kept[key.Hash] = k
	}
}

type deferring struct{ *Model }

func (s deferring) OpenKey(ctx context.Context, key alloc.Key, token alloc.Token, _ []byte) (alloc.Kept, error) {
	return s.Model.OpenKey(ctx, key, token, nil)
}

type credulous struct{ *Model }

func (s credulous) OpenKey(ctx context.Context, key alloc.Key, token alloc.Token, answer []byte) (alloc.Kept, error) {
	return s.Model.OpenKey(ctx, alloc.Key{Hash: key.Hash}, token, answer)
}

func (s credulous) FindKey(ctx context.Context, key alloc.Key) (alloc.Kept, bool, error) {
	return s.Model.FindKey(ctx, alloc.Key{Hash: key.Hash})
}

func (s credulous) CloseKey(ctx context.Context, key alloc.Key, token alloc.Token, answer []byte) (alloc.Kept, error) {
	return s.Model.CloseKey(ctx, alloc.Key{Hash: key.Hash}, token, answer)
}

type everlasting struct{ *Model }

func (s everlasting) FindKey(ctx context.Context, key alloc.Key) (alloc.Kept, bool, error) {
	s.data.bornNow(key, s.now())
	return s.Model.FindKey(ctx, key)
}

// bornNow moves the beginning of a record.
func (d *modelData) bornNow(key alloc.Key, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if k, there := d.kept[key.Hash]; there {
		k.born = now
		d.kept[key.Hash] = k
	}
}

type prolonging struct{ *Model }

func (s prolonging) CloseKey(ctx context.Context, key alloc.Key, token alloc.Token, answer []byte) (alloc.Kept, error) {
	k, err := s.Model.CloseKey(ctx, key, token, answer)
	s.data.bornNow(key, s.now())
	return k, err
}

type overrunning struct{ *Model }

func (s overrunning) CloseKey(ctx context.Context, key alloc.Key, token alloc.Token, answer []byte) (alloc.Kept, error) {
	s.data.mu.Lock()
	s.data.kept[key.Hash] = keyed[alloc.Kept]{key.Fingerprint, s.now(), alloc.Kept{Token: token, At: s.now(), Done: true, Answer: bytes.Clone(answer)}}
	s.data.mu.Unlock()
	return s.Model.CloseKey(ctx, key, token, answer)
}

type sweepingKeys struct{ *Model }

func (s sweepingKeys) DropKey(_ context.Context, key alloc.Key, _ alloc.Token) (k alloc.Kept, ok bool, err error) {
	s.data.mu.Lock()
	defer s.data.mu.Unlock()
	delete(s.data.kept, key.Hash)
	return k, false, nil
}

type keepingKeys struct{ *Model }

func (keepingKeys) DropKey(context.Context, alloc.Key, alloc.Token) (k alloc.Kept, ok bool, err error) {
	return k, false, nil
}

// unshared forgets who found an open record.
type unshared struct{ *Model }

func (s unshared) DropKey(ctx context.Context, key alloc.Key, token alloc.Token) (alloc.Kept, bool, error) {
	s.unshare(key)
	return s.Model.DropKey(ctx, key, token)
}

func (m *Model) unshare(key alloc.Key) {
	m.data.mu.Lock()
	defer m.data.mu.Unlock()
	if k, there := m.data.kept[key.Hash]; there {
		k.answer.Shared = false
		m.data.kept[key.Hash] = k
	}
}

// reticent drops rightly, and does not tell what it left.
type reticent struct{ *Model }

func (s reticent) DropKey(ctx context.Context, key alloc.Key, token alloc.Token) (k alloc.Kept, ok bool, err error) {
	_, _, err = s.Model.DropKey(ctx, key, token)
	return k, false, err
}

type textual struct{ *Model }

func (s textual) OpenKey(ctx context.Context, key alloc.Key, token alloc.Token, answer []byte) (alloc.Kept, error) {
	return s.Model.OpenKey(ctx, key, token, bytes.ToValidUTF8(answer, []byte("?")))
}
