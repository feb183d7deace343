package dynamo

import (
	"context"
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
}

// claimWithKey claims with a key: from warm stock, the put of the key record and the write of each ID. Before any
// refusal the record is read, since a repeat needs no free ID, and before stock is brought in, since it needs none either.
func (s *Store) claimWithKey(ctx context.Context, m *poolMemory, o alloc.ClaimOrder, refusal error) (alloc.Claim, error) {
	c := &keyedClaim{s: s, m: m, order: o, refusal: refusal, have: map[listing]bool{}}
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
		r := newRecord(o.Key, plain(got), s.now())
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
		return alloc.Claim{}, refusal // no refusal of the pool's: the table does not answer
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

// meet answers from the record that is there; gone says that none counts.
func (c *keyedClaim) meet(ctx context.Context, there Item) (claim alloc.Claim, gone bool, err error) {
	switch {
	case absentRecord(there, c.s.now()):
		return alloc.Claim{}, true, nil
	case there.Str(AttrState) == RecordVoid:
		return alloc.Claim{}, false, keyBusy()
	case there.Str(AttrPrint) != c.order.Key.Fingerprint:
		return alloc.Claim{}, false, keyMismatch()
	}
	claim, err = c.carryOut(ctx, decodeRecord(c.order.Key.Hash, there), true)
	return claim, false, err
}

func (c *keyedClaim) taker(r *record) *taker {
	t := &taker{
		pool: c.order.Pool, token: r.token, by: c.order.By, owner: c.order.Owner, meta: c.order.Metadata,
		keyHash: r.hash, at: r.born, expires: r.expires,
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
		haul, err := c.haul(ctx, t, r, met)
		if err == nil {
			err = haul.err
		}
		if err != nil {
			return alloc.Claim{}, unsettled(err)
		}
		if r.state != RecordEnded && slices.Contains(haul.outcomes, ended) {
			// Released, or given back because another has given the record up: that says the record as it is now.
			return alloc.Claim{}, c.whyEnded(ctx, r)
		}
		if r.state == RecordEnded {
			return c.answerEnded(t, r, haul)
		}
		missing := of(haul, r.listings, lost)
		if len(missing) == 0 {
			claim := t.claim(r.listings)
			claim.Replayed = met
			return claim, nil
		}
		there, moved, err := c.exchange(ctx, t, r, haul, missing)
		if err != nil {
			return alloc.Claim{}, err
		}
		if moved {
			if r, err = c.still(r, there); err != nil {
				return alloc.Claim{}, err
			}
		}
	}
	return alloc.Claim{}, unsettled(poolBusy(c.order.Pool))
}

// whyEnded reads the record again and says why an ID of its is on its way back.
func (c *keyedClaim) whyEnded(ctx context.Context, r *record) error {
	there, err := c.s.table.Get(ctx, recordKey(r.hash))
	if err != nil {
		return unsettled(err)
	}
	if _, err := c.still(r, there); err != nil {
		return err
	}
	return keyEnded()
}

// still returns the record as it is now, if it still stands for what it did.
func (c *keyedClaim) still(r *record, there Item) (*record, error) {
	switch {
	case there.Str(AttrToken) != r.token:
		return nil, unsettled(poolBusy(c.order.Pool)) // it has expired under us
	case there.Str(AttrState) == RecordFailed:
		return nil, poolBusy(c.order.Pool) // given up by another who carried it out
	case there.Str(AttrState) == RecordVoid:
		return nil, keyBusy()
	}
	return decodeRecord(r.hash, there), nil
}

// haul claims those of the record's listings that this call has not claimed yet. Of a record that was met they are read
// first, strongly, and one that has ended is only read.
func (c *keyedClaim) haul(ctx context.Context, t *taker, r *record, met bool) (haul, error) {
	all := haul{outcomes: make([]outcome, len(r.listings))}
	var open []int // what is still to be claimed
	states := map[alloc.ID]Item{}
	if met {
		ids := make([]alloc.ID, len(r.listings))
		for i, l := range r.listings {
			ids[i] = l.id
		}
		if err := c.s.readIDs(ctx, t.pool, ids, states); err != nil {
			return haul{}, err
		}
	}
	for i, l := range r.listings {
		switch {
		case met:
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
	if r.state == RecordEnded || len(open) == 0 {
		return all, nil
	}
	if c.m == nil {
		return haul{}, c.refusal // without its head the pool's policy is not known
	}
	ls := make([]listing, len(open))
	for i, j := range open {
		ls[i] = r.listings[j]
	}
	rest := c.s.takeAll(ctx, t, ls)
	c.m.learn(rest)
	all.err = rest.err
	for i, j := range open {
		all.outcomes[j] = rest.outcomes[i]
		if rest.outcomes[i] == won {
			c.have[ls[i]] = true
		}
	}
	return all, nil
}

// answerEnded answers a key of whose IDs some have come back or were retired.
func (c *keyedClaim) answerEnded(t *taker, r *record, h haul) (alloc.Claim, error) {
	if len(of(h, r.listings, won)) < len(r.listings) {
		return alloc.Claim{}, keyEnded()
	}
	claim := t.claim(r.listings)
	claim.Replayed = true
	return claim, nil
}

// exchange puts fresh listings in the place of those that were lost, or gives the record up where there are none. Where
// the record has moved on, what is there now is returned.
func (c *keyedClaim) exchange(ctx context.Context, t *taker, r *record, h haul, missing []listing) (there Item, moved bool, err error) {
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
		return c.abandon(ctx, t, r, of(h, r.listings, won), err)
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

func (c *keyedClaim) fresh(ctx context.Context, n int, keep map[alloc.ID]bool) ([]stocked, error) {
	if c.refusal != nil {
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
