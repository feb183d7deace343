package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"idpool/alloc"
	"idpool/web"
)

type claimBody struct {
	Count    alloc.Count       `json:"count"`
	Owner    string            `json:"owner"`
	Metadata map[string]string `json:"metadata"`
}

func (b *claimBody) fields() []field {
	b.Count = 1
	return []field{whole("count", &b.Count), text("owner", &b.Owner), textMap("metadata", &b.Metadata)}
}

type claimAnswer struct {
	Pool    alloc.PoolName `json:"pool"`
	IDs     []alloc.ID     `json:"ids"`
	State   alloc.State    `json:"state"`
	Token   alloc.Token    `json:"token"`
	Claimed time.Time      `json:"claimed_at"`
}

func (a api) claim(ctx context.Context, q request, b claimBody) (answer, error) {
	key, err := q.idempotencyKey()
	if err != nil {
		return answer{}, err
	}
	web.Note(ctx, slog.Int64(web.KeyCount, int64(b.Count)))
	c, err := a.svc.Claim(ctx, alloc.ClaimRequest{
		Pool: q.pool(), Count: b.Count, Owner: b.Owner, Metadata: b.Metadata, Key: key, Print: canonical(b),
	})
	if err != nil {
		return answer{}, err
	}
	return answer{
		status: http.StatusCreated, replayed: c.Replayed,
		body: claimAnswer{Pool: c.Pool, IDs: c.IDs, State: c.State, Token: c.Token, Claimed: c.At.UTC()},
	}, nil
}

// canonical is the canonical form of a body: what was meant, defaults filled in, whatever the order and spacing of what was
// sent. Two requests with one idempotency key are the same if it is.
func canonical(b any) string {
	data, err := json.Marshal(b)
	if err != nil {
		panic(err) // bodies have nothing that JSON cannot say
	}
	return string(data)
}

type idAnswer struct {
	Pool       alloc.PoolName    `json:"pool"`
	ID         alloc.ID          `json:"id"`
	State      alloc.State       `json:"state"`
	Generation alloc.Generation  `json:"generation"`
	Job        alloc.JobID       `json:"job,omitzero"`
	Client     alloc.ClientID    `json:"client,omitzero"`
	Owner      string            `json:"owner,omitzero"`
	Metadata   map[string]string `json:"metadata,omitempty"`
	Claimed    time.Time         `json:"claimed_at,omitzero"`
}

// inspect says what is known of one ID. The token is left out: who has it may release the ID, and who may read need not.
func (a api) inspect(ctx context.Context, q request) (answer, error) {
	id := q.query.Get("id")
	if id == "" {
		return answer{}, alloc.Errorf(alloc.CodeInvalidRequest, "say which ID: …/ids?id=…, percent-encoded")
	}
	r, err := a.svc.InspectID(ctx, q.pool(), id)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: idAnswer{
		Pool: r.Pool, ID: r.ID, State: r.State, Generation: r.Generation, Job: r.Job,
		Client: r.By, Owner: r.Owner, Metadata: r.Metadata, Claimed: utc(r.At),
	}}, nil
}

// utc brings a time to UTC and leaves the zero time zero.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}
