package alloc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// When a job is failed whose step fails again and again: for reasons that do not pass by themselves after so many tries, for
// those that do once it has not moved on for so long, and as many tries have failed.
const (
	MaxJobTries = 20
	MaxJobStill = 24 * time.Hour
)

// stuckAfter is how long a job stands still before the schedule takes it for forgotten.
const stuckAfter = 2 * time.Minute

// doneStep is a job as it is after its next step; last says that there is none after it.
type doneStep struct {
	job  Job
	last bool
}

// advance carries out the next step of a job and returns the job as it is after that. The change of the job at its end is what
// makes the step done: of several who did it at once or long after, one changes the job, and what the others
// did has changed nothing. What fails when the time is over is not counted as a try.
func (s *Service) advance(ctx context.Context, j Job, over func() bool) (Job, error) {
	begun, kind := s.second(), kindOf(j.Kind)
	done, err := withoutPanic(func() (doneStep, error) { return kind.step(s, ctx, j) })
	if err != nil {
		return s.stumble(ctx, j, err, over)
	}
	to := done.job
	to.State, to.Tries, to.Faults, to.Updated = JobRunning, 0, 0, s.second()
	if j.Started.IsZero() {
		to.Started = begun
	}
	switch {
	case j.State == JobQueued && j.Tries == 0:
		to = to.noting(begun, "started")
	case j.Tries > 0:
		to = to.noting(begun, "resumed; tries that failed before: %d", j.Tries)
	case begun.Sub(j.Updated) >= stuckAfter:
		to = to.noting(begun, "resumed after it stood still for %s", begun.Sub(j.Updated))
	}
	if done.last {
		to.State, to.Mark = JobDone, ""
		to = to.noting(to.Updated, "done: %s", kind.sum(to))
		if kind.recorded {
			err = s.recordDone(ctx, j, to)
		}
	}
	if err != nil && !Is(err, CodeVersionMismatch) {
		return s.stumble(ctx, j, err, over)
	}
	changed := j
	if err == nil {
		changed, err = s.changeJob(ctx, j, to)
	}
	if kind.abandon != nil && Is(err, CodeVersionMismatch) {
		if err := s.overtaken(ctx, j.ID); err != nil {
			return j, err
		}
	}
	return changed, err
}

// changeJob puts to in the place of j; on failure j stands, as far as is known. No two changes are the same: of several who
// make one at once, also in the same second, one goes on. Where the outcome is unknown, the same change once
// more finds out: otherwise our own step would be taken for somebody else's, who sends word of the next one.
func (s *Service) changeJob(ctx context.Context, j, to Job) (Job, error) {
	to.Change = NewToken()
	changed, err := s.store.ChangeJob(ctx, j.Version, to)
	if e, ok := errors.AsType[*Error](err); ok && e.Unknown {
		changed, err = s.store.ChangeJob(ctx, j.Version, to)
	}
	if err != nil {
		return j, err
	}
	if s.ended != nil && changed.State.Ended() {
		s.ended(ctx, changed)
	}
	return changed, nil
}

// stumble counts a step that failed, and fails the job where another try is of no use. It returns why the step failed.
func (s *Service) stumble(ctx context.Context, j Job, reason error, over func() bool) (Job, error) {
	if over() || Is(reason, CodeJobNotFound) { // no time is no failure, and what has expired needs none
		return j, reason
	}
	to, now := j, s.second()
	to.Tries++
	if Is(reason, CodeInternal) {
		to.Faults++
	}
	switch message, still := asError(reason).Message, now.Sub(j.Updated); {
	case !passes(CodeOf(reason)):
		to.State, to.Failure = JobFailed, message
	case to.Faults >= MaxJobTries:
		to.State, to.Failure = JobFailed, fmt.Sprintf("it was given up after %d tries; at the last: %s", to.Tries, message)
	case to.Tries >= MaxJobTries && still >= MaxJobStill:
		to.State, to.Failure = JobFailed, fmt.Sprintf("it was given up after %d tries in %s; at the last: %s", to.Tries, still, message)
	default:
		to = to.noting(now, "try %d failed: %s", to.Tries, message)
	}
	if to.State == JobFailed {
		to.Updated = now
		to = to.noting(now, "failed: %s", to.Failure)
	}
	if to.State == JobFailed {
		return s.fail(ctx, j, to, reason)
	}
	changed, err := s.changeJob(ctx, j, to)
	if err != nil {
		return j, err
	}
	return changed, reason
}

// fail fails the job: what it has done stays, and what it holds is let go. It returns why it failed, with what went wrong beside that.
func (s *Service) fail(ctx context.Context, j, to Job, reason error) (Job, error) {
	detail := fmt.Sprintf("job %s of %s: %s; %s", j.ID, j.By, kindOf(j.Kind).sum(to), to.Failure)
	changed, err := s.finish(ctx, j, to, "fail", detail, reason)
	if changed.State != JobFailed {
		return j, err
	}
	if err := errors.Join(err, s.abandon(ctx, changed)); err != nil {
		e := asError(reason)
		reason = e.Because(errors.Join(e.Cause, err))
	}
	return changed, reason
}

// noting is the job with one more event.
func (j Job) noting(at time.Time, format string, args ...any) Job {
	kept := j.Log[max(0, len(j.Log)-MaxJobEvents+1):]
	j.Log = append(slices.Clone(kept), JobEvent{At: at, Text: clip(inWords(format, args...))})
	return j
}

// goesOn reports whether somebody is to carry the job on.
func (j Job) goesOn() bool {
	return !j.State.Ended() && j.State != JobReceiving && j.State != JobDamaged
}
