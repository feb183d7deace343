package alloc

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
)

// endedAtOnce is how many seedings a step of a restore cancels.
const endedAtOnce = 50

// endSeedings cancels the next seedings of the pool that have not ended, and checks of their files, and moves the mark behind them: the backup has them as not
// ended, and they would go on by themselves, though what they add may have been added after the point, and taken.
func (s *Service) endSeedings(ctx context.Context, j Job, at string) (c forwarded, next string, err error) {
	var open []Job
	more := false
	err = s.eachOpenJob(ctx, func(o Job) (bool, error) {
		switch {
		case o.Pool != j.Pool, o.Kind != JobSeed && o.Kind != JobCheck, o.State == JobDamaged:
		case len(open) == endedAtOnce:
			more = true
		default:
			open = append(open, o)
		}
		return !more, nil
	})
	if err != nil {
		return forwarded{}, "", err
	}
	for _, o := range open {
		if err := s.endSeeding(ctx, j, o); err != nil {
			return forwarded{}, "", err
		}
	}
	if len(open) > 0 {
		c.notes = []string{fmt.Sprintf("%s of the pool cancelled", several(len(open), "seeding or check of a file", "seedings or checks of files"))}
	}
	if more {
		before, err := strconv.Atoi(cmp.Or(at, "0"))
		if err != nil {
			return forwarded{}, "", Errorf(CodeInternal, "where the job goes on is not known").Because(err)
		}
		next = strconv.Itoa(before + len(open))
	}
	return c, next, nil
}

// finisher is how a step ends another job: what it leaves depends on that job's kind, and a kind is made of its step.
type finisher interface {
	finish(ctx context.Context, j, to Job, verb, detail string, reason error) (Job, error)
}

// endSeeding cancels a seeding, or a check, whatever steps of it are done meanwhile.
func (s *Service) endSeeding(ctx context.Context, j, o Job) error {
	for range changeTries {
		to := o
		to.State, to.Updated = JobCancelled, s.second()
		to = to.noting(to.Updated, "cancelled by the restore of the pool, job %s: what it adds may have been added after the point of the backup, and taken", j.ID)
		_, err := finisher(s).finish(ctx, o, to, "cancel", fmt.Sprintf("job %s of %s: %s; by the restore %s of the pool", o.ID, o.By, seedSum(o), j.ID), nil)
		if Is(err, CodeVersionMismatch) {
			o, err = s.store.Job(ctx, o.ID)
			if err == nil && !o.State.Ended() {
				continue
			}
		}
		if Is(err, CodeJobNotFound) {
			return nil
		}
		return err
	}
	return Errorf(CodeBusy, "the job %s is moving on all the time", o.ID).After(retrySoon)
}

// checkSeedable refuses a seeding of a pool that takes none, or of which a restore or a rebuild is under way: what is added beside a restore may be what was handed out
// after the point of the backup, and beside a rebuild nothing can be added. Every way in which a client seeds comes by here.
func (s *Service) checkSeedable(ctx context.Context, p Pool) error {
	if err := p.CheckSeed(); err != nil {
		return err
	}
	return s.eachOpenJob(ctx, func(o Job) (bool, error) {
		switch {
		case o.Pool != p.Name || !o.goesOn():
		case o.Kind == JobRestore:
			return false, Errorf(CodeRebuildStep, "the pool %q is being restored by the job %s; seed after its end, and nothing that was seeded after the point of the backup", p.Name, o.ID)
		case o.Kind == JobRebuild:
			return false, Errorf(CodePoolRebuilding, "the pool %q is being rebuilt by the job %s; seed after its end", p.Name, o.ID).After(retrySoon)
		}
		return true, nil
	})
}
