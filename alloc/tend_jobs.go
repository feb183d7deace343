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
	due    []Job     // for this run to carry on, the oldest first; none where there is a queue
	open   int       // all of them
	oldest time.Time // of the others that somebody is to carry on, when the one was changed that has stood still longest; zero for none
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
				gone, err := s.giveUp(ctx, j)
				failed = cmp.Or(failed, err)
				if gone {
					found.open--
				}
			}
			return true, nil
		}
		if s.queue == nil && kindOf(j.Kind).able(s, j) {
			found.due = append(found.due, j)
			return true, nil
		}
		found.stands(j)
		if s.queue != nil && standing >= stuckAfter && found.sent < tendSteps {
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

// stands notes since when a job has stood still.
func (o *openJobs) stands(j Job) {
	if o.oldest.IsZero() || j.Updated.Before(o.oldest) {
		o.oldest = j.Updated
	}
}

// tell says how the jobs are after a run that has carried on those that were due.
func (o openJobs) tell(r *TendReport) {
	for _, worked := range r.Jobs {
		if worked.Job.State.Ended() {
			o.open--
		} else {
			o.stands(worked.Job)
		}
	}
	r.Open, r.Oldest, r.Sent = o.open, o.oldest, o.sent
}

// giveUp cancels a job whose file has not come, unless it has moved on meanwhile.
func (s *Service) giveUp(ctx context.Context, j Job) (gone bool, err error) {
	to := j
	to.State, to.Updated = JobCancelled, s.second()
	to = to.noting(to.Updated, "given up: no part of its file has come for %s", receivingFor)
	_, err = s.changeJob(ctx, j, to)
	if Is(err, CodeVersionMismatch) || Is(err, CodeJobNotFound) {
		return false, nil
	}
	return err == nil, err
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
