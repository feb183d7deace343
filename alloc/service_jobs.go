package alloc

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Encoder writes IDs in a format. What it makes of some IDs and of others, one after the other, is what it would make of
// all.
type Encoder = func(ids []IDRecord) ([]byte, error)

// ExportRequest asks for a file of a pool's IDs.
type ExportRequest struct {
	Pool   PoolName
	Of     State  // "" for all
	Format string // a name of Config.Encoders
	Intent Token  // of Keyed, so that a repeat makes the same job; "" for none
}

// Export makes a job that writes the pool's IDs, with all that is known of them but their tokens; the schedule carries it
// out. CodeInvalidRequest; CodePoolNotFound, CodePoolDeleted; CodeTooManyJobs where too many of the client's jobs are waiting, or
// too many were made in the last hour; CodeBusy where it is so of all clients together. Needs ActionExport: whoever has it gets every ID of the pool that is still free.
func (s *Service) Export(ctx context.Context, r ExportRequest) (j Job, err error) {
	id := newJobID(r.Intent, s.now())
	st := step{need: ActionExport, on: aPool, name: string(r.Pool), verb: "export", detail: func() string {
		return fmt.Sprintf("job %s, state %s, format %s", id, quoteShort(string(r.Of)), quoteShort(r.Format))
	}}
	err = s.administer(ctx, st, func() (err error) {
		wanted := Job{ID: id, Kind: JobExport, Pool: r.Pool, Of: r.Of, Format: r.Format}
		if j, err = s.makeJob(ctx, wanted, r.Intent, s.onPool(ctx, r.Pool, func(Pool) error { return s.checkExport(r) })); err == nil {
			s.tell(ctx, j)
		}
		return err
	})
	return j, err
}

func (s *Service) checkExport(r ExportRequest) error {
	switch r.Of {
	case "", StateFree, StateHeld, StateClaimed, StateReturning, StateRetired:
	default:
		return Errorf(CodeInvalidRequest, "there is no state %s; it is free, held, claimed, returning or retired, or left out for all", quoteShort(string(r.Of)))
	}
	if s.encoders[r.Format] == nil {
		return Errorf(CodeInvalidRequest, "there is no format %s; there is %s",
			quoteShort(r.Format), strings.Join(slices.Sorted(maps.Keys(s.encoders)), ", "))
	}
	return nil
}

// Job returns one. Needs on what it is about (its pool, its sequence, or all where it is about the trail alone) what the kind needs:
// ActionExport for JobExport, ActionSeed for JobSeed, ActionRead for JobCount, and ActionManage for all others; or ActionManage, with
// which it can be cancelled.
func (s *Service) Job(ctx context.Context, id JobID) (Job, error) {
	j, err := s.findJob(ctx, id)
	if err != nil {
		return Job{}, err
	}
	if caller, err := s.permit(ctx, kindOf(j.Kind).need, j.covered()); err != nil && !caller.permits(ActionManage, j.covered()) {
		return Job{}, err
	}
	return j, nil
}

// findJob reads a job, whoever may see it.
func (s *Service) findJob(ctx context.Context, id JobID) (Job, error) {
	if _, err := s.someone(ctx); err != nil {
		return Job{}, err
	}
	if err := id.check(); err != nil {
		return Job{}, err
	}
	return s.store.Job(ctx, id)
}

// Jobs returns at most limit (1 to 100) of the jobs that the caller may see, as in Job, newest first, from the cursor on; next is
// what to give to go on, "" at the end. As in Pools there may be fewer, and yet more to come.
func (s *Service) Jobs(ctx context.Context, c Cursor, limit int) (jobs []Job, next Cursor, err error) {
	look := func(j Job) entry[JobID] {
		return entry[JobID]{position: j.ID, name: j.covered(), need: kindOf(j.Kind).need, or: ActionManage}
	}
	return readable(ctx, s, listJobs, c, limit, s.store.ListJobs, look)
}

// OpenJobs returns at most limit (1 to 100) of the jobs that have not ended and that the caller may see, the oldest first.
func (s *Service) OpenJobs(ctx context.Context, limit int) ([]Job, error) {
	caller, err := s.someone(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkPage(limit); err != nil {
		return nil, err
	}
	look := func(j Job) entry[JobID] {
		return entry[JobID]{position: j.ID, name: j.covered(), need: kindOf(j.Kind).need, or: ActionManage, hidden: j.State.Ended()}
	}
	jobs, _, err := filtered(ctx, caller, "", limit, s.store.OpenJobs, look)
	return jobs, err
}

// FailedJobs returns the jobs that have failed, or verified something and have findings, at or after since, and that the caller may see, as in Job: the one
// that ended last first, at most limit (1 to 100). more says that there may be others, that ended before them.
func (s *Service) FailedJobs(ctx context.Context, since time.Time, limit int) (jobs []Job, more bool, err error) {
	caller, err := s.someone(ctx)
	if err != nil {
		return nil, false, err
	}
	if err := checkPage(limit); err != nil {
		return nil, false, err
	}
	read := func(ctx context.Context, before string, limit int) ([]Job, error) {
		return s.store.FailedJobs(ctx, since, before, limit)
	}
	look := func(j Job) entry[string] {
		return entry[string]{position: j.EndPlace(), name: j.covered(), need: kindOf(j.Kind).need, or: ActionManage}
	}
	jobs, next, err := filtered(ctx, caller, "", limit, read, look)
	return jobs, next != "", err
}

// CancelJob ends a job that has not ended; the parts that are there stay. One that was cancelled before is a success. Needs
// what NeedToChange says. CodeJobNotFound, CodeJobEnded.
func (s *Service) CancelJob(ctx context.Context, id JobID) (j Job, err error) {
	if j, err = s.findJob(ctx, id); err != nil {
		return Job{}, err
	}
	need, err := s.needToChange(ctx, j)
	if err != nil {
		return Job{}, err
	}
	on, name := j.on()
	st := step{need: need, on: on, name: name, verb: "cancel-" + string(j.Kind), detail: func() string {
		if j.ID == "" { // it was refused
			return "job " + string(id)
		}
		return fmt.Sprintf("job %s of %s: %s", id, j.By, kindOf(j.Kind).sum(j))
	}}
	err = s.administer(ctx, st, func() (err error) {
		j, err = s.cancel(ctx, j)
		return err
	})
	if err != nil {
		return Job{}, err
	}
	return j, nil
}

// NeedToChange says what the caller needs to give the job a part of its file, to start or to cancel it, and on which name, "*" for all:
// ActionManage, or, of a job that a credential of the same client has made, what it took to make it. CodeJobNotFound.
func (s *Service) NeedToChange(ctx context.Context, id JobID) (need Action, on string, err error) {
	j, err := s.findJob(ctx, id)
	if err != nil {
		return "", "", err
	}
	need, err = s.needToChange(ctx, j)
	return need, j.covered(), err
}

func (s *Service) needToChange(ctx context.Context, j Job) (Action, error) {
	caller, err := s.someone(ctx)
	if err != nil {
		return "", err
	}
	if j.By == caller.Client && !caller.permits(ActionManage, j.covered()) {
		return kindOf(j.Kind).need, nil
	}
	return ActionManage, nil
}

func (s *Service) cancel(ctx context.Context, j Job) (Job, error) {
	caller, err := s.someone(ctx)
	if err != nil {
		return Job{}, err
	}
	for range changeTries {
		switch {
		case j.State == JobCancelled:
			return j, s.abandon(ctx, j) // at the first time it may have been cut off
		case j.State.Ended():
			return Job{}, Errorf(CodeJobEnded, "the job has ended, it is %s; there is nothing to cancel", j.State)
		}
		ended := j
		ended.State, ended.Updated = JobCancelled, s.second()
		ended = ended.noting(ended.Updated, "%s", cancelled(j, caller.Client))
		ended, err := s.changeJob(ctx, j, ended)
		if err == nil {
			return ended, s.abandon(ctx, ended)
		}
		if !Is(err, CodeVersionMismatch) {
			return ended, err
		}
		if j, err = s.store.Job(ctx, j.ID); err != nil { // a step was done meanwhile
			return Job{}, err
		}
	}
	return Job{}, Errorf(CodeBusy, "the job is moving on all the time; repeat the request").After(retrySoon)
}

// cancelled says who cancelled the job, and what of it stays.
func cancelled(j Job, by ClientID) string {
	if !j.goesOn() {
		return fmt.Sprintf("cancelled by %s before it was started", by)
	}
	kind := kindOf(j.Kind)
	return fmt.Sprintf("cancelled by %s: %s; %s", by, kind.sum(j), kind.stays)
}

// JobPart returns part n, from 0, of a job's result. What is there stays as it is, also while the job goes on.
// Part 0 of a job that is done is there in any case, but for JobCount, which has none, and JobRebuild, which has none where no ID is gone; where nothing was written it is empty. Of
// JobSeed they say what was not added, in lines of CSV without a header: line, id, outcome, reason. Of JobAudit, JobRebuild, JobLog and JobRestore they are what
// Config.Log makes of findings, of what was taken, and of what was not carried. CodeJobNotFound where there is no
// such part. Needs what it took to make the job, and of a seeding of another client ActionExport as well: it tells of IDs in the pool.
func (s *Service) JobPart(ctx context.Context, id JobID, n int) ([]byte, error) {
	j, err := s.findJob(ctx, id)
	if err != nil {
		return nil, err
	}
	caller, err := s.permit(ctx, kindOf(j.Kind).need, j.covered())
	if err != nil {
		return nil, err
	}
	if j.By != caller.Client {
		if _, err := s.permit(ctx, kindOf(j.Kind).result, j.covered()); err != nil {
			return nil, err
		}
	}
	if n < 0 || n >= j.Parts {
		return nil, Errorf(CodeJobNotFound, "the job has no part %d; it is %s and has %d, from 0", n, j.State, j.Parts)
	}
	if j.State == JobDone && kindOf(j.Kind).empty(j) {
		return []byte{}, nil // no Store keeps an empty part
	}
	p, err := s.store.Part(ctx, id, n)
	return p.Data, err
}
