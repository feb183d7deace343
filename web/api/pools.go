package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
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
	Generator   *generatorBody  `json:"generator,omitempty"` // nil for none
	Refill      *marksBody      `json:"refill,omitempty"`    // nil for none
}

func (b *poolConfig) fields() []field {
	return []field{
		text("description", &b.Description), text("policy", &b.Policy), flag("fold_case", &b.FoldCase), positive("max_batch", &b.MaxBatch),
		text("on_release", &b.OnRelease), flag("require_key", &b.RequireKey), generatorOf(&b.Generator), object("refill", &b.Refill),
	}
}

func newPoolConfig(c alloc.PoolConfig) poolConfig {
	return poolConfig{
		Description: c.Description, Policy: c.Policy, FoldCase: c.FoldCase, MaxBatch: c.MaxBatch, OnRelease: c.OnRelease, RequireKey: c.RequireKey,
		Generator: newGeneratorBody(c.Generator), Refill: newMarksBody(c.Marks),
	}
}

func (b *poolConfig) config() alloc.PoolConfig {
	return alloc.PoolConfig{
		Description: b.Description, Policy: b.Policy, FoldCase: b.FoldCase, MaxBatch: b.MaxBatch, OnRelease: b.OnRelease, RequireKey: b.RequireKey,
		Generator: b.Generator.config(), Marks: b.Refill.marks(),
	}
}

type poolAnswer struct {
	Name    alloc.PoolName  `json:"name"`
	State   alloc.PoolState `json:"state"`
	Version alloc.Version   `json:"version,omitzero"` // this and the next two are absent from a damaged one where they are lost
	Created time.Time       `json:"created_at,omitzero"`
	Config  *poolConfig     `json:"config,omitempty"`

	Level      *levelAnswer  `json:"level,omitempty"`       // where it was read
	LevelError *partialError `json:"level_error,omitempty"` // instead of a level that could not be read

	Refill      *refillStatus `json:"refill_status,omitempty"` // where it was read, of a pool with marks
	RefillError *partialError `json:"refill_error,omitempty"`  // instead of one that could not be read
}

// refillStatus is whether the pool is to be filled, and is being filled.
type refillStatus struct {
	Low     bool   `json:"low"`
	Filling bool   `json:"filling"`
	Dry     string `json:"dry,omitzero"` // why its generator can make no more
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
	a := poolAnswer{Name: p.Name, State: p.State, Version: p.Version, Created: utc(p.Created)}
	if p.State != alloc.PoolDamaged || p.Config != (alloc.PoolConfig{}) {
		a.Config = new(newPoolConfig(p.Config))
	}
	return a
}

func newPoolStatus(ctx context.Context, s alloc.PoolStatus) poolAnswer {
	p := newPoolAnswer(s.Pool)
	if p.LevelError = explained(ctx, s.LevelError); p.LevelError != nil {
		return p
	}
	l := s.Level
	p.Level = &levelAnswer{
		Available: l.Available, Seeded: l.Seeded, Held: l.Held, Claimed: l.Claimed, Returning: l.Returning, Retired: l.Retired,
		Forgotten: l.Forgotten, CountedAt: utc(l.CountedAt),
	}
	p.RefillError = explained(ctx, s.RefillError)
	if r := s.Refill; r != nil {
		p.Refill = &refillStatus{r.Low, r.Filling, r.Dry}
	}
	return p
}

// putPool creates the pool, or with If-Match changes it.
func (a api) putPool(ctx context.Context, q request, c poolConfig) (answer, error) {
	name := q.pool()
	if q.ifMatch != 0 {
		p, err := a.svc.ChangePool(ctx, name, q.ifMatch, c.config())
		return answer{status: http.StatusOK, body: newPoolAnswer(p), version: p.Version}, err
	}
	p, created, err := a.svc.CreatePool(ctx, name, c.config())
	return answer{status: q.createdStatus(created, p.Created), body: newPoolAnswer(p), version: p.Version}, versionRequired(err, alloc.CodePoolExists)
}

// createdStatus is that of a PUT that made the thing, or found it equal, made at that time. What was made since the request
// with the key began is the work of one of its attempts: all of them answer alike.
func (q request) createdStatus(created bool, at time.Time) int {
	begun := q.attempt.Begun.Truncate(time.Millisecond) // as the coarsest store keeps times
	if created || !begun.IsZero() && !at.Before(begun) {
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

var poolColumns = slices.Concat([]column[poolAnswer]{
	{"name", func(p poolAnswer) string { return string(p.Name) }},
	{"state", func(p poolAnswer) string { return string(p.State) }},
	{"version", func(p poolAnswer) string {
		if p.Version == 0 {
			return ""
		}
		return decimal(p.Version)
	}},
	{"created_at", func(p poolAnswer) string { return when(p.Created) }},
	configColumn("description", func(c poolConfig) string { return c.Description }),
	configColumn("policy", func(c poolConfig) string { return string(c.Policy) }),
	configColumn("fold_case", func(c poolConfig) string { return strconv.FormatBool(c.FoldCase) }),
	configColumn("max_batch", func(c poolConfig) string { return decimal(c.MaxBatch) }),
	configColumn("on_release", func(c poolConfig) string { return string(c.OnRelease) }),
	configColumn("require_key", func(c poolConfig) string { return strconv.FormatBool(c.RequireKey) }),
}, fillColumns, []column[poolAnswer]{
	levelColumn("available", func(l levelAnswer) string { return decimal(l.Available) }),
	levelColumn("seeded", func(l levelAnswer) string { return decimal(l.Seeded) }),
	levelColumn("held", func(l levelAnswer) string { return decimal(l.Held) }),
	levelColumn("claimed", func(l levelAnswer) string { return decimal(l.Claimed) }),
	levelColumn("returning", func(l levelAnswer) string { return decimal(l.Returning) }),
	levelColumn("retired", func(l levelAnswer) string { return decimal(l.Retired) }),
	levelColumn("forgotten", func(l levelAnswer) string { return decimal(l.Forgotten) }),
	levelColumn("counted_at", func(l levelAnswer) string { return when(l.CountedAt) }),
	errorColumn("level_error", func(p poolAnswer) *partialError { return p.LevelError }),
	refillColumn("refill_low", func(r refillStatus) string { return strconv.FormatBool(r.Low) }),
	refillColumn("refill_filling", func(r refillStatus) string { return strconv.FormatBool(r.Filling) }),
	refillColumn("refill_dry", func(r refillStatus) string { return r.Dry }),
	errorColumn("refill_error", func(p poolAnswer) *partialError { return p.RefillError }),
})

// configColumn is empty where the configuration is not known.
func configColumn(name string, value func(poolConfig) string) column[poolAnswer] {
	return column[poolAnswer]{name, func(p poolAnswer) string {
		if p.Config == nil {
			return ""
		}
		return value(*p.Config)
	}}
}

// errorColumn is the code of what could not be read; empty where nothing failed.
func errorColumn(name string, of func(poolAnswer) *partialError) column[poolAnswer] {
	return column[poolAnswer]{name, func(p poolAnswer) string {
		if e := of(p); e != nil {
			return string(e.Code)
		}
		return ""
	}}
}

// refillColumn is empty for a pool without marks.
func refillColumn(name string, value func(refillStatus) string) column[poolAnswer] {
	return column[poolAnswer]{name, func(p poolAnswer) string {
		if p.Refill == nil {
			return ""
		}
		return value(*p.Refill)
	}}
}

// levelColumn is empty where the level could not be read.
func levelColumn(name string, value func(levelAnswer) string) column[poolAnswer] {
	return column[poolAnswer]{name, func(p poolAnswer) string {
		if p.Level == nil {
			return ""
		}
		return value(*p.Level)
	}}
}

func (a api) listPools(ctx context.Context, q request) (answer, error) {
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
	return q.listed(body, listOf("pools", poolColumns, body.Pools, next))
}

// setPool pauses, resumes, drains or deletes; with If-Match only the version that the client knows.
func (a api) setPool(to alloc.PoolState) endpoint {
	return func(ctx context.Context, q request) (answer, error) {
		p, err := a.svc.SetPoolState(ctx, q.pool(), q.ifMatch, to)
		if to == alloc.PoolDeleted && q.attempt.Others && alloc.Is(err, alloc.CodePoolDeleted) {
			p, err = a.deletedPool(ctx, q, err)
		}
		if err != nil {
			return answer{}, err
		}
		return answer{status: http.StatusOK, body: newPoolAnswer(p), version: p.Version}, nil
	}
}

// deletedPool is the pool that another attempt of this deletion may have deleted: then it was done. The error is what this
// attempt was told.
func (a api) deletedPool(ctx context.Context, q request, told error) (alloc.Pool, error) {
	p, err := a.svc.DeletedPool(ctx, q.pool())
	if err == nil && q.ifMatch != 0 && p.Version != q.ifMatch {
		err = told // it was deleted at a version that this deletion is not for
	}
	return p, err
}
