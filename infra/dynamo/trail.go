package dynamo

import (
	"context"
	"errors"
	"time"

	"idpool/alloc"
)

var _ alloc.Trail = (*Store)(nil)

// The trail is one partition, A#trail, in the order of its records' IDs: so a page is one query, from any ID, without a
// search for the month that it lies in. Administrative steps are far too rare to heat a partition.
const trailPK = "A#trail"

// Record implements alloc.Trail.
func (s *Store) Record(ctx context.Context, r alloc.AuditRecord) error {
	it := Item{
		"pk": trailPK, "sk": r.ID, "at": r.At.UnixNano(), "by": string(r.Client), "act": r.Action, "on": r.Target,
		"det": r.Detail, "res": r.Result, "req": r.Request, "adr": r.Address,
	}
	err := s.table.Put(ctx, it, Absent("pk"))
	if _, repeat := errors.AsType[*ConditionFailed](err); repeat {
		return nil
	}
	return err
}

// Records implements alloc.Trail.
func (s *Store) Records(ctx context.Context, before string, limit int) ([]alloc.AuditRecord, error) {
	var list []alloc.AuditRecord
	q := Query{PK: trailPK, To: before, Descending: true}
	for {
		q.Limit = limit - len(list) + 1 // one more for the ID given, which the bound includes
		page, err := s.table.Query(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, it := range page.Items {
			if id := it.Str("sk"); id != q.To && len(list) < limit {
				list = append(list, auditRecord(it))
			}
		}
		if len(list) == limit || !page.More || len(page.Items) == 0 {
			return list, nil
		}
		q.To = page.Items[len(page.Items)-1].Str("sk")
	}
}

func auditRecord(it Item) alloc.AuditRecord {
	return alloc.AuditRecord{
		ID: it.Str("sk"), At: time.Unix(0, it.Int("at")).UTC(), Client: alloc.ClientID(it.Str("by")),
		Action: it.Str("act"), Target: it.Str("on"), Detail: it.Str("det"), Result: it.Str("res"),
		Request: it.Str("req"), Address: it.Str("adr"),
	}
}
