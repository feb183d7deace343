package alloctest

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"idpool/alloc"
)

func (m *machine) claim(t *rapid.T) {
	m.claimOrder(m.process(t), m.order(t))
}

// order draws an order, now and then of more than the pool allows.
func (m *machine) order(t *rapid.T) alloc.ClaimOrder {
	o := order(m.pool(t), alloc.Count(rapid.IntRange(1, 4).Draw(t, "count")))
	if rapid.IntRange(0, 19).Draw(t, "too many") == 0 {
		o.Count = alloc.Count(rapid.SampledFrom([]int{-1, 0, 8, 1000}).Draw(t, "count"))
	}
	o.Owner = rapid.SampledFrom([]string{"", "ann", "bob"}).Draw(t, "owner")
	o.Hold = rapid.SampledFrom([]time.Duration{0, 0, time.Minute, 2 * time.Hour, alloc.MaxHold}).Draw(t, "hold")
	return o
}

// claimWithKey draws a new key, one that was used for the same, or one that was used for something else.
func (m *machine) claimWithKey(t *rapid.T) {
	o := m.order(t)
	key := rapid.SampledFrom([]string{"k1", "k2", "k3"}).Draw(t, "key")
	o.Key = alloc.NewKey("client", "claim", string(o.Pool), key, fmt.Sprint(o.Count, o.Hold))
	m.keyedOrders = append(m.keyedOrders, o)
	m.claimKeyed(t, o)
}

// repeatClaim asks again for what was asked for before, with the same key.
func (m *machine) repeatClaim(t *rapid.T) {
	if len(m.keyedOrders) > 0 {
		m.claimKeyed(t, m.keyedOrders[rapid.IntRange(0, len(m.keyedOrders)-1).Draw(t, "order")])
	}
}

func (m *machine) claimKeyed(t *rapid.T, o alloc.ClaimOrder) {
	p, err := m.model.Pool(m.ctx(), o.Pool)
	m.w.ok(err, "Pool of the model")
	if kept, used := m.model.data.claims[o.Key.Hash]; used && kept.fingerprint != o.Key.Fingerprint && p.CheckClaim(o) != nil {
		return // refused for two reasons; which one is told is not promised
	}
	m.claimOrder(m.process(t), o)
}

func (m *machine) claimOrder(s alloc.Store, o alloc.ClaimOrder) {
	what := fmt.Sprintf("Claim of %d from %s with the key %v", o.Count, o.Pool, o.Key)
	got, gotErr := m.w.patiently(s, o)
	want, wantErr := m.model.claim(m.ctx(), o, func(free []alloc.ID) []alloc.ID {
		for _, id := range got.IDs {
			if !slices.Contains(free, id) {
				m.w.Fatalf("%s: got %q, of which the model says that it is not free", what, id)
			}
		}
		if alloc.Count(len(got.IDs)) != o.Count {
			return free[:o.Count] // the comparison below tells
		}
		return slices.Clone(got.IDs)
	})
	m.same(what, gotErr, wantErr)
	if gotErr != nil {
		return
	}
	if got.Replayed != want.Replayed || !slices.Equal(got.IDs, want.IDs) || !sameTime(got.At, want.At) ||
		got.State != want.State || !sameTime(got.HeldUntil, want.HeldUntil) || !slices.Equal(got.Ended, want.Ended) {
		m.w.Fatalf("%s: got %+v, the model has %+v", what, got, want)
	}
	m.remember(got, want)
}

func (m *machine) seed(t *rapid.T) {
	pool := m.pool(t)
	ids := rapid.SliceOfNDistinct(rapid.SampledFrom(someIDs("id-", 14)), 1, 6, rapid.ID[alloc.ID]).Draw(t, "ids")
	job := rapid.SampledFrom([]alloc.JobID{"first", "second", "third"}).Draw(t, "job")
	if pool == m.pools[1] {
		// A pool that forgets may be given an ID again by a new job; the second of the job is the ID's generation.
		m.made++
		job = alloc.JobID(fmt.Sprintf("job-%d", m.made))
		m.advance(1e9)
		m.forgetGone(pool, ids)
	}
	m.seedIDs(pool, job, ids)
}

// forgetGone tells the book which of the IDs the pool has forgotten.
func (m *machine) forgetGone(pool alloc.PoolName, ids []alloc.ID) {
	for _, id := range ids {
		if _, err := m.model.Inspect(m.ctx(), pool, id); alloc.Is(err, alloc.CodeIDNotFound) {
			m.w.book.forgot(pool, []alloc.ID{id})
		}
	}
}

func (m *machine) seedIDs(pool alloc.PoolName, job alloc.JobID, ids []alloc.ID) {
	m.seedBatch(m.stores[0], alloc.SeedBatch{Pool: pool, Job: job, IDs: ids})
}

func (m *machine) forgets(t *rapid.T, pool alloc.PoolName) bool {
	p, err := m.model.Pool(m.ctx(), pool)
	if err != nil {
		t.Fatal(err)
	}
	return p.Config.Policy == alloc.PolicyForget
}

func (m *machine) seedBatch(s alloc.Store, b alloc.SeedBatch) {
	what := fmt.Sprintf("Seed of %s by %s up to %d with %v", b.Pool, b.Job, b.UpTo, b.IDs)
	want, wantErr := m.model.Seed(m.ctx(), b)
	got, gotErr := s.Seed(m.ctx(), b)
	for n := 0; repeatable(gotErr) && n < patience; n++ {
		got, gotErr = s.Seed(m.ctx(), b)
	}
	m.same(what, gotErr, wantErr)
	if gotErr != nil {
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		m.w.Fatalf("%s (-model +got):\n%s", what, diff)
	}
	m.w.book.seeded(b.Pool, b.IDs, got)
}

func (m *machine) inspect(t *rapid.T) {
	pool := m.pool(t)
	id := rapid.SampledFrom(someIDs("id-", 14)).Draw(t, "id")
	want, wantErr := m.model.Inspect(m.ctx(), pool, id)
	got, gotErr := m.process(t).Inspect(m.ctx(), pool, id)
	what := fmt.Sprintf("Inspect of %q in %s", id, pool)
	m.same(what, gotErr, wantErr)
	if gotErr != nil {
		return
	}
	if taken := got.Token != ""; taken != (want.Token != "") {
		m.w.Fatalf("%s: got the token %q, the model has %q", what, got.Token, want.Token)
	}
	want.Token = got.Token // each makes its own
	switch {
	case want.Changed.IsZero(): // a repeat may have carried out there what was done at once here
		want.Changed = got.Changed
	case got.Changed.IsZero() && want.State == alloc.StateClaimed && m.forgets(t, pool): // nobody needs to say when it was confirmed
		want.Changed = got.Changed
	}
	want.Generation = got.Generation // an engine may take IDs for a batch that it gives up, and bring them back
	if diff := cmp.Diff(want, got, noMetadata, cmp.Comparer(sameTime)); diff != "" {
		m.w.Fatalf("%s (-model +got):\n%s", what, diff)
	}
}

// settle lets all stock grow stale, sweeps, and compares levels, which are exact then.
func (m *machine) settle(*rapid.T) {
	m.advance(staleStock)
	m.sweep()
	for _, pool := range m.pools {
		got, err := m.stores[0].Level(m.ctx(), pool)
		m.w.ok(err, "Level")
		want, err := m.model.Level(m.ctx(), pool)
		m.w.ok(err, "Level of the model")
		got.CountedAt = want.CountedAt
		equal(m.w, merged(got), merged(want), "level of "+string(pool))
	}
}

func (m *machine) changePool(t *rapid.T) {
	pool := m.pool(t)
	p, err := m.model.Pool(m.ctx(), pool)
	m.w.ok(err, "Pool of the model")
	config := p.Config
	config.MaxBatch = alloc.Count(rapid.IntRange(3, 6).Draw(t, "limit"))
	if pool == m.pools[2] {
		config.OnRelease = rapid.SampledFrom([]alloc.OnRelease{alloc.ReleaseRetires, alloc.ReleaseReturns}).Draw(t, "release")
	}
	from := p.Version - alloc.Version(rapid.IntRange(0, 1).Draw(t, "behind"))
	want, wantErr := m.model.ChangePool(m.ctx(), pool, max(1, from), config)
	got, gotErr := m.process(t).ChangePool(m.ctx(), pool, max(1, from), config)
	m.same("ChangePool of "+string(pool), gotErr, wantErr)
	if gotErr == nil {
		samePool(m.w, got, want)
	}
	_, created, gotErr := m.process(t).CreatePool(m.ctx(), pool, config)
	_, _, wantErr = m.model.CreatePool(m.ctx(), pool, config)
	m.same("CreatePool of "+string(pool), gotErr, wantErr)
	equal(m.w, created, false, "created")
	m.advance(stateDelay)
}

func (m *machine) setPoolState(t *rapid.T) {
	pool := m.pool(t)
	to := rapid.SampledFrom([]alloc.PoolState{alloc.PoolActive, alloc.PoolActive, alloc.PoolPaused, alloc.PoolDraining}).Draw(t, "state")
	p, err := m.model.Pool(m.ctx(), pool)
	m.w.ok(err, "Pool of the model")
	from := rapid.SampledFrom([]alloc.Version{0, 0, p.Version, p.Version + 1}).Draw(t, "from")
	want, wantErr := m.model.SetPoolState(m.ctx(), pool, from, to)
	got, gotErr := m.process(t).SetPoolState(m.ctx(), pool, from, to)
	m.same("SetPoolState of "+string(pool), gotErr, wantErr)
	if gotErr == nil {
		samePool(m.w, got, want)
	}
	m.advance(stateDelay)
}

// finish claims all that is left, which must be what the model has left, and reads the ledgers.
func (m *machine) finish() {
	for _, pool := range m.pools {
		for _, s := range []alloc.Store{m.stores[0], m.model} {
			_, err := s.SetPoolState(m.ctx(), pool, 0, alloc.PoolActive)
			m.w.ok(err, "SetPoolState")
		}
	}
	m.settle(nil)
	for _, pool := range m.pools {
		free := alloc.Count(len(m.model.data.pools[pool].free()))
		for n := alloc.Count(0); n <= free; n++ { // once more than there are
			m.claimOrder(m.stores[int(n)%len(m.stores)], order(pool, 1))
		}
	}
	for name, leased := range m.leased {
		m.w.disjoint(leased)
		m.w.covered(m.w.ledger(name, 100), leased)
	}
}
