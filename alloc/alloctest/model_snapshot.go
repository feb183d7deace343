package alloctest

import (
	"maps"
	"slices"
)

// Snapshot copies all data, and returns what puts it back, as Fixture.Snapshot says.
func (m *Model) Snapshot() (restore func()) {
	m.data.mu.Lock()
	defer m.data.mu.Unlock()
	kept := m.data.tables.clone()
	return func() {
		m.data.mu.Lock()
		defer m.data.mu.Unlock()
		m.data.tables = kept.clone()
	}
}

// Clone returns a Model with a copy of all data.
func (m *Model) Clone() *Model {
	m.data.mu.Lock()
	defer m.data.mu.Unlock()
	return &Model{now: m.now, data: &modelData{tables: m.data.tables.clone()}}
}

// clone shares nothing with what it is a copy of that is ever changed in its place.
func (d *tables) clone() tables {
	c := *d
	c.pools = cloned(d.pools, (*modelPool).clone)
	c.sequences = cloned(d.sequences, (*modelSequence).clone)
	c.jobs = cloned(d.jobs, (*modelJob).clone)
	c.samples = cloned(d.samples, maps.Clone[minutes])
	c.claims, c.leases, c.kept = maps.Clone(d.claims), maps.Clone(d.leases), maps.Clone(d.kept)
	c.credentials, c.quotas, c.uses = maps.Clone(d.credentials), maps.Clone(d.quotas), maps.Clone(d.uses)
	c.sessions = maps.Clone(d.sessions)
	c.refills, c.rebuilds, c.board = maps.Clone(d.refills), maps.Clone(d.rebuilds), d.board
	c.trail = modelTrail{
		chains: cloned(d.trail.chains, slices.Clone), ends: maps.Clone(d.trail.ends),
		known: maps.Clone(d.trail.known), intents: maps.Clone(d.trail.intents),
	}
	return c
}

func cloned[K comparable, V any](m map[K]V, clone func(V) V) map[K]V {
	c := make(map[K]V, len(m))
	for k, v := range m {
		c[k] = clone(v)
	}
	return c
}

func (p *modelPool) clone() *modelPool {
	c := *p
	c.ids = cloned(p.ids, func(r *modelID) *modelID {
		id := *r
		id.Metadata = maps.Clone(r.Metadata)
		return &id
	})
	c.order, c.batches = slices.Clone(p.order), maps.Clone(p.batches)
	c.samples, c.gone = maps.Clone(p.samples), maps.Clone(p.gone)
	return &c
}

func (q *modelSequence) clone() *modelSequence {
	c := *q
	c.ledger = slices.Clone(q.ledger)
	return &c
}

func (j *modelJob) clone() *modelJob {
	return &modelJob{Job: copyOf(j.Job), inputs: maps.Clone(j.inputs), parts: maps.Clone(j.parts)}
}
