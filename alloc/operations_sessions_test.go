package alloc_test

import (
	"context"
	"strings"
	"time"

	"idpool/alloc"
)

// someSession is there in a world as newWorld makes it.
var someSession = alloc.Session{
	ID: alloc.SessionID(strings.Repeat("a", 52)), Client: "user:ann-aaaabbbbcccc", Name: "Ann", Role: alloc.RoleViewer, Issuer: "issuer", Subject: "ann",
	Created: time.Now(), Seen: time.Now(), Expires: time.Now().Add(time.Hour), Ends: time.Now().Add(time.Hour),
}

// sessionOperations are of sessions of another client than the one that asks.
var sessionOperations = map[string]operation{
	"Sessions": {need: alloc.ActionCredentials, on: "*", list: true, run: func(ctx context.Context, s *alloc.Service) error {
		sessions, _, err := s.Sessions(ctx, "", 10)
		return oneOrHidden(len(sessions), err)
	}},
	"EndSession": {need: alloc.ActionCredentials, on: "*", record: "session.end", target: "session/" + string(someSession.ID), finds: "Session", spared: true, run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.EndSession(ctx, someSession.ID)
		return err
	}},
	"EndSessions": {need: alloc.ActionCredentials, on: "*", record: "client.end-sessions", target: "client/" + string(someSession.Client), spared: true, run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.EndSessions(ctx, someSession.Client)
		return err
	}},
}
