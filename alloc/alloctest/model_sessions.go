package alloctest

import (
	"context"
	"time"

	"idpool/alloc"
)

// modelSession is a session, and whether it was ended.
type modelSession struct {
	alloc.Session
	ended bool
}

func (s modelSession) counts(now time.Time) bool { return !s.ended && now.Before(s.Expires) }

// CreateSession implements alloc.Sessions.
func (m *Model) CreateSession(ctx context.Context, s alloc.Session) error {
	return m.step(ctx, func(d *modelData) error {
		there, used := d.sessions[s.ID]
		switch {
		case !used:
			d.sessions[s.ID] = modelSession{Session: s}
		case there.ended, there.Client != s.Client, !there.Created.Equal(s.Created):
			return alloc.Errorf(alloc.CodeInternal, "the ID of the new session was used before; make it again")
		}
		return nil
	})
}

// Session implements alloc.Sessions.
func (m *Model) Session(ctx context.Context, id alloc.SessionID) (found alloc.Session, ok bool, err error) {
	err = m.step(ctx, func(d *modelData) error {
		if s := d.sessions[id]; s.counts(m.now()) {
			found, ok = s.Session, true
		}
		return nil
	})
	return found, ok, err
}

// TouchSession implements alloc.Sessions.
func (m *Model) TouchSession(ctx context.Context, id alloc.SessionID, seen, expires time.Time) (ok bool, err error) {
	err = m.step(ctx, func(d *modelData) error {
		s := d.sessions[id]
		if ok = s.counts(m.now()); !ok {
			return nil
		}
		if seen.After(s.Seen) && !expires.Before(s.Expires) {
			s.Seen, s.Expires = seen, expires
		}
		d.sessions[id] = s
		return nil
	})
	return ok, err
}

// EndSession implements alloc.Sessions.
func (m *Model) EndSession(ctx context.Context, id alloc.SessionID) (ended bool, err error) {
	err = m.step(ctx, func(d *modelData) error {
		ended = d.endSession(id, m.now())
		return nil
	})
	return ended, err
}

func (d *modelData) endSession(id alloc.SessionID, now time.Time) bool {
	s := d.sessions[id]
	if !s.counts(now) {
		return false
	}
	s.ended = true
	d.sessions[id] = s
	return true
}

// EndSessions implements alloc.Sessions.
func (m *Model) EndSessions(ctx context.Context, client alloc.ClientID) (n alloc.Count, err error) {
	err = m.step(ctx, func(d *modelData) error {
		for id, s := range d.sessions {
			if s.Client == client && d.endSession(id, m.now()) {
				n++
			}
		}
		return nil
	})
	return n, err
}

// ListSessions implements alloc.Sessions.
func (m *Model) ListSessions(ctx context.Context, after alloc.SessionID, limit int) (list []alloc.Session, err error) {
	err = m.step(ctx, func(d *modelData) error {
		for _, id := range page(d.sessions, after, len(d.sessions)) {
			if s := d.sessions[id]; s.counts(m.now()) && len(list) < limit {
				list = append(list, s.Session)
			}
		}
		return nil
	})
	return list, err
}
