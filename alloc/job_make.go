package alloc

import (
	"cmp"
	"context"
	"time"
	"unicode/utf8"
)

// Bounds of the jobs that are made. They keep clients from queueing work without end, and the lists short that each request and each run of
// the schedule looks at. Requests at the same time may each see the others' jobs not yet, and exceed them by as many.
//
// What brings pools and sequences back, or proves them, has bounds of its own, of all clients together: whoever may manage has to do it for all of them in one night.
const (
	maxAllOpen = 1000 // of all clients that wait for their end
	maxWaiting = 10   // of a client that wait for their end
	maxJobsPer = 100  // of a client in jobsPer, cancelled ones too, but for counts that have ended
	maxMadePer = 500  // of a client in jobsPer, such counts too: it leaves others room in what is looked at
	maxAllPer  = 1000 // of all clients in jobsPer
	jobsPer    = time.Hour

	maxRecoveryOpen = 2000
	maxRecoveryPer  = 5000
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
	if err := s.checkRoom(ctx, caller.Client, kindOf(wanted.Kind).recovers); err != nil {
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

// MaxReason is the most characters of a reason.
const MaxReason = 500

// CheckReason refuses what cannot stand in the trail as the reason of a step; "" is none, and can.
func CheckReason(reason string) error {
	if utf8.RuneCountInString(reason) > MaxReason {
		return Errorf(CodeInvalidRequest, "the reason is too long; say it in at most %d characters", MaxReason)
	}
	if why := textFault(reason); why != "" {
		return Errorf(CodeInvalidRequest, "the reason is not allowed: %s", why)
	}
	return nil
}

// checkRoom refuses a job where as many are under way, or were made, as may be.
func (s *Service) checkRoom(ctx context.Context, client ClientID, recovers bool) error {
	waiting, open, recovering := 0, 0, 0
	err := s.eachOpenJob(ctx, func(j Job) (more bool, err error) {
		switch {
		case kindOf(j.Kind).recovers:
			recovering++
		case j.By == client:
			waiting++
			fallthrough
		default:
			open++
		}
		if recovers {
			return recovering < maxRecoveryOpen, nil
		}
		return waiting < maxWaiting && open < maxAllOpen, nil
	})
	switch {
	case err != nil:
		return err
	case recovers && recovering >= maxRecoveryOpen:
		return Errorf(CodeBusy, "%d rebuilds, audits, logs and restores are waiting for their end; wait a while, or cancel some", recovering).After(time.Minute)
	case !recovers && waiting >= maxWaiting:
		return Errorf(CodeTooManyJobs, "%d jobs of this client are waiting for their end, and a seeding that waits for its confirmation is one of them; wait for some, or confirm or cancel them", waiting).After(time.Minute)
	case !recovers && open >= maxAllOpen:
		return Errorf(CodeBusy, "%d jobs are waiting for their end; wait a while", open).After(time.Minute)
	}
	return s.checkPace(ctx, client, recovers)
}

// checkPace refuses a job of a client that has made as many as it may in jobsPer, or where all have. They are looked at from the newest on, so the one by
// which the bound is reached is the first that has to leave the hour.
func (s *Service) checkPace(ctx context.Context, client ClientID, recovers bool) error {
	now := s.now()
	since := now.Add(-jobsPer)
	var made, counted, all, recovering int
	for before, recent := JobID(""), true; recent; {
		jobs, err := s.store.ListJobs(ctx, before, maxPage)
		if err != nil {
			return err
		}
		recent = len(jobs) == maxPage && jobs[maxPage-1].Created.After(since)
		for _, j := range jobs {
			if before = j.ID; !j.Created.After(since) {
				continue
			}
			if kindOf(j.Kind).recovers {
				recovering++
			} else if all++; j.By == client {
				made++
				if j.Kind != JobCount || !j.State.Ended() {
					counted++
				}
			}
			switch wait := j.Created.Sub(since); {
			case recovering == maxRecoveryPer && recovers:
				return Errorf(CodeBusy, "%d rebuilds, audits, logs and restores were made within an hour; wait a while", recovering).After(wait)
			case recovers:
			case counted == maxJobsPer || made == maxMadePer:
				return Errorf(CodeTooManyJobs, "this client has made %d jobs within an hour, cancelled ones too; wait until one of them is an hour old", made).After(wait)
			case all == maxAllPer:
				return Errorf(CodeBusy, "%d jobs were made within an hour; wait a while", all).After(min(wait, time.Minute))
			}
		}
	}
	return nil
}
