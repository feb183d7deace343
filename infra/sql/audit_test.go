package sql

import (
	"testing"

	"idpool/alloc"
)

// auditAll makes all steps of an audit, each twice: what it finds is the same.
func auditAll(t testing.TB, next func(step string) (alloc.AuditStep, error)) (all alloc.AuditStep) {
	t.Helper()
	for step := ""; ; {
		s, err := next(step)
		if err != nil {
			t.Fatalf("audit, step %q: %v", step, err)
		}
		all.Done += s.Done
		all.Findings = append(all.Findings, s.Findings...)
		for _, count := range []struct {
			to   *alloc.Count
			from alloc.Count
		}{
			{&all.Tally.Free, s.Tally.Free},
			{&all.Tally.Held, s.Tally.Held},
			{&all.Tally.Claimed, s.Tally.Claimed},
			{&all.Tally.Returning, s.Tally.Returning},
			{&all.Tally.Retired, s.Tally.Retired},
		} {
			*count.to += count.from
		}
		if s.Next == "" {
			return all
		}
		if s.Next == step {
			t.Fatalf("audit: step %q does not go on", step)
		}
		step = s.Next
	}
}

func auditPool(t testing.TB, s *Store, pool alloc.PoolName, sample int) alloc.AuditStep {
	t.Helper()
	return auditAll(t, func(step string) (alloc.AuditStep, error) {
		return s.AuditPool(t.Context(), pool, alloc.AuditOrder{Job: "audit", Step: step, Sample: sample})
	})
}

func auditSequence(t testing.TB, s *Store, name alloc.SequenceName, sample int) alloc.AuditStep {
	t.Helper()
	return auditAll(t, func(step string) (alloc.AuditStep, error) {
		return s.AuditSequence(t.Context(), name, alloc.AuditOrder{Job: "audit", Step: step, Sample: sample})
	})
}

// audited is what a whole audit of a pool finds.
func audited(t testing.TB, s *Store, pool alloc.PoolName) []alloc.Finding {
	t.Helper()
	return auditPool(t, s, pool, 100).Findings
}
