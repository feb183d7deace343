package dynamo

import (
	"context"
	"time"

	"idpool/alloc"
)

// carryWidth is how many leases are carried at once.
const carryWidth = 8

// What is carried may overlap what is there, and each other. So an entry says in `rc` how far up entries go that begin below it and reach over
// its start, where that is further than it goes itself: whoever walks down the ledger to the first proven entry has met all that reaches up to
// where he came from. A carry writes its entry first, and reads the ledger after that; so of two at once, one at least sees the other, and
// says so in the upper one.

// CarryLeases implements alloc.Restores.
func (s *Store) CarryLeases(ctx context.Context, name alloc.SequenceName, leases []alloc.LeaseRecord) ([]alloc.CarryOutcome, error) {
	if err := s.checkCarry(ctx, name); err != nil {
		return nil, err
	}
	outcomes, errs := make([]alloc.CarryOutcome, len(leases)), make([]error, len(leases))
	call := string(alloc.NewToken())
	each(len(leases), carryWidth, func(i int) {
		errs[i] = s.insist(ctx, func() (err error) {
			outcomes[i], err = s.carryLease(ctx, name, leases[i], call)
			return err
		})
	})
	return outcomes, firstOf(errs)
}

// checkCarry refuses a sequence that was never made, is deleted, or from which somebody may lease. One that has lost its counter is stopped.
func (s *Store) checkCarry(ctx context.Context, name alloc.SequenceName) error {
	h, err := s.sequenceHead(ctx, name)
	if alloc.Is(err, alloc.CodeSequenceStopped) {
		return nil
	}
	if err != nil {
		return err
	}
	return h.CheckCarry()
}

// carriedItem is a lease as an entry of the ledger. One that could not be read there cannot be here either: it tells that there was one.
func carriedItem(name alloc.SequenceName, r alloc.LeaseRecord, call string, now time.Time) Item {
	l := lease{sequence: name, start: int64(r.Start), end: int64(r.End), epoch: r.Epoch, token: r.Token, by: r.By, at: r.At}
	it := l.item()
	it["ca"], it["cw"] = call, now.UnixNano()
	if r.Proven {
		it["pr"] = true
	}
	if r.Token == "" || r.End < r.Start {
		delete(it, "end")
	}
	return it
}

// carryLease enters the lease where the ledger, as it is then, says.
func (s *Store) carryLease(ctx context.Context, name alloc.SequenceName, l alloc.LeaseRecord, call string) (alloc.CarryOutcome, error) {
	written := false
	for range changeTries {
		b, err := s.beside(ctx, name, l)
		if err != nil {
			return "", err
		}
		write, due, outcome := l.Carries(b.records)
		if !due {
			if outcome == alloc.CarryKnown && (written || b.entered(l, call)) {
				outcome = alloc.CarryDone
			}
			return outcome, s.tellReach(ctx, l, b)
		}
		it, cond := carriedItem(name, write, call, s.now()), Absent("pk")
		if old := b.items[it.Str("sk")]; old != nil {
			cond = asRead(old, "end", "t", "ep")
			if reach, there := old["rc"]; there {
				it["rc"] = reach
			}
		}
		err = s.table.Put(ctx, it, cond)
		if _, met := refusedBy(err); err != nil && !met {
			return "", err
		}
		written = err == nil || written
	}
	return "", sequenceBusy(name)
}

// beside is what a ledger has beside a lease: the entries that begin within it or reach into it.
type beside struct {
	items   map[string]Item // by their sort key
	records []alloc.LeaseRecord
	within  []Item       // that begin within it, and are somebody else's
	reach   alloc.Number // how far up those go that begin below it
}

// beside reads the ledger from the lease's end down to the first proven entry that begins below it.
func (s *Store) beside(ctx context.Context, name alloc.SequenceName, l alloc.LeaseRecord) (b beside, err error) {
	b.items = map[string]Item{}
	q := Query{PK: ledgerPK(name), To: ledgerSK(int64(max(l.Start, l.End))), Descending: true, Limit: proofPage}
	for {
		page, err := s.table.Query(ctx, q)
		if err != nil {
			return b, err
		}
		for _, it := range page.Items {
			if last := b.meet(l, it); last {
				return b, nil
			}
		}
		if !page.More || len(page.Items) == 0 {
			return b, nil
		}
		below, ok := keyBelow(page.Items[len(page.Items)-1].Str("sk"))
		if !ok {
			return b, nil
		}
		q.To, q.Limit = below, proofPageMore
	}
}

// meet takes an entry, and reports whether none below it can reach into the lease but by what it says itself.
func (b *beside) meet(l alloc.LeaseRecord, it Item) (last bool) {
	r, fault := ledgerRecord(it)
	b.items[it.Str("sk")] = it
	b.records = append(b.records, r)
	switch {
	case r.Start >= l.Start:
		if fault == "" && r.Token != l.Token {
			b.within = append(b.within, it)
		}
		return false
	case fault != "":
		return false
	}
	if reach := reachOf(it); reach > r.End {
		b.records = append(b.records, alloc.LeaseRecord{Start: r.Start, End: reach, Token: hiddenToken})
	}
	if r.Token != l.Token {
		b.reach = max(b.reach, reachOf(it))
	}
	return r.Proven
}

// hiddenToken stands for whoever reaches over an entry.
const hiddenToken = "hidden"

// reachOf is how far up an entry goes, or another that begins below it and reaches over its start.
func reachOf(it Item) alloc.Number { return alloc.Number(max(it.Int("end"), it.Int("rc"))) }

// entered reports whether the call has entered the lease, or a part of it: by an attempt whose answer was lost.
func (b *beside) entered(l alloc.LeaseRecord, call string) bool {
	for sk, it := range b.items {
		if sk >= ledgerSK(int64(l.Start)) && it.Str("t") == string(l.Token) && it.Str("ca") == call {
			return true
		}
	}
	return false
}

// tellReach has the entries say how far up those go that begin below them: those of others within the lease that it does, and the
// one at its start what was met below.
func (s *Store) tellReach(ctx context.Context, l alloc.LeaseRecord, b beside) error {
	raise := func(it Item, to alloc.Number) error {
		if reachOf(it) >= to {
			return nil
		}
		_, err := s.table.Update(ctx, it.Key(), Update{Set: map[string]any{"rc": int64(to)}, Quiet: true},
			All(Exists("pk"), Any(Absent("rc"), Lt("rc", int64(to)))))
		if _, met := refusedBy(err); met {
			return nil // it says so, or more
		}
		return err
	}
	errs := make([]error, len(b.within))
	each(len(b.within), carryWidth, func(i int) { errs[i] = raise(b.within[i], l.End) })
	if err := firstOf(errs); err != nil {
		return err
	}
	if at := b.items[ledgerSK(int64(l.Start))]; at != nil && b.reach >= l.Start {
		return raise(at, b.reach)
	}
	return nil
}
