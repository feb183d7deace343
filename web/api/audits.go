package api

import (
	"context"

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

type verifyBody struct {
	Why string `json:"why"`
}

func (b *verifyBody) fields() []field { return []field{text("why", &b.Why)} }

// verifyTrail makes a job that verifies the trail alone, all of it.
func (a api) verifyTrail(ctx context.Context, q request, b verifyBody) (answer, error) {
	return jobMade(a.svc.Audit(ctx, alloc.AuditRequest{Why: b.Why, Intent: q.attempt.Intent}))
}
