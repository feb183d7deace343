package api

import (
	"context"
	"net/http"
	"time"

	"idpool/alloc"
)

// evidenceAnswer is how a pool is at a glance. What its head or the copy of its configuration says is absent where both are lost.
type evidenceAnswer struct {
	Pool       alloc.PoolName  `json:"pool"`
	Head       bool            `json:"head"`
	Configured bool            `json:"configured"`
	State      alloc.PoolState `json:"state,omitzero"`
	Version    alloc.Version   `json:"version,omitzero"`
	Created    time.Time       `json:"created_at,omitzero"`
	Config     *poolConfig     `json:"config,omitempty"`
	Rebuilding alloc.JobID     `json:"rebuilding,omitzero"`
	Published  alloc.Count     `json:"published"`
	Damage     []string        `json:"damage"`
}

func (a api) poolEvidence(ctx context.Context, q request) (answer, error) {
	name := q.pool()
	e, err := a.svc.PoolEvidence(ctx, name)
	if err != nil {
		return answer{}, err
	}
	body := evidenceAnswer{
		Pool: name, Head: e.Head, Configured: e.Configured, Rebuilding: e.Rebuilding, Published: e.Published, Damage: append([]string{}, e.Damage...),
	}
	if e.Configured {
		body.State, body.Version, body.Created, body.Config = e.Pool.State, e.Pool.Version, utc(e.Pool.Created), new(newPoolConfig(e.Pool.Config))
	}
	return answer{status: http.StatusOK, body: body}, nil
}

type poolRebuildBody struct {
	Why      string       `json:"why"`
	Confirm  string       `json:"confirm"`
	Policy   alloc.Policy `json:"policy"`    // "" for not said
	FoldCase *bool        `json:"fold_case"` // nil for not said
}

func (b *poolRebuildBody) fields() []field {
	return []field{text("why", &b.Why), text("confirm", &b.Confirm), text("policy", &b.Policy), maybe("fold_case", &b.FoldCase)}
}

// rebuildPool makes a job that rebuilds the pool, or answers with the one that does it already.
func (a api) rebuildPool(ctx context.Context, q request, b poolRebuildBody) (answer, error) {
	name := q.pool()
	if err := confirmed(onPool, string(name), b.Confirm); err != nil {
		return answer{}, err
	}
	return jobMade(a.svc.RebuildPool(ctx, alloc.PoolRebuildRequest{
		Pool: name, Why: b.Why, Policy: b.Policy, FoldCase: b.FoldCase, Intent: q.attempt.Intent,
	}))
}

// jobMade is the answer that a job goes on by itself.
func jobMade(j alloc.Job, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusAccepted, body: newJobAnswer(j)}, nil
}
