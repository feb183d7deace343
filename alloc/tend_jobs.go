package alloc

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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

// openJobs is what a run finds of the jobs that have not ended, each list the oldest first.
type openJobs struct {
	due       []Job     // for this run to carry on; none where there is a queue
	still     []Job     // that stand still, to be sent to the queue again
	forgotten []Job     // whose file nobody goes on sending
	damaged   []Job     // of lists alone
	open      int       // all of them
	foreign   int       // of kinds that this version does not know
	oldest    time.Time // of the others that somebody is to carry on, when the one last moved on that has stood still longest; zero for none
	sent      int       // of still
}

// findJobs looks at the jobs that have not ended, as far as there is time; beside an error, it tells of those that were found
// before it. Where there is a queue, those that stand still are to be sent again: their last message was lost, or whoever got
// it. Else they are to be carried on by this run, but for those that only another process can. Those of a kind that this version
// does not know are left to the schedule of one that does: a worker of this version would do nothing with the message.
func (s *Service) findJobs(ctx context.Context, over func() bool) (openJobs, error) {
	var found openJobs
	err := s.eachOpenJob(ctx, func(j Job) (more bool, err error) {
		if over() {
			return false, nil
		}
		found.open++
		still := s.second().Sub(j.touched())
		switch {
		case j.State == JobDamaged:
			found.damaged = append(found.damaged, j)
		case !j.goesOn():
			if still >= receivingFor {
				found.forgotten = append(found.forgotten, j)
			}
		case !j.Kind.known():
			found.foreign++
			found.stands(j)
		case s.queue == nil && kindOf(j.Kind).able(s, j):
			found.due = append(found.due, j)
		default:
			found.stands(j)
			if s.queue != nil && still >= stuckAfter && len(found.still) < tendSteps {
				found.still = append(found.still, j)
			}
		}
		return true, nil
	})
	return found, err
}

// any reports whether there is something to do for jobs.
func (o *openJobs) any() bool { return len(o.due)+len(o.still)+len(o.forgotten) > 0 }

// stands notes since when a job has stood still.
func (o *openJobs) stands(j Job) {
	if o.oldest.IsZero() || j.Updated.Before(o.oldest) {
		o.oldest = j.Updated
	}
}

// tell says how the jobs are after a run.
func (o *openJobs) tell(r *TendReport) {
	for _, worked := range r.Jobs {
		if worked.Job.State.Ended() {
			o.open--
		} else {
			o.stands(worked.Job)
		}
	}
	for _, j := range o.damaged {
		err := Errorf(CodeInternal, "the record of the job %s cannot be read; it expires by itself a week after it was made", j.ID)
		r.Jobs = append(r.Jobs, JobReport{Job: j, Err: err})
	}
	slices.SortFunc(r.Jobs, func(a, b JobReport) int { return cmp.Compare(a.Job.ID, b.Job.ID) })
	r.Open, r.Foreign, r.Oldest, r.Sent, r.Unsent = o.open, o.foreign, o.oldest, o.sent, len(o.still)-o.sent
}

// remind gives up the jobs whose file has not come, and sends word of those that stand still, as far as there is time. After the
// first that cannot be sent it sends no more: what a queue that does not answer costs is waited for once.
func (s *Service) remind(ctx context.Context, o *openJobs, over func() bool) (failed error) {
	for _, j := range o.forgotten {
		if over() {
			break
		}
		gone, err := s.giveUp(ctx, j)
		failed = cmp.Or(failed, err)
		if gone {
			o.open--
		}
	}
	for _, j := range o.still {
		if over() {
			break
		}
		if err := s.send(ctx, j); err != nil {
			return cmp.Or(failed, err)
		}
		o.sent++
	}
	return failed
}

// giveUp cancels a job whose file has not come, unless it has moved on meanwhile.
func (s *Service) giveUp(ctx context.Context, j Job) (gone bool, err error) {
	to := j
	to.State, to.Updated = JobCancelled, s.second()
	to = to.noting(to.Updated, "given up: no part of its file has come for %s", receivingFor)
	detail := fmt.Sprintf("job %s of %s: after %s with %s no more of its file has come for %s",
		j.ID, j.By, several(len(j.Inputs), "part", "parts"), several(j.Total, "entry", "entries"), receivingFor)
	changed, err := s.finish(ctx, j, to, "give-up", detail, nil)
	if Is(err, CodeVersionMismatch) || Is(err, CodeJobNotFound) {
		return false, nil
	}
	return changed.State == JobCancelled, err
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
