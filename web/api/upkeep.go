package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"idpool/alloc"
	"idpool/web"
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
	More     bool           `json:"more"`
}

func (a api) sweep(ctx context.Context, q request) (answer, error) {
	r, err := a.svc.Sweep(ctx, q.pool())
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: sweepAnswer(r)}, nil
}

type tendAnswer struct {
	Swept  []sweepAnswer `json:"swept"`
	Failed []failedPool  `json:"failed"`
	Left   int           `json:"left"` // pools that the time was over for; the next run goes on with them
}

type failedPool struct {
	Pool alloc.PoolName `json:"pool"`
	partialError
}

// tend does one run of the schedule's work.
func (a api) tend(ctx context.Context, _ request) (answer, error) {
	r, err := a.svc.Tend(ctx)
	if err != nil {
		return answer{}, err
	}
	body := tendAnswer{Swept: make([]sweepAnswer, len(r.Swept)), Failed: make([]failedPool, 0, len(r.Failed)), Left: r.Left}
	for i, s := range r.Swept {
		body.Swept[i] = sweepAnswer(s)
	}
	for name, err := range r.Failed {
		code, detail := web.Explain(ctx, err)
		body.Failed = append(body.Failed, failedPool{name, partialError{code, detail}})
	}
	slices.SortFunc(body.Failed, func(x, y failedPool) int { return cmp.Compare(x.Pool, y.Pool) })
	return answer{status: http.StatusOK, body: body}, nil
}

type trailAnswer struct {
	Records []trailRecord `json:"records"`
	Before  string        `json:"next_before,omitzero"` // what to give as before to go on
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

func (a api) trail(ctx context.Context, q request) (answer, error) {
	limit, err := q.limit()
	if err != nil {
		return answer{}, err
	}
	before, err := q.before()
	if err != nil {
		return answer{}, err
	}
	records, err := a.svc.Trail(ctx, before, limit)
	if err != nil {
		return answer{}, err
	}
	body := trailAnswer{Records: make([]trailRecord, len(records))}
	for i, r := range records {
		r.At = r.At.UTC()
		body.Records[i] = trailRecord(r)
	}
	if len(records) == limit {
		body.Before = records[limit-1].ID
	}
	return answer{status: http.StatusOK, body: body}, nil
}

// before is the record that the trail goes on below, "" from the newest. It is checked before it gets near an engine.
func (q request) before() (string, error) {
	id := q.query.Get("before")
	known := len(id) <= 64
	for i := 0; known && i < len(id); i++ {
		c := id[i]
		known = c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c == '.' || c == '-'
	}
	if !known {
		return "", alloc.Errorf(alloc.CodeInvalidRequest, "before must be the id of a record, as a list of records has it")
	}
	return id, nil
}
