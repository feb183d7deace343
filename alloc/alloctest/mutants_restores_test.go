package alloctest

import (
	"context"
	"slices"
	"time"

	"idpool/alloc"
)

var restoreMutants = []mutant{
	{"a rebuild of a pool frees what is claimed", []string{"a rebuild of a healthy pool", "C16 a rebuild that many do at once"}, rebuilding(func(p *modelPool) {
		for _, r := range p.ids {
			if r.State == alloc.StateClaimed {
				r.State = alloc.StateFree
			}
		}
	})},
	{"a rebuild of a pool lists nothing", []string{"a pool that is lost in any part", "steps of the rebuild of a pool"}, rebuilding(func(p *modelPool) {
		for _, r := range p.ids {
			r.unlisted = r.State == alloc.StateFree
		}
	})},
	{"a rebuild of a pool forgets what was lost", []string{"IDs that were listed and are gone"}, func(m *Model) alloc.Store { return letsGo{m} }},
	{"a rebuild of a pool activates it", []string{"a rebuild leaves a paused"}, rebuilding(func(p *modelPool) { p.State = alloc.PoolActive })},
	{"a step that comes late begins anew", []string{"C16 each step of a rebuild done twice"}, func(m *Model) alloc.Store { return beginsAnew{m} }},
	{"what is carried overwrites whatever is there", []string{"Carry makes each ID", "a burning retires what is free"}, func(m *Model) alloc.Store { return trampling{m} }},
	{"who has taken an ID since the restore loses it", []string{"Carry makes each ID"}, func(m *Model) alloc.Store { return pointless{m} }},
	{"what is said of an earlier generation is left free", []string{"Carry makes each ID"}, func(m *Model) alloc.Store { return behind{m} }},
	{"whom a carry has brought counts as one who took it here", []string{"Carry makes each ID"}, func(m *Model) alloc.Store { return bringing{m} }},
	{"what is taken is not looked up", []string{"LookUp gives"}, func(m *Model) alloc.Store { return overlooking{m} }},
	{"nothing is carried", []string{"after a restore and a carrying", "after a restore and a burning", "Carry makes each ID"}, func(m *Model) alloc.Store { return lazy{m} }},
	{"an unknown ID that is said to be free is added as free", []string{"an unknown ID is added"}, func(m *Model) alloc.Store { return adding{m} }},
	{"the stock leaves out the last of a page", []string{"Stock gives the IDs"}, func(m *Model) alloc.Store { return skippingStock{m} }},
	{"what is carried is taken to be of the generation that it has here", []string{"of several logs the later one"}, func(m *Model) alloc.Store { return levelling{m} }},
	{"what is carried does not say when that was", []string{"Carry makes each ID", "an unknown ID is added"}, func(m *Model) alloc.Store { return backdating{m} }},
	{"a lease that is entered does not say when that was", []string{"CarryLeases enters"}, func(m *Model) alloc.Store { return backdatedLedger{m} }},
	{"no lease is entered into a ledger", []string{"CarryLeases enters", "a lease that runs into what was carried", "after a restore and a carrying"}, func(m *Model) alloc.Store { return ledgerless{m} }},
	{"numbers in two hands are not told", []string{"a lease that overlaps somebody else's"}, func(m *Model) alloc.Store { return silentLedger{m} }},
	{"an audit finds nothing", []string{"a pool that is damaged in any part", "an ID that is listed and gone", "a hold that is past its time for longer"}, auditing(func(step *alloc.AuditStep) { step.Findings = nil })},
	{"an audit always finds something", []string{"an audit of a healthy pool looks", "audits beside claims"}, auditing(func(step *alloc.AuditStep) {
		found(step, alloc.FindCounts, "p", "one too many", alloc.RemedyNone)
	})},
	{"an audit reports a finding twice", []string{"a pool that is damaged in any part"}, auditing(func(step *alloc.AuditStep) {
		step.Findings = append(step.Findings, step.Findings...)
	})},
	{"a chain does not know the one of the month before", []string{"each record has the hash of the one before"}, func(m *Model) alloc.Store { return monthly{m} }},
	{"a record is appended again when the month has turned", []string{"a record whose answer is lost is repeated and stands once, also", "a record is known by its ID"}, func(m *Model) alloc.Store { return newMonth{m} }},
	{"a record loses its reason", []string{"every field of a record"}, func(m *Model) alloc.Store { return reasonless{m} }},
	{"an intent stays when it is recorded", []string{"what is intended is known until", "an intent whose answer is lost"}, func(m *Model) alloc.Store { return unending{m} }},
	{"a chain hides what was changed", []string{"what is removed from a chain or changed shows"}, func(m *Model) alloc.Store { return hiding{m} }},
}

// rebuilding does something else at the end of a rebuild of a pool.
func rebuilding(also func(p *modelPool)) func(m *Model) alloc.Store {
	return func(m *Model) alloc.Store { return rebuilder{m, also} }
}

type rebuilder struct {
	*Model
	also func(p *modelPool)
}

func (s rebuilder) RebuildPool(ctx context.Context, o alloc.PoolRebuildOrder) (alloc.PoolRebuilt, error) {
	done, err := s.Model.RebuildPool(ctx, o)
	if err == nil && done.Next == "" {
		s.data.mu.Lock()
		defer s.data.mu.Unlock()
		s.also(s.data.pools[o.Pool])
	}
	return done, err
}

type letsGo struct{ *Model }

func (s letsGo) RebuildPool(ctx context.Context, o alloc.PoolRebuildOrder) (alloc.PoolRebuilt, error) {
	s.data.mu.Lock()
	clear(s.data.pools[o.Pool].gone)
	s.data.mu.Unlock()
	return s.Model.RebuildPool(ctx, o)
}

type beginsAnew struct{ *Model }

func (s beginsAnew) RebuildPool(ctx context.Context, o alloc.PoolRebuildOrder) (alloc.PoolRebuilt, error) {
	s.data.mu.Lock()
	if p := s.data.pools[o.Pool]; p != nil && p.rebuilding == "" {
		o.Step, p.rebuilt = "", ""
	}
	s.data.mu.Unlock()
	return s.Model.RebuildPool(ctx, o)
}

type trampling struct{ *Model }

func (s trampling) Carry(ctx context.Context, pool alloc.PoolName, point time.Time, taken []alloc.IDRecord) ([]alloc.CarryOutcome, error) {
	outcomes, err := s.Model.Carry(ctx, pool, point, taken)
	for i, o := range outcomes {
		if o == alloc.CarryClash {
			s.data.mu.Lock()
			s.data.pools[pool].carry(taken[i], taken[i].Generation, s.now())
			s.data.mu.Unlock()
		}
	}
	return outcomes, err
}

type pointless struct{ *Model }

func (s pointless) Carry(ctx context.Context, pool alloc.PoolName, _ time.Time, taken []alloc.IDRecord) ([]alloc.CarryOutcome, error) {
	return s.Model.Carry(ctx, pool, s.now(), taken)
}

type behind struct{ *Model }

func (s behind) Carry(ctx context.Context, pool alloc.PoolName, point time.Time, taken []alloc.IDRecord) (all []alloc.CarryOutcome, err error) {
	for _, r := range taken {
		if has, err := s.Inspect(ctx, pool, r.ID); err == nil && r.Generation < has.Generation {
			all = append(all, alloc.CarryBehind)
			continue
		}
		some, err := s.Model.Carry(ctx, pool, point, []alloc.IDRecord{r})
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

type bringing struct{ *Model }

func (s bringing) Carry(ctx context.Context, pool alloc.PoolName, point time.Time, taken []alloc.IDRecord) ([]alloc.CarryOutcome, error) {
	outcomes, err := s.Model.Carry(ctx, pool, point, taken)
	s.data.mu.Lock()
	defer s.data.mu.Unlock()
	for _, r := range taken {
		if p := s.data.pools[pool]; p != nil && p.ids[r.ID] != nil {
			p.ids[r.ID].carried = false
		}
	}
	return outcomes, err
}

type overlooking struct{ *Model }

func (s overlooking) LookUp(ctx context.Context, pool alloc.PoolName, ids []alloc.ID) ([]alloc.IDRecord, error) {
	found, err := s.Model.LookUp(ctx, pool, ids)
	return slices.DeleteFunc(found, func(r alloc.IDRecord) bool { return r.State != alloc.StateFree }), err
}

type lazy struct{ *Model }

func (s lazy) Carry(ctx context.Context, pool alloc.PoolName, _ time.Time, taken []alloc.IDRecord) ([]alloc.CarryOutcome, error) {
	_, err := s.Model.Pool(ctx, pool)
	return slices.Repeat([]alloc.CarryOutcome{alloc.CarryDone}, len(taken)), err
}

type adding struct{ *Model }

func (s adding) Carry(ctx context.Context, pool alloc.PoolName, point time.Time, taken []alloc.IDRecord) ([]alloc.CarryOutcome, error) {
	outcomes, err := s.Model.Carry(ctx, pool, point, taken)
	for i, o := range outcomes {
		if o == alloc.CarryDone && taken[i].State == alloc.StateFree {
			s.data.mu.Lock()
			s.data.pools[pool].ids[taken[i].ID].State = alloc.StateFree
			s.data.mu.Unlock()
		}
	}
	return outcomes, err
}

type skippingStock struct{ *Model }

func (s skippingStock) Stock(ctx context.Context, pool alloc.PoolName, mark string, limit int) ([]alloc.IDRecord, string, error) {
	page, next, err := s.Model.Stock(ctx, pool, mark, limit)
	return page[:max(0, len(page)-1)], next, err
}

type ledgerless struct{ *Model }

func (s ledgerless) CarryLeases(ctx context.Context, name alloc.SequenceName, leases []alloc.LeaseRecord) ([]alloc.CarryOutcome, error) {
	_, err := s.Model.Evidence(ctx, name)
	return slices.Repeat([]alloc.CarryOutcome{alloc.CarryDone}, len(leases)), err
}

type silentLedger struct{ *Model }

func (s silentLedger) CarryLeases(ctx context.Context, name alloc.SequenceName, leases []alloc.LeaseRecord) ([]alloc.CarryOutcome, error) {
	outcomes, err := s.Model.CarryLeases(ctx, name, leases)
	for i, o := range outcomes {
		if o == alloc.CarryClash {
			outcomes[i] = alloc.CarryDone
		}
	}
	return outcomes, err
}

type levelling struct{ *Model }

func (s levelling) Carry(ctx context.Context, pool alloc.PoolName, point time.Time, taken []alloc.IDRecord) ([]alloc.CarryOutcome, error) {
	outcomes, err := s.Model.Carry(ctx, pool, point, taken)
	s.data.mu.Lock()
	defer s.data.mu.Unlock()
	for i, o := range outcomes {
		if o == alloc.CarryDone {
			s.data.pools[pool].ids[taken[i].ID].ahead = 0
		}
	}
	return outcomes, err
}

// backdating keeps the time at which what it carries was taken where it comes from, and no other.
type backdating struct{ *Model }

func (s backdating) Carry(ctx context.Context, pool alloc.PoolName, point time.Time, taken []alloc.IDRecord) ([]alloc.CarryOutcome, error) {
	outcomes, err := s.Model.Carry(ctx, pool, point, taken)
	s.data.mu.Lock()
	defer s.data.mu.Unlock()
	for i, o := range outcomes {
		if o == alloc.CarryDone {
			s.data.pools[pool].ids[taken[i].ID].Changed = time.Time{}
		}
	}
	return outcomes, err
}

type backdatedLedger struct{ *Model }

func (s backdatedLedger) CarryLeases(ctx context.Context, name alloc.SequenceName, leases []alloc.LeaseRecord) ([]alloc.CarryOutcome, error) {
	outcomes, err := s.Model.CarryLeases(ctx, name, leases)
	s.data.mu.Lock()
	defer s.data.mu.Unlock()
	if q := s.data.sequences[name]; q != nil {
		for i := range q.ledger {
			q.ledger[i].Carried = time.Time{}
		}
	}
	return outcomes, err
}

// auditing changes what an audit of a pool says.
func auditing(change func(step *alloc.AuditStep)) func(m *Model) alloc.Store {
	return func(m *Model) alloc.Store { return auditor{m, change} }
}

type auditor struct {
	*Model
	change func(step *alloc.AuditStep)
}

func (s auditor) AuditPool(ctx context.Context, pool alloc.PoolName, o alloc.AuditOrder) (alloc.AuditStep, error) {
	step, err := s.Model.AuditPool(ctx, pool, o)
	s.change(&step)
	return step, err
}

type monthly struct{ *Model }

func (s monthly) Record(ctx context.Context, r alloc.AuditRecord) error {
	return s.step(ctx, func(d *modelData) error {
		month := alloc.MonthOf(s.now())
		end := d.trail.ends[month]
		r = r.Seal(month, end.Last+1, end.Hash)
		d.trail.chains[month] = append(d.trail.chains[month], r)
		d.trail.ends[month] = alloc.TrailMonth{Month: month, Last: r.Position, Hash: r.Hash}
		return nil
	})
}

type newMonth struct{ *Model }

func (s newMonth) Record(ctx context.Context, r alloc.AuditRecord) error {
	s.data.mu.Lock()
	if alloc.MonthOf(r.At) != alloc.MonthOf(s.now()) {
		delete(s.data.trail.known, r.ID)
	}
	s.data.mu.Unlock()
	return s.Model.Record(ctx, r)
}

type reasonless struct{ *Model }

func (s reasonless) Chain(ctx context.Context, month string, after int64, limit int) ([]alloc.AuditRecord, error) {
	records, err := s.Model.Chain(ctx, month, after, limit)
	for i := range records {
		records[i].Reason = ""
	}
	return records, err
}

type unending struct{ *Model }

func (s unending) Record(ctx context.Context, r alloc.AuditRecord) error {
	s.data.mu.Lock()
	intent, there := s.data.trail.intents[r.ID]
	s.data.mu.Unlock()
	err := s.Model.Record(ctx, r)
	if there {
		s.data.mu.Lock()
		s.data.trail.intents[r.ID] = modelIntent{intent.record, intent.at.Add(-time.Second)}
		s.data.mu.Unlock()
	}
	return err
}

type hiding struct{ *Model }

func (s hiding) Chain(ctx context.Context, month string, after int64, limit int) ([]alloc.AuditRecord, error) {
	records, err := s.Model.Chain(ctx, month, after, limit)
	return slices.DeleteFunc(records, func(r alloc.AuditRecord) bool { return !r.Intact() }), err
}
