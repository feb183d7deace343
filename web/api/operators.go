package api

import (
	"context"
	"net/http"

	"idpool/alloc"
)

// operateBody is one ID as GET …/ids has shown it: the generation and the client say whose it was.
type operateBody struct {
	ID         alloc.ID         `json:"id"`
	Generation alloc.Generation `json:"generation"`
	Client     alloc.ClientID   `json:"client"`
	Why        string           `json:"why"`
}

func (b *operateBody) fields() []field {
	return []field{text("id", &b.ID), whole("generation", &b.Generation), text("client", &b.Client), text("why", &b.Why)}
}

// settleFor releases or retires an ID in place of its owner.
func (a api) settleFor(e alloc.Event) func(context.Context, request, operateBody) (answer, error) {
	return func(ctx context.Context, q request, b operateBody) (answer, error) {
		was := alloc.IDRecord{Pool: q.pool(), ID: b.ID, Generation: b.Generation, By: b.Client}
		s, err := a.svc.SettleFor(ctx, alloc.OperatorRequest{Was: was, Event: e, Why: b.Why})
		if err != nil {
			return answer{}, err
		}
		return answer{status: http.StatusOK, body: settleAnswer{Pool: s.Pool, IDs: s.IDs, State: s.State}}, nil
	}
}

type sessionEnded struct {
	Session alloc.SessionID `json:"session"`
	Ended   bool            `json:"ended"` // false where there was none
}

// endSession ends a session of the dashboard, for whoever uses it at once.
func (a api) endSession(ctx context.Context, q request) (answer, error) {
	id := alloc.SessionID(q.http.PathValue("session"))
	ended, err := a.svc.EndSession(ctx, id)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: sessionEnded{id, ended}}, nil
}
