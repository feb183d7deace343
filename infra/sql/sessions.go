package sql

import (
	"context"
	"time"

	"idpool/alloc"
)

const (
	sessionColumns = `id, client, name, role, issuer, subject, created, seen, expires, ends, address, agent`

	addSession     = `INSERT INTO sessions (` + sessionColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT (id) DO NOTHING`
	sameSession    = `SELECT 1 FROM sessions WHERE id = $1 AND ended = 0 AND client = $2 AND created = $3`
	selectSession  = `SELECT ` + sessionColumns + ` FROM sessions WHERE id = $1 AND ended = 0 AND expires > $2`
	touchSession   = `UPDATE sessions SET seen = $2, expires = $3 WHERE id = $1 AND ended = 0 AND seen < $2 AND expires <= $3`
	endSession     = `UPDATE sessions SET ended = 1 WHERE id = $1 AND ended = 0 AND expires > $2`
	endSessionsOf  = `UPDATE sessions SET ended = 1 WHERE client = $1 AND ended = 0 AND expires > $2`
	listSessions   = `SELECT ` + sessionColumns + ` FROM sessions WHERE id > $1 AND ended = 0 AND expires > $2 ORDER BY id LIMIT $3`
	expireSessions = `DELETE FROM sessions WHERE ends <= $1`
)

func scanSession(row scanner) (s alloc.Session, err error) {
	var created, seen, expires, ends int64
	err = row.Scan(&s.ID, &s.Client, &s.Name, &s.Role, &s.Issuer, &s.Subject, &created, &seen, &expires, &ends, &s.Address, &s.Agent)
	s.Created, s.Seen, s.Expires, s.Ends = moment(created), moment(seen), moment(expires), moment(ends)
	return s, err
}

// session reads one that counts at the time.
func (t *tx) session(id alloc.SessionID, now time.Time) (alloc.Session, bool, error) {
	found, err := list(t, scanSession, selectSession, id, instant(now))
	if err != nil || len(found) == 0 {
		return alloc.Session{}, false, err
	}
	return found[0], true, nil
}

// CreateSession puts the session if its ID was never used, and removes those whose time is over.
func (s *Store) CreateSession(ctx context.Context, one alloc.Session) error {
	_, err := write(ctx, s.writer, func(t *tx) (bool, error) {
		if _, err := t.exec(expireSessions, instant(s.clock())); err != nil {
			return false, err
		}
		added, err := t.exec(addSession, one.ID, one.Client, one.Name, one.Role, one.Issuer, one.Subject,
			instant(one.Created), instant(one.Seen), instant(one.Expires), instant(one.Ends), one.Address, one.Agent)
		if err != nil || added == 1 {
			return true, err
		}
		var same int
		repeat, err := t.row(sameSession, []any{one.ID, one.Client, instant(one.Created)}, &same)
		if err == nil && !repeat {
			err = alloc.Errorf(alloc.CodeInternal, "the ID of the new session was used before; sign in again")
		}
		return repeat, err
	})
	return err
}

// foundSession is what a read of one gives.
type foundSession struct {
	session alloc.Session
	ok      bool
}

// Session reads one.
func (s *Store) Session(ctx context.Context, id alloc.SessionID) (alloc.Session, bool, error) {
	f, err := read(ctx, s.reader, func(t *tx) (f foundSession, err error) {
		f.session, f.ok, err = t.session(id, s.clock())
		return f, err
	})
	return f.session, f.ok, err
}

// TouchSession raises Seen and Expires.
func (s *Store) TouchSession(ctx context.Context, id alloc.SessionID, seen, expires time.Time) (bool, error) {
	return write(ctx, s.writer, func(t *tx) (bool, error) {
		_, there, err := t.session(id, s.clock())
		if err == nil && there {
			_, err = t.exec(touchSession, id, instant(seen), instant(expires))
		}
		return there, err
	})
}

// EndSession ends one, if it is there.
func (s *Store) EndSession(ctx context.Context, id alloc.SessionID) (bool, error) {
	return write(ctx, s.writer, func(t *tx) (bool, error) {
		n, err := t.exec(endSession, id, instant(s.clock()))
		return n == 1, err
	})
}

// EndSessions ends all of the client.
func (s *Store) EndSessions(ctx context.Context, client alloc.ClientID) (alloc.Count, error) {
	return write(ctx, s.writer, func(t *tx) (alloc.Count, error) {
		n, err := t.exec(endSessionsOf, client, instant(s.clock()))
		return alloc.Count(n), err
	})
}

// ListSessions returns at most limit, in the order of their IDs, after the ID given.
func (s *Store) ListSessions(ctx context.Context, after alloc.SessionID, limit int) ([]alloc.Session, error) {
	return read(ctx, s.reader, func(t *tx) ([]alloc.Session, error) {
		return list(t, scanSession, listSessions, after, instant(s.clock()), limit)
	})
}
