package alloc

import (
	"context"
	"fmt"
)

// OperatorRequest asks for the release or the retirement of an ID of somebody else's, as it was looked at.
type OperatorRequest struct {
	Was   IDRecord // pool, ID, generation and token say whose it was; a change since is refused
	Event Event    // EventRelease or EventRetire
	Why   string
}

// SettleFor releases or retires an ID in place of its owner, who cannot or does not; see Claims.Settle for what that does. It is done only if the ID
// still is whose it was when it was looked at. Needs ActionOperate. CodeNotOwner where it is not; CodeInvalidRequest; what Settle refuses.
func (s *Service) SettleFor(ctx context.Context, r OperatorRequest) (settled Settled, err error) {
	was := r.Was
	st := step{
		need: ActionOperate, on: aPool, name: string(was.Pool), verb: string(r.Event), reason: said(&r.Why),
		detail: func() string {
			return fmt.Sprintf("the ID %s of %s, in place of its owner", quoteShort(string(was.ID)), quoteShort(string(was.By)))
		},
		before: func() string { return fmt.Sprintf("%s, generation %d", was.State, was.Generation) },
	}
	err = s.administer(ctx, st, func() error {
		if r.Event != EventRelease && r.Event != EventRetire {
			return Errorf(CodeInvalidRequest, "in place of its owner an ID is released or retired; nothing else")
		}
		if err := checkWhy(r.Why); err != nil {
			return err
		}
		if err := s.onPool(ctx, was.Pool, nil)(); err != nil {
			return err
		}
		now, err := s.store.Inspect(ctx, was.Pool, was.ID)
		if err != nil {
			return err
		}
		if now.Generation == was.Generation && now.Token == was.Token && now.State.On(r.Event).Effect == EffectRepeat {
			settled = Settled{Pool: was.Pool, IDs: []ID{was.ID}, State: now.State}
			return nil
		}
		if now.Generation != was.Generation || now.Token != was.Token || was.Token == "" {
			return Errorf(CodeNotOwner, "the ID is not whose it was when it was looked at; look at it again")
		}
		o := SettleOrder{Pool: was.Pool, Event: r.Event, IDs: []ID{was.ID}, Token: was.Token}
		if err := CheckSettleOrder(o); err != nil {
			return err
		}
		settled, err = s.store.Settle(ctx, o)
		return err
	})
	return settled, err
}
