package alloctest

import (
	"context"
	"slices"

	"idpool/alloc"
)

// Stores that are wrong about who may settle what.

type punctual struct{ *Model }

func (s punctual) Settle(ctx context.Context, o alloc.SettleOrder) (alloc.Settled, error) {
	r, err := s.Inspect(ctx, o.Pool, o.IDs[0])
	if err == nil && r.State == alloc.StateHeld && s.now().After(r.HeldUntil) {
		return alloc.Settled{}, alloc.Refused(o.Event, []alloc.IDFault{{ID: r.ID, Code: alloc.CodeNotOwner}})
	}
	return s.Model.Settle(ctx, o)
}

type blind struct{ *Model }

func (s blind) Settle(ctx context.Context, o alloc.SettleOrder) (alloc.Settled, error) {
	if r, err := s.Inspect(ctx, o.Pool, o.IDs[0]); err == nil && r.Token != "" {
		o.Token = r.Token
	}
	return s.Model.Settle(ctx, o)
}

type tokenless struct{ *Model }

func (s tokenless) Settle(ctx context.Context, o alloc.SettleOrder) (alloc.Settled, error) {
	if o.Token == "" && o.Event == alloc.EventRelease {
		return alloc.Settled{Pool: o.Pool, IDs: slices.Clone(o.IDs), State: alloc.StateReturning}, nil
	}
	return s.Model.Settle(ctx, o)
}

type halfway struct{ *Model }

func (s halfway) Settle(ctx context.Context, o alloc.SettleOrder) (alloc.Settled, error) {
	for _, id := range o.IDs {
		one := o
		one.IDs = []alloc.ID{id}
		if _, err := s.Model.Settle(ctx, one); err != nil {
			return alloc.Settled{}, err
		}
	}
	return s.Model.Settle(ctx, o)
}

type terse struct{ *Model }

func (s terse) Settle(ctx context.Context, o alloc.SettleOrder) (alloc.Settled, error) {
	settled, err := s.Model.Settle(ctx, o)
	if e := asError(err); e != nil && len(e.IDs) > 1 {
		e.IDs = e.IDs[:1]
	}
	return settled, err
}

type once struct{ *Model }

func (s once) Settle(ctx context.Context, o alloc.SettleOrder) (alloc.Settled, error) {
	for _, id := range o.IDs {
		if r, err := s.Inspect(ctx, o.Pool, id); err == nil && o.Event == alloc.EventConfirm && r.State == alloc.StateClaimed {
			return alloc.Settled{}, alloc.Refused(o.Event, []alloc.IDFault{{ID: id, Code: alloc.CodeNotOwner}})
		}
	}
	return s.Model.Settle(ctx, o)
}

type prompt struct{ *Model }

func (s prompt) Settle(ctx context.Context, o alloc.SettleOrder) (alloc.Settled, error) {
	settled, err := s.Model.Settle(ctx, o)
	if err == nil && settled.State == alloc.StateReturning {
		_, err = s.Sweep(ctx, o.Pool)
	}
	return settled, err
}

type losing struct{ *Model }

func (s losing) Sweep(ctx context.Context, pool alloc.PoolName) (alloc.SweepReport, error) {
	var back []*modelID
	spoil(s.Model, pool, func(_ *modelPool, r *modelID) {
		if r.State == alloc.StateReturning {
			back = append(back, r)
			r.State = alloc.StateRetired
		}
	})
	report, err := s.Model.Sweep(ctx, pool)
	spoil(s.Model, pool, func(_ *modelPool, r *modelID) {
		if slices.Contains(back, r) {
			r.State = alloc.StateReturning
		}
	})
	return report, err
}

type unremembering struct{ *Model }

func (s unremembering) Sweep(ctx context.Context, pool alloc.PoolName) (alloc.SweepReport, error) {
	report, err := s.Model.Sweep(ctx, pool)
	spoil(s.Model, pool, func(_ *modelPool, r *modelID) { r.last = "" })
	return report, err
}

type elephant struct {
	*Model
	released map[alloc.Token]bool
}

func (s *elephant) Settle(ctx context.Context, o alloc.SettleOrder) (alloc.Settled, error) {
	settled, err := s.Model.Settle(ctx, o)
	spoil(s.Model, o.Pool, func(_ *modelPool, r *modelID) {
		if o.Event == alloc.EventRelease && alloc.Is(err, alloc.CodeNotOwner) && r.Generation > 1 && slices.Contains(o.IDs, r.ID) {
			settled, err = alloc.Settled{Pool: o.Pool, IDs: slices.Clone(o.IDs), State: alloc.StateReturning}, nil
		}
	})
	return settled, err
}

type stealing struct{ *Model }

func (s stealing) Settle(ctx context.Context, o alloc.SettleOrder) (alloc.Settled, error) {
	settled, err := s.Model.Settle(ctx, o)
	if err == nil && o.Event == alloc.EventRelease {
		spoil(s.Model, o.Pool, func(_ *modelPool, r *modelID) {
			if slices.Contains(o.IDs, r.ID) && r.State == alloc.StateClaimed {
				r.State = alloc.StateReturning
			}
		})
	}
	return settled, err
}
