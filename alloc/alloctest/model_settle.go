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
		event := p.Config.Settles(o.Event)
		var faults []alloc.IDFault
		for _, id := range o.IDs {
			if _, code := p.settles(id, event, o.Token); code != "" {
				faults = append(faults, alloc.IDFault{ID: id, Code: code})
			}
		}
		if len(faults) > 0 {
			return alloc.Refused(o.Event, faults)
		}
		for _, id := range o.IDs {
			p.settle(id, event, o.Token, m.now())
		}
		settled = alloc.Settled{Pool: o.Pool, IDs: slices.Clone(o.IDs), State: settledAs[event]}
		return nil
	})
	return settled, err
}

// settledAs is the state of IDs after an event of their owner's.
var settledAs = map[alloc.Event]alloc.State{
	alloc.EventConfirm: alloc.StateClaimed, alloc.EventRelease: alloc.StateReturning, alloc.EventRetire: alloc.StateRetired,
}

// settles says what an event by the holder of a token does to an ID: the code is why it cannot be.
func (p *modelPool) settles(id alloc.ID, event alloc.Event, token alloc.Token) (alloc.Transition, alloc.Code) {
	r := p.ids[id]
	switch {
	case r == nil:
		return alloc.Transition{}, alloc.CodeIDNotFound
	case r.Token == token:
		t := r.State.On(event)
		if t.Effect == alloc.EffectRefuse {
			return t, alloc.RefusalOf(r.State)
		}
		return t, ""
	case r.last == token && token != "" && event == alloc.EventRelease:
		return alloc.Transition{Effect: alloc.EffectRepeat, To: r.State}, "" // it has come back since
	default:
		return alloc.Transition{}, alloc.CodeNotOwner
	}
}

// settle lets an event happen that can. What is confirmed stays known for the retention of a key, so that a repeat of the
// confirmation finds it.
func (p *modelPool) settle(id alloc.ID, event alloc.Event, token alloc.Token, now time.Time) {
	t, _ := p.settles(id, event, token)
	if t.Effect != alloc.EffectMove {
		return
	}
	r := p.ids[id]
	r.State, r.HeldUntil = t.To, time.Time{}
	if event == alloc.EventConfirm {
		r.forget = now.Add(alloc.KeyRetention)
	}
}

// Sweep implements alloc.Claims. The Model keeps nothing anywhere else, so a sweep ends holds, brings back what is on its
// way, forgets what is due, and counts.
func (m *Model) Sweep(ctx context.Context, pool alloc.PoolName) (report alloc.SweepReport, err error) {
	report.Pool = pool
	err = m.step(ctx, func(d *modelData) error {
		p, err := d.pool(pool)
		if err != nil {
			return err
		}
		report.Returned = p.bringBack(m.now())
		p.forgetDue(m.now())
		p.count(m.now())
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
		*r = modelID{last: r.Token, IDRecord: alloc.IDRecord{
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
