package dynamo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"idpool/alloc"
)

// The ledger of a sequence is the partition S#NAME#L with a record for each range, by its start in 20 digits:
//
//	end  last number          t   token of the lease       by  client       at  when, in nanoseconds       ep  epoch
//	pr   it is proven         un  another range was answered in its place
//
// A record that is not proven is a lease under way, or one that a crash cut off. The latter stays for ever as what it
// is: a gap that nobody was told of. It costs later proofs nothing but to be passed over.
type lease struct {
	sequence   alloc.SequenceName
	start, end int64
	epoch      alloc.Epoch
	token      alloc.Token
	by         alloc.ClientID
	at         time.Time
}

func ledgerPK(name alloc.SequenceName) string { return "S#" + string(name) + "#L" }

func ledgerSK(start int64) string { return fmt.Sprintf("%020d", start) }

func (l lease) key() Key { return Key{PK: ledgerPK(l.sequence), SK: ledgerSK(l.start)} }

func (l lease) item() Item {
	return Item{
		"pk": ledgerPK(l.sequence), "sk": ledgerSK(l.start), "end": l.end, "t": string(l.token),
		"by": string(l.by), "at": l.at.UnixNano(), "ep": int64(l.epoch),
	}
}

func (l lease) answer() alloc.Range {
	return alloc.Range{
		Sequence: l.sequence, Start: alloc.Number(l.start), End: alloc.Number(l.end),
		Epoch: l.epoch, Token: l.token, At: l.at,
	}
}

// errOverlap says that the ledger shows the range to be, in part, another's.
var errOverlap = errors.New("the range overlaps another of the ledger")

// errNotSeen says that a record that was just written was not there when read.
var errNotSeen = errors.New("the record of the range is not in the ledger")

// Pages of the walk down the ledger. The first holds all there is to see but in a storm, and fits one read unit.
const (
	proofPage     = 8
	proofPageMore = 64
)

// prove shows the range to be disjoint from all others: errOverlap where it is not. Any other error leaves it unproven.
//
// The record is put before the ledger is read, and whoever holds an overlapping range does likewise: so at least one of
// the two sees the other, whatever their order.
func (s *Store) prove(ctx context.Context, l lease) error {
	if err := s.table.Put(ctx, l.item(), Absent("pk")); err != nil {
		failed, ok := errors.AsType[*ConditionFailed](err)
		if !ok {
			return err
		}
		if failed.Old.Str("t") != string(l.token) {
			return errOverlap
		}
	}
	if err := s.walk(ctx, l); err != nil {
		return err
	}
	_, err := s.table.Update(ctx, l.key(), Update{Set: map[string]any{"pr": true}, Quiet: true}, Eq("t", string(l.token)))
	if failed, ok := errors.AsType[*ConditionFailed](err); ok {
		return unproven(failed)
	}
	return err
}

// walk reads the ledger from the range's end down to the first proven record other than its own. All that it meets must
// end before the range starts. Below a proven record nothing that counts can reach up to the range: it would overlap
// the proven one too, and the same argument keeps it from ever being proven.
func (s *Store) walk(ctx context.Context, l lease) error {
	q := Query{PK: ledgerPK(l.sequence), To: ledgerSK(l.end), Descending: true, Limit: proofPage}
	own := false
	for {
		page, err := s.table.Query(ctx, q)
		if err != nil {
			return err
		}
		for _, it := range page.Items {
			if it.Str("t") == string(l.token) && it.Key() == l.key() {
				own = true
				continue
			}
			end, ok := it["end"].(int64)
			if !ok || end >= l.start {
				return errOverlap
			}
			if it.Bool("pr") {
				return seen(own)
			}
		}
		if !page.More || len(page.Items) == 0 {
			return seen(own)
		}
		below, err := strconv.ParseInt(page.Items[len(page.Items)-1].Str("sk"), 10, 64)
		if err != nil {
			return errOverlap // a record that was not made here: nothing is known of what it stands for
		}
		if below == 0 {
			return seen(own)
		}
		q.To, q.Limit = ledgerSK(below-1), proofPageMore
	}
}

// seen refuses a proof that did not meet the range's own record: the read was not strong, or the record was removed.
func seen(own bool) error {
	if own {
		return nil
	}
	return unproven(errNotSeen)
}

func unproven(cause error) error {
	return alloc.Errorf(alloc.CodeUnavailable, "the range could not be shown to be nobody else's; try again").After(time.Second).Because(cause)
}

// stop ends an overlap: the sequence stops, for good unless it is rebuilt, and then the range's record goes. It returns
// the error to answer.
func (s *Store) stop(ctx context.Context, l lease) error {
	s.sequences.drop(l.sequence)
	h, done, err := s.changeHead(ctx, l.sequence, map[string]any{"st": string(alloc.SequenceStopped)},
		All(Eq("ep", int64(l.epoch)), Exists("st"), Ne("st", string(alloc.SequenceDeleted))))
	if err != nil {
		return err
	}
	if !done {
		if err := h.CheckTo(alloc.SequenceDeleted); err != nil {
			return err
		}
		return sequenceBusy(l.sequence) // rebuilt since: the range was of an epoch that is over
	}
	// What is left of it if this fails is an unproven record, which does no harm.
	_, _ = s.table.Delete(ctx, l.key(), All(Eq("t", string(l.token)), Absent("pr"))) //nolint:errcheck // see above
	return alloc.Stopped(l.sequence)
}

// Leases implements alloc.Sequences.
func (s *Store) Leases(ctx context.Context, name alloc.SequenceName, below alloc.Number, limit int) ([]alloc.LeaseRecord, error) {
	q := Query{PK: ledgerPK(name), Descending: true, Limit: max(limit, proofPage)}
	var list []alloc.LeaseRecord
	for below > 0 {
		q.To = fmt.Sprintf("%020d", below-1)
		page, err := s.table.Query(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, it := range page.Items {
			r, err := ledgerRecord(it)
			if err != nil {
				return nil, err
			}
			if r.Proven && !it.Bool("un") {
				if list = append(list, r); len(list) == limit {
					return list, nil
				}
			}
			below = r.Start
		}
		if !page.More || len(page.Items) == 0 {
			break
		}
	}
	if list == nil {
		if _, err := s.headless(ctx, name); alloc.Is(err, alloc.CodeSequenceNotFound) {
			return nil, err
		}
	}
	return list, nil
}

func ledgerRecord(it Item) (alloc.LeaseRecord, error) {
	start, err := strconv.ParseInt(it.Str("sk"), 10, 64)
	if err != nil {
		return alloc.LeaseRecord{}, internal(fmt.Errorf("a record of the ledger: %w", err))
	}
	return alloc.LeaseRecord{
		Start: alloc.Number(start), End: alloc.Number(it.Int("end")), Token: alloc.Token(it.Str("t")),
		By: alloc.ClientID(it.Str("by")), At: time.Unix(0, it.Int("at")).UTC(), Epoch: alloc.Epoch(it.Int("ep")), Proven: it.Bool("pr"),
	}, nil
}
