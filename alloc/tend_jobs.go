package alloc

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
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

// dueJobs lists the jobs that this process can carry on, the oldest first, as far as there is time; beside an error, those
// that were found before it. Those whose format it does not know are left to others. A list that is behind does no harm: a
// step from there changes nothing.
func (s *Service) dueJobs(ctx context.Context, over func() bool) (due []Job, err error) {
	if len(s.encoders) == 0 {
		return nil, nil
	}
	oldest := beginning(s.now().Add(-lateJobs))
	for before, down := JobID(""), s.ended.downTo(); !over(); {
		page, err := s.store.ListJobs(ctx, before, maxPage)
		if err != nil {
			return inTurn(due), err
		}
		for _, j := range page {
			if before != "" && j.ID >= before {
				return inTurn(due), goesNotOn("jobs")
			}
			before = j.ID
			if j.Kind == JobExport && !j.State.Ended() && s.encoders[j.Format] != nil {
				due = append(due, j)
				oldest = min(oldest, j.ID)
			}
		}
		if len(page) < maxPage || before < down {
			s.ended.below(oldest)
			break
		}
	}
	return inTurn(due), nil
}

// inTurn sorts jobs as a run comes to them.
func inTurn(jobs []Job) []Job {
	slices.SortFunc(jobs, func(a, b Job) int { return cmp.Compare(a.ID, b.ID) })
	return jobs
}

// lateJobs is how much older than its making the ID of a job may be: a repeat makes it after the intent of the first attempt,
// as long as its key counts. An hour is for clocks that differ.
const lateJobs = KeyRetention + time.Hour

// endedJobs remembers down to where the list of jobs has something to do for this process: below that all have ended. So a run
// does not come past those of a whole week each minute, but for the first one of a process.
type endedJobs struct {
	mu sync.Mutex
	id JobID
}

func (e *endedJobs) downTo() JobID {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.id
}

func (e *endedJobs) below(id JobID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.id = max(e.id, id)
}
