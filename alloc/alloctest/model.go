package alloctest

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"idpool/alloc"
)

// Model is an alloc.Store in memory that keeps the whole contract in the plainest way: one lock around maps. It is the
// fake for tests of what stands above a Store, and the reference that [RunModel] holds a Store against. It must stay
// obviously right rather than fast.
type Model struct {
	now  func() time.Time
	data *modelData
}

var _ alloc.Store = (*Model)(nil)

type modelData struct {
	mu sync.Mutex
	tables
}

// tables is all that is stored.
type tables struct {
	pools     map[alloc.PoolName]*modelPool
	sequences map[alloc.SequenceName]*modelSequence
	claims    map[string]keyed[alloc.Claim] // by the key's hash
	leases    map[string]keyed[alloc.Range] // by the key's hash
	trail     modelTrail

	kept        map[string]keyed[alloc.Kept] // by the key's hash
	credentials map[alloc.CredentialID]alloc.Credential
	uses        map[alloc.CredentialID]time.Time
	quotas      map[modelHour]alloc.Count // what was taken of them
	secret      []byte                    // nil before the first call
	sessions    map[alloc.SessionID]modelSession
	jobs        map[alloc.JobID]*modelJob

	refills map[alloc.PoolName]alloc.Refill
	board   modelBoard
	samples map[alloc.SequenceName]minutes

	rebuilds map[alloc.SequenceName]alloc.Rebuild
}

// keyed is the answer that a key has had.
type keyed[A any] struct {
	fingerprint string
	born        time.Time
	answer      A
}

// NewModel returns an empty Model. A nil now is time.Now.
func NewModel(now func() time.Time) *Model {
	m := Model{data: &modelData{tables: tables{
		pools:     map[alloc.PoolName]*modelPool{},
		sequences: map[alloc.SequenceName]*modelSequence{},
		claims:    map[string]keyed[alloc.Claim]{},
		leases:    map[string]keyed[alloc.Range]{},
		trail:     newModelTrail(),

		kept:        map[string]keyed[alloc.Kept]{},
		credentials: map[alloc.CredentialID]alloc.Credential{},
		uses:        map[alloc.CredentialID]time.Time{},
		quotas:      map[modelHour]alloc.Count{},
		sessions:    map[alloc.SessionID]modelSession{},
		jobs:        map[alloc.JobID]*modelJob{},

		refills: map[alloc.PoolName]alloc.Refill{},
		samples: map[alloc.SequenceName]minutes{},

		rebuilds: map[alloc.SequenceName]alloc.Rebuild{},
	}}}
	return m.Open(now)
}

// Open returns another Model over the same data, with its own clock, as another process would have it.
func (m *Model) Open(now func() time.Time) *Model {
	if now == nil {
		now = time.Now
	}
	return &Model{now: now, data: m.data}
}

// Fixture returns the Model's data as a fixture.
func (m *Model) Fixture() Fixture {
	return Fixture{
		Open:        func(_ testing.TB, now func() time.Time) alloc.Store { return m.Open(now) },
		Census:      func(_ testing.TB, pool alloc.PoolName) map[alloc.State]alloc.Count { return m.Census(pool) },
		SetCounter:  func(_ testing.TB, name alloc.SequenceName, next alloc.Number) { m.SetCounter(name, next) },
		DropCounter: func(_ testing.TB, name alloc.SequenceName) { m.DropCounter(name) },
		Damage:      func(t testing.TB, d Damage) bool { m.Damage(t, d); return true },
		Clone:       func(testing.TB) Fixture { return m.Clone().Fixture() },
		Snapshot:    func(testing.TB) func(testing.TB) { back := m.Snapshot(); return func(testing.TB) { back() } },
	}
}

// Census counts the pool's IDs by state.
func (m *Model) Census(pool alloc.PoolName) map[alloc.State]alloc.Count {
	m.data.mu.Lock()
	defer m.data.mu.Unlock()
	counts := map[alloc.State]alloc.Count{}
	if p := m.data.pools[pool]; p != nil {
		for _, r := range p.ids {
			counts[r.State]++
		}
	}
	return counts
}

// Ready always succeeds while ctx lives.
func (m *Model) Ready(ctx context.Context) error {
	return m.step(ctx, func(*modelData) error { return nil })
}

// step runs one business step under the lock. One that begins after its context's end does nothing. What is to be
// forgotten by now is so before any step.
func (m *Model) step(ctx context.Context, do func(d *modelData) error) error {
	if err := ctx.Err(); err != nil {
		return alloc.Errorf(alloc.CodeUnavailable, "the request ended before it was carried out; repeat it").Because(err)
	}
	m.data.mu.Lock()
	defer m.data.mu.Unlock()
	for _, p := range m.data.pools {
		p.forgetDue(m.now())
	}
	return do(m.data)
}

// lookup finds what the key has been answered before. A record past its retention counts as absent.
func lookup[A any](records map[string]keyed[A], key *alloc.Key, now time.Time) (answer A, found bool, err error) {
	if key == nil {
		return answer, false, nil
	}
	r, ok := records[key.Hash]
	if !ok || !now.Before(r.born.Add(alloc.KeyRetention)) {
		return answer, false, nil
	}
	if r.fingerprint != key.Fingerprint {
		return answer, false, alloc.KeyMismatch()
	}
	return r.answer, true, nil
}

// page returns the keys above after, in order, at most limit of them.
func page[K ~string, V any](m map[K]V, after K, limit int) []K {
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(m)), func(k K) bool { return k <= after })
	return keys[:min(limit, len(keys))]
}
