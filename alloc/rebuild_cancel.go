package alloc

import "context"

// CancelRebuild ends a rebuild that was not applied: the sequence is as it was before. A repeat is a success. Where seen says which rebuild was looked at, only that one
// is ended, and only with the plan that it had. Needs ActionManage. CodeRebuildStep where it was applied; CodePlanChanged where it is not what was seen.
func (s *Service) CancelRebuild(ctx context.Context, name SequenceName, seen ...RebuildSeen) (Rebuild, error) {
	defer s.segments.changed(name)
	b, done := s.rebuildingOf(ctx)
	defer done()
	return b.cancelled(ctx, ActionManage, name, "", seen...)
}

// cancelled is CancelRebuild with its record; why is said of one that nobody asked for.
func (b rebuilding) cancelled(ctx context.Context, need Action, name SequenceName, why string, seen ...RebuildSeen) (Rebuild, error) {
	return b.administerRebuild(ctx, need, name, "cancel-rebuild", func(st *step) {
		st.detail = func() string { return "before it was applied" }
		st.reason = said(&why)
	}, func() (Rebuild, error) {
		return b.steps(ctx, name, func(r Rebuild) (Rebuild, error) {
			if err := r.checkSeen(seen); err != nil {
				return r, err
			}
			return b.cancel(ctx, r, why)
		})
	})
}

func (b rebuilding) cancel(ctx context.Context, r Rebuild, why string) (Rebuild, error) {
	switch r.Step {
	case RebuildGathering, RebuildPlanned:
		to, err := r, error(nil)
		to.Step = RebuildCancelled
		to = to.noting(b.second(), "cancelled by %s", b.by)
		if why != "" {
			to = to.noting(b.second(), "%s", why)
		}
		if r, err = b.change(ctx, r, to); err != nil {
			return Rebuild{}, err
		}
	case RebuildCancelled:
	case "":
		return r, r.notAtStep("is not on; there is nothing to cancel")
	default:
		return r, r.notAtStep("was applied, and cannot be cancelled any more; resume it, or plan another that replaces %q", r.Plan.ID)
	}
	return r, b.letGo(ctx, r)
}

// letGo opens the sequence of a rebuild that was cancelled. Where it is not known yet whether it was frozen, it is frozen first: the
// rebuild that was thawed freezes nothing more, also where a call of its first step comes late.
func (b rebuilding) letGo(ctx context.Context, r Rebuild) error {
	if err := b.open(ctx, r.Sequence, r.ID, r.wasBefore()); err != nil || r.Applied.IsZero() {
		return err
	}
	left, err := b.left(ctx, r) // of before its plan turned out to be wrong
	if err != nil || left == "" {
		return err
	}
	return b.open(ctx, r.Sequence, left, SequenceStopped)
}

// refuse ends a rebuild for which there can be no plan, and returns why.
func (b rebuilding) refuse(ctx context.Context, r Rebuild, reason *Error) error {
	if _, err := b.cancel(ctx, r, reason.Message); err != nil {
		return err
	}
	return reason
}
