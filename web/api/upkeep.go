package api

import (
	"context"
	"net/http"
	"time"

	"idpool/alloc"
)

type statusAnswer struct {
	Status string `json:"status"`
}

// healthy says that the process answers. It asks no engine, so that a slow one does not get processes killed.
func (a api) healthy(context.Context, request) (answer, error) {
	return answer{status: http.StatusOK, body: statusAnswer{"ok"}}, nil
}

// ready says that the engine answers too.
func (a api) ready(ctx context.Context, _ request) (answer, error) {
	if err := a.svc.Ready(ctx); err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: statusAnswer{"ready"}}, nil
}

type sweepAnswer struct {
	Pool     alloc.PoolName `json:"pool"`
	Passed   alloc.Count    `json:"passed"`
	Relisted alloc.Count    `json:"relisted"`
	Returned alloc.Count    `json:"returned"`
	Voided   alloc.Count    `json:"voided"`
	Calls    alloc.Count    `json:"calls"`  // of the engine, reads and writes; 0 where it does not count
	Writes   alloc.Count    `json:"writes"` // of these, those that write
	More     bool           `json:"more"`
}

func newSweepAnswer(r alloc.SweepReport) sweepAnswer {
	return sweepAnswer{Pool: r.Pool, Passed: r.Passed, Relisted: r.Relisted, Returned: r.Returned, Voided: r.Voided, Calls: r.Calls, Writes: r.Writes, More: r.More}
}

func (a api) sweep(ctx context.Context, q request) (answer, error) {
	r, err := a.svc.Sweep(ctx, q.pool())
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: newSweepAnswer(r)}, nil
}

type trailAnswer struct {
	Records []trailRecord `json:"records"`
	Next    alloc.Cursor  `json:"next_cursor,omitzero"` // what to give as cursor to go on
}

type trailRecord struct {
	ID      string         `json:"id"`
	At      time.Time      `json:"at"`
	Client  alloc.ClientID `json:"client"`
	Action  string         `json:"action"`
	Target  string         `json:"target"`
	Detail  string         `json:"detail"`
	Result  string         `json:"result"`
	Request string         `json:"request_id"`
	Address string         `json:"address"`
}

var trailColumns = []column[trailRecord]{
	{"id", func(r trailRecord) string { return r.ID }},
	{"at", func(r trailRecord) string { return when(r.At) }},
	{"client", func(r trailRecord) string { return string(r.Client) }},
	{"action", func(r trailRecord) string { return r.Action }},
	{"target", func(r trailRecord) string { return r.Target }},
	{"detail", func(r trailRecord) string { return r.Detail }},
	{"result", func(r trailRecord) string { return r.Result }},
	{"request_id", func(r trailRecord) string { return r.Request }},
	{"address", func(r trailRecord) string { return r.Address }},
}

func (a api) listTrail(ctx context.Context, q request) (answer, error) {
	cursor, limit, err := q.page()
	if err != nil {
		return answer{}, err
	}
	records, next, err := a.svc.Trail(ctx, cursor, limit)
	if err != nil {
		return answer{}, err
	}
	body := trailAnswer{Records: make([]trailRecord, len(records)), Next: next}
	for i, r := range records {
		r.At = r.At.UTC()
		body.Records[i] = trailRecord{
			ID: r.ID, At: r.At, Client: r.Client, Action: r.Action, Target: r.Target, Detail: r.Detail, Result: r.Result, Request: r.Request, Address: r.Address,
		}
	}
	return q.listed(body, listOf("audit", trailColumns, body.Records, next))
}
