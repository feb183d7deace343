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
	p, err := s.findingsPart(j, a.AuditStep)
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
	if !j.verifiesTrail() || j.trailAlone() {
		to.Verdict = cmp.Or(j.Verdict, way.note)
	}
	last := way.to == ""
	if last {
		to.Parts = max(to.Parts, 1)
		to.Verdict = cmp.Or(to.Verdict, VerdictHealthy)
		to.Spec.Verified = a.end
	}
	return doneStep{to, last}, nil
}

// trailAlone reports whether an audit is of the trail alone.
func (j Job) trailAlone() bool {
	on, _ := j.on()
	return on == aTrail
}

// verifiesTrail reports whether the next step of an audit verifies the trail.
func (j Job) verifiesTrail() bool { return j.trailAlone() || strings.HasPrefix(j.Mark, auditTrail) }

// TrailVerdict is what an audit that is done says of the trail: VerdictHealthy or VerdictFindings. It is "" of every other job.
func (j Job) TrailVerdict() string {
	switch {
	case j.Kind != JobAudit || j.State != JobDone:
		return ""
	case j.Tally.Trail > 0:
		return VerdictFindings
	}
	return VerdictHealthy
}

// audited is a stretch that was verified. Its Next is the job's mark after it.
type audited struct {
	AuditStep
	end TrailMonth // of the trail, where that was verified to its end
}

// audited verifies the next stretch.
func (s *Service) audited(ctx context.Context, j Job) (audited, error) {
	if j.verifiesTrail() {
		return s.auditTrail(ctx, strings.TrimPrefix(j.Mark, auditTrail), j.Spec.Known)
	}
	o := AuditOrder{Job: j.ID, Step: strings.TrimPrefix(j.Mark, auditStored), Sample: j.Spec.Sample}
	verify := func() (AuditStep, error) { return s.store.AuditPool(ctx, j.Pool, o) }
	if j.Pool == "" {
		verify = func() (AuditStep, error) { return s.store.AuditSequence(ctx, j.Spec.Sequence, o) }
	}
	a, err := verify()
	if err != nil {
		return audited{}, err
	}
	if a.Next == "" {
		a.Next = auditTrail
	} else {
		a.Next = auditStored + a.Next
	}
	return audited{AuditStep: a}, nil
}

// verdictOf is the verdict of an audit that has found this; "" for none yet. What is for information alone does not count.
func verdictOf(found []Finding) string {
	for _, f := range found {
		if !f.Kind.informs() {
			return VerdictFindings
		}
	}
	return ""
}

// informs reports whether what is found is for information alone.
func (k FindingKind) informs() bool {
	return k == FindNothingHeard || k == FindAcknowledged || k == FindGaps
}

// counted counts what a step has found.
func counted(t Tally, found []Finding) Tally {
	t.Findings = Count(len(found))
	for _, f := range found {
		switch {
		case f.Kind.informs():
			t.Informing++
		case f.Kind == FindTrail || f.Kind == FindIntent:
			t.Trail++
		}
	}
	return t
}

// findingsPart makes a part of what a step has found, as far as that is shown. Its counts are those of the whole step.
func (s *Service) findingsPart(j Job, a AuditStep) (Part, error) {
	data, shown, err := s.encodeFindings(a.Findings, MaxFindings-j.Tally.Findings)
	return Part{Data: data, IDs: shown, Tally: counted(a.Tally, a.Findings)}, err
}

// encodeFindings encodes the first of what was found, as many as there is room for, and says how many they are.
func (s *Service) encodeFindings(found []Finding, room Count) (data []byte, n Count, err error) {
	for shown := min(len(found), int(max(0, room))); shown > 0; shown /= 2 {
		some := make([]Finding, shown)
		for i, f := range found[:shown] {
			f.On, f.Detail = clip(f.On), clip(f.Detail)
			some[i] = f
		}
		data, err := withoutPanic(func() ([]byte, error) { return s.log.EncodeFindings(some) })
		if err != nil {
			return nil, 0, Errorf(CodeInternal, "what was found cannot be written").Because(err)
		}
		if len(data) <= MaxPartBytes { // else there are texts of extraordinary length: rather fewer than none
			return data, Count(shown), nil
		}
	}
	return nil, 0, nil
}

// auditSum is what an audit has met, in words.
func auditSum(j Job) string {
	t := j.Tally
	sum := several(j.Done, "entry was", "entries were") + " looked at, " + several(t.Findings, "finding", "findings")
	if t.Informing > 0 {
		sum += inWords(", %d of them for information", t.Informing)
	}
	if t.Findings == t.Informing {
		sum += "; healthy"
	}
	if t.Trail > 0 {
		sum += inWords("; %d about the trail", t.Trail)
	}
	if p := j.Spec.Sample; !j.trailAlone() && p > 0 && p < 100 {
		sum += inWords("; %d of 100 were looked at, so what is wrong with the others does not show, and the counts are not held against each other", p)
	}
	if end := j.Spec.Verified; end.Month != "" {
		sum += "; the trail ends at " + end.place()
	}
	return sum
}
