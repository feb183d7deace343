package api

import (
	"context"
	"net/http"

	"idpool/alloc"
)

type auditBody struct {
	Sample int    `json:"sample"` // percent
	Why    string `json:"why"`
}

func (b *auditBody) fields() []field {
	b.Sample = 100
	return []field{bounded("sample", 1, 100, &b.Sample), text("why", &b.Why)}
}

// auditPool makes a job that verifies the pool, and the trail.
func (a api) auditPool(ctx context.Context, q request, b auditBody) (answer, error) {
	return jobMade(a.svc.Audit(ctx, alloc.AuditRequest{Pool: q.pool(), Sample: b.Sample, Why: b.Why, Intent: q.attempt.Intent}))
}

// auditSequence makes a job that verifies the sequence, and the trail.
func (a api) auditSequence(ctx context.Context, q request, b auditBody) (answer, error) {
	return jobMade(a.svc.Audit(ctx, alloc.AuditRequest{Sequence: q.sequence(), Sample: b.Sample, Why: b.Why, Intent: q.attempt.Intent}))
}

// trailEnd is the end of the trail, as an audit has met it, to be noted elsewhere and given as known later.
type trailEnd struct {
	Month    string       `json:"month"`
	Position alloc.Number `json:"position,string"`
	Hash     string       `json:"hash"`
}

func (b *trailEnd) fields() []field {
	return []field{text("known.month", &b.Month), positionOf("known.position", &b.Position), text("known.hash", &b.Hash)}
}

func (b *trailEnd) known() alloc.TrailMonth {
	if b == nil {
		return alloc.TrailMonth{}
	}
	return alloc.TrailMonth{Month: b.Month, Last: int64(b.Position), Hash: b.Hash}
}

func positionOf(name string, to *alloc.Number) field {
	return number(name, func(n alloc.Number) error {
		*to = n
		return nil
	})
}

type verifyBody struct {
	Known *trailEnd `json:"known"` // null for none
	Why   string    `json:"why"`
}

func (b *verifyBody) fields() []field { return []field{object("known", &b.Known), text("why", &b.Why)} }

// verifyTrail makes a job that verifies the trail alone, all of it.
func (a api) verifyTrail(ctx context.Context, q request, b verifyBody) (answer, error) {
	if b.Known != nil && b.Known.Month == "" {
		return answer{}, alloc.Errorf(alloc.CodeInvalidRequest, "known must have the month, the position and the hash that an audit before has said")
	}
	return jobMade(a.svc.Audit(ctx, alloc.AuditRequest{Known: b.Known.known(), Why: b.Why, Intent: q.attempt.Intent}))
}

type acknowledgeBody struct {
	Month    string       `json:"month"`
	Position alloc.Number `json:"position,string"`
	Seen     string       `json:"seen"`
	Known    *trailEnd    `json:"known"`
	Why      string       `json:"why"`
}

func (b *acknowledgeBody) fields() []field {
	return []field{text("month", &b.Month), positionOf("position", &b.Position), text("seen", &b.Seen), object("known", &b.Known), text("why", &b.Why)}
}

type acknowledgedAnswer struct {
	Month    string       `json:"month"`
	Position alloc.Number `json:"position,string"`
	Seen     string       `json:"seen"`
}

// acknowledgeTrail leaves a record that a break of the trail is known.
func (a api) acknowledgeTrail(ctx context.Context, _ request, b acknowledgeBody) (answer, error) {
	err := a.svc.Acknowledge(ctx, alloc.Acknowledgement{Month: b.Month, Position: int64(b.Position), Seen: b.Seen, Known: b.Known.known(), Why: b.Why})
	return answer{status: http.StatusOK, body: acknowledgedAnswer{b.Month, b.Position, b.Seen}}, err
}
