package alloc

import (
	"context"
)

// A rebuild of a pool goes on in steps of the Store: the job's mark is the next one. The job holds the pool from its first step on; it lets
// it go where it is cancelled, fails, or is found to have ended when a step of it comes late.

// rebuildStep does the next step.
func (s *Service) rebuildStep(ctx context.Context, j Job) (doneStep, error) {
	o := PoolRebuildOrder{Pool: j.Pool, Job: j.ID, Step: j.Mark, Policy: j.Spec.Policy, FoldCase: j.Spec.FoldCase}
	done, err := s.store.RebuildPool(ctx, o)
	if Is(err, CodePoolRebuilding) {
		return doneStep{}, s.checkOther(ctx, j, err)
	}
	if err != nil {
		return doneStep{}, err
	}
	p, err := s.gonePart(j, done)
	if err != nil {
		return doneStep{}, err
	}
	to := j
	if _, _, to.Parts, err = s.putPassage(ctx, j, p, passage{from: j.Mark, to: done.Next, done: done.Met}); err != nil {
		return doneStep{}, err
	}
	to.Mark = done.Next
	to.Done += done.Met
	to.Total = done.Total
	to.Tally = j.Tally.plus(done.Tally).looked(done.Looked, done.Left)
	return doneStep{to, done.Next == ""}, nil
}

// gonePart makes a part of the IDs that a step has found gone or set back, as far as they are shown: nothing else tells of them once the pool has its new
// queue, but that they are retired.
func (s *Service) gonePart(j Job, done PoolRebuilt) (Part, error) {
	if !s.log.whole() {
		return Part{}, nil // the counts tell how many
	}
	var found []Finding
	for _, id := range done.Gone {
		found = append(found, Finding{Kind: FindLostID, On: string(id), Detail: "it was listed, and had no item: it is retired"})
	}
	for _, id := range done.SetBack {
		found = append(found, Finding{Kind: FindSetBack, On: string(id), Detail: "it was free, and had been taken: it is retired"})
	}
	data, shown, err := s.encodeFindings(found, MaxFindings-j.Tally.Lost)
	return Part{Data: data, IDs: shown}, err
}

// checkOther looks who rebuilds the pool of a job that cannot, for that reason. Where nobody does any more, that is ended, and the job's next try goes on;
// else there is nothing to do for it.
func (s *Service) checkOther(ctx context.Context, j Job, reason error) error {
	other, err := s.freeRebuild(ctx, j.Pool)
	switch {
	case err != nil:
		return err
	case other == "" || other == j.ID:
		return reason
	}
	return Errorf(CodeJobEnded, "another job, %s, rebuilds the pool", other)
}

// freeRebuild ends the rebuild that is on where its job has ended or is gone: such a one is left by a step that came late, and whose process
// ended before it could let go of the pool. It returns the job that rebuilds the pool now, "" for none.
func (s *Service) freeRebuild(ctx context.Context, pool PoolName) (JobID, error) {
	e, err := s.store.PoolEvidence(ctx, pool)
	if err != nil || e.Rebuilding == "" {
		return "", err
	}
	switch on, err := s.store.Job(ctx, e.Rebuilding); {
	case Is(err, CodeJobNotFound), err == nil && on.State.Ended():
		return "", s.store.AbandonRebuild(ctx, pool, e.Rebuilding)
	case err != nil:
		return "", err
	}
	return e.Rebuilding, nil
}

// freeRebuilds is freeRebuild for the pools that a run of the schedule could not sweep for that, as far as there is time. Those that a
// job rebuilds wait for it, and have not failed.
func (s *Service) freeRebuilds(ctx context.Context, r *TendReport, over func() bool) (failed error) {
	for pool, why := range r.Failed {
		if over() {
			break
		}
		if !Is(why, CodePoolRebuilding) {
			continue
		}
		switch on, err := s.freeRebuild(ctx, pool); {
		case err != nil:
			failed = err
		case on != "":
			delete(r.Failed, pool)
		}
	}
	return failed
}

// rebuildSum is what a rebuild has met, in words.
func rebuildSum(j Job) string {
	t := j.Tally
	sum := inWords("of %s %d free, %d held, %d claimed, %d returning, %d retired; %d were listed and gone, or had been set back to free, and are retired",
		several(j.Done, "ID", "IDs"), t.Free, t.Held, t.Claimed, t.Returning, t.Retired, t.Lost)
	if t.Missing > 0 {
		sum += inWords("; %d more were counted and are gone without a trace", t.Missing)
	}
	return sum
}
