package dynamo

import (
	"context"
	"errors"

	"idpool/alloc"
)

// Lease implements alloc.Sequences: the counter gives a range, the ledger proves it, and only then does it leave the
// house. What fails after the counter was raised burns the range: a gap, never a duplicate.
func (s *Store) Lease(ctx context.Context, o alloc.LeaseOrder) (alloc.Range, error) {
	if o.Key != nil {
		// Before any refusal: a replay needs no counter.
		if r, found, err := s.replayLease(ctx, o); found || err != nil {
			return r, err
		}
	}
	l, err := s.takeRange(ctx, o)
	if err != nil {
		return alloc.Range{}, err
	}
	if l.start < l.begin {
		return alloc.Range{}, s.stop(ctx, l.lease) // the counter was set to before the sequence's first number
	}
	if err := s.prove(ctx, l.lease); errors.Is(err, errOverlap) {
		return alloc.Range{}, s.stop(ctx, l.lease)
	} else if err != nil {
		return alloc.Range{}, burnt(err)
	}
	if o.Key == nil {
		return l.answer(), nil
	}
	return s.keepLease(ctx, o, l.lease)
}

// burnt marks an error after which numbers are gone although nobody got them.
func burnt(err error) error {
	e, ok := errors.AsType[*alloc.Error](err)
	if !ok {
		return err
	}
	c := *e
	c.Unknown = true
	return &c
}

// taken is a range that the counter gave, with the first number that the sequence can have.
type taken struct {
	lease
	begin int64
}

// takeRange raises the counter. The only condition that concurrent leases can break for each other is that of the
// limit, so there is no contention but for the item itself.
func (s *Store) takeRange(ctx context.Context, o alloc.LeaseOrder) (taken, error) {
	token := alloc.NewToken()
	h := s.sequences.get(o.Sequence)
	if h != nil && h.CheckLease(o) != nil {
		h = nil // what is remembered may refuse nothing
	}
	for range changeTries {
		if h == nil {
			var err error
			if h, err = s.sequenceHead(ctx, o.Sequence); err != nil {
				return taken{}, err
			}
		}
		if err := h.CheckLease(o); err != nil {
			return taken{}, err
		}
		epoch := h.Epoch
		it, err := s.table.Update(ctx, sequenceKey(o.Sequence), Update{
			Set: map[string]any{"t": string(token)}, Add: map[string]int64{"last": int64(o.Count)},
		}, mayTake(h, o.Count, token))
		own := false
		if failed, ok := errors.AsType[*ConditionFailed](err); ok {
			// With our token in it, an earlier attempt of this very call was applied and only its answer lost.
			it, own = failed.Old, failed.Old.Str("t") == string(token)
			if it == nil {
				h, err = s.headless(ctx, o.Sequence)
				if err != nil {
					return taken{}, err
				}
				continue
			}
		} else if err != nil {
			return taken{}, err
		} else {
			own = true
		}
		if h, err = readHead(o.Sequence, it); err != nil {
			return taken{}, err
		}
		s.sequences.keep(h)
		if own && h.Epoch == epoch {
			return taken{begin: int64(h.Config.Start), lease: lease{
				sequence: o.Sequence, start: h.last - int64(o.Count) + 1, end: h.last,
				epoch: epoch, token: token, by: o.By, at: s.now().Round(0).UTC(),
			}}, nil
		}
	}
	return taken{}, sequenceBusy(o.Sequence)
}

// mayTake is the condition of an increment: the sequence is what h says, and the range ends at its limit at most. A
// condition cannot add, hence the test that the limit is still the one that the bound was made from. Nor may the last
// increment be our own: then this is its repeat.
func mayTake(h *sequenceHead, n alloc.Count, token alloc.Token) Cond {
	limit := int64(h.Config.Limit)
	return All(
		Eq("ep", int64(h.Epoch)), Eq("st", string(alloc.SequenceActive)), Eq("lim", limit),
		Le("last", limit-int64(n)), Ne("t", string(token)),
	)
}
