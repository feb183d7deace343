package api

import (
	"context"
	"net/http"

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
