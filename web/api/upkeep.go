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

func newSweepAnswer(r alloc.SweepReport) sweepAnswer {
	return sweepAnswer{Pool: r.Pool, Passed: r.Passed, Relisted: r.Relisted, Returned: r.Returned, Voided: r.Voided, More: r.More}
}

func (a api) sweep(ctx context.Context, q request) (answer, error) {
	r, err := a.svc.Sweep(ctx, q.pool())
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: newSweepAnswer(r)}, nil
}

// At most so many entries of each kind are in the answer of a run of the schedule, so that it can be kept under a key
// however many pools there are. The log of the function refill has all.
const (
	maxSwept  = 500
	maxFailed = 150
	maxJobs   = 50
)

type tendAnswer struct {
	Swept   []sweepAnswer `json:"swept"`
	Failed  []failedPool  `json:"failed"`
	Left    int           `json:"left"` // pools that the time was over for; the next run goes on with them
	Jobs    []tendedJob   `json:"jobs"`
	Omitted int           `json:"omitted,omitzero"` // entries that are left out, as there are too many
}

type failedPool struct {
	Pool alloc.PoolName `json:"pool"`
	partialError
}

// tendedJob is a job that the run carried on, as it was left.
type tendedJob struct {
	ID      alloc.JobID    `json:"id"`
	Pool    alloc.PoolName `json:"pool"`
	State   alloc.JobState `json:"state"`
	Steps   int            `json:"steps"`
	Written alloc.Count    `json:"written"`         // IDs
	Error   *partialError  `json:"error,omitempty"` // why the run went no further with it
}

// tend does one run of the schedule's work.
func (a api) tend(ctx context.Context, _ request) (answer, error) {
	r, err := a.svc.Tend(ctx)
	if err != nil {
		return answer{}, err
	}
	body := tendAnswer{Swept: []sweepAnswer{}, Failed: []failedPool{}, Left: r.Left, Jobs: []tendedJob{}}
	for _, s := range r.Swept {
		body.Swept = append(body.Swept, newSweepAnswer(s))
	}
	for name, err := range r.Failed {
		code, detail := web.Explain(ctx, err)
		body.Failed = append(body.Failed, failedPool{name, partialError{code, detail}})
	}
	slices.SortFunc(body.Failed, func(x, y failedPool) int { return cmp.Compare(x.Pool, y.Pool) })
	for _, j := range r.Jobs {
		t := tendedJob{ID: j.Job.ID, Pool: j.Job.Pool, State: j.Job.State, Steps: j.Steps, Written: j.IDs}
		if j.Err != nil {
			code, detail := web.Explain(ctx, j.Err)
			t.Error = &partialError{code, detail}
		}
		body.Jobs = append(body.Jobs, t)
	}
	body.bound()
	return answer{status: http.StatusOK, body: body}, nil
}

// bound leaves out what is too much.
func (a *tendAnswer) bound() {
	all := len(a.Swept) + len(a.Failed) + len(a.Jobs)
	a.Swept = a.Swept[:min(len(a.Swept), maxSwept)]
	a.Failed = a.Failed[:min(len(a.Failed), maxFailed)]
	a.Jobs = a.Jobs[:min(len(a.Jobs), maxJobs)]
	a.Omitted = all - len(a.Swept) - len(a.Failed) - len(a.Jobs)
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
		body.Records[i] = trailRecord(r)
	}
	return q.listed(body, listOf("audit", trailColumns, body.Records, next))
}
