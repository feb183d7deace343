package alloctest

import (
	"context"

	"idpool/alloc"
)

var rebuildMutants = []mutant{
	{"a counter behind its leases is not noticed", []string{"C12 Watch stops a sequence", "C12 C13 whatever is wrong"}, func(m *Model) alloc.Store { return unwatchful{m} }},
	{"the mark is not looked at by leases", []string{"C12 a ledger that was cut together"}, func(m *Model) alloc.Store { return markless{m} }},
	{"the mark is lowered to the counter", []string{"the mark is never lowered"}, func(m *Model) alloc.Store { return lowering{m} }},
	{"Watch stops a sequence that leases meanwhile", []string{"Watch of a healthy sequence", "a healthy sequence is never stopped"}, func(m *Model) alloc.Store { return nervous{m} }},
	{"a frozen sequence is leased from", []string{"Freeze refuses every lease", "C14 Restart puts the counter"}, func(m *Model) alloc.Store { return unfrozen{m} }},
	{"whoever comes freezes what another has frozen", []string{"C16 what one rebuild has frozen", "C16 of many rebuilds at once"}, func(m *Model) alloc.Store { return thieving{m} }},
	{"a counter is put wherever the plan says", []string{"Restart never lowers a counter"}, putting(func(q *modelSequence, o alloc.RestartOrder) bool { return q.Rebuild == o.Rebuild })},
	{"a restart that comes late is carried out", []string{"a Restart that comes late"}, putting(func(*modelSequence, alloc.RestartOrder) bool { return true })},
	{"a late Thaw serves fewer", []string{"a Thaw that comes late"}, func(m *Model) alloc.Store { return narrowing{m} }},
	{"everybody is served while a sequence resumes", []string{"a resuming sequence serves a share"}, func(m *Model) alloc.Store { return serving{m} }},
	{"callers who are not served take numbers", []string{"a caller whom a resuming sequence"}, func(m *Model) alloc.Store { return wasting{m} }},
	{"a lost counter is made anew at the start", []string{"C13 Restart makes a lost counter anew"}, func(m *Model) alloc.Store { return atStart{m} }},
	{"a repeat of a rebuild's change is a mismatch", []string{"a repeat of the change last made is a success, also", "a change whose answer is lost"}, func(m *Model) alloc.Store { return strictRebuild{m} }},
	{"a rebuild's record loses what was tested", []string{"the record of a rebuild is read back"}, func(m *Model) alloc.Store { return untested{m} }},
	{"a walk of the ledger leaves out what is not proven", []string{"a walk of the ledger meets"}, func(m *Model) alloc.Store { return provenOnly{m} }},
}

type unwatchful struct{ *Model }

func (s unwatchful) Watch(ctx context.Context, name alloc.SequenceName) (alloc.Sequence, error) {
	q, err := s.Model.Sequence(ctx, name)
	if alloc.Is(err, alloc.CodeSequenceStopped) {
		return s.Model.Watch(ctx, name)
	}
	return q, err
}

func (s unwatchful) AuditSequence(ctx context.Context, name alloc.SequenceName, o alloc.AuditOrder) (alloc.AuditStep, error) {
	step, err := s.Model.AuditSequence(ctx, name, o)
	step.Findings = nil
	return step, err
}

// without does something with a sequence changed.
func without[A any](m *Model, name alloc.SequenceName, hide func(q *modelSequence) (back func()), do func() (A, error)) (A, error) {
	back := func() {}
	m.data.mu.Lock()
	if q := m.data.sequences[name]; q != nil {
		back = hide(q)
	}
	m.data.mu.Unlock()
	a, err := do()
	m.data.mu.Lock()
	defer m.data.mu.Unlock()
	back()
	return a, err
}

type markless struct{ *Model }

func (s markless) Lease(ctx context.Context, o alloc.LeaseOrder) (alloc.Range, error) {
	return without(s.Model, o.Sequence, func(q *modelSequence) func() {
		mark := q.marked
		q.marked = nil
		return func() { q.marked = mark }
	}, func() (alloc.Range, error) { return s.Model.Lease(ctx, o) })
}

type lowering struct{ *Model }

func (s lowering) Watch(ctx context.Context, name alloc.SequenceName) (alloc.Sequence, error) {
	s.data.mu.Lock()
	if q := s.data.sequences[name]; q != nil && q.marked != nil {
		q.marked.last = min(q.marked.last, q.Next-1)
	}
	s.data.mu.Unlock()
	return s.Model.Watch(ctx, name)
}

type nervous struct{ *Model }

func (s nervous) Watch(ctx context.Context, name alloc.SequenceName) (alloc.Sequence, error) {
	s.data.mu.Lock()
	if q := s.data.sequences[name]; q != nil && len(q.ledger) > 2 {
		q.State = alloc.SequenceStopped
	}
	s.data.mu.Unlock()
	return s.Model.Watch(ctx, name)
}

type unfrozen struct{ *Model }

func (s unfrozen) Lease(ctx context.Context, o alloc.LeaseOrder) (alloc.Range, error) {
	return without(s.Model, o.Sequence, func(q *modelSequence) func() {
		if q.State != alloc.SequenceFrozen {
			return func() {}
		}
		q.State = alloc.SequenceActive
		return func() { q.State = alloc.SequenceFrozen }
	}, func() (alloc.Range, error) { return s.Model.Lease(ctx, o) })
}

type thieving struct{ *Model }

func (s thieving) Freeze(ctx context.Context, name alloc.SequenceName, rebuild alloc.JobID) (alloc.Sequence, error) {
	s.data.mu.Lock()
	if q := s.data.sequences[name]; q != nil && q.State == alloc.SequenceFrozen {
		q.Rebuild = rebuild
	}
	s.data.mu.Unlock()
	return s.Model.Freeze(ctx, name, rebuild)
}

// putting puts the counter to what the plan says wherever may allows.
func putting(may func(q *modelSequence, o alloc.RestartOrder) bool) func(m *Model) alloc.Store {
	return func(m *Model) alloc.Store { return restarter{m, may} }
}

type restarter struct {
	*Model
	may func(q *modelSequence, o alloc.RestartOrder) bool
}

func (s restarter) Restart(ctx context.Context, o alloc.RestartOrder) (alloc.Sequence, error) {
	s.data.mu.Lock()
	q := s.data.sequences[o.Sequence]
	if q != nil && !q.lost && s.may(q, o) {
		q.Epoch, q.Next = o.To, o.Next
	}
	s.data.mu.Unlock()
	return s.Model.Restart(ctx, o)
}

type narrowing struct{ *Model }

func (s narrowing) Thaw(ctx context.Context, name alloc.SequenceName, rebuild alloc.JobID, to alloc.SequenceState, share int) (alloc.Sequence, error) {
	s.data.mu.Lock()
	if q := s.data.sequences[name]; q != nil && q.State == alloc.SequenceResuming && to == alloc.SequenceResuming {
		q.Share = share
	}
	s.data.mu.Unlock()
	return s.Model.Thaw(ctx, name, rebuild, to, share)
}

type serving struct{ *Model }

func (s serving) Lease(ctx context.Context, o alloc.LeaseOrder) (alloc.Range, error) {
	return without(s.Model, o.Sequence, func(q *modelSequence) func() {
		share := q.Share
		q.Share = 100
		return func() { q.Share = share }
	}, func() (alloc.Range, error) { return s.Model.Lease(ctx, o) })
}

type wasting struct{ *Model }

func (s wasting) Lease(ctx context.Context, o alloc.LeaseOrder) (alloc.Range, error) {
	r, err := s.Model.Lease(ctx, o)
	if alloc.Is(err, alloc.CodeSequenceResuming) {
		s.data.mu.Lock()
		s.data.sequences[o.Sequence].Next++
		s.data.mu.Unlock()
	}
	return r, err
}

type atStart struct{ *Model }

func (s atStart) Restart(ctx context.Context, o alloc.RestartOrder) (alloc.Sequence, error) {
	if o.From == 0 {
		o.Next = max(o.Config.Start, 1)
	}
	return s.Model.Restart(ctx, o)
}

type strictRebuild struct{ *Model }

func (s strictRebuild) ChangeRebuild(ctx context.Context, from alloc.Version, r alloc.Rebuild) (alloc.Rebuild, error) {
	if there, err := s.Model.Rebuild(ctx, r.Sequence); err == nil && there.Version != from {
		return there, alloc.VersionMismatch("rebuild of sequence", string(r.Sequence), there.Version)
	}
	return s.Model.ChangeRebuild(ctx, from, r)
}

type untested struct{ *Model }

func (s untested) Rebuild(ctx context.Context, name alloc.SequenceName) (alloc.Rebuild, error) {
	r, err := s.Model.Rebuild(ctx, name)
	r.Tested = nil
	return r, err
}

type provenOnly struct{ *Model }

func (s provenOnly) WalkLedger(ctx context.Context, name alloc.SequenceName, mark string, limit int) ([]alloc.LeaseRecord, string, error) {
	page, next, err := s.Model.WalkLedger(ctx, name, mark, limit)
	var proven []alloc.LeaseRecord
	for _, l := range page {
		if l.Proven {
			proven = append(proven, l)
		}
	}
	return proven, next, err
}
