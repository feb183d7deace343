package alloc

import (
	"context"
	"fmt"
)

// Restore makes a job that carries forward what was taken after the point to which a backup was restored. With RestoreLog it is
// JobReceiving, and takes the log by ReceivePart; of a pool it burns after it what may have been taken since the log was begun (AtMost): a hold
// that has not ended is kept for whoever has it, for good. While a job carries forward from the same table, or burns as many, since
// the same point, that is returned; of two that are asked for at the same moment with the same AtMost the second fails, and two with another AtMost wait for one another. It may be asked for again, and again with another source. Of a sequence it enters leases into the
// ledger, of which a rebuild then makes the position; with RestoreBurn it says how to rebuild it, and does nothing else.
//
// A sequence must be paused, stopped or frozen until it is rebuilt, but for RestoreBurn (Sequence.CheckCarry); a lease of which somebody else has leased numbers since is told.
//
// The pool must be paused until the job is done, and paused since the restore: what is claimed before that may be in two hands, and the job then
// says so, but for what a pool forgets. Where somebody resumes it, the job fails. Of a pool that forgets no log has all that was taken: RestoreLog is refused. Records of Idempotency-Keys
// are not carried: a repeat of a request from after the point is a new one. Needs ActionManage. CodeInvalidRequest; CodeRebuildStep where the pool or the sequence is not paused;
// CodePoolNotFound, CodePoolDeleted, CodePoolDamaged (rebuild it first), CodeSequenceNotFound, CodeSequenceDeleted; CodeBusy as in Export.
func (s *Service) Restore(ctx context.Context, r RestoreRequest) (j Job, err error) {
	if _, err := s.someone(ctx); err != nil {
		return Job{}, err
	}
	on, name, err := named(r.Pool, r.Sequence)
	if err != nil {
		return Job{}, err
	}
	wanted := Job{
		ID: newJobID(r.Intent, s.now()), Kind: JobRestore, Pool: r.Pool, Why: r.Why,
		Spec: JobSpec{Sequence: r.Sequence, Since: wholeSeconds(r.Point), Source: r.Source},
	}
	if r.AtMost != nil {
		wanted.Spec.AtMost = *r.AtMost
	}
	if r.Source == RestoreLog {
		wanted.State = JobReceiving
	}
	st := step{need: ActionManage, on: on, name: name, verb: "restore", reason: said(&r.Why), detail: func() string {
		if j.ID != "" && j.ID != wanted.ID {
			return fmt.Sprintf("the job %s of %s does it already", j.ID, j.By)
		}
		return fmt.Sprintf("job %s, source %s, point %s%s", wanted.ID, quoteShort(string(r.Source)), instant(r.Point), r.bound())
	}}
	err = s.administer(ctx, st, func() (err error) {
		var on Job
		if j, err = s.makeJob(ctx, wanted, r.Intent, func() (err error) {
			if err := checkWhy(r.Why); err != nil {
				return err
			}
			if err := s.checkRestore(r); err != nil {
				return err
			}
			if err := s.readyToRestore(ctx, wanted); err != nil {
				return err
			}
			on, err = s.restoring(ctx, wanted)
			return err
		}); err != nil && on.ID != "" {
			j, err = on, nil
		}
		if err == nil && j.goesOn() {
			s.tell(ctx, j)
		}
		return err
	})
	return j, err
}

// restoring finds the job that does already what is wanted, with an error that says so. Each log has a job of its own.
func (s *Service) restoring(ctx context.Context, wanted Job) (on Job, err error) {
	if wanted.Spec.Source == RestoreLog {
		return Job{}, nil
	}
	err = s.eachOpenJob(ctx, func(j Job) (more bool, err error) {
		if j.Kind == JobRestore && j.sameRestore(wanted) {
			on = j
		}
		return on.ID == "", nil
	})
	if err == nil && on.ID != "" {
		err = Errorf(CodeBusy, "the job %s does it already", on.ID)
	}
	return on, err
}

// sameRestore reports whether two restores were asked for the same.
func (j Job) sameRestore(k Job) bool {
	return j.Pool == k.Pool && j.Spec.Sequence == k.Spec.Sequence && j.Spec.Source == k.Spec.Source && j.Spec.AtMost == k.Spec.AtMost && j.Spec.Since.Equal(k.Spec.Since)
}

// bound says in words how many free IDs are burned, of a request that may burn.
func (r RestoreRequest) bound() string {
	switch {
	case r.Pool == "" || r.Source == RestoreTable:
		return ""
	case r.AtMost == nil:
		return ", all free IDs"
	}
	return fmt.Sprintf(", at most %s", several(*r.AtMost, "free ID", "free IDs"))
}

func (s *Service) checkRestore(r RestoreRequest) error {
	switch r.Source {
	case RestoreLog, RestoreBurn:
	case RestoreTable:
		if s.old == nil {
			return Errorf(CodeInvalidRequest, "the old table is not known here; say in the configuration which one it is, or restore from a log")
		}
	default:
		return Errorf(CodeInvalidRequest, "source must be %q, %q or %q", RestoreLog, RestoreTable, RestoreBurn)
	}
	if err := checkPast("point, the time to which the backup was restored,", r.Point, s.now()); err != nil {
		return err
	}
	if r.Point.IsZero() {
		return Errorf(CodeInvalidRequest, "say to which point in time the backup was restored")
	}
	return r.checkBound()
}

// checkBound wants of a log of a pool to be told how many IDs may have been taken after it was begun: it cannot know.
func (r RestoreRequest) checkBound() error {
	switch {
	case r.AtMost != nil && (r.Pool == "" || r.Source == RestoreTable):
		return Errorf(CodeInvalidRequest, "at_most goes with the sources %q and %q of a pool only", RestoreBurn, RestoreLog)
	case r.AtMost == nil && r.Pool != "" && r.Source == RestoreLog:
		return Errorf(CodeInvalidRequest, "a log says nothing of what was taken after it was begun: say in at_most how many IDs that may have been (on DynamoDB with 160 more for each process that served claims, as these take IDs ahead), and so many are retired in the order in which they are handed out; "+
			"0 where nobody was served from then on, or where a later log follows")
	case r.AtMost == nil:
		return nil
	case *r.AtMost == 0 && r.Source == RestoreBurn:
		return Errorf(CodeInvalidRequest, "at_most must be 1 or more; leave it out for all")
	case *r.AtMost < 0:
		return Errorf(CodeInvalidRequest, "at_most must not be below 0")
	}
	return nil
}

// readyToRestore refuses a restore of what is not there, or of a pool that has to be rebuilt or paused first.
func (s *Service) readyToRestore(ctx context.Context, j Job) error {
	if j.Pool == "" {
		return s.readyToCarry(ctx, j)
	}
	return s.onPool(ctx, j.Pool, func(p Pool) error {
		if err := j.checkRestored(p); err != nil {
			return err
		}
		names, err := periodsSince(p.Config.Generator, j.Spec.Since, s.now())
		if err == nil && len(names) > 0 {
			_, err = s.pausedBase(ctx, SequenceName(p.Config.Generator.Sequence))
		}
		return err
	})()
}

// checkRestored refuses to go on with the restore of a pool from which somebody may be served, or of which the source says too little.
func (j Job) checkRestored(p Pool) error {
	switch {
	case p.State == PoolDeleted:
		return p.deleted()
	case p.State != PoolPaused:
		return Errorf(CodeRebuildStep, "the pool %q is not paused, so what is carried forward may be claimed in the same moment; pause it, then restore it: "+
			"from the restore of the backup on until the job is done", p.Name)
	case j.Spec.Source == RestoreLog:
		return p.checkLogged()
	}
	return nil
}

// checkLogged refuses a log of a pool that forgets what is claimed of it.
func (p Pool) checkLogged() error {
	if p.Config.Policy == PolicyForget {
		return Errorf(CodeInvalidRequest, "the pool %q forgets what is claimed, so no log has it; after a restore from a backup carry it forward from the old table (source %q), or burn it (source %q)",
			p.Name, RestoreTable, RestoreBurn)
	}
	return nil
}

// amiss is how many entries of a restore are not as they were said to be. Each has a line in the result.
func (t Tally) amiss() Count { return t.Conflict + t.Invalid }

// restoreSum is what a restore has done, in words.
func restoreSum(j Job) string {
	t := j.Tally
	sum := inWords("of %s %d carried, %d retired, %d so already, %d in two hands, %d not carried",
		several(j.Done, "entry", "entries"), t.Carried, t.Burned, t.Duplicate, t.Conflict, t.Invalid)
	if j.Pool == "" {
		sum += fmt.Sprintf("; now rebuild the sequence, with %s as the time since when leases may be missing", instant(j.Spec.Since))
	}
	return sum
}
