package alloc

import (
	"context"
	"fmt"
)

// What the end of a job leaves in the trail, where its kind is one that is recorded: that it is done, with its counts; that it has
// failed; that its file did not come. That it was cancelled is the record of who did that.

// endRecord is the record of the end of a job that is as before until then. Whoever brings that end about makes the same one: they all
// know the same time of the job before it.
func (s *Service) endRecord(ctx context.Context, before Job, verb, detail, unique string) (AuditRecord, error) {
	caller, err := s.someone(ctx)
	if err != nil {
		return AuditRecord{}, err
	}
	on, name := before.on()
	return by(caller, AuditRecord{
		ID: recordID(before.Updated, Token(string(before.ID)+unique)), At: s.now().UTC(), Action: fmt.Sprintf("%s.%s-%s", on, verb, before.Kind),
		Target: on.target(name), Detail: detail, Reason: before.Why,
	}), nil
}

// recordDone writes that the job is done, as to will be. It is part of the last step, and may be done again or by several, also by
// one that then does not change the job, as somebody has cancelled it: what was done was done.
func (s *Service) recordDone(ctx context.Context, before, to Job) error {
	if err := s.stillAt(ctx, before); err != nil {
		return err
	}
	r, err := s.endRecord(ctx, before, "done", fmt.Sprintf("job %s of %s: %s", to.ID, to.By, kindOf(to.Kind).sum(to)), "")
	if err != nil {
		return err
	}
	return s.end(ctx, r, nil)
}

// stillAt refuses what is to be said of a job's end where the job has moved on: a step that comes late has ended nothing.
func (s *Service) stillAt(ctx context.Context, j Job) error {
	now, err := s.store.Job(ctx, j.ID)
	if err == nil && now.Version != j.Version {
		err = VersionMismatch("job", string(j.ID), now.Version)
	}
	return err
}

// finish changes a job to one that has ended without its last step, and records that. What it intended before is recorded in any case,
// by the schedule where this process ends in between: see endUnheard.
func (s *Service) finish(ctx context.Context, j, to Job, verb, detail string, reason error) (Job, error) {
	if !kindOf(j.Kind).recorded {
		return s.changeJob(ctx, j, to)
	}
	if err := s.stillAt(ctx, j); err != nil {
		return j, err
	}
	r, err := s.endRecord(ctx, j, verb, detail, fmt.Sprintf("-%s-%d", verb, j.Version))
	if err != nil {
		return j, err
	}
	if err := s.intend(ctx, r); err != nil {
		return j, err
	}
	changed, err := s.changeJob(ctx, j, to)
	switch {
	case err == nil:
		return changed, s.end(ctx, r, reason)
	case !Is(err, CodeVersionMismatch):
		return j, err
	}
	if now, rerr := s.store.Job(ctx, j.ID); rerr == nil && now.State != to.State { // it went on; else somebody else ended it so, with this very record
		if rerr := s.end(ctx, r, err); rerr != nil {
			return j, asError(err).Because(rerr)
		}
	}
	return j, err
}

// abandon takes back what a job that has ended before its last step holds.
func (s *Service) abandon(ctx context.Context, j Job) error {
	kind := kindOf(j.Kind)
	if kind.abandon == nil {
		return nil
	}
	if err := kind.abandon(s, ctx, j); err != nil {
		e := *asError(err)
		e.Message = fmt.Sprintf("the job has ended, it is %s, but what it holds could not be let go: %s; repeat the request", j.State, e.Message)
		e.Unknown = true
		return &e
	}
	return nil
}

// overtaken lets go of what a step has taken whose job had ended before the step did.
func (s *Service) overtaken(ctx context.Context, id JobID) error {
	j, err := s.store.Job(ctx, id)
	if err != nil || !j.State.Ended() {
		return err
	}
	return s.abandon(ctx, j)
}
