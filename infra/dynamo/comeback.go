package dynamo

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"

	"idpool/alloc"
)

// An ID comes back in six steps, each a conditional write that may be repeated by anybody:
//
//  1. its return item is put, keyed by ID and generation;
//  2. it becomes returning, which decides every race for it;
//  3. the key record that claimed it ends, if it lives;
//  4. it is listed, of the next generation, in a new chunk;
//  5. it becomes free, of the next generation;
//  6. the return item goes.
//
// A crash anywhere leaves the return item, by which a sweep does the rest.

// homecoming is an ID that is returning: step 2 is done.
type homecoming struct {
	listing
	token   string
	keyHash string
	item    Item // the return item; nil where there is none of its own
}

// errSeededAgain says that an ID was seeded again, in a pool that forgets, before whoever had taken it gave it back.
var errSeededAgain = errors.New("an ID was seeded again before it was given back")

// giveBack brings back IDs that a batch without a key has taken. Without an error at least step 1 is done for each, and
// the rest by this call or by the next sweep.
func (s *Store) giveBack(ctx context.Context, t *taker, ls []listing) error {
	items := make([]Item, len(ls))
	errs := make([]error, len(ls))
	each(len(ls), claimWidth, func(i int) {
		items[i] = returnItem(t.pool, ls[i], t.token, ReasonGivenUp, 0)
		errs[i] = s.insist(ctx, func() error { return s.table.Put(ctx, items[i], Absent(AttrPK)) })
		if _, met := refusedBy(errs[i]); met {
			errs[i] = nil
		}
	})
	if err := firstOf(errs); err != nil {
		return err
	}
	homes := make([]*homecoming, len(ls))
	each(len(ls), claimWidth, func(i int) {
		home, moved, _ := s.turnBack(ctx, t.pool, items[i]) //nolint:errcheck // a sweep repeats it
		if homes[i] = home; moved {
			errs[i] = errSeededAgain
		}
	})
	_ = s.bringBack(ctx, t.pool, homes) //nolint:errcheck // a sweep repeats it
	return firstOf(errs)
}

// turnBack does step 2 for a return item. Without an error and a homecoming the ID is not to come back by this item;
// moved says that it never will be, so that the item is of no use.
func (s *Store) turnBack(ctx context.Context, pool alloc.PoolName, ret Item) (home *homecoming, moved bool, err error) {
	l := listing{alloc.ID(ret.Str(AttrID)), ret.Int(AttrGeneration)}
	token := ret.Str(AttrToken)
	cond := []Cond{Eq(AttrToken, token), Eq(AttrGeneration, l.gen)}
	if ret.Str(AttrReason) == ReasonHold {
		due := ret.Int(AttrDue)
		cond = append(cond, Eq(AttrState, StateHeld), Eq(AttrHoldEnd, due), Le(AttrHoldEnd, s.now().UnixMilli()))
	} else {
		taken := []Cond{Eq(AttrState, StateHeld), Eq(AttrState, StateClaimed)}
		if ret.Str(AttrReason) == ReasonGivenUp { // nobody was told of these
			taken = append(taken, Eq(AttrState, StateForgotten))
		}
		cond = append(cond, Any(taken...))
	}
	// It must not expire on its way.
	it, err := s.table.Update(ctx, idKey(pool, l.id), Update{Set: map[string]any{AttrState: StateReturning}, Remove: []string{AttrExpires}}, All(cond...))
	old, met := refusedBy(err)
	switch {
	case err == nil:
	case !met:
		return nil, false, err
	case old == nil || old.Int(AttrGeneration) > l.gen:
		return nil, true, nil
	case old.Int(AttrGeneration) < l.gen || old.Str(AttrState) == StateFree:
		return nil, false, nil // not taken yet by whom the item is about
	case old.Str(AttrToken) != token || old.Str(AttrState) == StateRetired:
		return nil, true, nil
	case old.Str(AttrState) == StateReturning:
		it = old
	case old.Str(AttrState) == StateHeld:
		return nil, false, s.postpone(ctx, ret, old.Int(AttrHoldEnd))
	default:
		return nil, true, nil // a hold that was confirmed
	}
	return &homecoming{listing: l, token: token, keyHash: it.Str(AttrKey), item: ret}, false, nil
}

// postpone moves the return item of a hold to when the hold, which was renewed, ends now.
func (s *Store) postpone(ctx context.Context, ret Item, end int64) error {
	due := ret.Int(AttrDue)
	if end == due {
		return nil // not past by our clock
	}
	_, err := s.table.Update(ctx, ret.Key(), Update{Set: map[string]any{AttrDue: end}}, All(Eq(AttrReason, ReasonHold), Eq(AttrDue, due)))
	if _, met := refusedBy(err); met {
		return nil
	}
	return err
}

// bringBack does steps 3 to 6 for IDs that are returning; nil ones are left out.
func (s *Store) bringBack(ctx context.Context, pool alloc.PoolName, homes []*homecoming) error {
	homes = slices.DeleteFunc(homes, func(h *homecoming) bool { return h == nil })
	if len(homes) == 0 {
		return nil
	}
	errs := make([]error, len(homes))
	each(len(homes), claimWidth, func(i int) {
		errs[i] = s.insist(ctx, func() error { return s.endRecord(ctx, homes[i].keyHash, homes[i].token) })
	})
	if err := firstOf(errs); err != nil {
		return err
	}
	if err := s.listAgain(ctx, pool, homes); err != nil {
		return err
	}
	each(len(homes), claimWidth, func(i int) {
		home := homes[i]
		if errs[i] = s.insist(ctx, func() error { return s.free(ctx, pool, home.listing, home.token) }); errs[i] != nil || home.item == nil {
			return
		}
		errs[i] = s.insist(ctx, func() error { return s.dropReturn(ctx, home.item) })
	})
	return firstOf(errs)
}

// listAgain is step 4. Another run of the same steps may do it at the same time, or was cut off behind it: so it leaves out
// what the last chunks list, and looks again where somebody else has published since. With that an ID is listed once,
// unless more than lookBack chunks were published between the two runs.
func (s *Store) listAgain(ctx context.Context, pool alloc.PoolName, homes []*homecoming) error {
	for try := range listTries {
		h, err := s.poolHead(ctx, pool)
		if err != nil {
			return err
		}
		if h, err = s.settleTail(ctx, h); err != nil {
			return err
		}
		listed, err := s.listedLast(ctx, h)
		if err != nil {
			return err
		}
		var ls []listing
		for _, home := range homes {
			if l := (listing{home.id, home.gen + 1}); !listed[l] {
				ls = append(ls, l)
			}
		}
		if len(ls) == 0 {
			return nil
		}
		guard := once()
		if try == listTries-1 {
			guard = nil // listed twice rather than not at all
		}
		if _, err = s.publish(ctx, h, relisted(drafts(pool, ls, h.seeded)), guard, nil); !errors.Is(err, errReplan) {
			return err
		}
	}
	return nil
}

const (
	// lookBack is how many of the last chunks are looked at for IDs on their way back: as many as one read brings.
	lookBack = maxBatchGet

	// listTries is how often it is looked where others publish at the same time.
	listTries = 20
)

// listedLast is what the last chunks list of those that no sweep has passed.
func (s *Store) listedLast(ctx context.Context, h *head) (map[listing]bool, error) {
	var keys []Key
	for n := max(h.lo, h.tl-lookBack); n < h.tl; n++ {
		keys = append(keys, chunkKey(h.pool.Name, h.series, n))
	}
	if len(keys) == 0 {
		return nil, nil
	}
	items, err := s.getAll(ctx, keys)
	if err != nil {
		return nil, err
	}
	listed := map[listing]bool{}
	for i, it := range items {
		for _, l := range decodeChunk(h.tl-int64(len(items)-i), it).listings {
			listed[l] = true
		}
	}
	return listed, nil
}

// finishReturn does steps 3 and 5 for an ID that is returning and listed already.
func (s *Store) finishReturn(ctx context.Context, pool alloc.PoolName, id alloc.ID, it Item) error {
	if err := s.endRecord(ctx, it.Str(AttrKey), it.Str(AttrToken)); err != nil {
		return err
	}
	return s.free(ctx, pool, listing{id, it.Int(AttrGeneration)}, it.Str(AttrToken))
}

// free is step 5. That the ID has moved on means that somebody else has done it. The token stays as the last one: by it a
// release that is repeated later knows that it was done.
func (s *Store) free(ctx context.Context, pool alloc.PoolName, l listing, token string) error {
	_, err := s.table.Update(ctx, idKey(pool, l.id),
		Update{Set: map[string]any{AttrState: StateFree, AttrGeneration: l.gen + 1, AttrLast: markOf(token)}, Remove: ownership},
		All(Eq(AttrState, StateReturning), Eq(AttrToken, token), Eq(AttrGeneration, l.gen)))
	if _, met := refusedBy(err); met {
		return nil
	}
	return err
}

// markOf is what an ID that has come back keeps of the token. It is short, as the item stays within one write unit, and
// decides nothing but whether a release is told that it has happened before.
func markOf(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:7]
}

// dropReturn is step 6: the item goes if its reason is what it was.
func (s *Store) dropReturn(ctx context.Context, ret Item) error {
	cond := []Cond{Eq(AttrReason, ret.Str(AttrReason)), Eq(AttrToken, ret.Str(AttrToken))}
	if v, ok := ret[AttrVersion]; ok {
		cond = append(cond, Eq(AttrVersion, v))
	}
	_, err := s.table.Delete(ctx, ret.Key(), All(cond...))
	if _, met := refusedBy(err); met {
		return nil
	}
	return err
}

// giveWay ends a return item that is of no use. It may stand in the place of another's: whoever gives up a batch puts an item for what he may
// have taken, and perhaps has not; then who holds the ID, or is giving it back, in that very generation finds the place taken. So the item is replaced
// by that one's: of one generation an ID has one owner only, so there is never another.
func (s *Store) giveWay(ctx context.Context, pool alloc.PoolName, ret Item) error {
	l := listing{alloc.ID(ret.Str(AttrID)), ret.Int(AttrGeneration)}
	it, err := s.table.Get(ctx, idKey(pool, l.id))
	if err != nil {
		return err
	}
	token := it.Str(AttrToken)
	state := it.Str(AttrState)
	if it.Int(AttrGeneration) != l.gen || token == ret.Str(AttrToken) || state != StateHeld && state != StateReturning {
		return s.dropReturn(ctx, ret)
	}
	reason, due := ReasonRelease, int64(0)
	if state == StateHeld {
		reason, due = ReasonHold, it.Int(AttrHoldEnd)
	}
	err = s.table.Put(ctx, returnItem(pool, l, token, reason, due), All(Eq(AttrReason, ret.Str(AttrReason)), Eq(AttrToken, ret.Str(AttrToken))))
	if _, met := refusedBy(err); met {
		return nil
	}
	return err
}

// endRecord is step 3. Like every change of a key record it raises its version: so nobody who saw it before can change
// it any more.
func (s *Store) endRecord(ctx context.Context, hash, token string) error {
	if hash == "" {
		return nil
	}
	_, err := s.table.Update(ctx, recordKey(hash),
		Update{Set: map[string]any{AttrState: RecordEnded}, Add: map[string]int64{AttrVersion: 1}},
		All(Eq(AttrToken, token), Eq(AttrState, RecordLive)))
	if _, met := refusedBy(err); met {
		return nil
	}
	return err
}

func firstOf(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
