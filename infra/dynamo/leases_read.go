package dynamo

import (
	"context"
	"fmt"

	"idpool/alloc"
)

// Leases implements alloc.Sequences. The test of a rebuild is among them: its numbers were leased, and are nobody's but its own.
func (s *Store) Leases(ctx context.Context, name alloc.SequenceName, below alloc.Number, limit int) (list []alloc.LeaseRecord, err error) {
	q := Query{PK: ledgerPK(name), Descending: true, Limit: max(limit, proofPage)}
	more := below > 0
	if more {
		q.To = fmt.Sprintf("%020d", below-1)
	}
	for more {
		page, err := s.table.Query(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, it := range page.Items {
			if r, fault := ledgerRecord(it); fault == "" && r.Proven && !it.Bool("un") {
				if list = append(list, r); len(list) == limit {
					return list, nil
				}
			}
		}
		if more = page.More && len(page.Items) > 0; more {
			q.To, more = keyBelow(page.Items[len(page.Items)-1].Str("sk"))
		}
	}
	if list == nil {
		return nil, s.existed(ctx, name)
	}
	return list, nil
}

// existed is CodeSequenceNotFound for a sequence that was never made.
func (s *Store) existed(ctx context.Context, name alloc.SequenceName) error {
	_, err := s.sequenceHead(ctx, name)
	if alloc.Is(err, alloc.CodeSequenceStopped) {
		return nil
	}
	return err
}

// WalkLedger implements alloc.Rebuilds. The mark is the sort key of the last entry that was given.
func (s *Store) WalkLedger(ctx context.Context, name alloc.SequenceName, mark string, limit int) ([]alloc.LeaseRecord, string, error) {
	items, next, err := s.ledgerPage(ctx, name, mark, limit)
	if err != nil {
		return nil, "", err
	}
	if len(items) == 0 && mark == "" {
		return nil, "", s.existed(ctx, name)
	}
	page := make([]alloc.LeaseRecord, len(items))
	for i, it := range items {
		page[i], _ = ledgerRecord(it)
	}
	return page, next, nil
}

// ledgerPage reads the ledger upwards.
func (s *Store) ledgerPage(ctx context.Context, name alloc.SequenceName, mark string, limit int) (items []Item, next string, err error) {
	q := Query{PK: ledgerPK(name), Limit: limit}
	if mark != "" {
		q.From = mark + "\x00" // the first key behind it
	}
	page, err := s.table.Query(ctx, q)
	if err != nil {
		return nil, "", err
	}
	if n := len(page.Items); page.More && n > 0 {
		next = page.Items[n-1].Str("sk")
	}
	return page.Items, next, nil
}

// ledgerRecord decodes an entry. Where that cannot be done, fault says why, and the record has no token and not more than its start.
func ledgerRecord(it Item) (r alloc.LeaseRecord, fault string) {
	start, ok := startOf(it.Str("sk"))
	if !ok {
		return alloc.LeaseRecord{}, "its key is no start"
	}
	r.Start = alloc.Number(start)
	switch end, ok := it["end"].(int64); {
	case !ok:
		return r, "it has no end"
	case end < start:
		return r, "it ends before it starts"
	case it.Str("t") == "":
		return r, "it has no token"
	case it.Int("ep") < 1:
		return r, "it has no epoch"
	case !absentOr[bool](it, "pr", "un"), !absentOr[string](it, "by"), !absentOr[int64](it, "at", "cw"):
		return r, "an attribute is of the wrong type"
	}
	return alloc.LeaseRecord{
		Start: r.Start, End: alloc.Number(it.Int("end")), Token: alloc.Token(it.Str("t")), By: alloc.ClientID(it.Str("by")),
		At: fromNanos(it.Int("at")), Epoch: alloc.Epoch(it.Int("ep")), Proven: it.Bool("pr"), Carried: fromNanos(it.Int("cw")),
	}, ""
}
