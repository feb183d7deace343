package alloctest

import (
	"context"
	"slices"
	"time"

	"idpool/alloc"
)

// Settle implements alloc.Claims.
func (m *Model) Settle(ctx context.Context, o alloc.SettleOrder) (settled alloc.Settled, err error) {
	err = m.step(ctx, func(d *modelData) error {
		p, err := d.pool(o.Pool)
		if err != nil {
			return err
		}
		state, faults := p.verdict(o)
		if len(faults) > 0 {
			return alloc.Refused(o.Event, faults)
		}
		for _, id := range o.IDs {
			p.settle(id, o, m.now())
		}
		settled = alloc.Settled{Pool: o.Pool, IDs: slices.Clone(o.IDs), State: state}
		return nil
	})
	return settled, err
}

// verdict is the state that all IDs of an order are in after it, or which of them it cannot be for. Where a release is a
// retirement, IDs that come back all the same, as they were released before that was the rule, are a success among their
// like alone: beside others they are not the token's to retire.
func (p *modelPool) verdict(o alloc.SettleOrder) (state alloc.State, faults []alloc.IDFault) {
	back := 0
	for _, id := range o.IDs {
		if t, _ := p.settles(id, o); t.To == alloc.StateReturning {
			back++
		}
	}
	mixed := p.Config.Settles(o.Event) == alloc.EventRetire && back < len(o.IDs)
	for _, id := range o.IDs {
		t, code := p.settles(id, o)
		if mixed && t.To == alloc.StateReturning {
			code = alloc.CodeNotOwner
		}
		if code != "" {
			faults = append(faults, alloc.IDFault{ID: id, Code: code})
		}
		state = t.To
	}
	return state, faults
}

// settles says what an order does to an ID: the code is why it cannot be, and the transition is none then. A release that
// was done is a repeat, also when the ID has come back since, and whatever the pool has made of releases since.
func (p *modelPool) settles(id alloc.ID, o alloc.SettleOrder) (alloc.Transition, alloc.Code) {
	r := p.ids[id]
	if r == nil {
		return alloc.Transition{}, alloc.CodeIDNotFound
	}
	owned := r.Token == o.Token
	if back := owned && r.State == alloc.StateReturning || !owned && r.last == o.Token && o.Token != ""; back && o.Event == alloc.EventRelease {
		return alloc.Transition{Effect: alloc.EffectRepeat, To: alloc.StateReturning}, ""
	}
	if !owned {
		return alloc.Transition{}, alloc.CodeNotOwner
	}
	t := r.State.On(p.Config.Settles(o.Event))
	if t.Effect == alloc.EffectRefuse {
		return alloc.Transition{}, alloc.RefusalOf(r.State)
	}
	return t, ""
}

// settle lets happen to an ID what an order can do. What is confirmed stays known for the retention of a key, so that a
// repeat of the confirmation finds it.
func (p *modelPool) settle(id alloc.ID, o alloc.SettleOrder, now time.Time) {
	t, _ := p.settles(id, o)
	if t.Effect != alloc.EffectMove {
		return
	}
	r := p.ids[id]
	r.State, r.HeldUntil, r.carried = t.To, time.Time{}, false
	if t.To != alloc.StateReturning { // which is nobody's any more
		r.Changed = now
	}
	if o.Event == alloc.EventConfirm {
		r.forget = now.Add(alloc.KeyRetention)
	}
}

// Sweep implements alloc.Claims. The Model keeps nothing anywhere else, so a sweep ends holds, brings back what is on its
// way, forgets what is due, counts, keeps a sample, and mends the copy of the configuration.
func (m *Model) Sweep(ctx context.Context, pool alloc.PoolName) (report alloc.SweepReport, err error) {
	report.Pool = pool
	err = m.step(ctx, func(d *modelData) error {
		p, err := d.queue(pool)
		if err != nil {
			return err
		}
		report.Returned = p.bringBack(m.now())
		p.count(m.now())
		p.uncopied = false
		if p.State != alloc.PoolDeleted {
			p.samples.keep(p.sample(m.now()))
		}
		return nil
	})
	return report, err
}

// bringBack ends the holds whose time is over and frees what is returning; it says how many.
func (p *modelPool) bringBack(now time.Time) (n alloc.Count) {
	for _, r := range p.ids {
		if r.State == alloc.StateHeld && !now.Before(r.HeldUntil) {
			r.State = r.State.On(alloc.EventExpire).To
		}
		if r.State != alloc.StateReturning {
			continue
		}
		*r = modelID{last: r.Token, nth: r.nth, IDRecord: alloc.IDRecord{
			Pool: r.Pool, ID: r.ID, Job: r.Job, State: r.State.On(alloc.EventFree).To, Generation: r.Generation + 1,
		}}
		n++
	}
	return n
}

// forgetDue drops what was claimed with a key that has expired, or confirmed as long ago, where that is the policy.
func (p *modelPool) forgetDue(now time.Time) {
	if p.Config.Policy != alloc.PolicyForget {
		return
	}
	for id, r := range p.ids {
		if r.State == alloc.StateClaimed && !now.Before(r.forget) {
			p.drop(id)
		}
	}
}

func (p *modelPool) count(now time.Time) {
	p.counted = alloc.Level{Seeded: p.seeded, Forgotten: p.forgotten, CountedAt: now}
	for _, r := range p.ids {
		switch r.State {
		case alloc.StateHeld:
			p.counted.Held++
		case alloc.StateClaimed:
			p.counted.Claimed++
		case alloc.StateRetired:
			p.counted.Retired++
		}
	}
}
