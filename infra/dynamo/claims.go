package dynamo

import (
	"context"
	"time"

	"idpool/alloc"
)

const (
	// claimRounds bounds how often a claim goes on with other IDs when somebody else was faster.
	claimRounds = 200

	// maxLosses is after how many lost IDs in a row what is in stock is taken to be stale, and what comes in is looked
	// at before it is tried.
	maxLosses = 4

	// giveBackTime is how long a claim that failed may go on to give back what it has taken.
	giveBackTime = 2 * time.Second
)

// Claim implements alloc.Claims. A claim with a key is answered to its end whatever the pool's state is, if its first
// request was admitted; also in a deleted pool.
func (s *Store) Claim(ctx context.Context, o alloc.ClaimOrder) (alloc.Claim, error) {
	if ctx.Err() != nil {
		return alloc.Claim{}, outOfTime(ctx)
	}
	m, h, err := s.poolOf(ctx, o.Pool)
	if err == nil {
		m.claiming.Add(1)
		defer m.claiming.Add(-1)
		err = h.pool.CheckClaim(o)
	}
	if o.Key != nil {
		return s.claimWithKey(ctx, m, o, err)
	}
	if err != nil {
		return alloc.Claim{}, err
	}
	return s.claimPlain(ctx, m, h, o)
}

// claimPlain claims without a key: for one ID from warm stock, one conditional write.
func (s *Store) claimPlain(ctx context.Context, m *poolMemory, h *head, o alloc.ClaimOrder) (alloc.Claim, error) {
	at := s.now().UTC().Truncate(time.Millisecond)
	t := &taker{
		pool: o.Pool, policy: h.pool.Config.Policy, token: string(alloc.NewToken()),
		by: o.By, owner: o.Owner, meta: o.Metadata, at: at, until: holdEnd(at, o.Hold),
	}
	stolen := 0
	var have []listing
	mine := map[alloc.ID]bool{}
	for range claimRounds {
		got, err := s.reserve(ctx, m, int(o.Count)-len(have), mine)
		if err != nil {
			return alloc.Claim{}, s.giveUp(ctx, t, have, err)
		}
		ls := plain(got)
		haul := s.takeAll(ctx, t, ls)
		m.learn(haul)
		m.putBack(of(haul, got, untried))
		stolen += len(of(haul, ls, lost))
		for _, l := range of(haul, ls, won) {
			have = append(have, l)
			mine[l.id] = true
		}
		if haul.err != nil {
			return alloc.Claim{}, s.giveUp(ctx, t, have, haul.err)
		}
		if len(have) == int(o.Count) {
			return s.claimed(ctx, t, have, stolen)
		}
	}
	return alloc.Claim{}, s.giveUp(ctx, t, have, poolBusy(o.Pool))
}

// claimed answers a claim without a key that has all of its IDs. Where it cannot see to it that those held come back, they
// stay held until a sweep does.
func (s *Store) claimed(ctx context.Context, t *taker, have []listing, stolen int) (alloc.Claim, error) {
	if err := s.keepHolds(ctx, t, have); err != nil {
		return alloc.Claim{}, unsettled(err)
	}
	claim := t.claim(have)
	claim.Lost = stolen
	return claim, nil
}

// giveUp gives back what a batch without a key has taken before it met err, and returns the error of the claim.
func (s *Store) giveUp(ctx context.Context, t *taker, have []listing, err error) error {
	if len(have) == 0 {
		return err
	}
	// What came of the caller is no reason to leave them taken: he may have gone in the middle of it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTime)
	defer cancel()
	if berr := s.giveBack(ctx, t, have); berr != nil {
		return poolUnclear(t.pool).Because(berr) // whatever err is, it would say that nothing was taken
	}
	if alloc.Is(err, alloc.CodePoolExhausted) {
		// Others may have met us and be giving back as we do: that too few are free cannot be said.
		return poolBusy(t.pool)
	}
	return err
}

func (t *taker) claim(ls []listing) alloc.Claim {
	ids := make([]alloc.ID, len(ls))
	for i, l := range ls {
		ids[i] = l.id
	}
	claim := alloc.Claim{Pool: t.pool, IDs: ids, State: alloc.StateClaimed, Token: alloc.Token(t.token), At: t.at}
	if t.holds() {
		claim.State, claim.HeldUntil = alloc.StateHeld, t.until
	}
	return claim
}

func plain(got []stocked) []listing {
	ls := make([]listing, len(got))
	for i, l := range got {
		ls[i] = l.listing
	}
	return ls
}

// Inspect implements alloc.Claims. What a pool has forgotten is not found, although its item is still there.
func (s *Store) Inspect(ctx context.Context, pool alloc.PoolName, id alloc.ID) (alloc.IDRecord, error) {
	it, err := s.table.Get(ctx, idKey(pool, id))
	if err != nil {
		return alloc.IDRecord{}, err
	}
	if it == nil || loose(it) || it.Str(AttrState) == StateForgotten || expired(it, s.now()) {
		if _, err := s.poolHead(ctx, pool); err != nil {
			return alloc.IDRecord{}, err
		}
		return alloc.IDRecord{}, alloc.Errorf(alloc.CodeIDNotFound, "the pool %q does not know this ID; check the spelling, upper and lower case differ", pool)
	}
	return decodeID(pool, id, it), nil
}
