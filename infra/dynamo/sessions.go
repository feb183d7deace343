package dynamo

import (
	"context"
	"errors"
	"time"

	"idpool/alloc"
)

// A session of the dashboard is the item U#id H. The catalogue of them is the partition N#sess with an item for each ID,
// written before it, so that a list needs no scan; an entry without its session is a creation that was cut off.
//
//	cl    client    nm   name     role   iss  issuer   sub  subject   ad  address   ag  agent
//	born  created   seen          till   when it ends without further use             ends  when in any case
//	over  there once it was ended: who ended it
//
// Times are in nanoseconds. Both items expire with "exp" at the end of the session's time, and not before: one that was ended is
// kept so long, so that no late write makes it anew.
const sessionCatalogue = "N#sess"

const (
	attrSeen = "seen"
	attrTill = "till"
	attrOver = "over"
)

func sessionKey(id alloc.SessionID) Key { return Key{PK: "U#" + string(id), SK: skHead} }

// liveSession holds of a session that counts at the time.
func liveSession(now time.Time) Cond {
	return All(Exists(AttrPK), Absent(attrOver), Gt(attrTill, now.UnixNano()))
}

// decodeSession gives the session of an item; ok is false where none counts.
func decodeSession(id alloc.SessionID, it Item, now time.Time) (s alloc.Session, ok bool) {
	if _, over := it[attrOver]; it == nil || over || it.Int(attrTill) <= now.UnixNano() {
		return alloc.Session{}, false
	}
	return alloc.Session{
		ID: id, Client: alloc.ClientID(it.Str("cl")), Name: it.Str("nm"), Role: alloc.Role(it.Str("role")), Issuer: it.Str("iss"), Subject: it.Str("sub"),
		Created: fromNanos(it.Int("born")), Seen: fromNanos(it.Int(attrSeen)), Expires: fromNanos(it.Int(attrTill)), Ends: fromNanos(it.Int("ends")),
		Address: it.Str("ad"), Agent: it.Str("ag"),
	}, true
}

// CreateSession implements alloc.Sessions.
func (s *Store) CreateSession(ctx context.Context, one alloc.Session) error {
	entry := Item{AttrPK: sessionCatalogue, AttrSK: string(one.ID), AttrExpires: one.Ends.Unix()}
	if err := s.table.Put(ctx, entry, Absent(AttrPK)); err != nil {
		if _, met := refusedBy(err); !met {
			return err
		}
	}
	it := item(sessionKey(one.ID), Item{
		"cl": string(one.Client), "nm": one.Name, "role": string(one.Role), "iss": one.Issuer, "sub": one.Subject,
		"born": nanos(one.Created), attrSeen: nanos(one.Seen), attrTill: nanos(one.Expires), "ends": nanos(one.Ends), AttrExpires: one.Ends.Unix(),
		"ad": one.Address, "ag": one.Agent,
	})
	err := s.table.Put(ctx, it, Absent(AttrPK))
	old, met := refusedBy(err)
	if !met {
		return err
	}
	if _, over := old[attrOver]; !over && old.Str("cl") == string(one.Client) && old.Int("born") == nanos(one.Created) {
		return nil
	}
	return internal(errors.New("the ID of a new session was used before"))
}

// Session implements alloc.Sessions.
func (s *Store) Session(ctx context.Context, id alloc.SessionID) (alloc.Session, bool, error) {
	it, err := s.table.Get(ctx, sessionKey(id))
	if err != nil {
		return alloc.Session{}, false, err
	}
	one, ok := decodeSession(id, it, s.now())
	return one, ok, nil
}

// TouchSession implements alloc.Sessions.
func (s *Store) TouchSession(ctx context.Context, id alloc.SessionID, seen, expires time.Time) (bool, error) {
	now := s.now()
	later := All(Lt(attrSeen, nanos(seen)), Le(attrTill, nanos(expires)))
	set := map[string]any{attrSeen: nanos(seen), attrTill: nanos(expires)}
	_, err := s.table.Update(ctx, sessionKey(id), Update{Set: set, Quiet: true}, All(liveSession(now), later))
	old, met := refusedBy(err)
	if !met {
		return err == nil, err
	}
	_, there := decodeSession(id, old, now)
	return there, nil
}

// EndSession implements alloc.Sessions.
func (s *Store) EndSession(ctx context.Context, id alloc.SessionID) (bool, error) {
	ours := string(alloc.NewToken())
	_, err := s.table.Update(ctx, sessionKey(id), Update{Set: map[string]any{attrOver: ours}, Quiet: true}, liveSession(s.now()))
	old, met := refusedBy(err)
	if !met {
		return err == nil, err
	}
	return old.Str(attrOver) == ours, nil
}

// EndSessions implements alloc.Sessions.
func (s *Store) EndSessions(ctx context.Context, client alloc.ClientID) (n alloc.Count, err error) {
	var theirs []alloc.SessionID
	err = s.walkSessions(ctx, "", maxSessions, func(one alloc.Session) bool {
		if one.Client == client {
			theirs = append(theirs, one.ID)
		}
		return false
	})
	faults := []error{err}
	for _, id := range theirs { // each, whatever becomes of the others
		ended, err := s.EndSession(ctx, id)
		if ended {
			n++
		}
		faults = append(faults, err)
	}
	return n, firstOf(faults)
}

// ListSessions implements alloc.Sessions.
func (s *Store) ListSessions(ctx context.Context, after alloc.SessionID, limit int) (list []alloc.Session, err error) {
	err = s.walkSessions(ctx, after, limit, func(one alloc.Session) bool {
		list = append(list, one)
		return true
	})
	return list, err
}

// maxSessions is more than there ever are.
const maxSessions = 1 << 30

// walkSessions gives those that count, in the order of their IDs, until so many were given for which give says that they are.
func (s *Store) walkSessions(ctx context.Context, after alloc.SessionID, limit int, give func(alloc.Session) bool) error {
	now := s.now()
	q := Query{PK: sessionCatalogue, From: string(after)}
	return s.behind(ctx, q, limit, func(id string) Key { return sessionKey(alloc.SessionID(id)) }, func(entry, it Item) (bool, error) {
		one, ok := decodeSession(alloc.SessionID(entry.Str(AttrSK)), it, now)
		return ok && give(one), nil
	})
}
