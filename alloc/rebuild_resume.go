package alloc

import (
	"cmp"
	"context"
	"fmt"
)

// ResumeRebuild serves a share of the callers, in percent: 0 for what the configuration says, 100 for all, with which the rebuild is done. It never serves fewer than
// before. A sequence that was paused before it was rebuilt is paused again, and the rebuild is done with that. Needs ActionManage. CodeRebuildStep before it was verified, and
// where the sequence has stopped again.
func (s *Service) ResumeRebuild(ctx context.Context, name SequenceName, share int) (Rebuild, error) {
	defer s.segments.changed(name)
	b, done := s.rebuildingOf(ctx)
	defer done()
	return b.resumed(ctx, ActionManage, name, share)
}

// resumed is ResumeRebuild with its record.
func (b rebuilding) resumed(ctx context.Context, need Action, name SequenceName, share int) (Rebuild, error) {
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
		return b.steps(ctx, name, func(r Rebuild) (Rebuild, error) { return b.resume(ctx, r, share) })
	})
}

func (b rebuilding) resume(ctx context.Context, r Rebuild, share int) (Rebuild, error) {
	switch r.Step {
	case RebuildDone:
		_, err := b.store.Thaw(ctx, r.Sequence, r.ID, r.after(), 0)
		if Is(err, CodeRebuildStep) { // it has been rebuilt by another since
			err = nil
		}
		return r, err
	case RebuildVerified, RebuildResuming:
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
