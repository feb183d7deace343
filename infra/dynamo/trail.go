package dynamo

import (
	"context"
	"fmt"
	"strconv"

	"idpool/alloc"
)

var _ alloc.Trail = (*Store)(nil)

// The items of the trail, by partition and sort key. Administrative steps are far too rare to heat a partition.
//
//	A#2026-11   20 digits   the record at that position of the chain of the month; behind the last one, once the month is over, where
//	                        the chain goes on: from then on nothing can be appended to the month, also not by a write that comes late
//	A#months    2026-11     the end of the month's chain: last, hash. Raised after each append, never lowered
//	A#months    0           in which month the trail began
//	A#known     ID          an ID that is or will be in a chain: behind which place (fm, fp), and done once it is. That one expires
//	A#intents   ID          the record of a step that was begun, until it is recorded
//	A#trail     ID          a record from before there were chains
//
// A record has
//
//	at   when, in nanoseconds   by  client    role  by what right   act  action   on   target   det  what was to change
//	plan the plan               why reason    was   before          now  after    res  result   req  request   adr  address
//	prev hash of the record before it         hash  its own
const (
	oldTrailPK = "A#trail"
	monthsPK   = "A#months"
	knownPK    = "A#known"
	intentsPK  = "A#intents"

	trailBegan = "0" // before all months
)

func chainPK(month string) string { return "A#" + month }

func chainKey(month string, position int64) Key {
	return Key{PK: chainPK(month), SK: fmt.Sprintf("%020d", position)}
}

func knownKey(id string) Key { return Key{PK: knownPK, SK: id} }

func intentKey(id string) Key { return Key{PK: intentsPK, SK: id} }

// recordAttrs is all of a record but its ID and its place.
func recordAttrs(r alloc.AuditRecord) Item {
	return Item{
		"at": nanos(r.At), "by": string(r.Client), "role": r.Role, "act": r.Action, "on": r.Target, "det": r.Detail,
		"plan": r.Plan, "why": r.Reason, "was": r.Before, "now": r.After, "res": r.Result, "req": r.Request, "adr": r.Address,
	}
}

func decodeAudit(id string, it Item) alloc.AuditRecord {
	return alloc.AuditRecord{
		ID: id, At: fromNanos(it.Int("at")), Client: alloc.ClientID(it.Str("by")), Role: it.Str("role"),
		Action: it.Str("act"), Target: it.Str("on"), Detail: it.Str("det"), Plan: it.Str("plan"), Reason: it.Str("why"),
		Before: it.Str("was"), After: it.Str("now"), Result: it.Str("res"), Request: it.Str("req"), Address: it.Str("adr"),
	}
}

// chainedItem is a sealed record as an item of its chain.
func chainedItem(r alloc.AuditRecord) Item {
	it := recordAttrs(r)
	it["id"], it["prev"], it["hash"] = r.ID, r.Previous, r.Hash
	return item(chainKey(r.Month, r.Position), it)
}

// maxPosition is the greatest position that a record may have.
const maxPosition = 1_000_000_000_000_000_000

// inChain is the position in the chain that the item stands at; 0 for none, of what somebody has put among the records and nothing here has.
func inChain(it Item) int64 {
	n, err := strconv.ParseInt(it.Str(AttrSK), 10, 64)
	if err != nil || n < 1 || n > maxPosition || chainKey("", n).SK != it.Str(AttrSK) {
		return 0
	}
	return n
}

// nextMonth is where the chain of the month goes on, where the item says so; else it is a record.
func nextMonth(month string, it Item) string {
	if next := it.Str("next"); inChain(it) != 0 && alloc.IsMonth(next) && next > month {
		return next
	}
	return ""
}

// decodeChained reads an item of a chain. Its place is that of its key: a record that somebody has moved shows as one that is not
// intact. ok is false for what is no record: the item behind the last one, and one that stands at no position.
func decodeChained(month string, it Item) (r alloc.AuditRecord, ok bool) {
	at := inChain(it)
	if at == 0 || nextMonth(month, it) != "" {
		return alloc.AuditRecord{}, false
	}
	r = decodeAudit(it.Str("id"), it)
	r.Link = alloc.Link{Month: month, Position: at, Previous: it.Str("prev"), Hash: it.Str("hash")}
	return r, true
}

// Chain implements alloc.Trail.
func (s *Store) Chain(ctx context.Context, month string, after int64, limit int) (list []alloc.AuditRecord, err error) {
	if limit <= 0 {
		return nil, nil
	}
	q := Query{PK: chainPK(month), From: chainKey(month, after+1).SK, Limit: limit}
	err = s.chained(ctx, q, month, func(r alloc.AuditRecord) bool {
		list = append(list, r)
		return len(list) < limit
	})
	return list, err
}

// Months implements alloc.Trail.
func (s *Store) Months(ctx context.Context) (list []alloc.TrailMonth, err error) {
	q := Query{PK: monthsPK}
	err = s.pages(ctx, q, func(it Item) bool {
		if month := it.Str(AttrSK); alloc.IsMonth(month) {
			list = append(list, alloc.TrailMonth{Month: month, Last: it.Int("last"), Hash: it.Str("hash")})
		}
		return true
	})
	return list, err
}

// chained gives the records of a month's chain that the query meets, as long as give wants more.
func (s *Store) chained(ctx context.Context, q Query, month string, give func(alloc.AuditRecord) bool) error {
	return s.pages(ctx, q, func(it Item) bool {
		r, ok := decodeChained(month, it)
		return !ok || give(r)
	})
}

// pages gives the items that a query meets, page by page, as long as give wants more.
func (s *Store) pages(ctx context.Context, q Query, give func(Item) bool) error {
	bound := &q.From
	if q.Descending {
		bound = &q.To
	}
	met := ""
	for {
		page, err := s.table.Query(ctx, q)
		if err != nil {
			return err
		}
		for _, it := range page.Items {
			if it.Str(AttrSK) != met && !give(it) {
				return nil
			}
		}
		if !page.More || len(page.Items) == 0 {
			return nil
		}
		if q.Limit == 1 {
			q.Limit++ // the bound is included: of two items one is new
		}
		met = page.Items[len(page.Items)-1].Str(AttrSK)
		*bound = met
	}
}
