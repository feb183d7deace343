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
//	pr   it is proven         un  another range was answered in its place         rb  the rebuild that it is the test of: nobody got it
//	rc   how far up entries go that begin below it and reach over its start, where that is further than end: see leases_carry.go
//	ca   token of the call of CarryLeases that entered it; absent where a lease did         cw  when that was, in nanoseconds
//
// A record that is not proven is a lease under way, or one that a crash cut off. The latter stays for ever as what it
// is: a gap that nobody was told of. It costs later proofs nothing but to be passed over.
type lease struct {
	sequence   alloc.SequenceName
	start, end int64
	epoch      alloc.Epoch
	base       int64 // see sequenceHead
	token      alloc.Token
	by         alloc.ClientID
	at         time.Time
	rebuild    alloc.JobID // that it is the test of; "" for none
}

func ledgerPK(name alloc.SequenceName) string { return "S#" + string(name) + "#L" }

func ledgerSK(start int64) string { return fmt.Sprintf("%020d", start) }

func (l lease) key() Key { return Key{PK: ledgerPK(l.sequence), SK: ledgerSK(l.start)} }

func (l lease) item() Item {
	it := item(l.key(), Item{"end": l.end, "t": string(l.token), "by": string(l.by), "at": nanos(l.at), "ep": int64(l.epoch)})
	if l.rebuild != "" {
		it["rb"] = string(l.rebuild)
	}
	return it
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
//
// A record that cannot be read may stand for anything above where it begins, and refuses the range. But one that begins at or below the
// base of the epoch does not refuse one above it: whoever rebuilt the sequence has taken all that as used.
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
			proven, err := l.apartFrom(it)
			if err != nil {
				return err
			}
			if proven {
				return seen(own)
			}
		}
		if !page.More || len(page.Items) == 0 {
			return seen(own)
		}
		below, ok := keyBelow(page.Items[len(page.Items)-1].Str("sk"))
		if !ok {
			return seen(own)
		}
		q.To, q.Limit = below, proofPageMore
	}
}

// apartFrom refuses the range if the record is not surely apart from it, and reports whether the record is proven.
func (l lease) apartFrom(it Item) (proven bool, err error) {
	end, ok := it["end"].(int64)
	switch {
	case ok && max(end, it.Int("rc")) >= l.start, !ok && (l.start <= l.base || it.Str("sk") > ledgerSK(l.base)):
		return false, errOverlap
	}
	return ok && it.Bool("pr"), nil
}

// startOf is the start that a sort key says; ok is false for one that no lease has made.
func startOf(sk string) (start int64, ok bool) {
	start, err := strconv.ParseInt(sk, 10, 64)
	return start, err == nil && ledgerSK(start) == sk
}

// keyBelow is a sort key below the given one and not below any other that a lease has made; ok is false where there is none.
func keyBelow(sk string) (below string, ok bool) {
	if start, ok := startOf(sk); ok {
		return ledgerSK(start - 1), start > 0
	}
	last := len(sk) - 1
	if sk[last] > ' ' {
		return sk[:last] + string(sk[last]-1) + "~", true // '~' is behind all digits
	}
	return sk[:last], last > 0
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
	h, done, err := s.halt(ctx, l.sequence, l.epoch, l.rebuild, Cond{})
	if err != nil {
		return err
	}
	if paused := h.State == alloc.SequencePaused && h.Epoch == l.epoch; !done && !paused {
		if err := h.CheckThere(); err != nil {
			return err
		}
		if h.Epoch != l.epoch {
			return sequenceBusy(l.sequence) // rebuilt since: the range was of an epoch that is over
		}
		return s.stopFrozen(ctx, l)
	}
	// What is left of it if this fails is an unproven record, which does no harm.
	_, _ = s.table.Delete(ctx, l.key(), All(Eq("t", string(l.token)), Absent("pr"))) //nolint:errcheck // see above
	return alloc.Stopped(l.sequence)
}

// stopFrozen is stop of a sequence that a rebuild has frozen meanwhile: what it goes back to, if it is not rebuilt, is stopped. The
// record stays, for the rebuild to see.
func (s *Store) stopFrozen(ctx context.Context, l lease) error {
	_, done, err := s.changeHead(ctx, l.sequence, map[string]any{"met": true},
		All(Eq("ep", int64(l.epoch)), Eq("st", string(alloc.SequenceFrozen)), Exists("was")))
	switch {
	case err != nil:
		return err
	case !done:
		return sequenceBusy(l.sequence)
	}
	return alloc.Stopped(l.sequence)
}
