package alloc

import (
	"cmp"
	"context"
	"fmt"
)

// StartJob says that the job's file has so many parts, and all are there. A repeat is a success. CodeInvalidRequest where
// they are not, or have no entry; CodeJobEnded where it was cancelled before; what CheckSeed says; of a seeding CodeRebuildStep and CodePoolRebuilding as in OpenSeeding. Needs what NeedToChange says.
func (s *Service) StartJob(ctx context.Context, id JobID, parts int) (j Job, err error) {
	if j, err = s.findJob(ctx, id); err != nil {
		return Job{}, err
	}
	need, err := s.needToChange(ctx, j)
	if err != nil {
		return Job{}, err
	}
	found := j
	on, name := j.on()
	st := step{need: need, on: on, name: name, verb: "start-" + string(j.Kind), reason: func() string {
		caller, _ := CallerFrom(ctx)
		return cmp.Or(caller.Reason, found.Why) // what the job was opened for, where starting it has no reason of its own
	}, detail: func() string {
		if j.ID == "" { // it was refused
			j = found
		}
		return fmt.Sprintf("job %s, %s said, %d there with %s, %s", id, several(parts, "part", "parts"), len(j.Inputs), several(j.Total, "entry", "entries"), j.digests())
	}}
	err = s.administer(ctx, st, func() (err error) {
		if j, err = s.start(ctx, j, parts); err == nil && j.State == JobQueued {
			s.tell(ctx, j)
		}
		return err
	})
	if err != nil {
		return Job{}, err
	}
	return j, nil
}

func (s *Service) start(ctx context.Context, j Job, parts int) (Job, error) {
	file, err := j.file()
	if err != nil {
		return Job{}, err
	}
	for range changeTries {
		switch have := len(j.Inputs); {
		case j.State == JobCancelled:
			return Job{}, Errorf(CodeJobEnded, "the job was cancelled; open a new one")
		case parts != have:
			return Job{}, Errorf(CodeInvalidRequest, "the job has received %s, and not %d; send those that are missing, or say how many there are", several(have, "part", "parts"), parts)
		case j.State != JobReceiving:
			return j, nil
		case j.Total == 0 && file.nothing != "":
			return Job{}, Errorf(CodeInvalidRequest, "%s", file.nothing)
		}
		if err := file.ready(s, ctx, j); err != nil {
			return Job{}, err
		}
		to := j
		to.State, to.Mark, to.Updated = JobQueued, "", s.second()
		to = to.noting(to.Updated, "all of its file is there: %s in %s", several(to.Total, "entry", "entries"), several(parts, "part", "parts"))
		started, err := s.changeJob(ctx, j, to)
		if !Is(err, CodeVersionMismatch) {
			return started, err
		}
		if j, err = s.store.Job(ctx, j.ID); err != nil {
			return Job{}, err
		}
	}
	return Job{}, Errorf(CodeBusy, "the job is changed all the time; repeat the request").After(retrySoon)
}
