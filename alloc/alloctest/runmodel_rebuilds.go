package alloctest

import (
	"fmt"

	"pgregory.net/rapid"

	"idpool/alloc"
)

// watch watches the sequence: a counter that is behind is stopped by the Store and by the model. One that is behind leases of
// an epoch before its own may be found or not.
func (m *machine) watch(t *rapid.T) {
	if q := m.model.data.sequences[m.sequence]; m.mayBeStopped() && !q.lost && !q.isBehind() {
		return
	}
	want, wantErr := m.model.Watch(m.ctx(), m.sequence)
	got, gotErr := m.process(t).Watch(m.ctx(), m.sequence)
	m.same("Watch", gotErr, wantErr)
	equal(m.w, got.State, want.State, "state that Watch answers")
	e, f := m.w.evidence(m.sequence), m.modelEvidence()
	equal(m.w, e.Counter, f.Counter, "Counter")
	if f.Marked {
		equal(m.w, e.Mark, f.Mark, "Mark")
	}
}

func (m *machine) modelEvidence() alloc.Evidence {
	m.w.Helper()
	e, err := m.model.Evidence(m.ctx(), m.sequence)
	m.w.ok(err, "Evidence of the model")
	return e
}

// rebuild does some of the steps of a rebuild, some of them twice. What it leaves frozen, another rebuild may not free, so
// such a sequence is left for a new one in the end.
func (m *machine) rebuild(t *rapid.T) {
	m.made++
	id := alloc.JobID(fmt.Sprintf("rebuild-%d-%d", m.run, m.made))
	stopped := m.isStopped()
	times := func(what string) int { return rapid.SampledFrom([]int{1, 1, 1, 2, 2, 0}).Draw(t, what) }
	for range times("freeze") {
		_, wantErr := m.model.Freeze(m.ctx(), m.sequence, id)
		_, gotErr := m.process(t).Freeze(m.ctx(), m.sequence, id)
		m.same("Freeze", gotErr, wantErr)
	}
	o := m.restartOrder(t, id, stopped)
	for range times("restart") {
		want, wantErr := m.model.Restart(m.ctx(), o)
		got, gotErr := m.process(t).Restart(m.ctx(), o)
		m.same("Restart", gotErr, wantErr)
		m.sameAfter(got, want)
	}
	if stopped && m.model.data.sequences[m.sequence].Epoch != o.To {
		m.newSequence() // nobody opens a stopped sequence that was not restarted: what stopped it has burned numbers or not
		return
	}
	if rapid.Bool().Draw(t, "lease before the thaw") {
		m.lease(t)
	}
	to := rapid.SampledFrom([]alloc.SequenceState{alloc.SequenceActive, alloc.SequenceActive, alloc.SequenceResuming}).Draw(t, "to")
	share := rapid.IntRange(1, 99).Draw(t, "share")
	for range times("thaw") {
		want, wantErr := m.model.Thaw(m.ctx(), m.sequence, id, to, share)
		got, gotErr := m.process(t).Thaw(m.ctx(), m.sequence, id, to, share)
		m.same("Thaw", gotErr, wantErr)
		m.sameAfter(got, want)
	}
	m.advance(stateDelay)
	if q := m.model.data.sequences[m.sequence]; q.State == alloc.SequenceFrozen || q.lost {
		m.newSequence()
	}
}

// isStopped reports whether the sequence was stopped by a lease or a watch. A lost one stands nowhere.
func (m *machine) isStopped() bool {
	q := m.model.data.sequences[m.sequence]
	return q.State == alloc.SequenceStopped && !q.lost
}

// restartOrder is what a plan would say, now and then with a counter that is below what is leased.
func (m *machine) restartOrder(t *rapid.T, id alloc.JobID, stopped bool) alloc.RestartOrder {
	q, e := m.model.data.sequences[m.sequence], m.modelEvidence()
	o := alloc.RestartOrder{
		Sequence: m.sequence, Rebuild: id, From: e.Sequence.Epoch, To: max(e.Epoch, e.Sequence.Epoch, 1) + 1,
		Next: max(q.Config.Start, e.Sequence.Next, e.Mark+1), Config: q.Config,
	}
	for _, l := range q.ledger {
		o.Next = max(o.Next, l.End+1)
	}
	o.Next += alloc.Number(rapid.IntRange(0, 3).Draw(t, "margin"))
	if stopped {
		o.Next += 20 // whoever was stopped may have burned as many
		return o
	}
	if rapid.IntRange(0, 5).Draw(t, "too low") == 0 && o.Next >= q.Config.Start+10 {
		o.Next -= 10
	}
	return o
}

// sameAfter compares what a step answers, where that is not the position of a stopped sequence.
func (m *machine) sameAfter(got, want alloc.Sequence) {
	m.w.Helper()
	if want.State == alloc.SequenceStopped {
		equal(m.w, got.State, want.State, "state")
		return
	}
	sameSequence(m.w, got, want)
}

// rebuildPool damages a pool in some part, or not, and rebuilds it: then it is as if nothing had been.
func (m *machine) rebuildPool(t *rapid.T) {
	m.made++
	pool, id := m.pool(t), alloc.JobID(fmt.Sprintf("rebuild-%d-%d", m.run, m.made))
	if m.model.data.pools[pool].State == alloc.PoolDeleted {
		return
	}
	m.sweep()
	kinds := []DamageKind{LoseQueue, LoseHead}
	if m.model.data.pools[pool].Config.Policy == alloc.PolicyForget {
		kinds = kinds[:1] // how many it has forgotten is known to its head, and to samples, which are a minute old
	}
	for _, kind := range kinds {
		if rapid.Bool().Draw(t, string(kind)) {
			m.w.damage(Damage{Kind: kind, Pool: pool})
		}
	}
	o := alloc.PoolRebuildOrder{Pool: pool, Job: id}
	m.w.rebuildPool(o)
	for done := (alloc.PoolRebuilt{Next: "first"}); done.Next != ""; {
		var err error
		done, err = m.model.RebuildPool(m.ctx(), o)
		m.w.ok(err, "RebuildPool of the model")
		o.Step = done.Next
	}
	m.advance(stateDelay)
	m.sweep()
}
