package dynamo

import (
	"context"

	"idpool/alloc"
)

// settleVoid carries a given-up keyed claim to its end: what the record's token owns comes back, then the record has
// failed and its key may claim again. ret is the return item that was put before the record became void. It reports
// whether there was a void to settle.
func (s *Store) settleVoid(ctx context.Context, pool alloc.PoolName, ret Item) (settled bool, err error) {
	hash, token := ret.Str(AttrKey), ret.Str(AttrToken)
	for range changeTries {
		it, err := s.table.Get(ctx, recordKey(hash))
		if err != nil {
			return false, err
		}
		state := it.Str(AttrState)
		switch {
		case it.Str(AttrToken) == token && state == RecordVoid:
			if err := s.returnOwned(ctx, pool, decodeRecord(hash, it)); err != nil {
				return false, err
			}
			return true, s.dropReturn(ctx, ret)
		case it.Str(AttrToken) == token && state == RecordLive && it.Int(AttrVersion) == ret.Int(AttrVersion):
			// The void has not happened. It may be on its way still, on this version: so that goes first.
			moved, _, err := s.changeRecord(ctx, decodeRecord(hash, it), Update{})
			if err != nil {
				return false, err
			}
			if moved {
				continue
			}
		}
		return false, s.dropReturn(ctx, ret)
	}
	return false, poolContended(pool)
}

// returnOwned brings back what a void record owns and sets it failed. None of its listings can become its token's after
// that: whoever made it void had seen each of them owned, or lost for ever, and what was owned is of the next generation.
func (s *Store) returnOwned(ctx context.Context, pool alloc.PoolName, r *record) error {
	homes := make([]*homecoming, len(r.listings))
	errs := make([]error, len(r.listings))
	each(len(r.listings), claimWidth, func(i int) {
		l := r.listings[i]
		ret := Item{AttrID: string(l.id), AttrGeneration: l.gen, AttrToken: r.token, AttrReason: ReasonVoid}
		home, _, err := s.turnBack(ctx, pool, ret)
		if home != nil {
			home.item, home.keyHash = nil, "" // the record is not live, and its own return item stands for all
		}
		homes[i], errs[i] = home, err
	})
	if err := firstOf(errs); err != nil {
		return err
	}
	if err := s.bringBack(ctx, pool, homes); err != nil {
		return err
	}
	_, err := s.table.Update(ctx, recordKey(r.hash),
		Update{
			Set: map[string]any{AttrState: RecordFailed, AttrExpires: keyExpiry(s.now())},
			Add: map[string]int64{AttrVersion: 1},
		},
		All(Eq(AttrToken, r.token), Eq(AttrState, RecordVoid)))
	if _, met := refusedBy(err); met {
		return nil
	}
	return err
}
