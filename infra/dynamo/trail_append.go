package dynamo

import (
	"context"
	"errors"
	"fmt"

	"idpool/alloc"
)

// place is a place in the trail: behind the record with the hash, at the position in the chain of the month; position 0 is before
// the first of the month.
type place struct {
	month    string
	position int64
	hash     string
}

func (p place) before(q place) bool {
	return p.month < q.month || p.month == q.month && p.position < q.position
}

// chainEnd is the end of the trail that the ends of the months tell. It may be behind the last record by that one, and by months that
// have none.
func (s *Store) chainEnd(ctx context.Context) (place, error) {
	if end, begun, err := s.keptEnd(ctx); err != nil || begun {
		return end, err
	}
	// The very first decides where all begin: two with different clocks would else begin two chains.
	began := item(Key{PK: monthsPK, SK: trailBegan}, Item{"month": alloc.MonthOf(s.now())})
	err := s.table.Put(ctx, began, Absent(AttrPK))
	if old, met := refusedBy(err); met {
		return endOf(old), nil
	}
	return endOf(began), err
}

// keptEnd is chainEnd where the trail has begun.
func (s *Store) keptEnd(ctx context.Context) (end place, begun bool, err error) {
	err = s.pages(ctx, Query{PK: monthsPK, Descending: true, Limit: 1}, func(it Item) bool {
		month := it.Str(AttrSK)
		if begun = alloc.IsMonth(month) || month == trailBegan; begun {
			end = endOf(it)
		}
		return !begun
	})
	return end, begun, err
}

func endOf(it Item) place {
	if it.Str(AttrSK) == trailBegan {
		return place{month: it.Str("month")}
	}
	return place{month: it.Str(AttrSK), position: it.Int("last"), hash: it.Str("hash")}
}

// raiseEnd keeps the place as the end of its month, unless a later one is kept.
func (s *Store) raiseEnd(ctx context.Context, p place) error {
	if p.position == 0 {
		return nil
	}
	it := item(Key{PK: monthsPK, SK: p.month}, Item{"last": p.position, "hash": p.hash})
	err := s.table.Put(ctx, it, Any(Absent(AttrPK), Lt("last", p.position)))
	if _, met := refusedBy(err); met {
		return nil
	}
	return err
}

// known is the item that makes a record's ID one that is in the trail once at most: it says behind which place it is to be looked
// for, and is put before the record can be anywhere. So whoever appends looks at every place from there on before he tries the
// next one.
func knownItem(id string, from place) Item {
	return item(knownKey(id), Item{"fm": from.month, "fp": from.position, "fh": from.hash})
}

// knownPlace returns from where on the ID is to be looked for, and whether it is recorded. Where nothing is known of it, that is
// put; an ID of the trail from before there were chains is recorded.
func (s *Store) knownPlace(ctx context.Context, id string) (from place, done bool, err error) {
	found, err := s.table.GetMany(ctx, []Key{knownKey(id), {PK: oldTrailPK, SK: id}})
	if err != nil {
		return place{}, false, err
	}
	known, old := found[0], found[1]
	switch {
	case old != nil:
		return place{}, true, nil
	case known == nil || expired(known, s.now()):
		end, err := s.chainEnd(ctx)
		if err != nil {
			return place{}, false, err
		}
		known = knownItem(id, end)
		err = s.table.Put(ctx, known, Any(Absent(AttrPK), Le(AttrExpires, s.now().Unix())))
		if there, met := refusedBy(err); met {
			known, err = there, nil
		}
		if err != nil {
			return place{}, false, err
		}
	}
	return place{month: known.Str("fm"), position: known.Int("fp"), hash: known.Str("fh")}, known.Bool("done"), nil
}

// Record implements alloc.Trail.
func (s *Store) Record(ctx context.Context, r alloc.AuditRecord) error {
	from, done, err := s.knownPlace(ctx, r.ID)
	if err == nil && !done {
		if err = s.appendTo(ctx, from, r); err == nil {
			err = s.recorded(ctx, r.ID)
		}
	}
	if err != nil {
		return err
	}
	_, err = s.table.Delete(ctx, intentKey(r.ID), Cond{})
	return err
}

// recorded ends what is known of an ID that is in the trail now.
func (s *Store) recorded(ctx context.Context, id string) error {
	u := Update{Set: map[string]any{"done": true, AttrExpires: s.now().Add(alloc.IntentRetention).Unix() + 1}, Quiet: true}
	_, err := s.table.Update(ctx, knownKey(id), u, All(Exists(AttrPK), Absent("done")))
	if _, met := refusedBy(err); met {
		return nil
	}
	return err
}

// appendTo appends the record to the trail, unless it is there behind the place from.
func (s *Store) appendTo(ctx context.Context, from place, r alloc.AuditRecord) error {
	kept, err := s.chainEnd(ctx)
	if err != nil {
		return err
	}
	a := &appending{store: s, record: r, kept: kept, end: from}
	if err := a.follow(ctx); err != nil {
		return err
	}
	if a.end.before(kept) {
		a.end = kept // the last records were removed: so that it shows, the gap stays
	}
	for !a.done {
		if err := a.try(ctx); err != nil {
			return err
		}
	}
	return s.raiseEnd(ctx, a.end)
}

// appending is a record on its way into the trail. Every place up to end was looked at; done says that the record is at it.
type appending struct {
	store  *Store
	record alloc.AuditRecord
	kept   place // the end of the trail that is kept
	end    place
	done   bool
}

// follow goes on to the last record there is, or to ours.
func (a *appending) follow(ctx context.Context) error {
	for {
		month := a.end.month
		q := Query{PK: chainPK(month), From: chainKey(month, a.end.position+1).SK}
		err := a.store.pages(ctx, q, func(it Item) bool {
			a.met(it)
			return !a.done && a.end.month == month
		})
		if err != nil || a.done || a.end.month == month {
			return err
		}
	}
}

// met goes on behind an item of a chain.
func (a *appending) met(it Item) {
	if next := nextMonth(a.end.month, it); next != "" {
		a.end = place{month: next, hash: a.end.hash}
		return
	}
	if r, ok := decodeChained(a.end.month, it); ok {
		a.end = place{month: r.Month, position: r.Position, hash: r.Hash}
		a.done = r.ID == a.record.ID
	}
}

// try puts the record behind the end, or, where the month of the end is over, what closes it. Before that the end is kept: so what is
// kept of a month is never more than one record behind. Whoever was there first decides, and is gone behind.
func (a *appending) try(ctx context.Context) error {
	if a.kept.before(a.end) {
		if err := a.store.raiseEnd(ctx, a.end); err != nil {
			return err
		}
		a.kept = a.end
	}
	if a.end.position >= maxPosition {
		return internal(fmt.Errorf("the trail cannot go on behind position %d of %s; no record was ever appended there", a.end.position, a.end.month))
	}
	it := chainedItem(a.record.Seal(a.end.month, a.end.position+1, a.end.hash))
	if now := alloc.MonthOf(a.store.now()); a.end.month < now {
		it = item(chainKey(a.end.month, a.end.position+1), Item{"next": now})
	}
	err := a.store.table.Put(ctx, it, Absent(AttrPK))
	if failed, met := errors.AsType[*ConditionFailed](err); met {
		it, err = failed.Old, nil
	}
	if err != nil {
		return err
	}
	a.met(it)
	return nil
}
