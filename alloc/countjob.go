package alloc

import (
	"context"
	"time"
)

// What a request that asks for a count does of it at once: that is all of a small pool.
const (
	countNow   = 2 * time.Second
	countSteps = 20
)

// countStep counts the IDs of the next pages. It keeps what it met in the job itself: the change of the job is all that it does.
func (s *Service) countStep(ctx context.Context, j Job) (doneStep, error) {
	ids, next, err := s.walk(ctx, j, partIDs)
	if err != nil {
		return doneStep{}, err
	}
	to := j
	to.Mark = next
	to.Done += Count(len(ids))
	for _, id := range ids {
		switch id.State {
		case StateFree:
			to.Tally.Free++
		case StateHeld:
			to.Tally.Held++
		case StateClaimed:
			to.Tally.Claimed++
		case StateReturning:
			to.Tally.Returning++
		case StateRetired:
			to.Tally.Retired++
		default:
			return doneStep{}, Errorf(CodeInternal, "an ID of the pool is in a state that is not known")
		}
	}
	return doneStep{to, next == ""}, nil
}

// CountPool counts a pool's IDs by their states, one by one, as a job; a small pool is counted when it returns. Needs
// ActionRead. What is claimed or comes back while it counts is counted before or after that. CodeInvalidRequest;
// CodePoolNotFound, CodePoolDeleted; CodeBusy as in Export.
func (s *Service) CountPool(ctx context.Context, r CountRequest) (Job, error) {
	if _, err := s.admit(ctx, ActionRead, string(r.Pool)); err != nil {
		return Job{}, err
	}
	if err := checkWhy(r.Why); err != nil {
		return Job{}, err
	}
	j, err := s.makeJob(ctx, Job{ID: newJobID(r.Intent, s.now()), Kind: JobCount, Pool: r.Pool, Why: r.Why}, r.Intent, s.onPool(ctx, r.Pool, nil))
	if err != nil || !j.goesOn() {
		return j, err
	}
	if j = s.countAtOnce(ctx, j); j.goesOn() {
		s.tell(ctx, j)
	}
	return j, nil
}

// countAtOnce carries the count on for a little while. That a step fails is no failure of the request: the job is there, and is
// carried on.
func (s *Service) countAtOnce(ctx context.Context, j Job) Job {
	soon, cancel := context.WithTimeout(ctx, countNow)
	defer cancel()
	begin, cancel := endingBefore(soon, tendMargin)
	defer cancel()
	over := func() bool { return begin.Err() != nil }
	for range countSteps {
		after, err := s.advance(soon, j, over)
		if err != nil {
			if now, err := s.store.Job(ctx, j.ID); err == nil { // somebody else may have carried it on
				return now
			}
			return after
		}
		if j = after; j.State.Ended() || over() {
			break
		}
	}
	return j
}
