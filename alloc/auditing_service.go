package alloc

import (
	"context"
	"fmt"
)

// Audit makes a job that verifies a pool or a sequence, and the trail; with neither, the trail alone. Needs ActionManage on it; the trail alone on
// all. CodeInvalidRequest; CodePoolNotFound, CodePoolDeleted, CodeSequenceNotFound, CodeSequenceDeleted; CodeBusy as in Export.
func (s *Service) Audit(ctx context.Context, r AuditRequest) (j Job, err error) {
	wanted := Job{ID: newJobID(r.Intent, s.now()), Kind: JobAudit, Pool: r.Pool, Why: r.Why, Spec: JobSpec{Sequence: r.Sequence, Sample: r.Sample, Known: r.Known}}
	if wanted.Spec.Sample == 0 {
		wanted.Spec.Sample = 100
	}
	on, name := wanted.on()
	st := step{need: ActionManage, on: on, name: name, verb: "audit", reason: said(&r.Why), detail: func() string {
		return fmt.Sprintf("job %s, sample %d percent", wanted.ID, wanted.Spec.Sample)
	}}
	return s.ask(ctx, st, wanted, r.Intent, func() error {
		switch {
		case r.Pool != "" && r.Sequence != "":
			return Errorf(CodeInvalidRequest, "name either a pool or a sequence, or neither for the trail alone; make a job for each")
		case wanted.Spec.Sample < 1 || wanted.Spec.Sample > 100:
			return Errorf(CodeInvalidRequest, "sample must be 1 to 100 percent, or left out for all")
		case r.Known != (TrailMonth{}) && (!IsMonth(r.Known.Month) || r.Known.Last < 1 || r.Known.Hash == ""):
			return Errorf(CodeInvalidRequest, "what is known of the trail's end is a month like 2026-11, a position from 1 and a hash, as an audit before has said them")
		}
		return s.checkThere(ctx, wanted)
	})
}

// ask makes a job as an administrative step, and sends word of it unless it waits for its file.
func (s *Service) ask(ctx context.Context, st step, wanted Job, intent Token, check func() error) (j Job, err error) {
	err = s.administer(ctx, st, func() (err error) {
		j, err = s.makeJob(ctx, wanted, intent, func() error {
			if err := checkWhy(wanted.Why); err != nil {
				return err
			}
			return check()
		})
		if err == nil && j.goesOn() {
			s.tell(ctx, j)
		}
		return err
	})
	return j, err
}

// checkThere refuses a job on a pool or sequence that is not there or deleted. It may be damaged in every way.
func (s *Service) checkThere(ctx context.Context, j Job) error {
	switch on, _ := j.on(); on {
	case aPool:
		_, err := s.poolEvidence(ctx, j.Pool)
		return err
	case aSequence:
		_, err := s.store.Evidence(ctx, j.Spec.Sequence)
		return err
	}
	return nil
}
