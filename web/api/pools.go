package api

import (
	"context"
	"net/http"
	"time"

	"idpool/alloc"
	"idpool/web"
)

type poolConfig struct {
	Description string          `json:"description"`
	Policy      alloc.Policy    `json:"policy"`
	FoldCase    bool            `json:"fold_case"`
	MaxBatch    alloc.Count     `json:"max_batch"`
	OnRelease   alloc.OnRelease `json:"on_release"`
	RequireKey  bool            `json:"require_key"`
}

func (b *poolConfig) fields() []field {
	return []field{
		text("description", &b.Description), text("policy", &b.Policy), flag("fold_case", &b.FoldCase), positive("max_batch", &b.MaxBatch),
		text("on_release", &b.OnRelease), flag("require_key", &b.RequireKey),
	}
}

type poolAnswer struct {
	Name    alloc.PoolName  `json:"name"`
	State   alloc.PoolState `json:"state"`
	Version alloc.Version   `json:"version"`
	Created time.Time       `json:"created_at"`
	Config  poolConfig      `json:"config"`

	Level      *levelAnswer  `json:"level,omitempty"`       // where it was read
	LevelError *partialError `json:"level_error,omitempty"` // instead of a level that could not be read
}

type levelAnswer struct {
	Available alloc.Count `json:"available"`
	Seeded    alloc.Count `json:"seeded"`
	Held      alloc.Count `json:"held"`
	Claimed   alloc.Count `json:"claimed"`
	Returning alloc.Count `json:"returning"`
	Retired   alloc.Count `json:"retired"`
	Forgotten alloc.Count `json:"forgotten"`
	CountedAt time.Time   `json:"counted_at,omitzero"` // when all but available were counted; absent before the first sweep
}

// partialError stands in an answer for the part that failed.
type partialError struct {
	Code   alloc.Code `json:"code"`
	Detail string     `json:"detail"`
}

func newPoolAnswer(p alloc.Pool) poolAnswer {
	return poolAnswer{Name: p.Name, State: p.State, Version: p.Version, Created: utc(p.Created), Config: poolConfig(p.Config)}
}

func newPoolStatus(ctx context.Context, s alloc.PoolStatus) poolAnswer {
	p := newPoolAnswer(s.Pool)
	if s.LevelError != nil {
		code, detail := web.Explain(ctx, s.LevelError)
		p.LevelError = &partialError{code, detail}
		return p
	}
	l := s.Level
	p.Level = &levelAnswer{
		Available: l.Available, Seeded: l.Seeded, Held: l.Held, Claimed: l.Claimed, Returning: l.Returning, Retired: l.Retired,
		Forgotten: l.Forgotten, CountedAt: utc(l.CountedAt),
	}
	return p
}

// putPool creates the pool, or with If-Match changes it.
func (a api) putPool(ctx context.Context, q request, c poolConfig) (answer, error) {
	name := q.pool()
	version, err := ifMatch(q.http.Header)
	if err != nil {
		return answer{}, err
	}
	if version != 0 {
		p, err := a.svc.ChangePool(ctx, name, version, alloc.PoolConfig(c))
		return answer{status: http.StatusOK, body: newPoolAnswer(p), version: p.Version}, err
	}
	p, created, err := a.svc.CreatePool(ctx, name, alloc.PoolConfig(c))
	return answer{status: createdStatus(created), body: newPoolAnswer(p), version: p.Version}, versionRequired(err, alloc.CodePoolExists)
}

func createdStatus(created bool) int {
	if created {
		return http.StatusCreated
	}
	return http.StatusOK
}

// versionRequired makes of "it exists with another configuration" what the client has to do about it.
func versionRequired(err error, exists alloc.Code) error {
	if !alloc.Is(err, exists) {
		return err
	}
	return alloc.Errorf(web.CodeVersionRequired,
		"it exists with another configuration; to change it, GET it and send the ETag of that answer as If-Match").Because(err)
}

func (a api) pool(ctx context.Context, q request) (answer, error) {
	s, err := a.svc.Pool(ctx, q.pool())
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: newPoolStatus(ctx, s), version: s.Pool.Version}, nil
}

type poolsAnswer struct {
	Pools []poolAnswer `json:"pools"`
	Next  alloc.Cursor `json:"next_cursor,omitzero"` // what to give as cursor to go on
}

func (a api) pools(ctx context.Context, q request) (answer, error) {
	cursor, limit, err := q.page()
	if err != nil {
		return answer{}, err
	}
	pools, next, err := a.svc.Pools(ctx, cursor, limit)
	if err != nil {
		return answer{}, err
	}
	body := poolsAnswer{Pools: make([]poolAnswer, len(pools)), Next: next}
	for i, s := range pools {
		body.Pools[i] = newPoolStatus(ctx, s)
	}
	return answer{status: http.StatusOK, body: body}, nil
}

// setPool pauses, resumes, drains or deletes.
func (a api) setPool(to alloc.PoolState) endpoint {
	return func(ctx context.Context, q request) (answer, error) {
		p, err := a.svc.SetPoolState(ctx, q.pool(), 0, to)
		if err != nil {
			return answer{}, err
		}
		return answer{status: http.StatusOK, body: newPoolAnswer(p), version: p.Version}, nil
	}
}
