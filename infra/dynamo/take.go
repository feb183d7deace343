package dynamo

import (
	"context"
	"time"

	"idpool/alloc"
)

// claimWidth is how many IDs of one batch are claimed at once.
const claimWidth = 16

// taker is who takes IDs: what a claim writes into each of them.
type taker struct {
	pool    alloc.PoolName
	policy  alloc.Policy
	token   string
	by      alloc.ClientID
	owner   string
	meta    map[string]string
	keyHash string // "" without a key
	at      time.Time
	carries time.Time // when it carries out what was begun at that time, by a repeat; zero where it is the first to do so
	until   time.Time // the IDs are held until then; zero to claim them for good
	expires int64     // of the key record, in seconds
}

// forgottenAge is how long the item of an ID that a pool has forgotten stays. Until then a late write of its seeding,
// or a repeat of the claim that took it, finds it taken; then TTL removes it.
const forgottenAge = 24 * time.Hour

// attrs is what the claim sets. A pool that forgets keeps nothing of a claim without a key but what makes its repeats
// harmless, and what a key has claimed until the key has expired; but it forgets nothing that is held.
func (t *taker) attrs() map[string]any {
	set := map[string]any{AttrState: StateClaimed, AttrToken: t.token}
	switch {
	case t.holds():
		set[AttrState], set[AttrHoldEnd] = StateHeld, t.until.UnixMilli()
	case t.policy == alloc.PolicyForget:
		set[AttrExpires] = t.expires
		if t.keyHash == "" {
			set[AttrState], set[AttrExpires] = StateForgotten, t.at.Add(forgottenAge).Unix()
			return set
		}
	}
	set[AttrTaken] = t.at.UnixMilli()
	if !t.carries.IsZero() {
		set[AttrWritten] = t.carries.UnixMilli()
	}
	if t.by != "" {
		set[AttrBy] = string(t.by)
	}
	if t.owner != "" {
		set[AttrOwner] = t.owner
	}
	if len(t.meta) > 0 {
		set[AttrMetadata] = t.meta
	}
	if t.keyHash != "" {
		set[AttrKey] = t.keyHash
	}
	return set
}

// outcome is what became of one listing.
type outcome int

const (
	untried outcome = iota // nothing was done
	won                    // the ID is ours
	lost                   // it is somebody else's, or gone; for this generation for ever
	ended                  // it was ours, and is on its way back
	retired                // it was ours, and is nobody's for ever
	unclear                // it may be ours
)

// takeID claims the ID of a listing: one conditional write, that tests state and generation, and that nobody's token is on it. It
// decides who gets it.
func (s *Store) takeID(ctx context.Context, t *taker, l listing) (outcome, error) {
	for range changeTries {
		if ctx.Err() != nil {
			return untried, outOfTime(ctx)
		}
		_, err := s.table.Update(ctx, idKey(t.pool, l.id), Update{Set: t.attrs(), Quiet: true}, All(Eq(AttrState, StateFree), Eq(AttrGeneration, l.gen), Absent(AttrToken)))
		if err == nil {
			return won, nil
		}
		old, met := refusedBy(err)
		switch {
		case !met && isUnknown(err):
			return unclear, err
		case !met:
			return untried, err
		case old.Int(AttrGeneration) == l.gen-1 && old.Str(AttrState) == StateReturning:
			// Listed before it was freed: whoever does that has not come so far.
			if err := s.finishReturn(ctx, t.pool, l.id, old); err != nil {
				return untried, err
			}
		case old.Int(AttrGeneration) == l.gen && old.Str(AttrState) == StateFree && !owned(old):
			// It was freed between the test and the look.
		default:
			return t.standing(old, l), nil
		}
	}
	return untried, poolBusy(t.pool) // never lost: that would have to hold for ever
}

// standing tells what an ID that is not free, of the listing's generation, is to the taker. With our token it is our
// own write, whose answer was lost.
func (t *taker) standing(it Item, l listing) outcome {
	if it.Int(AttrGeneration) != l.gen || it.Str(AttrToken) != t.token || it == nil {
		return lost
	}
	switch it.Str(AttrState) {
	case StateReturning:
		return ended
	case StateRetired:
		return retired
	}
	return won
}

// haul is what became of a batch of listings.
type haul struct {
	outcomes []outcome // in the order of the listings
	err      error     // the first error
}

// takeAll claims the IDs of listings, side by side.
func (s *Store) takeAll(ctx context.Context, t *taker, ls []listing) haul {
	h := haul{outcomes: make([]outcome, len(ls))}
	errs := make([]error, len(ls))
	each(len(ls), claimWidth, func(i int) { h.outcomes[i], errs[i] = s.takeID(ctx, t, ls[i]) })
	for _, err := range errs {
		if err != nil && (h.err == nil || isUnknown(err) && !isUnknown(h.err)) {
			h.err = err
		}
	}
	return h
}

// of returns the items whose outcome it was.
func of[T any](h haul, list []T, o outcome) []T {
	var part []T
	for i, x := range list {
		if h.outcomes[i] == o {
			part = append(part, x)
		}
	}
	return part
}
