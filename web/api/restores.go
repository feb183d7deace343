package api

import (
	"context"
	"net/http"
	"time"

	"idpool/alloc"
)

type logBody struct {
	Since time.Time `json:"since"` // zero for all
	Why   string    `json:"why"`
}

func (b *logBody) fields() []field { return []field{moment("since", &b.Since), text("why", &b.Why)} }

// logPool makes a job that writes what was taken of the pool.
func (a api) logPool(ctx context.Context, q request, b logBody) (answer, error) {
	return jobMade(a.svc.LogTaken(ctx, alloc.LogRequest{Pool: q.pool(), Since: b.Since, Why: b.Why, Intent: q.attempt.Intent}))
}

// logSequence makes a job that writes what was leased of the sequence.
func (a api) logSequence(ctx context.Context, q request, b logBody) (answer, error) {
	return jobMade(a.svc.LogTaken(ctx, alloc.LogRequest{Sequence: q.sequence(), Since: b.Since, Why: b.Why, Intent: q.attempt.Intent}))
}

type restoreBody struct {
	Source  alloc.RestoreSource `json:"source"`
	Point   time.Time           `json:"point"`
	AtMost  *alloc.Count        `json:"at_most"`
	Why     string              `json:"why"`
	Confirm string              `json:"confirm"`
}

func (b *restoreBody) fields() []field {
	return []field{
		text("source", &b.Source), moment("point", &b.Point), boundedGiven("at_most", 0, maxBurn, &b.AtMost), text("why", &b.Why), text("confirm", &b.Confirm),
	}
}

func (a api) restorePool(ctx context.Context, q request, b restoreBody) (answer, error) {
	name := q.pool()
	if err := confirmed(onPool, string(name), b.Confirm); err != nil {
		return answer{}, err
	}
	return a.restore(ctx, q, b, alloc.RestoreRequest{Pool: name})
}

func (a api) restoreSequence(ctx context.Context, q request, b restoreBody) (answer, error) {
	name := q.sequence()
	if err := confirmed(onSequence, string(name), b.Confirm); err != nil {
		return answer{}, err
	}
	return a.restore(ctx, q, b, alloc.RestoreRequest{Sequence: name})
}

// restore makes a job that carries forward what was taken after the point, or that waits for the log of it.
func (a api) restore(ctx context.Context, q request, b restoreBody, r alloc.RestoreRequest) (answer, error) {
	r.Source, r.Point, r.AtMost, r.Why, r.Intent = b.Source, b.Point, b.AtMost, b.Why, q.attempt.Intent
	j, err := a.svc.Restore(ctx, r)
	made, err := jobMade(j, err)
	if err == nil && b.Source == alloc.RestoreLog {
		made.status = http.StatusCreated
	}
	return made, err
}

// maxBurn is more IDs than any pool has.
const maxBurn alloc.Count = 1_000_000_000_000
