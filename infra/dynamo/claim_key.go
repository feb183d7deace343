package dynamo

import (
	"context"
	"errors"
	"slices"

	"idpool/alloc"
)

// keyedClaim is a claim with a key on its way. Whoever meets the record carries it out, in any number of processes.
type keyedClaim struct {
	s     *Store
	m     *poolMemory // nil where the pool has no head
	order alloc.ClaimOrder
	// refusal is why the pool takes no new claims, if it does not. What was admitted before is finished all the same.
	refusal error
	have    map[listing]bool // claimed by this call
	kept    map[listing]bool // comes back by itself, or is held no longer: as this call has read it

	worked bool // there was something left to be done
	stolen int  // listings that were tried and lost
}

// claimWithKey claims with a key: from warm stock, the put of the key record and the write of each ID. Before any
// refusal the record is read, since a repeat needs no free ID, and before stock is brought in, since it needs none either.
func (s *Store) claimWithKey(ctx context.Context, m *poolMemory, o alloc.ClaimOrder, refusal error) (alloc.Claim, error) {
	c := &keyedClaim{s: s, m: m, order: o, refusal: refusal, have: map[listing]bool{}, kept: map[listing]bool{}}
	if refusal == nil && !m.suffices(int(o.Count), nil) {
		there, err := s.table.Get(ctx, recordKey(o.Key.Hash))
		if err != nil {
			return alloc.Claim{}, err
		}
		if claim, gone, err := c.meet(ctx, there); !gone {
			return claim, err
		}
	}
	for range changeTries {
		if c.refusal != nil {
			return c.repeatOr(ctx, c.refusal)
		}
		got, err := s.reserve(ctx, m, int(o.Count), nil)
		if err != nil {
			return c.repeatOr(ctx, err)
		}
		h, _ := m.last(s.now())
		r := newRecord(o, plain(got), h, s.now())
		there, err := s.putRecord(ctx, r)
		if err != nil {
			if !isUnknown(err) {
				m.putBack(got)
			}
			return alloc.Claim{}, err
		}
		if there == nil {
			return c.carryOut(ctx, r, false)
		}
		m.putBack(got)
		claim, gone, err := c.meet(ctx, there)
		if !gone {
			return claim, err
		}
	}
	return alloc.Claim{}, poolBusy(o.Pool)
}

// repeatOr answers from the key's record, and where there is none that counts, refuses.
func (c *keyedClaim) repeatOr(ctx context.Context, refusal error) (alloc.Claim, error) {
	switch alloc.CodeOf(refusal) {
	case alloc.CodeUnavailable, alloc.CodeInternal:
		if !c.ordered(refusal) {
			return alloc.Claim{}, refusal // no refusal of the pool's: the table does not answer
		}
	}
	there, err := c.s.table.Get(ctx, recordKey(c.order.Key.Hash))
	if err != nil {
		return alloc.Claim{}, err
	}
	claim, gone, err := c.meet(ctx, there)
	if gone {
		return alloc.Claim{}, refusal
	}
	return claim, err
}

// ordered reports whether it is the order itself that brought the refusal.
func (c *keyedClaim) ordered(refusal error) bool {
	return c.order.Refusal != nil && errors.Is(refusal, c.order.Refusal)
}

// meet answers from the record that is there; gone says that none counts.
func (c *keyedClaim) meet(ctx context.Context, there Item) (claim alloc.Claim, gone bool, err error) {
	switch {
	case absentRecord(there, c.s.now()):
		return alloc.Claim{}, true, nil
	case there.Str(AttrState) == RecordVoid:
		return alloc.Claim{}, false, keyBusy()
	case there.Str(AttrPrint) != c.order.Key.Fingerprint:
		return alloc.Claim{}, false, alloc.KeyMismatch()
	}
	claim, err = c.carryOut(ctx, decodeRecord(c.order.Key.Hash, there), true)
	return claim, false, err
}

func (c *keyedClaim) taker(r *record) *taker {
	t := &taker{
		pool: c.order.Pool, token: r.token, by: c.order.By, owner: c.order.Owner, meta: c.order.Metadata,
		keyHash: r.hash, at: r.born, until: r.until, expires: r.expires,
	}
	if c.m != nil {
		h, _ := c.m.last(c.s.now())
		t.policy = h.pool.Config.Policy
	}
	return t
}

// carryOut claims what the record names and answers it. Of a record that was met it first reads what is claimed
// already: mostly all of it.
func (c *keyedClaim) carryOut(ctx context.Context, r *record, met bool) (alloc.Claim, error) {
	for range claimRounds {
		t := c.taker(r)
		if met {
			t.carries = c.s.now()
		}
		haul, err := c.haul(ctx, t, r, met)
		if err == nil {
			err = haul.err
		}
		if err != nil {
			return alloc.Claim{}, unsettled(err)
		}
		missing := of(haul, r.listings, lost)
		switch {
		case haul.over():
			// Given back or retired by its owner, or its hold has ended: unless another has given the record up, which it
			// says as it is now.
			now, err := c.again(ctx, r)
			if err != nil {
				return alloc.Claim{}, err
			}
			if now.version == r.version {
				return c.answer(ctx, t, r, haul, met)
			}
			r = now
		case len(missing) == 0 || r.state == RecordEnded:
			return c.answer(ctx, t, r, haul, met)
		default:
			there, moved, err := c.exchange(ctx, t, r, haul, missing, met)
			if err != nil {
				return alloc.Claim{}, err
			}
			if moved {
				if r, err = c.still(r, there); err != nil {
					return alloc.Claim{}, err
				}
			}
		}
	}
	return alloc.Claim{}, unsettled(poolBusy(c.order.Pool))
}

// answer answers what the record's token has or had. What is on its way back is told, and so is what it has no longer:
// a record ends only when its claim was complete, or when the time of its holds is over.
func (c *keyedClaim) answer(ctx context.Context, t *taker, r *record, h haul, met bool) (alloc.Claim, error) {
	if err := c.keepHolds(ctx, t, of(h, r.listings, won)); err != nil {
		return alloc.Claim{}, unsettled(err)
	}
	claim := t.claim(r.listings)
	claim.Replayed, claim.Finished, claim.Lost = met, met && c.worked, c.stolen
	for i, o := range h.outcomes {
		switch o {
		case won:
		case retired:
			claim.Ended = append(claim.Ended, alloc.EndedID{ID: claim.IDs[i], State: alloc.StateRetired})
		default:
			claim.Ended = append(claim.Ended, alloc.EndedID{ID: claim.IDs[i], State: alloc.StateReturning})
		}
	}
	if len(claim.Ended) == len(claim.IDs) {
		return alloc.Claim{}, alloc.KeyEnded()
	}
	claim.Replayed = claim.Replayed || len(claim.Ended) > 0 // another has answered it before
	return claim, nil
}

// keepHolds sees to it that what is held comes back by itself.
func (c *keyedClaim) keepHolds(ctx context.Context, t *taker, ls []listing) error {
	if !t.holds() {
		return nil
	}
	ls = slices.DeleteFunc(ls, func(l listing) bool { return c.kept[l] })
	c.worked = c.worked || len(ls) > 0
	return c.s.keepHolds(ctx, t, ls)
}

// again reads the record again, which must still stand for what it did.
func (c *keyedClaim) again(ctx context.Context, r *record) (*record, error) {
	there, err := c.s.table.Get(ctx, recordKey(r.hash))
	if err != nil {
		return nil, unsettled(err)
	}
	return c.still(r, there)
}

// still returns the record as it is now, if it still stands for what it did.
func (c *keyedClaim) still(r *record, there Item) (*record, error) {
	switch {
	case there.Str(AttrToken) != r.token: // or it is gone
		return nil, unsettled(poolBusy(c.order.Pool)) // it has expired under us
	case there.Str(AttrState) == RecordFailed:
		return nil, poolBusy(c.order.Pool) // given up by another who carried it out
	case there.Str(AttrState) == RecordVoid:
		return nil, keyBusy()
	}
	return decodeRecord(r.hash, there), nil
}

// haul claims those of the record's listings that this call has not claimed yet. Of a record that was met, or has ended,
// they are read first, strongly; where it has ended, or an ID of it is on its way back, nothing more is claimed.
func (c *keyedClaim) haul(ctx context.Context, t *taker, r *record, met bool) (haul, error) {
	all := haul{outcomes: make([]outcome, len(r.listings))}
	var open []int // what is still to be claimed
	look := met || r.state == RecordEnded
	states := map[alloc.ID]Item{}
	if look {
		if err := c.look(ctx, t, r, states); err != nil {
			return haul{}, err
		}
	}
	for i, l := range r.listings {
		switch {
		case look:
			all.outcomes[i] = t.standing(states[l.id], l)
		case c.have[l]:
			all.outcomes[i] = won
		default:
			all.outcomes[i] = lost
		}
		if all.outcomes[i] == lost {
			open = append(open, i)
		}
	}
	if r.state == RecordEnded || all.over() || len(open) == 0 {
		return all, nil
	}
	if c.m == nil {
		return haul{}, c.refusal // without its head the pool's policy is not known
	}
	ls := make([]listing, len(open))
	for i, j := range open {
		ls[i] = r.listings[j]
	}
	c.worked = true
	rest := c.s.takeAll(ctx, t, ls)
	c.m.learn(rest)
	c.stolen += len(of(rest, ls, lost))
	all.err = rest.err
	for i, j := range open {
		all.outcomes[j] = rest.outcomes[i]
		if rest.outcomes[i] == won {
			c.have[ls[i]] = true
		}
	}
	return all, nil
}

// look reads the IDs of the record, and, where they are held, the return items by which they come back.
func (c *keyedClaim) look(ctx context.Context, t *taker, r *record, states map[alloc.ID]Item) error {
	n := len(r.listings)
	keys := make([]Key, n, 2*n)
	for i, l := range r.listings {
		keys[i] = idKey(t.pool, l.id)
	}
	if t.holds() {
		for _, l := range r.listings {
			keys = append(keys, returnKey(t.pool, l))
		}
	}
	items, err := c.s.getAll(ctx, keys)
	if err != nil {
		return err
	}
	for i, l := range r.listings {
		states[l.id] = items[i]
		c.kept[l] = t.holds() && (items[n+i] != nil || items[i].Str(AttrState) != StateHeld && t.standing(items[i], l) == won)
	}
	return nil
}

// over reports whether an ID that was had is on its way back, or retired.
func (h haul) over() bool {
	return slices.Contains(h.outcomes, ended) || slices.Contains(h.outcomes, retired)
}

// exchange puts fresh listings in the place of those that were lost, or gives the record up where there are none. Where
// the record has moved on, what is there now is returned.
func (c *keyedClaim) exchange(ctx context.Context, t *taker, r *record, h haul, missing []listing, met bool) (there Item, moved bool, err error) {
	owned := of(h, r.listings, won)
	if met {
		outlived, err := c.outlived(ctx, r)
		if err != nil {
			return nil, false, unsettled(err)
		}
		if outlived {
			moved, there, err = c.s.changeRecord(ctx, r, Update{Set: map[string]any{AttrState: RecordEnded}})
			return there, moved, unsettledBut(err)
		}
	}
	keep := make(map[alloc.ID]bool, len(r.listings))
	for _, l := range r.listings {
		keep[l.id] = true
	}
	for _, l := range missing {
		delete(keep, l.id) // of another generation it may be free again
	}
	fresh, err := c.fresh(ctx, len(missing), keep)
	if err != nil {
		switch alloc.CodeOf(err) {
		case alloc.CodeThrottled, alloc.CodeUnavailable, alloc.CodeInternal, alloc.CodeBusy, alloc.CodePoolRebuilding:
			return nil, false, unsettled(err) // the repeat goes on with the record
		}
		return c.abandon(ctx, t, r, owned, err)
	}
	ls := r.replace(missing, plain(fresh))
	moved, there, err = c.s.changeRecord(ctx, r, Update{Set: map[string]any{AttrListings: listingTexts(ls)}})
	if moved || err != nil && !isUnknown(err) {
		c.m.putBack(fresh)
	}
	if err != nil {
		return nil, false, unsettled(err)
	}
	return there, moved, nil
}

// outlived reports whether the record is from before a restore of the table. It may have been carried out in what is lost, and been answered: so
// what its token owns is its client's, and what that has not, was given back or is somebody else's by now. Where it owns nothing, its client may have
// others, that came into the record in what is lost: nothing more is taken, and the key has ended.
func (c *keyedClaim) outlived(ctx context.Context, r *record) (bool, error) {
	h, err := c.s.poolHead(ctx, c.order.Pool)
	if err != nil {
		return false, err
	}
	return h.restored > r.restored, nil
}

// fresh takes listings for a record that was admitted: a refusal that came with the order is not about it.
func (c *keyedClaim) fresh(ctx context.Context, n int, keep map[alloc.ID]bool) ([]stocked, error) {
	if c.refusal != nil && !c.ordered(c.refusal) {
		return nil, c.refusal
	}
	return c.s.reserve(ctx, c.m, n, keep)
}

// abandon gives the record up. With nothing owned it fails at once; else it becomes void, and what it owns is given
// back, by this call if there is time and else by a sweep. Its return item comes first: so a void record is never
// without one.
func (c *keyedClaim) abandon(ctx context.Context, t *taker, r *record, owned []listing, refusal error) (there Item, moved bool, err error) {
	if len(owned) == 0 {
		moved, there, err = c.s.changeRecord(ctx, r, Update{Set: map[string]any{AttrState: RecordFailed}})
		if err != nil {
			return nil, false, unsettled(err)
		}
		if moved {
			return there, true, nil
		}
		return nil, false, refusal
	}
	ret := item(voidKey(t.pool, r.hash, r.token), Item{
		AttrReason: ReasonVoid, AttrKey: r.hash, AttrToken: r.token, AttrVersion: r.version, AttrDue: c.s.now().UnixMilli(),
	})
	if err := c.s.table.Put(ctx, ret, Any(Absent(AttrPK), Lt(AttrVersion, r.version))); err != nil {
		if _, met := refusedBy(err); !met {
			return nil, false, unsettled(err)
		}
	}
	moved, there, err = c.s.changeRecord(ctx, r, Update{Set: map[string]any{AttrState: RecordVoid}, Remove: []string{AttrExpires}})
	if err != nil {
		return nil, false, unsettled(err)
	}
	if moved {
		return there, true, nil
	}
	_, _ = c.s.settleVoid(ctx, t.pool, ret) //nolint:errcheck // a sweep does it if this does not
	if alloc.Is(refusal, alloc.CodePoolExhausted) {
		refusal = poolBusy(t.pool) // as for a batch without a key: others may be giving back as we do
	}
	return nil, false, refusal
}
