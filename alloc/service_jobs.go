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

// Bounds of the jobs that are made. Requests at the same time may each see the others' jobs not yet, and exceed them by as many.
const (
	maxWaiting  = 10  // of a client that wait for their end, among those that jobsPer looks at
	maxJobsPer  = 100 // of a client in jobsPer, cancelled ones too
	jobsPer     = time.Hour
	maxAllPages = 10 // of all clients in jobsPer: as many pages of the list as one request looks at
)

// ExportRequest asks for a file of a pool's IDs.
type ExportRequest struct {
	Pool   PoolName
	Of     State  // "" for all
	Format string // a name of Config.Encoders
	Intent Token  // of Keyed, so that a repeat makes the same job; "" for none
}

// Export makes a job that writes the pool's IDs, with all that is known of them but their tokens; the schedule carries it
// out. CodeInvalidRequest; CodePoolNotFound, CodePoolDeleted; CodeBusy where too many of the client's jobs are waiting, or too
// many were made in the last hour. Needs ActionExport: whoever has it gets every ID of the pool that is still free.
func (s *Service) Export(ctx context.Context, r ExportRequest) (j Job, err error) {
	id := newJobID(r.Intent, s.now())
	st := step{need: ActionExport, on: aPool, name: string(r.Pool), verb: "export", detail: func() string {
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
	if err := s.checkRoom(ctx, caller.Client); err != nil {
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

// checkRoom keeps clients from queueing work, and from filling the list of jobs, without bound.
func (s *Service) checkRoom(ctx context.Context, client ClientID) error {
	since := s.now().Add(-jobsPer)
	waiting, made, recent := 0, 0, true
	for before, pages := JobID(""), 0; recent; pages++ {
		if pages == maxAllPages {
			return Errorf(CodeBusy, "%d jobs were made within an hour; wait a while", pages*maxPage).After(time.Minute)
		}
		jobs, err := s.store.ListJobs(ctx, before, maxPage)
		if err != nil {
			return err
		}
		recent = len(jobs) == maxPage && jobs[maxPage-1].Created.After(since)
		for _, j := range jobs {
			before = j.ID
			if j.By != client {
				continue
			}
			if j.Created.After(since) {
				made++
			}
			if !j.State.Ended() {
				waiting++
			}
		}
	}
	switch {
	case waiting >= maxWaiting:
		return Errorf(CodeBusy, "%d jobs of this client are waiting for their end; wait for some, or cancel them", waiting).After(time.Minute)
	case made >= maxJobsPer:
		return Errorf(CodeBusy, "this client has made %d jobs within an hour, cancelled ones too; wait until it has made fewer in the last one", made).After(time.Minute)
	}
	return nil
}

// Job returns one. Needs ActionExport on its pool.
func (s *Service) Job(ctx context.Context, id JobID) (Job, error) {
	j, err := s.findJob(ctx, id)
	if err != nil {
		return Job{}, err
	}
	if _, err := s.permit(ctx, ActionExport, string(j.Pool)); err != nil {
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

// Jobs returns at most limit (1 to 100) of the jobs on pools that the caller may export, newest first, from the cursor on; next is what to give to go on, "" at the end. As in Pools there may be fewer, and yet more to come.
func (s *Service) Jobs(ctx context.Context, c Cursor, limit int) (jobs []Job, next Cursor, err error) {
	look := func(j Job) entry[JobID] {
		return entry[JobID]{position: j.ID, name: string(j.Pool), need: ActionExport}
	}
	return readable(ctx, s, listJobs, c, limit, s.store.ListJobs, look)
}

// CancelJob ends a job that has not ended; the parts that are there stay. One that was cancelled before is a success. Needs
// what NeedToCancel says. CodeJobNotFound, CodeJobEnded.
func (s *Service) CancelJob(ctx context.Context, id JobID) (j Job, err error) {
	if j, err = s.findJob(ctx, id); err != nil {
		return Job{}, err
	}
	need, err := s.needToCancel(ctx, j)
	if err != nil {
		return Job{}, err
	}
	st := step{need: need, on: aPool, name: string(j.Pool), verb: "cancel-export", detail: func() string { return "job " + string(id) }}
	err = s.administer(ctx, st, func() (err error) {
		j, err = s.cancel(ctx, j)
		return err
	})
	if err != nil {
		return Job{}, err
	}
	return j, nil
}

// NeedToCancel says what the caller needs to cancel the job, and on which pool: ActionManage, or, of a job that a credential of
// the same client has made, ActionExport. CodeJobNotFound.
func (s *Service) NeedToCancel(ctx context.Context, id JobID) (need Action, on PoolName, err error) {
	j, err := s.findJob(ctx, id)
	if err != nil {
		return "", "", err
	}
	need, err = s.needToCancel(ctx, j)
	return need, j.Pool, err
}

func (s *Service) needToCancel(ctx context.Context, j Job) (Action, error) {
	caller, err := s.someone(ctx)
	if err != nil {
		return "", err
	}
	if j.By == caller.Client && !caller.permits(ActionManage, string(j.Pool)) {
		return ActionExport, nil
	}
	return ActionManage, nil
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
// Part 0 of a job that is done is there in any case; where no ID was written it is empty. CodeJobNotFound where there is no
// such part. Needs ActionExport on the job's pool.
func (s *Service) JobPart(ctx context.Context, id JobID, n int) ([]byte, error) {
	j, err := s.Job(ctx, id)
	if err != nil {
		return nil, err
	}
	if n < 0 || n >= j.Parts {
		return nil, Errorf(CodeJobNotFound, "the job has no part %d; it is %s and has %d, from 0", n, j.State, j.Parts)
	}
	if j.State == JobDone && j.Done == 0 {
		return []byte{}, nil // no Store keeps an empty part
	}
	p, err := s.store.Part(ctx, id, n)
	return p.Data, err
}
