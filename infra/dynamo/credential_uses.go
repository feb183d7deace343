package dynamo

import (
	"context"
	"time"

	"idpool/alloc"
)

// When a credential was last used is the item W#id H, with "last" in nanoseconds. It stands apart from the credential, so that whoever verifies
// credentials need not be able to change them.
const attrLastUse = "last"

func useKey(id alloc.CredentialID) Key { return Key{PK: "W#" + string(id), SK: skHead} }

// UseCredential implements alloc.Credentials.
func (s *Store) UseCredential(ctx context.Context, id alloc.CredentialID, at time.Time) error {
	due := Any(Absent(AttrPK), Lt(attrLastUse, nanos(at.Add(-alloc.UsedEvery))))
	err := s.table.Put(ctx, item(useKey(id), Item{attrLastUse: nanos(at)}), due)
	if _, met := refusedBy(err); met {
		return nil
	}
	return err
}

// CredentialUses implements alloc.Credentials.
func (s *Store) CredentialUses(ctx context.Context, ids []alloc.CredentialID) ([]time.Time, error) {
	keys := make([]Key, len(ids))
	for i, id := range ids {
		keys[i] = useKey(id)
	}
	items, err := s.getAll(ctx, keys)
	if err != nil {
		return nil, err
	}
	last := make([]time.Time, len(items))
	for i, it := range items {
		last[i] = fromNanos(it.Int(attrLastUse))
	}
	return last, nil
}
