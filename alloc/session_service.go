package alloc

import (
	"context"
	"fmt"
	"time"
)

// SignIn begins a session of the person and gives its secret, this once. It is a new one whatever the browser had before, and
// former, which is that, is ended: so nobody can have put a secret there that he knows. It needs no caller: whoever asks has
// made sure of the person. CodeForbidden for what is no role, which is recorded too.
//
// It fails closed: a sign-in that the trail could not take down has not happened.
func (s *Service) SignIn(ctx context.Context, r SignInRequest, former SessionSecret) (Session, SessionSecret, error) {
	if err := r.check(); err != nil {
		return Session{}, "", err
	}
	if former != "" {
		if err := s.SignOut(ctx, former, r.Origin); err != nil {
			return Session{}, "", err
		}
	}
	secret := newSessionSecret()
	id, _ := secret.session()
	made := r.session(id, s.second(), s.sessionIdle, s.sessionLifetime)
	caller := made.caller()
	caller.Request, caller.Address = r.Request, r.Address
	record := s.begin(caller, aSession, string(id), "sign-in")
	record.Detail = r.words()
	if err := r.Role.Check(); err != nil {
		if rerr := s.end(ctx, record, err); rerr != nil {
			return Session{}, "", rerr
		}
		return Session{}, "", err
	}
	if err := s.intend(ctx, record); err != nil {
		return Session{}, "", err
	}
	err := insist(func() error { return s.store.CreateSession(ctx, made) })
	if rerr := s.end(ctx, record, err); rerr != nil && err == nil {
		err = Errorf(CodeUnavailable, "the trail could not take down that you signed in; sign in again").Because(rerr).After(retrySoon)
	}
	if err != nil { // nobody knows its secret, and it ends by itself
		return Session{}, "", err
	}
	return made, secret, nil
}

// Authenticate says whose session the secret is of, and returns it with the caller that it makes of whoever sent it, but for
// Request and Address. It always reads the Store, strongly, so that an ended session works no longer anywhere, and writes at
// most once a minute that it was in use. It needs no caller. CodeUnauthenticated.
func (s *Service) Authenticate(ctx context.Context, secret SessionSecret) (Session, Caller, error) {
	id, ok := secret.session()
	if !ok {
		return Session{}, Caller{}, noSession()
	}
	found, ok, err := s.store.Session(ctx, id)
	now := s.second()
	switch {
	case err != nil:
		return Session{}, Caller{}, err
	case !ok, found.over(now), !now.Before(found.Seen.Add(s.sessionIdle)), !now.Before(found.Created.Add(s.sessionLifetime)):
		return Session{}, Caller{}, noSession()
	case found.Role.Check() != nil: // of a version that has other roles
		return Session{}, Caller{}, noSession()
	}
	if now.Sub(found.Seen) >= sessionTouch {
		expires := earlier(found.Ends, now.Add(s.sessionIdle))
		there, err := s.store.TouchSession(ctx, id, now, expires)
		if err == nil && !there {
			return Session{}, Caller{}, noSession()
		}
		if err == nil { // without it the session ends earlier, and the next request tries again
			found.Seen, found.Expires = now, expires
		}
	}
	return found, found.caller(), nil
}

func noSession() error {
	return Errorf(CodeUnauthenticated, "you are not signed in, or not any more; sign in and try again")
}

// SignOut ends the session of the secret, if there is one, and records it. It needs no caller: whoever has the secret is the
// one to end it.
func (s *Service) SignOut(ctx context.Context, secret SessionSecret, from Origin) error {
	id, ok := secret.session()
	if !ok {
		return nil
	}
	found, there, err := s.store.Session(ctx, id)
	if err != nil || !there {
		return err
	}
	caller := found.caller()
	caller.Request, caller.Address = from.Request, from.Address
	err = insist(func() error { _, err := s.store.EndSession(ctx, id); return err })
	if rerr := s.record(ctx, caller, aSession, string(id), "sign-out", found.words(), err); err == nil {
		err = rerr
	}
	return err
}

// words says whose it is, for the trail.
func (s Session) words() string {
	return fmt.Sprintf("%q, role %s, since %s", s.Name, s.Role, s.Created.UTC().Format(time.RFC3339))
}

// Sessions returns at most limit sessions, 1 to 100, from the cursor on; next is what to give to go on, "" at the end. Whoever
// lacks ActionCredentials is given those of its own client alone.
func (s *Service) Sessions(ctx context.Context, c Cursor, limit int) (sessions []Session, next Cursor, err error) {
	caller, err := s.someone(ctx)
	if err != nil {
		return nil, "", err
	}
	return readable(ctx, s, listSessions, c, limit, s.store.ListSessions, func(one Session) entry[SessionID] {
		return entry[SessionID]{position: one.ID, name: everything, need: needForSession(caller, one.Client)}
	})
}

// needForSession is what it takes to see or end a session: of one's own client no more than to be signed in with any role.
func needForSession(caller Caller, of ClientID) Action {
	if of == caller.Client {
		return ActionRead
	}
	return ActionCredentials
}

// EndSession ends a session, for whoever uses it at once; ended is false where it was absent. Needs ActionCredentials, or of a
// session of the caller's own client ActionRead on all.
func (s *Service) EndSession(ctx context.Context, id SessionID) (ended bool, err error) {
	caller, err := s.someone(ctx)
	if err != nil {
		return false, err
	}
	if err := id.check(); err != nil {
		return false, err
	}
	found, there, err := s.store.Session(ctx, id)
	if err != nil {
		return false, err
	}
	st := step{need: ActionCredentials, on: aSession, name: string(id), verb: "end", detail: func() string {
		if !there {
			return "which is not there"
		}
		return fmt.Sprintf("of %s: %s", found.Client, found.words())
	}}
	if there {
		st.need = needForSession(caller, found.Client)
	}
	err = s.administer(ctx, st, func() error {
		return insist(func() (err error) {
			ended, err = s.store.EndSession(ctx, id)
			return err
		})
	})
	return ended && err == nil, err
}

// EndSessions ends all sessions of a client, for whoever uses them at once, and returns how many. Needs ActionCredentials, or
// of the caller's own client ActionRead on all.
func (s *Service) EndSessions(ctx context.Context, client ClientID) (ended Count, err error) {
	caller, err := s.someone(ctx)
	if err != nil {
		return 0, err
	}
	st := step{need: needForSession(caller, client), on: aClient, name: string(client), verb: "end-sessions", detail: func() string {
		return fmt.Sprintf("%d sessions", ended)
	}}
	err = s.administer(ctx, st, func() error {
		return insist(func() error {
			n, err := s.store.EndSessions(ctx, client)
			ended += n
			return err
		})
	})
	return ended, err
}
