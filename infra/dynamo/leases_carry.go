package dynamo

import (
	"context"
	"sync/atomic"

	"idpool/alloc"
)

// carryWidth is how many leases are entered at once.
const carryWidth = 8

// CarryLeases implements alloc.Restores.
func (s *Store) CarryLeases(ctx context.Context, name alloc.SequenceName, leases []alloc.LeaseRecord) (entered int, err error) {
	if err := s.isThere(ctx, name); err != nil {
		return 0, err
	}
	var count atomic.Int64
	errs := make([]error, len(leases))
	call := string(alloc.NewToken())
	each(len(leases), carryWidth, func(i int) {
		errs[i] = s.insist(ctx, func() error {
			done, err := s.carryLease(ctx, carriedItem(name, leases[i], call))
			if done {
				count.Add(1)
			}
			return err
		})
	})
	return int(count.Load()), firstOf(errs)
}

// isThere refuses a sequence that was never made, or is deleted. One that has lost its counter is there.
func (s *Store) isThere(ctx context.Context, name alloc.SequenceName) error {
	h, err := s.sequenceHead(ctx, name)
	if alloc.Is(err, alloc.CodeSequenceStopped) {
		return nil
	}
	if err != nil {
		return err
	}
	return h.CheckTo(alloc.SequenceDeleted)
}

// carriedItem is a lease as an entry of the ledger. One that could not be read there cannot be here either: it tells that there was one.
func carriedItem(name alloc.SequenceName, r alloc.LeaseRecord, call string) Item {
	l := lease{sequence: name, start: int64(r.Start), end: int64(r.End), epoch: r.Epoch, token: r.Token, by: r.By, at: r.At}
	it := l.item()
	it["ca"] = call
	if r.Proven {
		it["pr"] = true
	}
	if r.Token == "" || r.End < r.Start {
		delete(it, "end")
	}
	return it
}

// carryLease puts the entry where there is none that begins there, or one that ends sooner or cannot be read.
func (s *Store) carryLease(ctx context.Context, it Item) (done bool, err error) {
	end, whole := it["end"].(int64)
	cond := Absent("pk")
	if whole {
		cond = Any(cond, Lt("end", end))
	}
	for range changeTries {
		err := s.table.Put(ctx, it, cond)
		old, met := refusedBy(err)
		switch {
		case !met:
			return err == nil, err
		case old.Str("ca") == it.Str("ca"):
			return true, nil // our own, by an attempt whose answer was lost
		case old == nil:
			continue
		}
		if _, fault := ledgerRecord(old); fault == "" || !whole {
			return false, nil
		}
		cond = asRead(old, "end", "t", "ep")
	}
	return false, sequenceBusy(alloc.SequenceName(it.Str("pk")))
}
