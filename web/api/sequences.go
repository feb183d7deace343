package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"idpool/alloc"
)

// sequenceBody is the configuration that a client wants.
type sequenceBody struct {
	Config alloc.SequenceConfig
}

func (b *sequenceBody) fields() []field { return sequenceFields("", &b.Config) }

// sequenceFields are the members of a configuration. within is what their names have before them: see object.
func sequenceFields(within string, c *alloc.SequenceConfig) []field {
	return []field{
		text(within+"description", &c.Description),
		number(within+"start", func(n alloc.Number) error {
			c.Start, c.StartAtZero = n, n == 0
			return nil
		}),
		number(within+"limit", func(n alloc.Number) error {
			if n == 0 { // the domain takes zero for "not given"
				return alloc.Errorf(alloc.CodeInvalidConfig, "%slimit must be at least 1; leave it out for the highest number there is", within)
			}
			c.Limit = n
			return nil
		}),
		positive(within+"max_lease", &c.MaxLease),
		positive(within+"segment", &c.Segment),
		flag(within+"require_key", &c.RequireKey),
		flag(within+"auto_rebuild", &c.AutoRebuild),
		percent(within+"resume_share", &c.ResumeShare),
	}
}

type sequenceConfig struct {
	Description string       `json:"description"`
	Start       alloc.Number `json:"start,string"`
	Limit       alloc.Number `json:"limit,string"`
	MaxLease    alloc.Count  `json:"max_lease"`
	Segment     alloc.Count  `json:"segment"`
	RequireKey  bool         `json:"require_key"`
	AutoRebuild bool         `json:"auto_rebuild"`
	ResumeShare int          `json:"resume_share"`
}

func newSequenceConfig(c alloc.SequenceConfig) sequenceConfig {
	return sequenceConfig{
		Description: c.Description, Start: c.Start, Limit: c.Limit, MaxLease: c.MaxLease, Segment: c.Segment, RequireKey: c.RequireKey,
		AutoRebuild: c.AutoRebuild, ResumeShare: c.ResumeShare,
	}
}

type sequenceAnswer struct {
	Name    alloc.SequenceName  `json:"name"`
	State   alloc.SequenceState `json:"state"`
	Version alloc.Version       `json:"version"`
	Epoch   alloc.Epoch         `json:"epoch"`
	Next    alloc.Number        `json:"next,string"` // lowest number not leased yet; end + 1 when there is none
	End     alloc.Number        `json:"end,string"`  // last number
	Created time.Time           `json:"created_at,omitzero"`
	Period  alloc.SequenceName  `json:"period_of,omitzero"`
	Share   int                 `json:"share,omitzero"`    // of a resuming one: percent of the callers that are served
	Rebuild *rebuildMark        `json:"rebuild,omitempty"` // the one that is on; nil for none
	Config  sequenceConfig      `json:"config"`
}

// rebuildMark says which rebuild is on, and where it was read, how far it is.
type rebuildMark struct {
	ID   alloc.JobID       `json:"id"`
	Step alloc.RebuildStep `json:"step,omitzero"`
}

func newSequenceAnswer(s alloc.Sequence) sequenceAnswer {
	a := sequenceAnswer{
		Name: s.Name, State: s.State, Version: s.Version, Epoch: s.Epoch, Next: s.Next, End: s.Config.Limit, Created: utc(s.Created),
		Period: s.Config.PeriodOf, Config: newSequenceConfig(s.Config),
	}
	if s.State == alloc.SequenceResuming {
		a.Share = s.Share
	}
	if s.Rebuild != "" {
		a.Rebuild = &rebuildMark{ID: s.Rebuild}
	}
	return a
}

// putSequence creates the sequence, or with If-Match changes it.
func (a api) putSequence(ctx context.Context, q request, b sequenceBody) (answer, error) {
	name := q.sequence()
	if q.ifMatch != 0 {
		s, err := a.svc.ChangeSequence(ctx, name, q.ifMatch, b.Config)
		return answer{status: http.StatusOK, body: newSequenceAnswer(s), version: s.Version}, err
	}
	s, created, err := a.svc.CreateSequence(ctx, name, b.Config)
	return answer{status: q.createdStatus(created, s.Created), body: newSequenceAnswer(s), version: s.Version}, versionRequired(err, alloc.CodeSequenceExists)
}

func (a api) sequence(ctx context.Context, q request) (answer, error) {
	s, err := a.svc.Sequence(ctx, q.sequence())
	if err != nil {
		return answer{}, err
	}
	body := newSequenceAnswer(s)
	if body.Rebuild != nil {
		r, err := a.svc.Rebuild(ctx, s.Name)
		if err != nil && !alloc.Is(err, alloc.CodeRebuildStep) { // there never was one
			return answer{}, err
		}
		if r.ID == s.Rebuild {
			body.Rebuild.Step = r.Step
		}
	}
	return answer{status: http.StatusOK, body: body, version: s.Version}, nil
}

type sequencesAnswer struct {
	Sequences []sequenceAnswer `json:"sequences"`
	Next      alloc.Cursor     `json:"next_cursor,omitzero"` // what to give as cursor to go on
}

var sequenceColumns = []column[sequenceAnswer]{
	{"name", func(s sequenceAnswer) string { return string(s.Name) }},
	{"state", func(s sequenceAnswer) string { return string(s.State) }},
	{"version", func(s sequenceAnswer) string { return decimal(s.Version) }},
	{"epoch", func(s sequenceAnswer) string { return decimal(s.Epoch) }},
	{"next", func(s sequenceAnswer) string { return decimal(s.Next) }},
	{"end", func(s sequenceAnswer) string { return decimal(s.End) }},
	{"created_at", func(s sequenceAnswer) string { return when(s.Created) }},
	{"description", func(s sequenceAnswer) string { return s.Config.Description }},
	{"start", func(s sequenceAnswer) string { return decimal(s.Config.Start) }},
	{"limit", func(s sequenceAnswer) string { return decimal(s.Config.Limit) }},
	{"max_lease", func(s sequenceAnswer) string { return decimal(s.Config.MaxLease) }},
	{"segment", func(s sequenceAnswer) string { return decimal(s.Config.Segment) }},
	{"require_key", func(s sequenceAnswer) string { return strconv.FormatBool(s.Config.RequireKey) }},
	{"auto_rebuild", func(s sequenceAnswer) string { return strconv.FormatBool(s.Config.AutoRebuild) }},
	{"resume_share", func(s sequenceAnswer) string { return decimal(s.Config.ResumeShare) }},
	{"share", func(s sequenceAnswer) string { return ifAny(s.Share) }},
	{"rebuild", func(s sequenceAnswer) string {
		if s.Rebuild == nil {
			return ""
		}
		return string(s.Rebuild.ID)
	}},
	{"period_of", func(s sequenceAnswer) string { return string(s.Period) }},
}

func (a api) listSequences(ctx context.Context, q request) (answer, error) {
	cursor, limit, err := q.page()
	if err != nil {
		return answer{}, err
	}
	sequences, next, err := a.svc.Sequences(ctx, cursor, limit)
	if err != nil {
		return answer{}, err
	}
	body := sequencesAnswer{Sequences: make([]sequenceAnswer, len(sequences)), Next: next}
	for i, s := range sequences {
		body.Sequences[i] = newSequenceAnswer(s)
	}
	return q.listed(body, listOf("sequences", sequenceColumns, body.Sequences, next))
}

// setSequence pauses, resumes or deletes; with If-Match only the version that the client knows.
func (a api) setSequence(to alloc.SequenceState) endpoint {
	return func(ctx context.Context, q request) (answer, error) {
		s, err := a.svc.SetSequenceState(ctx, q.sequence(), q.ifMatch, to)
		if to == alloc.SequenceDeleted && q.attempt.Others && alloc.Is(err, alloc.CodeSequenceDeleted) {
			s, err = a.deletedSequence(ctx, q, err)
		}
		if err != nil {
			return answer{}, err
		}
		return answer{status: http.StatusOK, body: newSequenceAnswer(s), version: s.Version}, nil
	}
}

// deletedSequence is to sequences what deletedPool is to pools.
func (a api) deletedSequence(ctx context.Context, q request, told error) (alloc.Sequence, error) {
	s, err := a.svc.DeletedSequence(ctx, q.sequence())
	if err == nil && q.ifMatch != 0 && s.Version != q.ifMatch {
		err = told
	}
	return s, err
}

// decimal writes a number in digits.
func decimal[N alloc.Number | alloc.Count | alloc.Version | alloc.Epoch | alloc.Generation | int](n N) string {
	return string(appendNumber(nil, alloc.Number(n)))
}

// ifAny is decimal, empty for 0.
func ifAny[N alloc.Count | int](n N) string {
	if n == 0 {
		return ""
	}
	return decimal(n)
}

func appendNumber(b []byte, n alloc.Number) []byte { return strconv.AppendUint(b, uint64(n), 10) }
