package alloc

import (
	"context"
	"fmt"
)

// OperatorRequest asks for the release or the retirement of an ID of somebody else's, as it was looked at.
type OperatorRequest struct {
	// Was says by pool, ID and generation whose it was, and by the token or, where that is left out, by the client: for one generation an owner
	// never changes. A change since is refused.
	Was   IDRecord
	Event Event // EventRelease or EventRetire
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
		if err := CheckID(string(was.ID)); err != nil {
			return err
		}
		now, err := s.store.Inspect(ctx, was.Pool, was.ID)
		if err != nil {
			return err
		}
		if now.Token == "" || !now.isStill(was) {
			return Errorf(CodeNotOwner, "the ID is not whose it was when it was looked at; look at it again")
		}
		if now.State.On(r.Event).Effect == EffectRepeat {
			settled = Settled{Pool: was.Pool, IDs: []ID{was.ID}, State: now.State}
			return nil
		}
		o := SettleOrder{Pool: was.Pool, Event: r.Event, IDs: []ID{was.ID}, Token: now.Token}
		if err := CheckSettleOrder(o); err != nil {
			return err
		}
		settled, err = s.store.Settle(ctx, o)
		return err
	})
	return settled, err
}

// isStill reports whether the ID is whose it was when was was looked at.
func (r IDRecord) isStill(was IDRecord) bool {
	if was.Token == "" {
		return r.Generation == was.Generation && r.By == was.By && was.By != ""
	}
	return r.Generation == was.Generation && r.Token == was.Token
}
