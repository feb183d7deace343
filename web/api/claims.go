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
	Hold     int64             `json:"hold,omitzero"` // seconds; 0 to claim for good
}

func (b *claimBody) fields() []field {
	b.Count = 1
	return []field{whole("count", &b.Count), text("owner", &b.Owner), textMap("metadata", &b.Metadata), seconds("hold", 1, alloc.MaxHold, "the IDs are claimed for good", &b.Hold)}
}

type claimAnswer struct {
	Pool    alloc.PoolName `json:"pool"`
	IDs     []alloc.ID     `json:"ids"`
	State   alloc.State    `json:"state"`
	Token   alloc.Token    `json:"token"`
	Claimed time.Time      `json:"claimed_at"`
	Held    time.Time      `json:"held_until,omitzero"` // of a hold
	Ended   []endedID      `json:"ended,omitempty"`     // in a repeat: IDs that came back or were retired since
}

type endedID struct {
	ID    alloc.ID    `json:"id"`
	State alloc.State `json:"state"`
}

func (a api) claim(ctx context.Context, q request, b claimBody) (answer, error) {
	web.Note(ctx, slog.Int64(web.KeyCount, int64(b.Count)))
	c, err := a.svc.Claim(ctx, alloc.ClaimRequest{
		Pool: q.pool(), Count: b.Count, Owner: b.Owner, Metadata: b.Metadata, Hold: time.Duration(b.Hold) * time.Second, Key: q.key, Print: canonical(b),
	})
	if err != nil {
		return answer{}, err
	}
	web.Note(ctx, slog.Int(web.KeyStolen, c.Lost))
	body := claimAnswer{Pool: c.Pool, IDs: c.IDs, State: c.State, Token: c.Token, Claimed: c.At.UTC(), Held: utc(c.HeldUntil)}
	for _, e := range c.Ended {
		body.Ended = append(body.Ended, endedID(e))
	}
	return answer{status: http.StatusCreated, replayed: c.Replayed, finished: c.Finished, body: body}, nil
}

type settleBody struct {
	IDs   []alloc.ID  `json:"ids"`
	Token alloc.Token `json:"token"`
}

func (b *settleBody) fields() []field { return []field{texts("ids", &b.IDs), text("token", &b.Token)} }

type settleAnswer struct {
	Pool  alloc.PoolName `json:"pool"`
	IDs   []alloc.ID     `json:"ids"`
	State alloc.State    `json:"state"`
}

// revive puts the IDs back, which are left out of what is kept: a thousand of them may be too long for it.
func (b settleBody) revive(kept []byte) (any, error) {
	var a settleAnswer
	err := json.Unmarshal(kept, &a)
	a.IDs = b.IDs
	return a, err
}

// settle confirms, releases or retires.
func (a api) settle(e alloc.Event) func(context.Context, request, settleBody) (answer, error) {
	return func(ctx context.Context, q request, b settleBody) (answer, error) {
		web.Note(ctx, slog.Int(web.KeyCount, len(b.IDs)))
		s, err := a.svc.Settle(ctx, alloc.SettleRequest{Pool: q.pool(), Event: e, IDs: b.IDs, Token: b.Token})
		if err != nil {
			return answer{}, err
		}
		return answer{
			status: http.StatusOK, body: settleAnswer{Pool: s.Pool, IDs: b.IDs, State: s.State}, kept: settleAnswer{Pool: s.Pool, State: s.State},
		}, nil
	}
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
	Held       time.Time         `json:"held_until,omitzero"` // of a hold
}

func newIDAnswer(r alloc.IDRecord) idAnswer {
	return idAnswer{
		Pool: r.Pool, ID: r.ID, State: r.State, Generation: r.Generation, Job: r.Job,
		Client: r.By, Owner: r.Owner, Metadata: r.Metadata, Claimed: utc(r.At), Held: utc(r.HeldUntil),
	}
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
	return answer{status: http.StatusOK, body: newIDAnswer(r)}, nil
}

// utc brings a time to UTC and leaves the zero time zero.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}
