package alloctest

import (
	"context"
	"time"

	"idpool/alloc"
)

// CreateSession implements alloc.Sessions.
func (f *Faulty) CreateSession(ctx context.Context, s alloc.Session) error {
	_, err := call(ctx, f, "CreateSession", func() (struct{}, error) { return struct{}{}, f.store.CreateSession(ctx, s) })
	return err
}

// Session implements alloc.Sessions.
func (f *Faulty) Session(ctx context.Context, id alloc.SessionID) (alloc.Session, bool, error) {
	a, err := call(ctx, f, "Session", func() (a made[alloc.Session], err error) {
		a.thing, a.created, err = f.store.Session(ctx, id)
		return a, err
	})
	return a.thing, a.created, err
}

// TouchSession implements alloc.Sessions.
func (f *Faulty) TouchSession(ctx context.Context, id alloc.SessionID, seen, expires time.Time) (bool, error) {
	return call(ctx, f, "TouchSession", func() (bool, error) { return f.store.TouchSession(ctx, id, seen, expires) })
}

// EndSession implements alloc.Sessions.
func (f *Faulty) EndSession(ctx context.Context, id alloc.SessionID) (bool, error) {
	return call(ctx, f, "EndSession", func() (bool, error) { return f.store.EndSession(ctx, id) })
}

// EndSessions implements alloc.Sessions.
func (f *Faulty) EndSessions(ctx context.Context, client alloc.ClientID) (alloc.Count, error) {
	return call(ctx, f, "EndSessions", func() (alloc.Count, error) { return f.store.EndSessions(ctx, client) })
}

// ListSessions implements alloc.Sessions.
func (f *Faulty) ListSessions(ctx context.Context, after alloc.SessionID, limit int) ([]alloc.Session, error) {
	return call(ctx, f, "ListSessions", func() ([]alloc.Session, error) { return f.store.ListSessions(ctx, after, limit) })
}
