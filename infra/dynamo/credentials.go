package dynamo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"idpool/alloc"
)

// A credential is the item T#id H. The catalogue of them is the partition N#cred with an item for each ID, written before
// it, so that a list needs no scan; an entry without its credential is a creation that was cut off.
//
//	cl  client     desc  description    sc   scopes      qu  quota    ver  version    born  when it was made
//	till  when it expires               rev  when it was revoked
//	h   hash of the secret              rot  when that was made       for  whose intent that was
//	h0  the first one: by it a creation knows itself
//	ph  hash of the one before          put  until when that works
//
// Times are in nanoseconds, 0 for none. None of them is "exp": a credential that has expired is still shown.
const credentialCatalogue = "N#cred"

func credentialKey(id alloc.CredentialID) Key { return Key{PK: "T#" + string(id), SK: skHead} }

// credentialAttrs is what a change of a credential may change.
func credentialAttrs(c alloc.Credential) map[string]any {
	scopes := make([]string, len(c.Scopes))
	for i, scope := range c.Scopes {
		scopes[i] = scope.String()
	}
	return map[string]any{
		"desc": c.Description, "sc": scopes, "qu": int64(c.Quota), "ver": int64(c.Version),
		"till": nanos(c.Expires), "rev": nanos(c.Revoked), "h": c.Hash, "rot": nanos(c.Rotated), "for": string(c.RotatedFor),
		"ph": c.PreviousHash, "put": nanos(c.PreviousUntil),
	}
}

func decodeCredential(id alloc.CredentialID, it Item) (alloc.Credential, error) {
	c := alloc.Credential{
		ID: id, Client: alloc.ClientID(it.Str("cl")), Description: it.Str("desc"), Quota: alloc.Count(it.Int("qu")),
		Version: alloc.Version(it.Int("ver")), Created: fromNanos(it.Int("born")), Expires: fromNanos(it.Int("till")), Revoked: fromNanos(it.Int("rev")),
		Hash: it.Str("h"), Rotated: fromNanos(it.Int("rot")), RotatedFor: alloc.Token(it.Str("for")), PreviousHash: it.Str("ph"), PreviousUntil: fromNanos(it.Int("put")),
	}
	for _, text := range it.List("sc") {
		scope, err := alloc.ParseScope(text)
		if err != nil {
			return alloc.Credential{}, internal(fmt.Errorf("a scope of the credential %s: %w", id, err)) // never less or more than it had
		}
		c.Scopes = append(c.Scopes, scope)
	}
	return c, nil
}

// CreateCredential implements alloc.Credentials.
func (s *Store) CreateCredential(ctx context.Context, c alloc.Credential) error {
	c.Version = 1
	entry := Item{AttrPK: credentialCatalogue, AttrSK: string(c.ID)}
	if err := s.table.Put(ctx, entry, Absent(AttrPK)); err != nil {
		if _, met := refusedBy(err); !met {
			return err
		}
	}
	it := item(credentialKey(c.ID), Item{"cl": string(c.Client), "born": nanos(c.Created), "h0": c.Hash})
	maps.Copy(it, credentialAttrs(c))
	err := s.table.Put(ctx, it, Absent(AttrPK))
	old, met := refusedBy(err)
	switch {
	case !met:
		return err
	case old.Str("h0") == c.Hash:
		return nil
	}
	return internal(errors.New("the ID of a new credential is another's"))
}

// Credential implements alloc.Credentials.
func (s *Store) Credential(ctx context.Context, id alloc.CredentialID) (alloc.Credential, error) {
	it, err := s.table.Get(ctx, credentialKey(id))
	switch {
	case err != nil:
		return alloc.Credential{}, err
	case it == nil:
		return alloc.Credential{}, alloc.CredentialNotFound(id)
	}
	return decodeCredential(id, it)
}

// ChangeCredential implements alloc.Credentials.
func (s *Store) ChangeCredential(ctx context.Context, from alloc.Version, c alloc.Credential) (alloc.Credential, error) {
	c.Version = from + 1
	set := credentialAttrs(c)
	it, err := s.table.Update(ctx, credentialKey(c.ID), Update{Set: set}, Eq("ver", int64(from)))
	old, met := refusedBy(err)
	switch {
	case err == nil:
		return decodeCredential(c.ID, it)
	case !met:
		return alloc.Credential{}, err
	case old == nil:
		return alloc.Credential{}, alloc.CredentialNotFound(c.ID)
	case old.has(set):
		return decodeCredential(c.ID, old)
	}
	return alloc.Credential{}, alloc.VersionMismatch("credential", string(c.ID), alloc.Version(old.Int("ver")))
}

// ListCredentials implements alloc.Credentials.
func (s *Store) ListCredentials(ctx context.Context, after alloc.CredentialID, limit int) ([]alloc.Credential, error) {
	var list []alloc.Credential
	q := Query{PK: credentialCatalogue, From: string(after)}
	err := s.listed(ctx, q, limit, func(id string) Key { return credentialKey(alloc.CredentialID(id)) }, func(id string, it Item) error {
		c, err := decodeCredential(alloc.CredentialID(id), it)
		list = append(list, c)
		return err
	})
	return list, err
}

// listed gives what stands behind the entries of a catalogue, in the query's order, until limit were given; an entry
// behind which nothing is, or nothing that counts any more, is passed over. The bound of the query itself is not given: it is what a page before ended with.
func (s *Store) listed(ctx context.Context, q Query, limit int, key func(sk string) Key, give func(sk string, it Item) error) error {
	return s.behind(ctx, q, limit, key, func(entry, it Item) (given bool, err error) {
		if it == nil || expired(it, s.now()) {
			return false, nil
		}
		return true, give(entry.Str(AttrSK), it)
	})
}

// behind is listed for who decides by himself of each entry, and what stands behind it, whether it is given.
func (s *Store) behind(ctx context.Context, q Query, limit int, key func(sk string) Key, give func(entry, it Item) (bool, error)) error {
	bound := &q.From
	if q.Descending {
		bound = &q.To
	}
	for given := 0; given < limit; {
		q.Limit = min(limit-given+1, maxBatchGet)
		page, err := s.table.Query(ctx, q)
		if err != nil {
			return err
		}
		entries := slices.DeleteFunc(slices.Clone(page.Items), func(it Item) bool { return it.Str(AttrSK) == *bound })
		keys := make([]Key, len(entries))
		for i, entry := range entries {
			keys[i] = key(entry.Str(AttrSK))
		}
		found, err := s.getEach(ctx, keys)
		if err != nil {
			return err
		}
		for i, it := range found {
			if given == limit {
				break
			}
			ok, err := give(entries[i], it)
			if err != nil {
				return err
			}
			if ok {
				given++
			}
		}
		if !page.More || len(page.Items) == 0 {
			return nil
		}
		*bound = page.Items[len(page.Items)-1].Str(AttrSK)
	}
	return nil
}

// getEach is GetMany of keys of which some may be the same.
func (s *Store) getEach(ctx context.Context, keys []Key) ([]Item, error) {
	var each []Key
	at := map[Key]int{}
	for _, k := range keys {
		if _, twice := at[k]; !twice {
			at[k] = len(each)
			each = append(each, k)
		}
	}
	if len(each) == 0 {
		return nil, nil
	}
	found, err := s.table.GetMany(ctx, each)
	if err != nil {
		return nil, err
	}
	items := make([]Item, len(keys))
	for i, k := range keys {
		items[i] = found[at[k]]
	}
	return items, nil
}

// has reports whether the item has all of the attributes so: by that a write knows its repeat.
func (it Item) has(attrs map[string]any) bool {
	for name, v := range attrs {
		if !reflect.DeepEqual(it[name], v) {
			return false
		}
	}
	return true
}

// nanos is a time as stored: 0 for none.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
