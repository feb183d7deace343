package dynamo

import (
	"context"
	"crypto/rand"
)

// The secret that all processes share is one item, put by whoever needs it first and never changed.
var secretKey = Key{PK: "X#secret", SK: skHead}

// attrSecret is the secret of that item.
const attrSecret = "secret"

// secretBytes is its length.
const secretBytes = 32

// SharedSecret implements alloc.Credentials.
func (s *Store) SharedSecret(ctx context.Context) ([]byte, error) {
	it, err := s.table.Get(ctx, secretKey)
	if err != nil || it != nil {
		return it.Bytes(attrSecret), err
	}
	fresh := make([]byte, secretBytes)
	rand.Read(fresh) // never returns an error
	err = s.table.Put(ctx, item(secretKey, Item{attrSecret: fresh}), Absent(AttrPK))
	if old, met := refusedBy(err); met {
		return old.Bytes(attrSecret), nil // another was faster, or this very call before its answer was lost
	}
	if err != nil {
		return nil, err
	}
	return fresh, nil
}
