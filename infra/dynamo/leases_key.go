package dynamo

import (
	"context"
	"errors"
	"time"

	"idpool/alloc"
)

// A lease's key record is the item K#HASH / K like a claim's, with the range in place of listings:
//
//	fp   fingerprint of the request     born  when, in nanoseconds     exp  when it ends, in seconds
//	seq  sequence      beg, end  the range      ep  epoch      t  token of the lease      at  when, in nanoseconds
//
// It is put after the proof: whoever finds it finds a range that may be answered.

func leaseKeyItem(o alloc.LeaseOrder, l lease, now time.Time) Item {
	k := leaseKey(o)
	return Item{
		"pk": k.PK, "sk": k.SK, "fp": o.Key.Fingerprint, "born": now.UnixNano(), "exp": keyExpiry(now),
		"seq": string(l.sequence), "beg": l.start, "end": l.end, "ep": int64(l.epoch), "t": string(l.token), "at": l.at.UnixNano(),
	}
}

func leaseKey(o alloc.LeaseOrder) Key { return recordKey(o.Key.Hash) }

// replayLease answers from the key record; found is false where there is none that counts.
func (s *Store) replayLease(ctx context.Context, o alloc.LeaseOrder) (r alloc.Range, found bool, err error) {
	it, err := s.table.Get(ctx, leaseKey(o))
	if err != nil {
		return alloc.Range{}, false, err
	}
	// Expired is absent: the table's own expiry may come days late.
	if it == nil || it.Int("exp") <= s.now().Unix() {
		return alloc.Range{}, false, nil
	}
	r, err = replayedRange(o, it)
	return r, err == nil, err
}

func replayedRange(o alloc.LeaseOrder, it Item) (alloc.Range, error) {
	if it.Str("fp") != o.Key.Fingerprint {
		return alloc.Range{}, alloc.KeyMismatch()
	}
	return alloc.Range{
		Sequence: alloc.SequenceName(it.Str("seq")), Start: alloc.Number(it.Int("beg")), End: alloc.Number(it.Int("end")),
		Epoch: alloc.Epoch(it.Int("ep")), Token: alloc.Token(it.Str("t")), At: time.Unix(0, it.Int("at")).UTC(), Replayed: true,
	}, nil
}

// keepLease binds the proven range to the key, or answers the range of another request with the same key that was
// faster.
func (s *Store) keepLease(ctx context.Context, o alloc.LeaseOrder, l lease) (alloc.Range, error) {
	now := s.now()
	err := s.table.Put(ctx, leaseKeyItem(o, l, now), Any(Absent("pk"), Le("exp", now.Unix())))
	if err == nil {
		return l.answer(), nil
	}
	failed, ok := errors.AsType[*ConditionFailed](err)
	switch {
	case !ok:
		return alloc.Range{}, burnt(err)
	case failed.Old.Str("t") == string(l.token):
		return l.answer(), nil
	case failed.Old == nil:
		return alloc.Range{}, burnt(sequenceBusy(o.Sequence)) // it was there and is gone: the table has just expired it
	}
	// Ours goes to nobody. That is for those who read the ledger to know; nothing depends on it.
	_, _ = s.table.Update(ctx, l.key(), Update{Set: map[string]any{"un": true}}, Eq("t", string(l.token))) //nolint:errcheck // see above
	return replayedRange(o, failed.Old)
}
