package alloc

import (
	"cmp"
	"context"
	"fmt"
)

// ResumeRebuild serves a share of the callers, in percent: 0 for what the configuration says, 100 for all, with which the rebuild is done. It never serves fewer than
// before: CodeRebuildStep where a share is given that is lower than what is served; of a rebuild that is done any share is a repeat. A sequence that was paused before it was rebuilt is paused again, and the rebuild is done with that. Where seen says which rebuild was looked at, callers are let in on
// that one alone, and only with the plan that it had. Needs ActionManage. CodeRebuildStep before it was verified, and
// where the sequence has stopped again; CodePlanChanged where it is not what was seen.
func (s *Service) ResumeRebuild(ctx context.Context, name SequenceName, share int, seen ...RebuildSeen) (Rebuild, error) {
	defer s.segments.changed(name)
	b, done := s.rebuildingOf(ctx)
	defer done()
	return b.resumed(ctx, ActionManage, name, share, seen...)
}

// resumed is ResumeRebuild with its record.
func (b rebuilding) resumed(ctx context.Context, need Action, name SequenceName, share int, seen ...RebuildSeen) (Rebuild, error) {
	return b.administerRebuild(ctx, need, name, "resume-rebuild", func(st *step) {
		st.detail = func() string {
			if share == 0 {
				return "for the share of the configuration"
			}
			return fmt.Sprintf("for %d in 100 callers", share)
		}
	}, func() (Rebuild, error) {
		if share < 0 || share > 100 {
			return Rebuild{}, Errorf(CodeInvalidRequest, "share must be 1 to 100, in percent of the callers, or 0 for what the configuration says")
		}
		return b.steps(ctx, name, func(r Rebuild) (Rebuild, error) {
			if err := r.checkSeen(seen); err != nil {
				return r, err
			}
			return b.resume(ctx, r, share)
		})
	})
}

func (b rebuilding) resume(ctx context.Context, r Rebuild, share int) (Rebuild, error) {
	switch {
	case r.Step == RebuildResuming && 0 < share && share < r.Share:
		return r, r.notAtStep("serves %d in 100 callers, and none of these is turned away again; give a share that is not lower, or pause the sequence to serve nobody", r.Share)
	case r.Step == RebuildDone:
		_, err := b.store.Thaw(ctx, r.Sequence, r.ID, r.after(), 0)
		if Is(err, CodeRebuildStep) { // it has been rebuilt by another since
			err = nil
		}
		return r, err
	case r.Step == RebuildVerified, r.Step == RebuildResuming:
	case r.Step == "":
		return r, r.neverBegun()
	default:
		return r, r.notAtStep("is not verified, so nobody is served; apply its plan first")
	}
	if share = cmp.Or(share, r.Config.ResumeShare, DefaultResumeShare); r.Was == SequencePaused {
		share = 100 // of nobody: it is paused
	}
	if share = max(share, r.Share); r.Step != RebuildResuming || share != r.Share {
		to, err := r, error(nil)
		to.Step, to.Share, to.Resumed = RebuildResuming, share, b.second()
		to = to.noting(to.Resumed, "resumed for %d in 100 callers by %s", share, b.by)
		if share == 100 {
			to.Step = RebuildDone
		}
		if r, err = b.change(ctx, r, to); err != nil {
			return Rebuild{}, err
		}
	}
	return r, b.serve(ctx, r)
}

// pauseRebuilt ends the rebuild of a sequence at which it was verified, or a share of the callers is served: nobody is, and the rebuild is done with
// that, as that of a sequence which was paused before. It is a part of SetSequenceState.
func (s *Service) pauseRebuilt(ctx context.Context, name SequenceName, from Version) error {
	b, done := s.rebuildingOf(ctx)
	defer done()
	q, err := s.store.Sequence(ctx, name)
	if err == nil && from != 0 && q.Version != from {
		err = VersionMismatch("sequence", string(name), q.Version)
	}
	if err != nil {
		return err
	}
	_, err = b.steps(ctx, name, func(r Rebuild) (Rebuild, error) {
		q, err := s.store.Sequence(ctx, name)
		switch {
		case err != nil:
			return Rebuild{}, err
		case q.Rebuild == "" || q.Rebuild != r.ID: // it is not in hand any more
			return r, nil
		case r.Step != RebuildVerified && r.Step != RebuildResuming && r.Step != RebuildDone:
			return r, q.CheckTo(SequencePaused)
		}
		if r.Was != SequencePaused || r.Step != RebuildDone {
			to := r
			to.Step, to.Was = RebuildDone, SequencePaused
			if r, err = b.change(ctx, r, to.noting(b.second(), "paused by %s, and done with that", b.by)); err != nil {
				return Rebuild{}, err
			}
		}
		return r, b.serve(ctx, r)
	})
	return err
}

// serve makes the sequence serve whom the record says.
func (b rebuilding) serve(ctx context.Context, r Rebuild) error {
	state, share := SequenceResuming, r.Share
	if r.Step == RebuildDone {
		state, share = r.after(), 0
	}
	q, err := b.store.Thaw(ctx, r.Sequence, r.ID, state, share)
	if err == nil && q.State != SequenceStopped {
		// The mark is raised to where the plan begins: a counter that is set back into what the plan has left out, which is in no ledger, is noticed too.
		q, err = b.store.Watch(ctx, r.Sequence)
	}
	if err == nil && q.State == SequenceStopped || Is(err, CodeRebuildStep) {
		return r.notAtStep("cannot go on: the sequence has stopped again since; plan another")
	}
	return err
}
