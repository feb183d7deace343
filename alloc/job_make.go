package alloc

import (
	"cmp"
	"context"
	"time"
)

// Bounds of the jobs that are made. Requests at the same time may each see the others' jobs not yet, and exceed them by as many.
const (
	maxAllOpen  = 1000 // of all clients that wait for their end
	maxWaiting  = 10   // of a client that wait for their end
	maxJobsPer  = 100  // of a client in jobsPer, cancelled ones too, but for counts that have ended
	maxMadePer  = 500  // of a client in jobsPer, such counts too: it leaves others room in what is looked at
	jobsPer     = time.Hour
	maxAllPages = 10 // of all clients in jobsPer: as many pages of the list as one request looks at
)

// makeJob makes the job that is wanted, for the caller, or returns the one that an attempt with the same intent has made. check is
// about the request and what it is on. It begins after the permission check.
func (s *Service) makeJob(ctx context.Context, wanted Job, intent Token, check func() error) (Job, error) {
	caller, err := s.someone(ctx)
	if err != nil {
		return Job{}, err
	}
	if intent != "" {
		if j, err := s.store.Job(ctx, wanted.ID); !Is(err, CodeJobNotFound) {
			return j, err
		}
	}
	if err := check(); err != nil {
		return Job{}, err
	}
	if err := s.checkRoom(ctx, caller.Client); err != nil {
		return Job{}, err
	}
	j, now := wanted, s.second()
	j.By, j.Version, j.Created, j.Updated = caller.Client, 1, now, now
	j.State = cmp.Or(j.State, JobQueued)
	j = j.noting(now, "made by %s", caller.Client)
	if err := s.store.CreateJob(ctx, j); err != nil || intent == "" {
		return j, err
	}
	return s.store.Job(ctx, j.ID) // another attempt may have been faster
}

// onPool makes a check of a pool that has to be there and whole, and is not deleted.
func (s *Service) onPool(ctx context.Context, name PoolName, check func(Pool) error) func() error {
	return func() error {
		p, err := s.store.Pool(ctx, name)
		switch {
		case err != nil:
			return err
		case p.State == PoolDeleted:
			return p.deleted()
		case check == nil:
			return nil
		}
		return check(p)
	}
}

// checkWhy refuses what cannot stand in a job as what it is for.
func checkWhy(why string) error {
	if why != "" && (len(why) > MaxDescription || CheckID(why) != nil) {
		return Errorf(CodeInvalidRequest, "why must be at most %d bytes of printable UTF-8 in normal form C without surrounding space", MaxDescription)
	}
	return nil
}

// checkRoom keeps clients from queueing work, and from filling the list of jobs, without bound.
func (s *Service) checkRoom(ctx context.Context, client ClientID) error {
	waiting, open := 0, 0
	err := s.eachOpenJob(ctx, func(j Job) (more bool, err error) {
		if open++; j.By == client {
			waiting++
		}
		return waiting < maxWaiting && open < maxAllOpen, nil
	})
	switch {
	case err != nil:
		return err
	case waiting >= maxWaiting:
		return Errorf(CodeTooManyJobs, "%d jobs of this client are waiting for their end; wait for some, or cancel them", waiting).After(time.Minute)
	case open >= maxAllOpen:
		return Errorf(CodeBusy, "%d jobs are waiting for their end; wait a while", open).After(time.Minute)
	}
	return s.checkPace(ctx, client)
}

// checkPace refuses a job of a client that has made as many as it may in jobsPer. They are looked at from the newest on, so the one by
// which the bound is reached is the first that has to leave the hour.
func (s *Service) checkPace(ctx context.Context, client ClientID) error {
	now := s.now()
	since := now.Add(-jobsPer)
	made, counted := 0, 0
	for before, pages, recent := JobID(""), 0, true; recent; pages++ {
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
			if j.By != client || !j.Created.After(since) {
				continue
			}
			if made++; j.Kind != JobCount || !j.State.Ended() {
				counted++
			}
			if counted == maxJobsPer || made == maxMadePer {
				return Errorf(CodeTooManyJobs, "this client has made %d jobs within an hour, cancelled ones too; wait until one of them is an hour old", made).After(j.Created.Sub(since))
			}
		}
	}
	return nil
}
