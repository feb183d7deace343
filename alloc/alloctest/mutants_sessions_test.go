package alloctest

import (
	"context"
	"strings"
	"time"

	"idpool/alloc"
)

var sessionMutants = []mutant{
	{"a use brings back what was ended", []string{"a session that was ended is absent at once", "a session whose use and whose end"}, func(m *Model) alloc.Store { return revivingSessions{m} }},
	{"a sign-in that comes late brings back what was ended", []string{"a repeat of a sign-in changes nothing"}, func(m *Model) alloc.Store { return resigningSessions{m} }},
	{"an older use lowers the end", []string{"a use puts off the end"}, func(m *Model) alloc.Store { return earlierSessions{m} }},
	{"sessions do not end by themselves", []string{"a session counts as absent from its end on"}, func(m *Model) alloc.Store { return lastingSessions{m} }},
	{"a client's sessions are those of all whose names begin so", []string{"EndSessions ends all of a client"}, func(m *Model) alloc.Store { return prefixedSessions{m} }},
	{"only a page of a client's sessions is ended", []string{"EndSessions ends all of a client"}, func(m *Model) alloc.Store { return onePageSessions{m} }},
}

type revivingSessions struct{ *Model }

func (s revivingSessions) TouchSession(ctx context.Context, id alloc.SessionID, seen, expires time.Time) (bool, error) {
	s.data.mu.Lock()
	if one, ok := s.data.sessions[id]; ok {
		one.ended = false
		s.data.sessions[id] = one
	}
	s.data.mu.Unlock()
	return s.Model.TouchSession(ctx, id, seen, expires)
}

type resigningSessions struct{ *Model }

func (s resigningSessions) CreateSession(ctx context.Context, one alloc.Session) error {
	s.data.mu.Lock()
	if s.data.sessions[one.ID].ended {
		delete(s.data.sessions, one.ID)
	}
	s.data.mu.Unlock()
	return s.Model.CreateSession(ctx, one)
}

type earlierSessions struct{ *Model }

func (s earlierSessions) TouchSession(ctx context.Context, id alloc.SessionID, seen, expires time.Time) (bool, error) {
	ok, err := s.Model.TouchSession(ctx, id, seen, expires)
	s.data.mu.Lock()
	defer s.data.mu.Unlock()
	if ok {
		one := s.data.sessions[id]
		one.Seen, one.Expires = seen, expires
		s.data.sessions[id] = one
	}
	return ok, err
}

type lastingSessions struct{ *Model }

func (s lastingSessions) Session(ctx context.Context, id alloc.SessionID) (alloc.Session, bool, error) {
	s.data.mu.Lock()
	one, ok := s.data.sessions[id]
	s.data.mu.Unlock()
	return one.Session, ok && !one.ended, ctx.Err()
}

type prefixedSessions struct{ *Model }

func (s prefixedSessions) EndSessions(ctx context.Context, client alloc.ClientID) (n alloc.Count, err error) {
	list, err := s.ListSessions(ctx, "", 1000)
	for _, one := range list {
		if strings.HasPrefix(string(one.Client), string(client)) {
			if ended, err := s.EndSession(ctx, one.ID); err == nil && ended {
				n++
			}
		}
	}
	return n, err
}

type onePageSessions struct{ *Model }

func (s onePageSessions) EndSessions(ctx context.Context, client alloc.ClientID) (n alloc.Count, err error) {
	list, err := s.ListSessions(ctx, "", 100)
	for _, one := range list {
		if one.Client == client {
			if ended, err := s.EndSession(ctx, one.ID); err == nil && ended {
				n++
			}
		}
	}
	return n, err
}
