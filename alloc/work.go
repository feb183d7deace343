package alloc

import (
	"context"
	"time"
)

const (
	workMargin  = time.Second     // before the deadline, for word of what is left; no step begins tendMargin before that
	workTries   = 3               // of a step that fails, before the schedule is left to come back to the job
	workBackOff = time.Second     // after the first of them; twice as long after each
	maxBackOff  = 8 * time.Second // whatever the engine asks for
)

// Work carries the job on from the step, until it has ended or the context's deadline is near; then it sends word of the rest.
// A step that was overtaken is dropped: no error; and so is that of a job that this process cannot carry on: the schedules of those
// that can send it again, and it stands still until then, which TendReport tells. An error is for the log, and means that the message should come again:
// where that is of no use any more, as the job has been moved on, it is dropped then. A job whose step fails again and
// again is left to the schedule, which sends it once it has stood still for a while. Needs ActionTend on all.
func (s *Service) Work(ctx context.Context, step Step) error {
	if _, err := s.permit(ctx, ActionTend, everything); err != nil {
		return err
	}
	if step.Job.check() != nil {
		return nil // it never was the name of a job
	}
	j, err := s.store.Job(ctx, step.Job)
	switch {
	case Is(err, CodeJobNotFound): // it has expired
		return nil
	case err != nil:
		return err
	case !j.goesOn() || j.Version != step.Version:
		return nil
	}
	if !kindOf(j.Kind).able(s, j) {
		return nil
	}
	return s.workUntil(ctx, j)
}

// workUntil does steps of a job until it has ended, the time is over or a step keeps failing.
func (s *Service) workUntil(ctx context.Context, j Job) error {
	inTime, cancel := endingBefore(ctx, workMargin)
	defer cancel()
	begin, cancel := endingBefore(inTime, tendMargin)
	defer cancel()
	over := func() bool { return begin.Err() != nil }
	for failed := 0; !over(); {
		after, err := s.advance(inTime, j, over)
		j = after
		switch {
		case err == nil && j.State.Ended():
			return nil
		case err == nil:
			failed = 0
		case over(): // what was cut off may have been done
		case Is(err, CodeVersionMismatch), Is(err, CodeJobNotFound) && j.expired(s.now()): // somebody else has moved it on
			return nil
		case j.State.Ended():
			return err
		default:
			if failed++; failed == workTries {
				return err
			}
			s.pause(begin, min(maxBackOff, max(asError(err).RetryAfter, workBackOff<<(failed-1))))
		}
	}
	return s.handOn(ctx, j.ID)
}

// pause waits, at most until the context ends.
func (s *Service) pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// handOn sends word of a job's next step when the time for more is over.
func (s *Service) handOn(ctx context.Context, id JobID) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workMargin)
	defer cancel()
	j, err := s.store.Job(ctx, id)
	switch {
	case Is(err, CodeJobNotFound):
		return nil
	case err != nil:
		return err
	case !j.goesOn():
		return nil
	}
	return s.send(ctx, j)
}

// send sends word of a job's next step, if there is a queue.
func (s *Service) send(ctx context.Context, j Job) error {
	if s.queue == nil {
		return nil
	}
	if err := s.queue.Send(ctx, Step{Job: j.ID, Version: j.Version}); err != nil {
		return Errorf(CodeUnavailable, "word of the next step of the job %s could not be sent", j.ID).Because(err)
	}
	return nil
}

// tell is send where a failure is no failure of what is being done: the schedule finds the job.
func (s *Service) tell(ctx context.Context, j Job) {
	s.send(ctx, j) //nolint:errcheck // see above
}

// ResumeJobs sends word of every job that has not ended and that this version knows, whenever it was last carried on: for a program whose queue was lost
// with its last process. It returns how many. Needs ActionTend on all.
func (s *Service) ResumeJobs(ctx context.Context) (int, error) {
	if _, err := s.permit(ctx, ActionTend, everything); err != nil {
		return 0, err
	}
	sent := 0
	err := s.eachOpenJob(ctx, func(j Job) (more bool, err error) {
		if !j.goesOn() || !j.Kind.known() || s.queue == nil {
			return true, nil
		}
		if err := s.send(ctx, j); err != nil {
			return false, err
		}
		sent++
		return true, nil
	})
	return sent, err
}

// eachOpenJob calls do with the jobs that have not ended, the oldest first, until there is none left, or do wants no more or
// fails.
func (s *Service) eachOpenJob(ctx context.Context, do func(j Job) (more bool, err error)) error {
	for after := JobID(""); ; {
		page, err := s.store.OpenJobs(ctx, after, maxPage)
		if err != nil {
			return err
		}
		for _, j := range page {
			if j.ID <= after {
				return goesNotOn("open jobs")
			}
			after = j.ID
			if j.State.Ended() { // its end was cut off
				continue
			}
			if more, err := do(j); err != nil || !more {
				return err
			}
		}
		if len(page) < maxPage {
			return nil
		}
	}
}
