package alloc

import (
	"cmp"
	"context"
	"strings"
)

// An audit goes on in steps: those of the Store for its pool or sequence, then those of the trail. What a step has found is a part of
// the result, with its counts, as far as the first MaxFindings go. Of several tries of a step, which may find different things, the first part stands
// and is what counts.
const (
	auditStored = "store " // and the Store's step
	auditTrail  = "trail "
)

// auditStep does the next step.
func (s *Service) auditStep(ctx context.Context, j Job) (doneStep, error) {
	a, err := s.audited(ctx, j)
	if err != nil {
		return doneStep{}, err
	}
	p, err := s.findingsPart(j, a)
	if err != nil {
		return doneStep{}, err
	}
	p, way, parts, err := s.putPassage(ctx, j, p, passage{from: j.Mark, to: a.Next, done: a.Done, note: verdictOf(a.Findings)})
	if err != nil {
		return doneStep{}, err
	}
	to := j
	to.Mark, to.Parts = way.to, parts
	to.Done += way.done
	to.Tally = j.Tally.plus(p.Tally)
	to.Verdict = cmp.Or(j.Verdict, way.note)
	last := way.to == ""
	if last {
		to.Parts = max(to.Parts, 1)
		to.Verdict = cmp.Or(to.Verdict, VerdictHealthy)
	}
	return doneStep{to, last}, nil
}

// audited verifies the next stretch. Its Next is the job's mark after it.
func (s *Service) audited(ctx context.Context, j Job) (AuditStep, error) {
	on, _ := j.on()
	if at, ok := strings.CutPrefix(j.Mark, auditTrail); ok || on == aTrail {
		return s.auditTrail(ctx, at)
	}
	o := AuditOrder{Job: j.ID, Step: strings.TrimPrefix(j.Mark, auditStored), Sample: j.Spec.Sample}
	verify := func() (AuditStep, error) { return s.store.AuditPool(ctx, j.Pool, o) }
	if on == aSequence {
		verify = func() (AuditStep, error) { return s.store.AuditSequence(ctx, j.Spec.Sequence, o) }
	}
	a, err := verify()
	if err != nil {
		return AuditStep{}, err
	}
	if a.Next == "" {
		a.Next = auditTrail
	} else {
		a.Next = auditStored + a.Next
	}
	return a, nil
}

// verdictOf is the verdict of an audit that has found this; "" for none yet. What is for information alone does not count.
func verdictOf(found []Finding) string {
	for _, f := range found {
		if f.Kind != FindNothingHeard {
			return VerdictFindings
		}
	}
	return ""
}

// findingsPart makes a part of what a step has found, as far as that is shown. Its counts are those of the whole step.
func (s *Service) findingsPart(j Job, a AuditStep) (Part, error) {
	p := Part{Tally: a.Tally}
	p.Tally.Findings = Count(len(a.Findings))
	for shown := min(len(a.Findings), int(max(0, MaxFindings-j.Tally.Findings))); shown > 0; shown /= 2 {
		found := make([]Finding, shown)
		for i, f := range a.Findings[:shown] {
			f.On, f.Detail = clip(f.On), clip(f.Detail)
			found[i] = f
		}
		data, err := withoutPanic(func() ([]byte, error) { return s.log.EncodeFindings(found) })
		if err != nil {
			return Part{}, Errorf(CodeInternal, "what the audit has found cannot be written").Because(err)
		}
		if len(data) <= MaxPartBytes { // else there are texts of extraordinary length: rather fewer than none
			p.Data, p.IDs = data, Count(shown)
			break
		}
	}
	return p, nil
}

// auditSum is what an audit has met, in words.
func auditSum(j Job) string {
	sum := several(j.Done, "entry was", "entries were") + " looked at, " + several(j.Tally.Findings, "finding", "findings")
	if j.Verdict == VerdictHealthy {
		sum += "; healthy"
	}
	return sum
}
