package alloctest

import (
	"context"
	"slices"
	"time"

	"idpool/alloc"
)

var settleMutants = []mutant{
	{"a hold never ends", []string{
		"a hold does not come back before its time", "a hold whose answer was lost comes back", "C42 a confirmation after", "holds of different lengths",
	}, func(m *Model) alloc.Store { return endless{m} }},
	{"a hold ends a minute early", []string{"a hold does not come back before its time", "the longest hold outlives"}, func(m *Model) alloc.Store {
		return early{m}
	}},
	{"a hold is answered as a claim", []string{"a hold answers its IDs as held", "Level counts after a sweep what is held"}, func(m *Model) alloc.Store {
		return holdless{m}
	}},
	{"a repeat moves the hold's end", []string{"K06 a hold is repeated as it was first answered"}, func(m *Model) alloc.Store { return renewing{m} }},
	{"a repeat of a confirmed hold is answered as claimed", []string{"K06 a hold is repeated as it was first answered"}, func(m *Model) alloc.Store {
		return wordy{m}
	}},
	{"the end of a confirmed hold takes it back", []string{"a confirmed ID stays its owner's", "of a batch that is held, what is confirmed"}, func(m *Model) alloc.Store {
		return forgetfulConfirm{m}
	}},
	{"a confirmation past the hold's time is refused", []string{"a confirmation past the hold's time works"}, func(m *Model) alloc.Store {
		return punctual{m}
	}},
	{"the token is not looked at", []string{
		"K30 the token of another claim", "C42 a confirmation after", "after an ID has come back its old token", "C11 K17 what was held for hours",
		"one ID is held, comes back",
	}, func(m *Model) alloc.Store { return blind{m} }},
	{"no token is that of an ID that never came back", []string{"K30 the token of another claim"}, func(m *Model) alloc.Store { return tokenless{m} }},
	{"a batch is settled as far as it goes", []string{"a batch of which one ID cannot", "the largest batch is settled whole"}, func(m *Model) alloc.Store {
		return halfway{m}
	}},
	{"a refusal names the first ID alone", []string{"a refusal names each ID"}, func(m *Model) alloc.Store { return terse{m} }},
	{"a repeat of a confirmation is refused", []string{"every event in every state", "an ID that was claimed for good is confirmed", "a batch of which some is settled already"}, func(m *Model) alloc.Store {
		return once{m}
	}},
	{"a released ID is free at once", []string{"C41 a released ID can be claimed again after Sweep", "every event in every state"}, func(m *Model) alloc.Store {
		return prompt{m}
	}},
	{"a released ID never comes back", []string{"C41 a released ID can be claimed again after Sweep", "IDs come back many times over"}, func(m *Model) alloc.Store {
		return losing{m}
	}},
	{"a release is no longer known when the ID is back", []string{"C41 a double release", "a release whose answer is lost is repeated after", "a batch of which some is settled already"}, func(m *Model) alloc.Store {
		return unremembering{m}
	}},
	{"a release of long ago is a success for ever", []string{"a release is repeated as long as"}, func(m *Model) alloc.Store {
		return &elephant{Model: m, released: map[alloc.Token]bool{}}
	}},
	{"a release of what somebody else has by now takes it from him", []string{"C41 a double release", "a release whose answer is lost is repeated after"}, func(m *Model) alloc.Store {
		return stealing{m}
	}},
	{"a confirmation does not say when it was made", []string{"a confirmation and a retirement say when"}, func(m *Model) alloc.Store { return momentless{m} }},
	{"a retired ID comes back", []string{"C41 a retired ID is nobody's", "where a release retires"}, func(m *Model) alloc.Store { return unretiring{m} }},
	{"a release retires nowhere", []string{"where a release retires"}, func(m *Model) alloc.Store { return returning{m} }},
	{"a hold's end retires where a release does", []string{"where a release retires"}, func(m *Model) alloc.Store { return severe{m} }},
	{"a paused or deleted pool settles nothing", []string{"it works in a paused and in a draining", "it works in a deleted pool", "what is held of a pool that is deleted"}, func(m *Model) alloc.Store {
		return shut{m}
	}},
	{"a pool that forgets does so at once with what was confirmed", []string{"in a pool that forgets a confirmation is repeated"}, func(m *Model) alloc.Store {
		return forgettingConfirmed{m, 0}
	}},
	{"a pool that forgets does so with its key with what was confirmed", []string{"in a pool that forgets a confirmation is repeated"}, func(m *Model) alloc.Store {
		return forgettingConfirmed{m, time.Second}
	}},
	{"a pool that forgets keeps what was confirmed", []string{"in a pool that forgets a confirmation is repeated"}, func(m *Model) alloc.Store {
		return forgettingConfirmed{m, 400 * 24 * time.Hour}
	}},
	{"what comes back keeps its generation", []string{"an ID that came back stands as", "one ID is held, comes back"}, func(m *Model) alloc.Store {
		return ageless{m}
	}},
	{"what comes back keeps its owner", []string{"an ID that came back stands as"}, func(m *Model) alloc.Store { return labelled{m} }},
	{"settling reads, then writes", []string{"of many who release and retire one ID at once"}, func(m *Model) alloc.Store { return settleLater{m} }},
	{"a confirmation is written without a condition", []string{"of a confirmation, the hold's end"}, func(m *Model) alloc.Store {
		return unconditional{m}
	}},
	{"Level counts what is held as claimed", []string{"Level counts after a sweep what is held"}, func(m *Model) alloc.Store { return heldAsClaimed{m} }},
	{"a settlement cut off is done and reported as not done", []string{"C46 confirmations and releases cut off"}, func(m *Model) alloc.Store {
		return lying{m}
	}},
	{"a refusal of Service's comes before the key", []string{"an order with a refusal of Service's"}, func(m *Model) alloc.Store { return refusing{m} }},
	{"a refusal of Service's is not looked at", []string{"an order with a refusal of Service's", "a lease with a refusal of Service's"}, func(m *Model) alloc.Store {
		return unheeding{m}
	}},
}

// spoil lets a mutant change the records of a pool.
func spoil(m *Model, pool alloc.PoolName, each func(p *modelPool, r *modelID)) {
	m.data.mu.Lock()
	defer m.data.mu.Unlock()
	if p := m.data.pools[pool]; p != nil {
		for _, r := range p.ids {
			each(p, r)
		}
	}
}

type endless struct{ *Model }

func (s endless) Sweep(ctx context.Context, pool alloc.PoolName) (alloc.SweepReport, error) {
	spoil(s.Model, pool, func(_ *modelPool, r *modelID) {
		if r.State == alloc.StateHeld {
			r.HeldUntil = s.now().Add(time.Hour)
		}
	})
	return s.Model.Sweep(ctx, pool)
}

type early struct{ *Model }

func (s early) Sweep(ctx context.Context, pool alloc.PoolName) (alloc.SweepReport, error) {
	spoil(s.Model, pool, func(_ *modelPool, r *modelID) {
		if r.State == alloc.StateHeld && !s.now().Before(r.HeldUntil.Add(-time.Minute)) {
			r.State = alloc.StateReturning
		}
	})
	return s.Model.Sweep(ctx, pool)
}

type holdless struct{ *Model }

func (s holdless) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	o.Hold = 0
	return s.Model.Claim(ctx, o)
}

type renewing struct{ *Model }

func (s renewing) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	c, err := s.Model.Claim(ctx, o)
	if c.Replayed && o.Hold > 0 {
		spoil(s.Model, o.Pool, func(_ *modelPool, r *modelID) {
			if r.State == alloc.StateHeld && r.Token == c.Token {
				r.HeldUntil = s.now().Add(o.Hold)
			}
		})
	}
	return c, err
}

type wordy struct{ *Model }

func (s wordy) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	c, err := s.Model.Claim(ctx, o)
	if c.Replayed {
		if r, rerr := s.Inspect(ctx, o.Pool, c.IDs[0]); rerr == nil {
			c.State = r.State
		}
	}
	return c, err
}

type forgetfulConfirm struct{ *Model }

func (s forgetfulConfirm) Sweep(ctx context.Context, pool alloc.PoolName) (alloc.SweepReport, error) {
	s.data.mu.Lock()
	for _, p := range s.data.pools {
		for _, r := range p.ids {
			if r.State == alloc.StateClaimed && r.Generation < 0 {
				r.State, r.Generation = alloc.StateReturning, -r.Generation-1
			}
		}
	}
	s.data.mu.Unlock()
	return s.Model.Sweep(ctx, pool)
}

func (s forgetfulConfirm) Settle(ctx context.Context, o alloc.SettleOrder) (alloc.Settled, error) {
	held, _ := s.Inspect(ctx, o.Pool, o.IDs[0])
	settled, err := s.Model.Settle(ctx, o)
	if err == nil && o.Event == alloc.EventConfirm && held.State == alloc.StateHeld {
		spoil(s.Model, o.Pool, func(_ *modelPool, r *modelID) {
			if slices.Contains(o.IDs, r.ID) {
				r.Generation = -r.Generation - 1 // stands for the end that was left
			}
		})
	}
	return settled, err
}

type unretiring struct{ *Model }

func (s unretiring) Sweep(ctx context.Context, pool alloc.PoolName) (alloc.SweepReport, error) {
	spoil(s.Model, pool, func(_ *modelPool, r *modelID) {
		if r.State == alloc.StateRetired {
			r.State = alloc.StateReturning
		}
	})
	return s.Model.Sweep(ctx, pool)
}

type returning struct{ *Model }

func (s returning) Settle(ctx context.Context, o alloc.SettleOrder) (alloc.Settled, error) {
	s.data.mu.Lock()
	if p := s.data.pools[o.Pool]; p != nil && o.Event == alloc.EventRelease {
		before := p.Config.OnRelease
		p.Config.OnRelease = alloc.ReleaseReturns
		defer func() {
			s.data.mu.Lock()
			defer s.data.mu.Unlock()
			p.Config.OnRelease = before
		}()
	}
	s.data.mu.Unlock()
	return s.Model.Settle(ctx, o)
}

type severe struct{ *Model }

func (s severe) Sweep(ctx context.Context, pool alloc.PoolName) (alloc.SweepReport, error) {
	spoil(s.Model, pool, func(p *modelPool, r *modelID) {
		if p.Config.OnRelease == alloc.ReleaseRetires && r.State == alloc.StateHeld && s.now().After(r.HeldUntil) {
			r.State = alloc.StateRetired
		}
	})
	return s.Model.Sweep(ctx, pool)
}

type shut struct{ *Model }

func (s shut) Settle(ctx context.Context, o alloc.SettleOrder) (alloc.Settled, error) {
	if p, err := s.Pool(ctx, o.Pool); err == nil && p.State != alloc.PoolActive {
		return alloc.Settled{}, alloc.Errorf(alloc.CodePoolPaused, "paused")
	}
	return s.Model.Settle(ctx, o)
}

// forgettingConfirmed forgets what was confirmed after another time.
type forgettingConfirmed struct {
	*Model
	after time.Duration
}

func (s forgettingConfirmed) Settle(ctx context.Context, o alloc.SettleOrder) (alloc.Settled, error) {
	settled, err := s.Model.Settle(ctx, o)
	if err == nil && o.Event == alloc.EventConfirm {
		spoil(s.Model, o.Pool, func(p *modelPool, r *modelID) {
			if p.Config.Policy == alloc.PolicyForget && slices.Contains(o.IDs, r.ID) {
				r.forget = s.now().Add(s.after)
			}
		})
		if s.after == 0 {
			_, _ = s.Sweep(ctx, o.Pool)
		}
	}
	return settled, err
}

type ageless struct{ *Model }

func (s ageless) Sweep(ctx context.Context, pool alloc.PoolName) (alloc.SweepReport, error) {
	report, err := s.Model.Sweep(ctx, pool)
	spoil(s.Model, pool, func(_ *modelPool, r *modelID) { r.Generation = 0 })
	return report, err
}

type labelled struct{ *Model }

func (s labelled) Sweep(ctx context.Context, pool alloc.PoolName) (alloc.SweepReport, error) {
	owners := map[alloc.ID]string{}
	spoil(s.Model, pool, func(_ *modelPool, r *modelID) { owners[r.ID] = r.Owner })
	report, err := s.Model.Sweep(ctx, pool)
	spoil(s.Model, pool, func(_ *modelPool, r *modelID) { r.Owner = owners[r.ID] })
	return report, err
}

// settleLater decides by what it has read a moment ago.
type settleLater struct{ *Model }

func (s settleLater) Settle(ctx context.Context, o alloc.SettleOrder) (alloc.Settled, error) {
	before := map[alloc.ID]modelID{}
	spoil(s.Model, o.Pool, func(_ *modelPool, r *modelID) { before[r.ID] = *r })
	meetAnother()
	spoil(s.Model, o.Pool, func(_ *modelPool, r *modelID) {
		if slices.Contains(o.IDs, r.ID) && r.Token == before[r.ID].Token && r.Token != "" {
			*r = before[r.ID]
		}
	})
	return s.Model.Settle(ctx, o)
}

type unconditional struct{ *Model }

func (s unconditional) Settle(ctx context.Context, o alloc.SettleOrder) (alloc.Settled, error) {
	if o.Event != alloc.EventConfirm {
		return s.Model.Settle(ctx, o)
	}
	meetAnother()
	spoil(s.Model, o.Pool, func(_ *modelPool, r *modelID) {
		if slices.Contains(o.IDs, r.ID) {
			r.State, r.Token, r.HeldUntil = alloc.StateClaimed, o.Token, time.Time{}
		}
	})
	return alloc.Settled{Pool: o.Pool, IDs: slices.Clone(o.IDs), State: alloc.StateClaimed}, nil
}

type heldAsClaimed struct{ *Model }

func (s heldAsClaimed) Level(ctx context.Context, pool alloc.PoolName) (alloc.Level, error) {
	l, err := s.Model.Level(ctx, pool)
	l.Held, l.Claimed = 0, l.Claimed+l.Held
	return l, err
}

// lying carries out what is cut off, and says that it did not.
type lying struct{ *Model }

func (s lying) Settle(ctx context.Context, o alloc.SettleOrder) (alloc.Settled, error) {
	if ctx.Err() != nil && o.Event == alloc.EventRelease {
		_, _ = s.Model.Settle(context.WithoutCancel(ctx), alloc.SettleOrder{Pool: o.Pool, Event: alloc.EventRetire, IDs: o.IDs, Token: o.Token})
		return alloc.Settled{}, alloc.Errorf(alloc.CodeUnavailable, "unavailable")
	}
	return s.Model.Settle(ctx, o)
}

type refusing struct{ *Model }

func (s refusing) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	if o.Refusal != nil {
		return alloc.Claim{}, o.Refusal
	}
	return s.Model.Claim(ctx, o)
}

type unheeding struct{ *Model }

func (s unheeding) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	o.Refusal = nil
	return s.Model.Claim(ctx, o)
}

func (s unheeding) Lease(ctx context.Context, o alloc.LeaseOrder) (alloc.Range, error) {
	o.Refusal = nil
	return s.Model.Lease(ctx, o)
}

// momentless keeps no time but that of the claim.
type momentless struct{ *Model }

func (s momentless) Settle(ctx context.Context, o alloc.SettleOrder) (alloc.Settled, error) {
	settled, err := s.Model.Settle(ctx, o)
	s.data.mu.Lock()
	defer s.data.mu.Unlock()
	if p := s.data.pools[o.Pool]; err == nil {
		for _, id := range o.IDs {
			if r := p.ids[id]; r != nil {
				r.Changed = time.Time{}
			}
		}
	}
	return settled, err
}
