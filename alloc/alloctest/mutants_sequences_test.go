package alloctest

import (
	"context"
	"sync"

	"idpool/alloc"
)

var sequenceMutants = []mutant{
	{"two callers at once are given one number: read, then write", []string{"C01 of many callers", "C04 many callers make", "C21 callers of several processes"}, func(m *Model) alloc.Store {
		return racing{m}
	}},
	{"each process counts for itself", []string{"C09 leases follow one another", "C01 of many callers", "C21 callers of several processes"}, func(m *Model) alloc.Store {
		return &solitary{Model: m, next: map[alloc.SequenceName]alloc.Number{}}
	}},
	{"a lost counter begins again", []string{"C13 a sequence whose counter is lost is stopped", "C13 a sequence whose counter is lost before"}, func(m *Model) alloc.Store {
		return restarting{m}
	}},
	{"the ledger is not looked at", []string{"C12 a counter set back by hand", "C12 a counter set back is noticed by a lease that begins", "C12 a counter set back is noticed by a lease that spans", "P02 a counter set back"}, func(m *Model) alloc.Store {
		return unproven{m}
	}},
	{"only an entry of the ledger that begins alike is looked at", []string{"C12 a counter set back is noticed by a lease that spans", "C12 a counter set back by hand"}, func(m *Model) alloc.Store {
		return nearSighted{m}
	}},
	{"a stopped sequence goes on when its counter is right again", []string{"C12 a counter set back by hand"}, func(m *Model) alloc.Store {
		return forgiving{m}
	}},
	{"the last lease is cut to what is left", []string{"C28 C29 a lease that crosses the end"}, func(m *Model) alloc.Store {
		return cuttingLease{m}
	}},
	{"numbers pass through a float", []string{"C28 C29 a lease that crosses the end", "C28 the end of a sequence is leased"}, func(m *Model) alloc.Store {
		return floating{m}
	}},
	{"keys of leases are ignored", []string{"K24 a repeat gives the same range", "K24 a lease whose answer is lost", "K10 of many callers with one key at once, all get one range"}, func(m *Model) alloc.Store {
		return keylessLease{m}
	}},
	{"a repeated lease is refused while the sequence is not active", []string{"K24 a repeat is answered when the sequence", "a deleted sequence repeats the answer"}, func(m *Model) alloc.Store {
		return strictLease{m}
	}},
	{"a change moves the position to the start", []string{"ChangeSequence replaces the configuration"}, func(m *Model) alloc.Store {
		return rewinding{m}
	}},
	{"two ledgers of names that begin alike are one", []string{"C51 the ledgers of sequences"}, func(m *Model) alloc.Store {
		return prefixed{m}
	}},
}

type racing struct{ *Model }

func (s racing) Lease(ctx context.Context, o alloc.LeaseOrder) (alloc.Range, error) {
	q, err := s.Sequence(ctx, o.Sequence)
	if err != nil {
		return alloc.Range{}, err
	}
	meetAnother()
	r, err := s.Model.Lease(ctx, o)
	r.Start, r.End = q.Next, q.Next+alloc.Number(o.Count)-1
	return r, err
}

type solitary struct {
	*Model
	mu   sync.Mutex
	next map[alloc.SequenceName]alloc.Number
}

func (s *solitary) Lease(ctx context.Context, o alloc.LeaseOrder) (alloc.Range, error) {
	r, err := s.Model.Lease(ctx, o)
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Start = max(1, s.next[o.Sequence])
	r.End = r.Start + alloc.Number(o.Count) - 1
	s.next[o.Sequence] = r.End + 1
	return r, err
}

type restarting struct{ *Model }

func (s restarting) Lease(ctx context.Context, o alloc.LeaseOrder) (alloc.Range, error) {
	s.data.mu.Lock()
	if q := s.data.sequences[o.Sequence]; q != nil && q.lost {
		q.lost, q.Next = false, q.Config.Start
	}
	s.data.mu.Unlock()
	return s.Model.Lease(ctx, o)
}

type unproven struct{ *Model }

func (s unproven) Lease(ctx context.Context, o alloc.LeaseOrder) (alloc.Range, error) {
	return leaseWithout(ctx, s.Model, o, func(alloc.LeaseRecord) bool { return true })
}

type nearSighted struct{ *Model }

func (s nearSighted) Lease(ctx context.Context, o alloc.LeaseOrder) (alloc.Range, error) {
	var next alloc.Number
	s.data.mu.Lock()
	if q := s.data.sequences[o.Sequence]; q != nil {
		next = q.Next
	}
	s.data.mu.Unlock()
	return leaseWithout(ctx, s.Model, o, func(l alloc.LeaseRecord) bool { return l.Start != next })
}

// leaseWithout leases as if the ledger had no entries of which hide is true.
func leaseWithout(ctx context.Context, m *Model, o alloc.LeaseOrder, hide func(alloc.LeaseRecord) bool) (alloc.Range, error) {
	m.data.mu.Lock()
	var hidden, kept []modelLease
	q := m.data.sequences[o.Sequence]
	if q != nil {
		for _, l := range q.ledger {
			if hide(l.LeaseRecord) {
				hidden = append(hidden, l)
			} else {
				kept = append(kept, l)
			}
		}
		q.ledger = kept
	}
	m.data.mu.Unlock()
	r, err := m.Lease(ctx, o)
	m.data.mu.Lock()
	defer m.data.mu.Unlock()
	if q != nil {
		q.ledger = append(hidden, q.ledger...)
	}
	return r, err
}

type forgiving struct{ *Model }

func (s forgiving) Lease(ctx context.Context, o alloc.LeaseOrder) (alloc.Range, error) {
	s.data.mu.Lock()
	if q := s.data.sequences[o.Sequence]; q != nil && q.State == alloc.SequenceStopped {
		q.State = alloc.SequenceActive
	}
	s.data.mu.Unlock()
	return s.Model.Lease(ctx, o)
}

type cuttingLease struct{ *Model }

func (s cuttingLease) Lease(ctx context.Context, o alloc.LeaseOrder) (alloc.Range, error) {
	r, err := s.Model.Lease(ctx, o)
	if e := asError(err); e != nil && e.Remaining > 0 {
		o.Count = e.Remaining
		return s.Model.Lease(ctx, o)
	}
	return r, err
}

type floating struct{ *Model }

func (s floating) Lease(ctx context.Context, o alloc.LeaseOrder) (alloc.Range, error) {
	r, err := s.Model.Lease(ctx, o)
	r.Start, r.End = alloc.Number(float64(r.Start)), alloc.Number(float64(r.End))
	return r, err
}

type keylessLease struct{ *Model }

func (s keylessLease) Lease(ctx context.Context, o alloc.LeaseOrder) (alloc.Range, error) {
	o.Key = nil
	return s.Model.Lease(ctx, o)
}

type strictLease struct{ *Model }

func (s strictLease) Lease(ctx context.Context, o alloc.LeaseOrder) (alloc.Range, error) {
	q, err := s.Sequence(ctx, o.Sequence)
	if err == nil {
		err = q.CheckLease(o)
	}
	if err != nil {
		return alloc.Range{}, err
	}
	return s.Model.Lease(ctx, o)
}

type rewinding struct{ *Model }

func (s rewinding) ChangeSequence(ctx context.Context, name alloc.SequenceName, from alloc.Version, config alloc.SequenceConfig) (alloc.Sequence, error) {
	q, err := s.Model.ChangeSequence(ctx, name, from, config)
	if err == nil {
		s.SetCounter(name, config.Start)
	}
	return q, err
}

type prefixed struct{ *Model }

func (s prefixed) Leases(ctx context.Context, name alloc.SequenceName, below alloc.Number, limit int) ([]alloc.LeaseRecord, error) {
	if len(name) > 1 {
		name = name[:1]
	}
	return s.Model.Leases(ctx, name, below, limit)
}
