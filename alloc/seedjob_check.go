package alloc

import (
	"context"
	"fmt"
	"strings"
)

// CheckSeeding makes a job that looks what would become of the IDs of a seeding's file, all of which has to be there, if it were started now:
// it adds nothing. Its result has the form of a seeding's, its Spec tells the first and the last ID that would be added, and the seeding's which check was made last. An ID that stands twice in different parts of a file counts as added twice. Needs
// what NeedToChange says. CodeInvalidRequest where the job takes no such file, or was started; CodeBusy as in Export.
func (s *Service) CheckSeeding(ctx context.Context, id JobID, intent Token) (j Job, err error) {
	of, err := s.findJob(ctx, id)
	if err != nil {
		return Job{}, err
	}
	need, err := s.needToChange(ctx, of)
	if err != nil {
		return Job{}, err
	}
	wanted := Job{ID: newJobID(intent, s.now()), Kind: JobCheck, Pool: of.Pool, Why: of.Why, Spec: JobSpec{File: of.ID}, Column: -1, Total: of.Total, Inputs: of.Inputs}
	on, name := of.on()
	st := step{need: need, on: on, name: name, verb: "check-seed", reason: said(&of.Why), detail: func() string {
		return fmt.Sprintf("job %s, of the file of job %s", wanted.ID, of.ID)
	}}
	err = s.administer(ctx, st, func() (err error) {
		if of.Kind != JobSeed {
			return Errorf(CodeInvalidRequest, "the job is %s; only the file of a seeding is checked", kindOf(of.Kind).what)
		}
		j, err = s.makeJob(ctx, wanted, intent, s.onPool(ctx, of.Pool, func(Pool) error {
			switch {
			case of.State != JobReceiving:
				return Errorf(CodeInvalidRequest, "the seeding is %s; its file is checked before it is started", of.State)
			case of.Total == 0:
				return Errorf(CodeInvalidRequest, "%s", seedIntake.nothing)
			}
			return nil
		}))
		if err == nil {
			s.noteCheck(ctx, of, j.ID)
		}
		if err == nil && j.State == JobQueued {
			s.tell(ctx, j)
		}
		return err
	})
	return j, err
}

// noteCheck puts into a seeding which check of its file was made last, so that it is found from there. Where that fails the check is there all the
// same, and whoever made it knows it.
func (s *Service) noteCheck(ctx context.Context, of Job, check JobID) {
	for range changeTries {
		if of.Spec.Check == check || of.State != JobReceiving {
			return
		}
		to := of
		to.Spec.Check = check
		_, err := s.changeJob(ctx, of, to)
		if !Is(err, CodeVersionMismatch) {
			return
		}
		if of, err = s.store.Job(ctx, of.ID); err != nil {
			return
		}
	}
}

// noteNew notes the IDs that would be added.
func (s *JobSpec) noteNew(id ID) {
	if s.FirstNew == "" {
		s.FirstNew = string(id)
	} else if strings.Count(s.FirstNew, "\n") < SeedExamples-1 {
		s.FirstNew += "\n" + string(id)
	}
	s.LastNew = id
}

// checkStep looks at the next piece.
func (s *Service) checkStep(ctx context.Context, j Job) (doneStep, error) {
	spec := j.Spec
	done, err := s.fileStep(ctx, j, func(_ int, ids []ID) ([]SeedOutcome, error) {
		known, err := s.store.LookUp(ctx, j.Pool, ids)
		if err != nil {
			return nil, err
		}
		states := make(map[ID]State, len(known))
		for _, r := range known {
			states[r.ID] = r.State
		}
		outcomes := make([]SeedOutcome, len(ids))
		for i, id := range ids {
			switch state, there := states[id]; {
			case !there:
				outcomes[i] = SeedAdded
				spec.noteNew(id)
			case state == StateFree:
				outcomes[i] = SeedDuplicate
			default:
				outcomes[i] = SeedConflict
			}
		}
		return outcomes, nil
	})
	done.job.Spec = spec
	return done, err
}
