package dynamo

import (
	"context"
	"slices"
	"time"

	"idpool/alloc"
)

// record is the key record of a claim: the intent, which is written before anything is taken. An ID is owned by its
// token only if the record names it, so a crash anywhere leaves nothing to guess.
type record struct {
	hash     string
	token    string
	version  int64
	print    string
	state    string
	listings []listing
	born     time.Time
	until    time.Time // the IDs are held until then; zero to claim them for good
	expires  int64     // in seconds; 0 for never
	restored int64     // see AttrRestored; 0 for never
}

// newRecord is the intent to claim the listings, or to hold them: the hold's time begins with it, whoever carries it out.
func newRecord(o alloc.ClaimOrder, ls []listing, h *head, now time.Time) *record {
	born := now.UTC().Truncate(time.Millisecond)
	return &record{
		hash: o.Key.Hash, token: string(alloc.NewToken()), version: 1, print: o.Key.Fingerprint, state: RecordLive,
		listings: ls, born: born, until: holdEnd(born, o.Hold), expires: keyExpiry(now), restored: h.restored,
	}
}

func (r *record) item() Item {
	it := item(recordKey(r.hash), Item{
		AttrState: r.state, AttrToken: r.token, AttrVersion: r.version, AttrPrint: r.print,
		AttrListings: listingTexts(r.listings), AttrTaken: r.born.UnixMilli(), AttrExpires: r.expires,
	})
	if !r.until.IsZero() {
		it[AttrHoldEnd] = r.until.UnixMilli()
	}
	if r.restored > 0 {
		it[AttrRestored] = r.restored
	}
	return it
}

func decodeRecord(hash string, it Item) *record {
	r := &record{
		hash: hash, token: it.Str(AttrToken), version: it.Int(AttrVersion), print: it.Str(AttrPrint), state: it.Str(AttrState),
		born: fromMilli(it.Int(AttrTaken)), until: fromMilli(it.Int(AttrHoldEnd)), expires: it.Int(AttrExpires),
		restored: it.Int(AttrRestored),
	}
	for _, text := range it.List(AttrListings) {
		if l, ok := parseListing(text); ok {
			r.listings = append(r.listings, l)
		}
	}
	return r
}

// absent reports whether an item counts as no record: nothing, one that has expired though TTL has not removed it, or
// one that was given up and owns nothing.
func absentRecord(it Item, now time.Time) bool {
	return it == nil || it.Str(AttrState) == RecordFailed || expired(it, now)
}

// putWhereNone puts a record where none stands, and returns the one that does where there is one. One that has failed or has
// expired does not stand.
func (s *Store) putWhereNone(ctx context.Context, it Item, stands func(old Item) bool) (there Item, err error) {
	cond := Any(Absent(AttrPK), Le(AttrExpires, s.now().Unix()))
	for range changeTries {
		err := s.table.Put(ctx, it, cond)
		old, met := refusedBy(err)
		switch {
		case !met:
			return nil, err
		case stands(old):
			return old, nil
		case old.Str(AttrState) == RecordFailed:
			// Only the very record that was seen to have failed is replaced: a put that comes late finds another.
			cond = All(Eq(AttrState, RecordFailed), Eq(AttrToken, old.Str(AttrToken)))
		default:
			cond = Any(Absent(AttrPK), Le(AttrExpires, s.now().Unix())) // it has just been removed, or has expired
		}
	}
	return nil, keyContended()
}

func keyContended() *alloc.Error {
	return alloc.Errorf(alloc.CodeBusy, "too many requests with this Idempotency-Key come at once; nothing was done; try again").After(time.Second)
}

// putRecord puts the record where none counts. Where one does that is another's, that is returned. Ours, which the put has
// met as its answer was lost, is ours whatever has become of it.
func (s *Store) putRecord(ctx context.Context, r *record) (there Item, err error) {
	ours := func(old Item) bool { return old.Str(AttrToken) == r.token }
	there, err = s.putWhereNone(ctx, r.item(), func(old Item) bool { return ours(old) || !absentRecord(old, s.now()) })
	if ours(there) {
		return nil, err
	}
	return there, err
}

// changeRecord changes a live record at its version and raises it. Where the record has moved on, what is there now is
// returned.
func (s *Store) changeRecord(ctx context.Context, r *record, u Update) (moved bool, there Item, err error) {
	u.Add = map[string]int64{AttrVersion: 1}
	it, err := s.table.Update(ctx, recordKey(r.hash), u,
		All(Eq(AttrVersion, r.version), Eq(AttrToken, r.token), Eq(AttrState, RecordLive)))
	if old, met := refusedBy(err); met {
		if !r.changedBy(u, old) {
			return true, old, nil
		}
		it, err = old, nil
	}
	if err != nil {
		return false, nil, err
	}
	*r = *decodeRecord(r.hash, it)
	return false, nil, nil
}

// changedBy reports whether the item is the record after this very change: its answer was lost, or another has made the
// same.
func (r *record) changedBy(u Update, it Item) bool {
	if it.Str(AttrToken) != r.token || it.Int(AttrVersion) != r.version+1 {
		return false
	}
	if _, ends := u.Set[AttrState]; !ends && it.Str(AttrState) != RecordLive {
		return false // a change that leaves it live was not the one
	}
	return it.has(u.Set)
}

// replace puts fresh listings in the place of those that were lost.
func (r *record) replace(lost, fresh []listing) []listing {
	ls := slices.Clone(r.listings)
	for i, l := range ls {
		if j := slices.Index(lost, l); j >= 0 {
			ls[i] = fresh[j]
		}
	}
	return ls
}
