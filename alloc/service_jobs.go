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

// maxWaiting is how many jobs of one client may wait for their end, of the last maxPage that were made.
const maxWaiting = 10

// ExportRequest asks for a file of a pool's IDs.
type ExportRequest struct {
	Pool   PoolName
	Of     State  // "" for all
	Format string // a name of Config.Encoders
	Intent Token  // of Keyed, so that a repeat makes the same job; "" for none
}

// Export makes a job that writes the pool's IDs, with all that is known of them but their tokens; the schedule carries it
// out. CodeInvalidRequest; CodePoolNotFound, CodePoolDeleted; CodeBusy where too many of the client's jobs are waiting.
// Needs ActionRead.
func (s *Service) Export(ctx context.Context, r ExportRequest) (j Job, err error) {
	id := newJobID(r.Intent, s.now())
	st := step{need: ActionRead, on: aPool, name: string(r.Pool), verb: "export", detail: func() string {
		return fmt.Sprintf("job %s, state %s, format %s", id, quoteShort(string(r.Of)), quoteShort(r.Format))
	}}
	err = s.administer(ctx, st, func() (err error) {
		j, err = s.export(ctx, id, r)
		return err
	})
	return j, err
}

func (s *Service) export(ctx context.Context, id JobID, r ExportRequest) (Job, error) {
	caller, err := s.someone(ctx)
	if err != nil {
		return Job{}, err
	}
	if r.Intent != "" {
		if j, err := s.store.Job(ctx, id); !Is(err, CodeJobNotFound) {
			return j, err
		}
	}
	if err := s.checkExport(r); err != nil {
		return Job{}, err
	}
	p, err := s.store.Pool(ctx, r.Pool)
	if err != nil {
		return Job{}, err
	}
	if p.State == PoolDeleted {
		return Job{}, p.deleted()
	}
	if err := s.checkWaiting(ctx, caller.Client); err != nil {
		return Job{}, err
	}
	now := s.second()
	j := Job{
		ID: id, Kind: JobExport, Pool: r.Pool, Of: r.Of, Format: r.Format, By: caller.Client,
		State: JobQueued, Version: 1, Created: now, Updated: now,
	}
	if err := s.store.CreateJob(ctx, j); err != nil || r.Intent == "" {
		return j, err
	}
	return s.store.Job(ctx, id) // another attempt may have been faster
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

// checkWaiting keeps one client from queueing work without bound.
func (s *Service) checkWaiting(ctx context.Context, client ClientID) error {
	jobs, err := s.store.ListJobs(ctx, "", maxPage)
	if err != nil {
		return err
	}
	waiting := 0
	for _, j := range jobs {
		if j.By == client && !j.State.Ended() {
			waiting++
		}
	}
	if waiting >= maxWaiting {
		return Errorf(CodeBusy, "%d jobs of this client are waiting for their end; wait for some, or cancel them", waiting).After(time.Minute)
	}
	return nil
}

// Job returns one. Needs ActionRead on its pool, as all that follow.
func (s *Service) Job(ctx context.Context, id JobID) (Job, error) {
	j, err := s.findJob(ctx, id)
	if err != nil {
		return Job{}, err
	}
	if _, err := s.permit(ctx, ActionRead, string(j.Pool)); err != nil {
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

// Jobs returns at most limit (1 to 100) of the jobs on pools that the caller may read, newest first, from the cursor on;
// next is what to give to go on, "" at the end. As in Pools there may be fewer, and yet more to come.
func (s *Service) Jobs(ctx context.Context, c Cursor, limit int) (jobs []Job, next Cursor, err error) {
	look := func(j Job) entry[JobID] { return entry[JobID]{position: j.ID, name: string(j.Pool)} }
	return readable(ctx, s, listJobs, c, limit, s.store.ListJobs, look)
}

// CancelJob ends a job that has not ended; the parts that are there stay. One that was cancelled before is a success.
// CodeJobNotFound, CodeJobEnded.
func (s *Service) CancelJob(ctx context.Context, id JobID) (j Job, err error) {
	if j, err = s.findJob(ctx, id); err != nil {
		return Job{}, err
	}
	st := step{need: ActionRead, on: aPool, name: string(j.Pool), verb: "cancel-export", detail: func() string { return "job " + string(id) }}
	err = s.administer(ctx, st, func() (err error) {
		j, err = s.cancel(ctx, j)
		return err
	})
	if err != nil {
		return Job{}, err
	}
	return j, nil
}

func (s *Service) cancel(ctx context.Context, j Job) (Job, error) {
	for range changeTries {
		switch {
		case j.State == JobCancelled:
			return j, nil
		case j.State.Ended():
			return Job{}, Errorf(CodeJobEnded, "the job has ended, it is %s; there is nothing to cancel", j.State)
		}
		ended := j
		ended.State, ended.Updated = JobCancelled, s.second()
		ended, err := s.store.ChangeJob(ctx, j.Version, ended)
		if !Is(err, CodeVersionMismatch) {
			return ended, err
		}
		if j, err = s.store.Job(ctx, j.ID); err != nil { // a step was done meanwhile
			return Job{}, err
		}
	}
	return Job{}, Errorf(CodeBusy, "the job is moving on all the time; repeat the request").After(retrySoon)
}

// JobPart returns part n, from 0, of a job's result. What is there stays as it is, also while the job goes on.
// CodeJobNotFound where there is no such part.
func (s *Service) JobPart(ctx context.Context, id JobID, n int) ([]byte, error) {
	j, err := s.Job(ctx, id)
	if err != nil {
		return nil, err
	}
	if n < 0 || n >= j.Parts {
		return nil, Errorf(CodeJobNotFound, "the job has no part %d; it is %s and has %d, from 0", n, j.State, j.Parts)
	}
	p, err := s.store.Part(ctx, id, n)
	return p.Data, err
}
