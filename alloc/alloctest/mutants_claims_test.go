package alloctest

import (
	"context"
	"slices"
	"sync"
	"time"

	"idpool/alloc"
)

var claimMutants = []mutant{
	{"two callers at once are given one ID: read, then write", []string{"C02 many callers claim", "of 2N callers of a pool of N, each", "many callers of one process"}, func(m *Model) alloc.Store {
		return readThenWrite{m}
	}},
	{"a claimed ID is free again after a sweep", []string{"a claimed ID never comes back", "a process that slept through sweeps"}, func(m *Model) alloc.Store {
		return sweepingFree{m}
	}},
	{"stock of a dead process is never given back", []string{"after Sweep all that dead processes", "every free ID can be claimed although"}, func(m *Model) alloc.Store {
		return &hoarding{Model: m}
	}},
	{"a pool of one free ID is called exhausted", []string{"C39 the last hundredth", "of 2 callers of a pool of 1"}, func(m *Model) alloc.Store {
		return tooEarly{m}
	}},
	{"a process that has found a pool empty remembers it for a while", []string{"an ID added to an exhausted pool", "K19 exhaustion is not stored", "a refused batch of many"}, func(m *Model) alloc.Store {
		return &stubborn{Model: m, empty: map[alloc.PoolName]time.Time{}}
	}},
	{"a batch is filled as far as it goes", []string{"C24 a batch larger than what is left"}, func(m *Model) alloc.Store {
		return partial{m}
	}},
	{"a batch that is refused keeps what it took", []string{"C24 a batch larger than what is left", "one ID is not lost"}, func(m *Model) alloc.Store {
		return keeping{m}
	}},
	{"a batch is cut to the pool's limit", []string{"C22 a count outside the pool's limit"}, func(m *Model) alloc.Store {
		return cutting{m}
	}},
	{"the owner is not stored", []string{"what a claim said stands on each", "C08 the answers of several calls"}, func(m *Model) alloc.Store {
		return anonymous{m}
	}},
	{"keys are ignored", []string{"K06 a repeat gives", "K22 a repeat", "K10 of many callers with one key at once, all get one answer", "K12 a claim whose answer is lost", "P13 the claim of the last ID"}, func(m *Model) alloc.Store {
		return keyless{m}
	}},
	{"keys are remembered in the process only", []string{"K22 a repeat is answered by a process", "K12 a claim whose answer is lost"}, func(m *Model) alloc.Store {
		return &homely{Model: m, answers: map[string]alloc.Claim{}}
	}},
	{"the fingerprint of a key is not compared", []string{"K08 K26 the same key with another request is key_mismatch, in", "a key's first request decides"}, func(m *Model) alloc.Store {
		return trusting{m}
	}},
	{"a key is answered for ever", []string{"K20 a key claims anew"}, func(m *Model) alloc.Store {
		return eternal{m}
	}},
	{"a key is forgotten an hour early", []string{"K20 a key is repeated a second before"}, func(m *Model) alloc.Store {
		return hasty{m}
	}},
	{"a repeat gives the IDs in another order", []string{"K25 a batch is repeated"}, func(m *Model) alloc.Store {
		return shuffling{m}
	}},
	{"a repeat is not marked as one", []string{"K06 a repeat gives", "K10 of many callers with one key and a batch"}, func(m *Model) alloc.Store {
		return unmarked{m}
	}},
	{"a repeat is refused while the pool is paused", []string{"P13 the last free ID"}, func(m *Model) alloc.Store {
		return strict{m}
	}},
	{"a refusal is stored under its key", []string{"K19 exhaustion is not stored", "K18 a refused count", "K18 a pause"}, func(m *Model) alloc.Store {
		return resentful{m}
	}},
	{"a pool that forgets keeps", []string{"a pool that forgets does not know"}, func(m *Model) alloc.Store {
		return unforgetting{m}
	}},
	{"a pool that forgets forgets what a key still answers with", []string{"a pool that forgets repeats a key's answer"}, func(m *Model) alloc.Store {
		return forgettingAll{m}
	}},
}

type readThenWrite struct{ *Model }

func (s readThenWrite) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	var read []alloc.ID
	err := s.step(ctx, func(d *modelData) error {
		p, err := d.pool(o.Pool)
		if err == nil {
			read = p.free()
		}
		return err
	})
	if err != nil || alloc.Count(len(read)) < o.Count || o.Key != nil {
		return s.Model.Claim(ctx, o)
	}
	meetAnother()
	c := alloc.Claim{Pool: o.Pool, IDs: read[:o.Count], State: alloc.StateClaimed, Token: alloc.NewToken(), At: s.now()}
	return c, s.step(ctx, func(d *modelData) error {
		d.pools[o.Pool].take(o, c)
		return nil
	})
}

type sweepingFree struct{ *Model }

func (s sweepingFree) Sweep(ctx context.Context, pool alloc.PoolName) (alloc.SweepReport, error) {
	err := s.step(ctx, func(d *modelData) error {
		p, err := d.pool(pool)
		if err != nil {
			return err
		}
		for _, r := range p.ids {
			r.State = alloc.StateFree
		}
		return nil
	})
	if err != nil {
		return alloc.SweepReport{}, err
	}
	return s.Model.Sweep(ctx, pool)
}

// hoarding takes one ID more than it was asked for, for later, and dies with it.
type hoarding struct {
	*Model
	mu    sync.Mutex
	stock []alloc.ID
}

func (s *hoarding) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	c, err := s.Model.Claim(ctx, o)
	if err != nil || o.Key != nil {
		return c, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one := order(o.Pool, 1)
	if more, err := s.Model.Claim(ctx, one); err == nil && len(s.stock) == 0 {
		s.stock = more.IDs
	}
	return c, nil
}

type tooEarly struct{ *Model }

func (s tooEarly) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	if l, err := s.Level(ctx, o.Pool); err == nil && l.Available == o.Count && o.Count == 1 {
		return alloc.Claim{}, alloc.Errorf(alloc.CodePoolExhausted, "exhausted")
	}
	return s.Model.Claim(ctx, o)
}

type stubborn struct {
	*Model
	empty map[alloc.PoolName]time.Time
}

func (s *stubborn) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	if at, ok := s.empty[o.Pool]; ok && s.now().Sub(at) < time.Second {
		return alloc.Claim{}, alloc.Errorf(alloc.CodePoolExhausted, "exhausted")
	}
	c, err := s.Model.Claim(ctx, o)
	if alloc.Is(err, alloc.CodePoolExhausted) {
		s.empty[o.Pool] = s.now()
	}
	return c, err
}

type partial struct{ *Model }

func (s partial) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	c, err := s.Model.Claim(ctx, o)
	if l, lerr := s.Level(ctx, o.Pool); alloc.Is(err, alloc.CodePoolExhausted) && lerr == nil && l.Available > 0 {
		o.Count = l.Available
		return s.Model.Claim(ctx, o)
	}
	return c, err
}

type keeping struct{ *Model }

func (s keeping) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	c, err := s.Model.Claim(ctx, o)
	if l, lerr := s.Level(ctx, o.Pool); alloc.Is(err, alloc.CodePoolExhausted) && lerr == nil && l.Available > 0 {
		o.Count, o.Key = l.Available, nil
		if _, err := s.Model.Claim(ctx, o); err != nil {
			return alloc.Claim{}, err
		}
	}
	return c, err
}

type cutting struct{ *Model }

func (s cutting) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	if p, err := s.Pool(ctx, o.Pool); err == nil {
		o.Count = min(o.Count, p.Config.MaxBatch)
	}
	return s.Model.Claim(ctx, o)
}

type anonymous struct{ *Model }

func (s anonymous) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	o.Owner = ""
	return s.Model.Claim(ctx, o)
}

type keyless struct{ *Model }

func (s keyless) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	o.Key = nil
	return s.Model.Claim(ctx, o)
}

type homely struct {
	*Model
	answers map[string]alloc.Claim
}

func (s *homely) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	key := o.Key
	o.Key = nil
	if key == nil {
		return s.Model.Claim(ctx, o)
	}
	if c, ok := s.answers[key.Hash]; ok {
		c.Replayed = true
		return c, nil
	}
	c, err := s.Model.Claim(ctx, o)
	if err == nil {
		s.answers[key.Hash] = c
	}
	return c, err
}

type trusting struct{ *Model }

func (s trusting) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	if o.Key != nil {
		o.Key = &alloc.Key{Hash: o.Key.Hash}
	}
	return s.Model.Claim(ctx, o)
}

type eternal struct{ *Model }

func (s eternal) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	s.data.mu.Lock()
	for hash, k := range s.data.claims {
		k.born = s.now()
		s.data.claims[hash] = k
	}
	s.data.mu.Unlock()
	return s.Model.Claim(ctx, o)
}

type hasty struct{ *Model }

func (s hasty) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	s.data.mu.Lock()
	for hash, k := range s.data.claims {
		if s.now().Sub(k.born) > alloc.KeyRetention-time.Hour {
			delete(s.data.claims, hash)
		}
	}
	s.data.mu.Unlock()
	return s.Model.Claim(ctx, o)
}

type shuffling struct{ *Model }

func (s shuffling) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	c, err := s.Model.Claim(ctx, o)
	if c.Replayed {
		slices.Reverse(c.IDs)
	}
	return c, err
}

type unmarked struct{ *Model }

func (s unmarked) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	c, err := s.Model.Claim(ctx, o)
	c.Replayed = false
	return c, err
}

type strict struct{ *Model }

func (s strict) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	p, err := s.Pool(ctx, o.Pool)
	if err == nil {
		err = p.CheckClaim(o)
	}
	if err != nil {
		return alloc.Claim{}, err
	}
	return s.Model.Claim(ctx, o)
}

// resentful stores a refusal as the answer of its key, as a claim of no IDs.
type resentful struct{ *Model }

func (s resentful) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	c, err := s.Model.Claim(ctx, o)
	if err != nil && o.Key != nil {
		s.data.mu.Lock()
		defer s.data.mu.Unlock()
		if _, known := s.data.claims[o.Key.Hash]; !known {
			s.data.claims[o.Key.Hash] = keyed[alloc.Claim]{fingerprint: o.Key.Fingerprint, born: s.now()}
		}
	}
	return c, err
}

type unforgetting struct{ *Model }

func (s unforgetting) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	if o.Key == nil {
		o.Key = &alloc.Key{Hash: string(alloc.NewToken())}
	}
	return s.Model.Claim(ctx, o)
}

type forgettingAll struct{ *Model }

func (s forgettingAll) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	c, err := s.Model.Claim(ctx, o)
	if err == nil && !c.Replayed && o.Key != nil {
		s.data.mu.Lock()
		defer s.data.mu.Unlock()
		for _, id := range c.IDs {
			s.data.pools[o.Pool].drop(id)
		}
	}
	return c, err
}
