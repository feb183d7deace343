package dynamo

import (
	"context"
	"strconv"
	"time"

	"idpool/alloc"
)

// What a credential has used of its quota in one hour is the item Q#id hour, the hour in seconds: used, the token of who
// took last, and exp. It begins with the first who takes; nothing ever counts down. It stands in a partition of its own
// and not beside the credential, because a function that claims may write here and must not write there: permissions go
// by partition keys.
const (
	attrUsed = "used"

	// quotaAge is how long it stays after its hour began. Who asks for an hour that is long over would begin it anew: so
	// it outlives every clock that is wrong and every request that is late.
	quotaAge = 49 * time.Hour

	// quotaTries bounds how often what is asked for is reduced to what is left, while others take of it.
	quotaTries = 20
)

func quotaKey(id alloc.CredentialID, hour time.Time) Key {
	return Key{PK: "Q#" + string(id), SK: strconv.FormatInt(hour.Unix(), 10)}
}

// TakeQuota implements alloc.Credentials. The last to take is known by a token: so a repeat after a lost answer is not
// counted twice, unless somebody else has taken in between. Then what it took first is lost to the hour.
func (s *Store) TakeQuota(ctx context.Context, id alloc.CredentialID, hour time.Time, n, limit alloc.Count) (alloc.Count, error) {
	left := limit
	for range quotaTries {
		if n = min(n, left); n <= 0 {
			return 0, nil
		}
		token := string(alloc.NewToken())
		it, err := s.useQuota(ctx, quotaKey(id, hour), hour, token, int64(n), int64(limit))
		if err != nil {
			return 0, err
		}
		if it.Str(AttrToken) == token {
			return n, nil
		}
		left = limit - alloc.Count(it.Int(attrUsed))
	}
	return 0, alloc.Errorf(alloc.CodeBusy, "too many requests use the quota of the credential %q at this moment; try again", id).After(time.Second)
}

// useQuota counts n as used if that does not exceed the limit, and returns the item as it is then: with the token if it
// does not.
func (s *Store) useQuota(ctx context.Context, k Key, hour time.Time, token string, n, limit int64) (Item, error) {
	it, err := s.table.Update(ctx, k, Update{Set: map[string]any{AttrToken: token}, Add: map[string]int64{attrUsed: n}},
		All(Le(attrUsed, limit-n), Ne(AttrToken, token)))
	old, met := refusedBy(err)
	if met && old == nil {
		it = item(k, Item{AttrToken: token, attrUsed: n, AttrExpires: hour.Add(quotaAge).Unix()})
		err = s.table.Put(ctx, it, Absent(AttrPK))
		old, met = refusedBy(err)
	}
	if met {
		return old, nil
	}
	return it, err
}
