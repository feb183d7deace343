package alloc

import (
	"cmp"
	"context"
	"slices"
)

// tendSteps bounds the steps of jobs in one run.
const tendSteps = 500

// JobReport says what one run of the schedule did of a job.
type JobReport struct {
	Job   Job   // as it was left
	Steps int   // that were carried out
	IDs   Count // that were written
	Err   error // why the run went no further with it; nil where it did all it could
}

// work carries the jobs on, one step of each after the other, until they have ended, the context has or the run's steps
// are used up. A job whose step fails, or that somebody else moves on, is left to the next run. Those whose format this
// process does not know are left to others.
func (s *Service) work(ctx context.Context) ([]JobReport, error) {
	due, err := s.dueJobs(ctx)
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
			if ctx.Err() != nil || steps == 0 {
				return reports, err
			}
			steps--
			if s.workOn(ctx, r); r.Err == nil && !r.Job.State.Ended() {
				active = append(active, r)
			}
		}
	}
	return reports, err
}

// workOn does the next step of a job.
func (s *Service) workOn(ctx context.Context, r *JobReport) {
	before := r.Job
	after, err := s.advance(ctx, before)
	r.Job = after
	switch {
	case err == nil:
		r.Steps++
		r.IDs += after.Done - before.Done
	case ctx.Err() == nil:
		r.Err = err
	}
}

// dueJobs lists the jobs that this process can carry on, the oldest first; beside an error, those that were found before
// it. A list that is behind does no harm: a step from there changes nothing.
func (s *Service) dueJobs(ctx context.Context) (due []Job, err error) {
	if len(s.encoders) == 0 {
		return nil, nil
	}
	for before, more := JobID(""), true; more; {
		var page []Job
		if page, err = s.store.ListJobs(ctx, before, maxPage); err != nil {
			break
		}
		for _, j := range page {
			before = j.ID
			if j.Kind == JobExport && !j.State.Ended() && s.encoders[j.Format] != nil {
				due = append(due, j)
			}
		}
		more = len(page) == maxPage
	}
	slices.SortFunc(due, func(a, b Job) int { return cmp.Compare(a.ID, b.ID) })
	return due, err
}
