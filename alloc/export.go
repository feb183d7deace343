package alloc

import (
	"context"
	"fmt"
)

// An export goes on in steps. Each reads some of the pool's IDs from the job's mark on, puts them as a part of the
// result, and moves the mark. Of a part's number the first one stands, whoever put it, and the mark that it was put with
// is where the next step begins: so a step may be repeated, done by several at once, or cut off anywhere, and no ID is in
// two parts.
const (
	partIDs   = 1000 // that a step tries to put into a part; fewer where they would be too long for one
	walkPages = 10   // that a step reads at most, where few IDs are in the state
)

// MaxJobTries is how often a step is tried, once in each run of the schedule, before its job is failed.
const MaxJobTries = 20

// advance carries out the next step of an export and returns the job as it is after that. What fails when the time is over is
// not counted as a try.
func (s *Service) advance(ctx context.Context, j Job, over func() bool) (Job, error) {
	p, err := s.nextPart(ctx, j)
	if err != nil {
		return s.stumble(ctx, j, err, over)
	}
	to := j
	to.State, to.Updated, to.Mark, to.Tries = JobRunning, s.second(), p.Next, 0
	if p.IDs > 0 {
		to.Parts++
		to.Done += p.IDs
	}
	if p.Next == "" {
		to.State = JobDone
		to.Parts = max(to.Parts, 1) // of a file without IDs, the head at least can be fetched
	}
	return s.changeJob(ctx, j, to)
}

// changeJob puts to in the place of j; on failure j stands.
func (s *Service) changeJob(ctx context.Context, j, to Job) (Job, error) {
	changed, err := s.store.ChangeJob(ctx, j.Version, to)
	if err != nil {
		return j, err
	}
	return changed, nil
}

// stumble counts a step that failed, and fails the job where another try is of no use. It returns why the step failed.
func (s *Service) stumble(ctx context.Context, j Job, reason error, over func() bool) (Job, error) {
	if over() || Is(reason, CodeJobNotFound) { // no time is no failure, and what has expired needs none
		return j, reason
	}
	to := j
	to.Updated, to.Tries = s.second(), j.Tries+1
	switch message := asError(reason).Message; {
	case !passes(CodeOf(reason)):
		to.State, to.Failure = JobFailed, message
	case to.Tries >= MaxJobTries:
		to.State, to.Failure = JobFailed, fmt.Sprintf("it was given up after %d tries; at the last: %s", to.Tries, message)
	}
	changed, err := s.changeJob(ctx, j, to)
	if err != nil {
		return j, err
	}
	return changed, reason
}

// nextPart makes the job's next part, and returns the one that stands; without IDs where there are none up to its Next.
func (s *Service) nextPart(ctx context.Context, j Job) (Part, error) {
	p, err := s.encodePart(ctx, j)
	if err != nil || p.IDs == 0 {
		return p, err
	}
	if err := s.store.PutPart(ctx, j.ID, j.Parts, p); err != nil {
		return Part{}, err
	}
	return s.store.Part(ctx, j.ID, j.Parts)
}

// encodePart reads and encodes IDs from the job's mark on, as many as a part can hold.
func (s *Service) encodePart(ctx context.Context, j Job) (Part, error) {
	for limit := partIDs; limit > 0; limit /= 2 {
		ids, next, err := s.walk(ctx, j, limit)
		if err != nil || len(ids) == 0 {
			return Part{Next: next}, err
		}
		data, err := withoutPanic(func() ([]byte, error) { return s.encoders[j.Format](ids) })
		if err != nil {
			return Part{}, Errorf(CodeInvalidRequest, "some IDs of the pool cannot be written as %s; try another format", j.Format).Because(err)
		}
		if len(data) <= MaxPartBytes {
			return Part{Data: data, IDs: Count(len(ids)), Next: next}, nil
		}
	}
	return Part{}, Errorf(CodeInvalidRequest, "an ID of the pool with what is known of it is too long for a part of %d bytes", MaxPartBytes)
}

// walk reads IDs from the job's mark on, about limit of them, without their tokens: whoever has one owns the ID.
func (s *Service) walk(ctx context.Context, j Job, limit int) (ids []IDRecord, next string, err error) {
	next = j.Mark
	for range walkPages {
		var page []IDRecord
		if page, next, err = s.store.WalkIDs(ctx, j.Pool, j.Of, next, limit-len(ids)); err != nil {
			return nil, "", err
		}
		for _, id := range page {
			id.Token = ""
			ids = append(ids, id)
		}
		if next == "" || 2*len(ids) >= limit {
			break
		}
	}
	return ids, next, nil
}
