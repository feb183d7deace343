package alloctest

import (
	"fmt"

	"pgregory.net/rapid"

	"idpool/alloc"
)

// newSequence makes the sequence that the operations to come use.
func (m *machine) newSequence() {
	m.made++
	m.sequence = alloc.SequenceName(fmt.Sprintf("s-%d-%d", m.run, m.made))
	config := alloc.SequenceConfig{Start: 10, Limit: 60, MaxLease: 20}
	m.w.sequence(m.sequence, config)
	_, _, err := m.model.CreateSequence(m.ctx(), m.sequence, config.WithDefaults())
	m.w.ok(err, "CreateSequence of the model")
}

func (m *machine) lease(t *rapid.T) {
	m.leaseNumbers(m.process(t), leaseOrder(m.sequence, m.numbers(t)))
}

// numbers draws how many numbers to lease, now and then more than the sequence allows.
func (m *machine) numbers(t *rapid.T) alloc.Count {
	if rapid.IntRange(0, 19).Draw(t, "too many") == 0 {
		return alloc.Count(rapid.SampledFrom([]int{-1, 0, 21, 1000}).Draw(t, "count"))
	}
	return alloc.Count(rapid.IntRange(1, 12).Draw(t, "count"))
}

// leaseWithKey draws a new key, one that was used for the same, or one that was used for something else.
func (m *machine) leaseWithKey(t *rapid.T) {
	o := leaseOrder(m.sequence, m.numbers(t))
	key := rapid.SampledFrom([]string{"k1", "k2", "k3"}).Draw(t, "key")
	o.Key = alloc.NewKey("client", "lease", string(o.Sequence), key, fmt.Sprint(o.Count))
	q := m.model.data.sequences[m.sequence]
	kept, used := m.model.data.leases[o.Key.Hash]
	if used && kept.fingerprint != o.Key.Fingerprint && (q.lost || q.CheckLease(o) != nil) {
		return // refused for two reasons; which one is told is not promised
	}
	m.leaseNumbers(m.process(t), o)
}

func (m *machine) leaseNumbers(s alloc.Store, o alloc.LeaseOrder) {
	what := fmt.Sprintf("Lease of %d from %s with the key %v", o.Count, o.Sequence, o.Key)
	got, gotErr := m.w.leasePatiently(s, o)
	want, wantErr := m.model.Lease(m.ctx(), o)
	if wantErr != nil && alloc.Is(gotErr, alloc.CodeSequenceStopped) && m.mayBeStopped() {
		m.newSequence() // refused for two reasons; which one is told is not promised
		return
	}
	m.same(what, gotErr, wantErr)
	if gotErr != nil {
		return
	}
	if got.Start != want.Start || got.End != want.End || got.Epoch != want.Epoch || got.Replayed != want.Replayed || !sameTime(got.At, want.At) {
		m.w.Fatalf("%s: got %+v, the model has %+v", what, got, want)
	}
	if !got.Replayed {
		m.leased[o.Sequence] = append(m.leased[o.Sequence], got)
	}
}

func (m *machine) readSequence(t *rapid.T) {
	want, wantErr := m.model.Sequence(m.ctx(), m.sequence)
	got, gotErr := m.process(t).Sequence(m.ctx(), m.sequence)
	m.same("Sequence", gotErr, wantErr)
	if gotErr == nil && want.State != alloc.SequenceStopped { // the position of a stopped one means nothing
		sameSequence(m.w, got, want)
	}
	m.w.covered(m.w.ledger(m.sequence, 7), m.leased[m.sequence])
}

func (m *machine) changeSequence(t *rapid.T) {
	q, err := m.model.Sequence(m.ctx(), m.sequence)
	if err != nil || q.State == alloc.SequenceStopped {
		m.newSequence()
		return
	}
	config := q.Config
	config.Limit = alloc.Number(rapid.IntRange(20, 120).Draw(t, "limit"))
	config.MaxLease = alloc.Count(rapid.IntRange(12, 20).Draw(t, "max_lease"))
	from := max(1, q.Version-alloc.Version(rapid.IntRange(0, 1).Draw(t, "behind")))
	if from != q.Version && q.Config.CheckChange(config, q.Next) != nil {
		return // refused for two reasons; which one is told is not promised
	}
	want, wantErr := m.model.ChangeSequence(m.ctx(), m.sequence, from, config)
	got, gotErr := m.process(t).ChangeSequence(m.ctx(), m.sequence, from, config)
	m.same("ChangeSequence", gotErr, wantErr)
	if gotErr == nil {
		sameSequence(m.w, got, want)
	}
	m.advance(stateDelay)
}

func (m *machine) setSequenceState(t *rapid.T) {
	to := rapid.SampledFrom([]alloc.SequenceState{alloc.SequenceActive, alloc.SequenceActive, alloc.SequencePaused}).Draw(t, "state")
	_, wantErr := m.model.SetSequenceState(m.ctx(), m.sequence, 0, to)
	_, gotErr := m.process(t).SetSequenceState(m.ctx(), m.sequence, 0, to)
	m.same("SetSequenceState", gotErr, wantErr)
	m.advance(stateDelay)
}

// breakCounter sets the counter forward, or back onto a number that is leased, or loses it.
func (m *machine) breakCounter(t *rapid.T) {
	q := m.model.data.sequences[m.sequence]
	if q.lost || q.State == alloc.SequenceStopped {
		m.newSequence()
		return
	}
	switch how := rapid.IntRange(0, 4).Draw(t, "how"); {
	case how == 0:
		m.w.fixture.DropCounter(m.w.TB, m.sequence)
		m.model.DropCounter(m.sequence)
	case how == 1 && len(q.ledger) > 0:
		l := q.ledger[rapid.IntRange(0, len(q.ledger)-1).Draw(t, "lease")]
		m.setCounter(l.Start + alloc.Number(rapid.IntRange(0, int(l.End-l.Start)).Draw(t, "number")))
	default:
		m.setCounter(q.Next + alloc.Number(rapid.IntRange(0, 5).Draw(t, "forward")))
	}
}

func (m *machine) setCounter(next alloc.Number) {
	m.w.fixture.SetCounter(m.w.TB, m.sequence, next)
	m.model.SetCounter(m.sequence, next)
}

// mayBeStopped reports whether the counter is behind what is leased, in whatever epoch: who notices it first is not promised.
func (m *machine) mayBeStopped() bool {
	q := m.model.data.sequences[m.sequence]
	highest, any := q.highest()
	return q.lost || any && highest >= q.Next
}
