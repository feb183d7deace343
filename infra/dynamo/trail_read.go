package dynamo

import (
	"context"
	"strconv"
	"strings"
	"time"

	"idpool/alloc"
)

// Intend implements alloc.Trail.
func (s *Store) Intend(ctx context.Context, r alloc.AuditRecord) error {
	_, done, err := s.knownPlace(ctx, r.ID)
	if err != nil || done {
		return err
	}
	err = s.table.Put(ctx, item(intentKey(r.ID), recordAttrs(r)), Absent(AttrPK))
	if _, met := refusedBy(err); met {
		return nil
	}
	return err
}

// Intended implements alloc.Trail. An intent whose removal was cut off, or that was put by a write that came late, is removed here.
func (s *Store) Intended(ctx context.Context, before time.Time, limit int) (list []alloc.AuditRecord, err error) {
	err = s.behind(ctx, Query{PK: intentsPK}, limit, knownKey, func(intent, known Item) (given bool, err error) {
		id := intent.Str(AttrSK)
		if known.Bool("done") {
			_, err := s.table.Delete(ctx, intentKey(id), Cond{})
			return false, err
		}
		r := decodeAudit(id, intent)
		if !r.At.Before(before) {
			return false, nil
		}
		list = append(list, r)
		return true, nil
	})
	return list, err
}

// Records implements alloc.Trail.
func (s *Store) Records(ctx context.Context, before string, limit int) (list []alloc.AuditRecord, err error) {
	if limit <= 0 {
		return nil, nil
	}
	give := func(r alloc.AuditRecord) bool {
		list = append(list, r)
		return len(list) < limit
	}
	id, old := strings.CutPrefix(before, "/")
	if !old {
		if err := s.chainsBack(ctx, before, give); err != nil || len(list) == limit {
			return list, err
		}
		id = ""
	}
	err = s.pages(ctx, Query{PK: oldTrailPK, To: id, Descending: true, Limit: limit - len(list) + 1}, func(it Item) bool {
		return it.Str(AttrSK) == id || give(decodeAudit(it.Str(AttrSK), it)) // the bound is included
	})
	return list, err
}

// chainsBack gives the records of all chains that stand before the place, the newest first, as long as give wants more.
func (s *Store) chainsBack(ctx context.Context, before string, give func(alloc.AuditRecord) bool) error {
	month, position, given := strings.Cut(before, "/")
	to := ""
	if given {
		n, err := strconv.ParseInt(position, 10, 64)
		if err != nil || n < 1 {
			return alloc.Errorf(alloc.CodeInvalidRequest, "there is no such place in the trail")
		}
		to = chainKey(month, n-1).SK
	} else {
		var begun bool
		var err error
		if month, begun, err = s.newestMonth(ctx); err != nil || !begun {
			return err
		}
	}
	more := true
	back := func(month, to string) error {
		return s.chained(ctx, Query{PK: chainPK(month), To: to, Descending: true, Limit: trailPage}, month, func(r alloc.AuditRecord) bool {
			more = give(r)
			return more
		})
	}
	if err := back(month, to); err != nil || !more {
		return err
	}
	var err error
	walked := s.pages(ctx, Query{PK: monthsPK, To: month, Descending: true}, func(it Item) bool {
		if earlier := it.Str(AttrSK); alloc.IsMonth(earlier) && earlier != month {
			err = back(earlier, "")
		}
		return err == nil && more
	})
	return firstOf([]error{err, walked})
}

// trailPage is how many records are read at a time.
const trailPage = 100

// newestMonth is the month in which the chain goes on. begun is false before the first record.
func (s *Store) newestMonth(ctx context.Context) (month string, begun bool, err error) {
	end, begun, err := s.keptEnd(ctx)
	month = end.month
	for next := month; err == nil && next != ""; {
		month, next = next, ""
		err = s.pages(ctx, Query{PK: chainPK(month), Descending: true, Limit: 1}, func(it Item) bool {
			next = nextMonth(month, it)
			return inChain(it) == 0
		})
	}
	return month, begun, err
}
