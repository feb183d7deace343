package dynamo

import (
	"context"
	"errors"
	"time"

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
	if err := s.prove(ctx, l); errors.Is(err, errOverlap) {
		return alloc.Range{}, s.stop(ctx, l)
	} else if err != nil {
		return alloc.Range{}, burnt(err)
	}
	if o.Key == nil {
		return l.answer(), nil
	}
	return s.keepLease(ctx, o, l)
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

// takeRange raises the counter. The only condition that concurrent leases can break for each other is that of the
// limit, so there is no contention but for the item itself.
func (s *Store) takeRange(ctx context.Context, o alloc.LeaseOrder) (lease, error) {
	token := alloc.NewToken()
	h := s.sequences.get(o.Sequence, s.now())
	if h != nil && h.CheckLease(o) != nil {
		h = nil // what is remembered may refuse nothing
	}
	for range changeTries {
		if h == nil {
			var err error
			if h, err = s.sequenceHead(ctx, o.Sequence); err != nil {
				return lease{}, err
			}
		}
		if err := h.CheckLease(o); err != nil {
			return lease{}, err
		}
		it, own, err := s.increment(ctx, h, o, token)
		if err != nil {
			return lease{}, err
		}
		if it == nil {
			if h, err = s.headless(ctx, o.Sequence); err != nil {
				return lease{}, err
			}
			continue
		}
		now, err := readHead(o.Sequence, it)
		if err != nil {
			s.sequences.drop(o.Sequence)
			return lease{}, err
		}
		now.mark, now.markAt = h.mark, h.markAt
		if own && now.Epoch == h.Epoch {
			s.sequences.keep(now)
			return now.leased(o, token, s.now()), nil
		}
		if now.Epoch == h.Epoch && now.last < h.floor() {
			if h, err = s.fallen(ctx, h, o); err != nil {
				return lease{}, err
			}
			continue
		}
		s.sequences.keep(now)
		h = now
	}
	return lease{}, sequenceBusy(o.Sequence)
}

// increment returns the head after it, or as it was where it was refused, nil for none; own says that it is this call's work.
func (s *Store) increment(ctx context.Context, h *sequenceHead, o alloc.LeaseOrder, token alloc.Token) (it Item, own bool, err error) {
	it, err = s.table.Update(ctx, sequenceKey(o.Sequence), Update{
		Set: map[string]any{"t": string(token)}, Add: map[string]int64{"last": int64(o.Count)},
	}, mayTake(h, o.Count, token))
	if old, met := refusedBy(err); met {
		// With our token in it, an earlier attempt of this very call was applied and only its answer lost.
		return old, old.Str("t") == string(token), nil
	}
	return it, err == nil, err
}

// leased is the range that the increment gave.
func (h *sequenceHead) leased(o alloc.LeaseOrder, token alloc.Token, at time.Time) lease {
	return lease{
		sequence: h.Name, start: h.last - int64(o.Count) + 1, end: h.last, epoch: h.Epoch, base: h.base,
		token: token, by: o.By, at: at.Round(0).UTC(), rebuild: o.Rebuild,
	}
}

// floor is the number below which the counter cannot stand in this epoch: the mark, what this process has seen itself, and what is before
// the first number.
func (h *sequenceHead) floor() int64 { return max(h.last, h.mark, int64(h.Config.Start)-1) }

// mayTake is the condition of an increment: the sequence is what h says, and the range ends at its limit at most and begins
// above all that is known to be used. A condition cannot add, hence the test that the limit is still the one that the bound was
// made from. Nor may the last increment be our own: then this is its repeat.
func mayTake(h *sequenceHead, n alloc.Count, token alloc.Token) Cond {
	limit := int64(h.Config.Limit)
	of := []Cond{
		Eq("ep", int64(h.Epoch)), Eq("st", string(h.State)), Eq("lim", limit),
		Le("last", limit-int64(n)), Ge("last", h.floor()), Ne("t", string(token)),
	}
	switch h.State {
	case alloc.SequenceResuming:
		of = append(of, Eq("shr", int64(h.Share)))
	case alloc.SequenceFrozen:
		of = append(of, Eq("rb", string(h.Rebuild)))
	}
	return All(of...)
}

// fallen stops a sequence whose counter is below h's floor. Where that is so no more, it returns the head as it is now.
func (s *Store) fallen(ctx context.Context, h *sequenceHead, o alloc.LeaseOrder) (*sequenceHead, error) {
	now, done, err := s.halt(ctx, o.Sequence, h.Epoch, o.Rebuild, Lt("last", h.floor()))
	if err != nil {
		return nil, err
	}
	if done {
		return nil, alloc.Stopped(o.Sequence)
	}
	now.mark, now.markAt = h.mark, h.markAt
	return now, nil
}
