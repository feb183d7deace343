package alloc

import (
	"cmp"
	"context"
	"time"
)

// tendSteps bounds the steps of jobs in one run, and how many it sends.
const tendSteps = 500

// receivingFor is how long a job waits for the next part of its file before it is given up.
const receivingFor = 24 * time.Hour

// JobReport says what one run of the schedule did of a job.
type JobReport struct {
	Job   Job   // as it was left
	Steps int   // that were carried out
	IDs   Count // that were written, counted or settled
	Err   error // why the run went no further with it; nil where it did all it could
}

// openJobs is what a run finds of the jobs that have not ended.
type openJobs struct {
	due    []Job // for this run to carry on, the oldest first; none where there is a queue
	open   int
	oldest time.Time // of those that somebody is to carry on, when the one was changed that has stood still longest; zero for none
	sent   int       // that stood still, and were sent to the queue again
}

// dueJobs looks at the jobs that have not ended, as far as there is time; beside an error, it tells of those that were found
// before it. Where there is a queue it sends word of those that stand still: their last message was lost, or whoever got
// it. Else they are to be carried on by this run, but for those that only another process can. A job whose file nobody
// goes on sending is given up.
func (s *Service) dueJobs(ctx context.Context, over func() bool) (openJobs, error) {
	var found openJobs
	var failed error
	err := s.eachOpenJob(ctx, func(j Job) (more bool, err error) {
		if over() {
			return false, nil
		}
		found.open++
		standing := s.second().Sub(j.Updated)
		if !j.goesOn() {
			if standing >= receivingFor {
				failed = cmp.Or(failed, s.giveUp(ctx, j))
			}
			return true, nil
		}
		if found.oldest.IsZero() || j.Updated.Before(found.oldest) {
			found.oldest = j.Updated
		}
		switch {
		case s.queue == nil:
			if kindOf(j.Kind).able(s, j) {
				found.due = append(found.due, j)
			}
		case standing >= stuckAfter && found.sent < tendSteps:
			if err := s.send(ctx, j); err != nil {
				failed = cmp.Or(failed, err)
				return true, nil
			}
			found.sent++
		}
		return true, nil
	})
	return found, cmp.Or(err, failed)
}

// giveUp cancels a job whose file has not come. That it has moved on meanwhile is no error.
func (s *Service) giveUp(ctx context.Context, j Job) error {
	to := j
	to.State, to.Updated = JobCancelled, s.second()
	to = to.noting(to.Updated, "given up: no part of its file has come for %s", receivingFor)
	if _, err := s.changeJob(ctx, j, to); err != nil && !Is(err, CodeVersionMismatch) && !Is(err, CodeJobNotFound) {
		return err
	}
	return nil
}

// work carries the jobs on, one step of each after the other, until they have ended, the time is over or the run's steps are
// used up. A job whose step fails, or that somebody else moves on or cancels, is left to the next run.
func (s *Service) work(ctx context.Context, due []Job, over func() bool) []JobReport {
	reports := make([]JobReport, len(due))
	active := make([]*JobReport, len(due))
	for i, j := range due {
		reports[i].Job = j
		active[i] = &reports[i]
	}
	for steps := tendSteps; len(active) > 0 && steps > 0; {
		round := active
		active = nil
		for _, r := range round {
			if over() || steps == 0 {
				return reports
			}
			steps--
			if s.workOn(ctx, r, over) {
				active = append(active, r)
			}
		}
	}
	return reports
}

// workOn does the next step of a job. more says that there is another for this run.
func (s *Service) workOn(ctx context.Context, r *JobReport, over func() bool) (more bool) {
	before := r.Job
	after, err := s.advance(ctx, before, over)
	r.Job = after
	switch {
	case err == nil:
		r.Steps++
		r.IDs += after.Done - before.Done
		return !after.State.Ended()
	case over(), Is(err, CodeVersionMismatch): // no time, or somebody else's step
	case Is(err, CodeJobNotFound) && before.expired(s.now()):
	default:
		r.Err = err
	}
	return false
}
