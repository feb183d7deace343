package dynamo

import (
	"context"
	"slices"
	"time"

	"idpool/alloc"
)

// keyMargin is what clocks may differ by where it is asked whether the retention of a key is over. A clock that has stood still for longer, as that of a
// process that slept, is set by what others have left.
const keyMargin = time.Hour

// now is the time, which is no earlier than anything that was met.
func (a *auditing) now() time.Time {
	now := a.s.now()
	if latest := fromMilli(a.Latest); now.Before(latest) {
		return latest
	}
	return now
}

// keyFault is what is wrong with an ID's key record, as far as it was read after the ID.
type keyFault struct {
	of     ofID
	kind   alloc.FindingKind
	remedy alloc.Remedy
	why    string
}

// keys holds IDs that were taken with a key against the records of their keys. A record names all that its token owns, from before it owns it until
// it expires. Each record is read after the ID, and then the ID again, which must be its owner's still.
func (a *auditing) keys(ctx context.Context, keyed []ofID) error {
	read := a.s.now()
	records, err := a.records(ctx, keyed)
	if err != nil {
		return err
	}
	var faults []keyFault
	for _, o := range keyed {
		f, err := a.keyFault(ctx, o, records[o.it.Str(AttrKey)], read)
		if err != nil {
			return err
		}
		if f.kind != "" {
			faults = append(faults, f)
		}
	}
	if len(faults) == 0 {
		return nil
	}
	list := make([]ofID, len(faults))
	for i, f := range faults {
		list[i] = f.of
	}
	still, err := a.still(ctx, list)
	if err != nil {
		return err
	}
	for _, f := range faults {
		if slices.ContainsFunc(still, func(o ofID) bool { return o.listing == f.of.listing }) {
			a.find(f.kind, string(f.of.id), f.remedy, "%s", f.why)
		}
	}
	return nil
}

func (a *auditing) records(ctx context.Context, keyed []ofID) (map[string]Item, error) {
	records := map[string]Item{}
	var hashes []string
	var keys []Key
	for _, o := range keyed {
		hash := o.it.Str(AttrKey)
		if _, known := records[hash]; !known {
			records[hash] = nil
			hashes, keys = append(hashes, hash), append(keys, recordKey(hash))
		}
	}
	if len(keys) == 0 {
		return records, nil
	}
	items, err := a.s.getAll(ctx, keys)
	for i, it := range items {
		records[hashes[i]] = it
	}
	return records, err
}

// keyFault says what is wrong with the record of an ID's key, which was read after the time.
func (a *auditing) keyFault(ctx context.Context, o ofID, it Item, read time.Time) (keyFault, error) {
	now := a.now()
	fault := func(why string) (keyFault, error) { return keyFault{o, alloc.FindKey, alloc.RemedyNone, why}, nil }
	kept := now.Before(fromMilli(o.it.Int(AttrTaken)).Add(alloc.KeyRetention - keyMargin))
	r := decodeRecord(o.it.Str(AttrKey), it)
	switch {
	case it == nil && kept:
		return fault("it was taken with an Idempotency-Key, whose record is gone before its time")
	case it == nil:
		return keyFault{}, nil
	case !it.isOf(AttrVersion) || r.token == "" || len(r.listings) != len(it.List(AttrListings)) || !slices.Contains([]string{RecordLive, RecordEnded, RecordVoid, RecordFailed}, r.state):
		return fault("it was taken with an Idempotency-Key, whose record cannot be read")
	case r.token != o.it.Str(AttrToken) && kept:
		return fault("it was taken with an Idempotency-Key, whose record is of another request")
	case r.token != o.it.Str(AttrToken):
		return keyFault{}, nil
	case !slices.Contains(r.listings, o.listing):
		return fault("it was taken with an Idempotency-Key, whose record does not name it")
	case r.state == RecordFailed:
		return fault("it was taken with an Idempotency-Key, whose record says that nothing is")
	case r.state == RecordVoid:
		return a.givenUp(ctx, o, r)
	}
	return a.unheard(ctx, o, r, read)
}

// givenUp looks at an ID of a claim that was given up: its record's return item stays until the record has failed.
func (a *auditing) givenUp(ctx context.Context, o ofID, r *record) (keyFault, error) {
	if a.Deleted {
		return keyFault{}, nil
	}
	ret, err := a.s.table.Get(ctx, voidKey(a.pool, r.hash, r.token))
	if err != nil || ret != nil {
		return keyFault{}, err
	}
	now, err := a.s.table.Get(ctx, recordKey(r.hash))
	if err != nil || now.Str(AttrState) != RecordVoid || now.Str(AttrToken) != r.token {
		return keyFault{}, err
	}
	return keyFault{o, alloc.FindNoReturn, alloc.RemedyRebuild, "its claim was given up, and nothing says that it is to come back"}, nil
}

// unheard looks at an ID whose key counts no more. Who has answered its claim had all that the record names: where something of it was
// never had, nobody was answered, and nobody will be.
func (a *auditing) unheard(ctx context.Context, o ofID, r *record, read time.Time) (keyFault, error) {
	expired := r.expires > 0 && time.Unix(r.expires, 0).Add(keyMargin).Before(read)
	if !expired || a.Forgets || r.state != RecordLive || o.it.Str(AttrState) != StateClaimed {
		return keyFault{}, nil
	}
	states := map[alloc.ID]Item{}
	ids := make([]alloc.ID, len(r.listings))
	for i, l := range r.listings {
		ids[i] = l.id
	}
	if err := a.s.readIDs(ctx, a.pool, ids, states); err != nil {
		return keyFault{}, err
	}
	for _, l := range r.listings {
		if it := states[l.id]; it.Int(AttrGeneration) == l.gen && it.Str(AttrToken) != r.token {
			return keyFault{o, alloc.FindNothingHeard, alloc.RemedyNone, "it was claimed with an Idempotency-Key, and the claim was never carried to its end: nobody may know of it"}, nil
		}
	}
	return keyFault{}, nil
}
