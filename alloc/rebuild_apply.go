package alloc

import "context"

// ApplyRebuild carries out the plan of the ID and verifies it: the step after it is RebuildVerified, or RebuildApplied still where the ledger is
// longer than what the request's time is enough for; the same request, or the schedule, goes on. A repeat, by whomever, is a success that changes nothing.
// Where the verification fails the sequence stays closed, and there is a new plan, by new evidence: CodePlanChanged. Needs
// ActionManage. CodePlanChanged, CodeRebuildStep; CodeInvalidRequest where the plan leaves nothing to anybody and that was not said.
func (s *Service) ApplyRebuild(ctx context.Context, a RebuildApproval) (Rebuild, error) {
	defer s.segments.forget(a.Sequence)
	b, done := s.rebuildingOf(ctx)
	defer done()
	return b.applied(ctx, ActionManage, a)
}

// applied is ApplyRebuild with its record.
func (b rebuilding) applied(ctx context.Context, need Action, a RebuildApproval) (Rebuild, error) {
	return b.administerRebuild(ctx, need, a.Sequence, "apply-rebuild", func(st *step) {
		st.detail, st.plan = a.words, said(&a.Plan)
	}, func() (Rebuild, error) {
		return b.steps(ctx, a.Sequence, func(r Rebuild) (Rebuild, error) {
			r, err := b.commit(ctx, r, a)
			if err != nil || r.Step != RebuildApplied {
				return r, err
			}
			return b.carryOut(ctx, r)
		})
	})
}

// words says in words what is approved, for the trail.
func (a RebuildApproval) words() string {
	words := "the plan " + quoteShort(a.Plan)
	if a.Exhausts {
		words += ", even if it leaves nothing"
	}
	return words
}

// commit decides that the plan of the ID is carried out: from then on it cannot be cancelled.
func (b rebuilding) commit(ctx context.Context, r Rebuild, a RebuildApproval) (Rebuild, error) {
	switch {
	case r.Step == RebuildGathering:
		return r, r.notAtStep("has no plan yet; ask for it again, look at it, and apply that")
	case r.Step == "", r.Step == RebuildCancelled, r.Step == RebuildDone && r.Plan.ID != a.Plan:
		return r, r.notAtStep("is not on; plan one first")
	case r.Plan.ID != a.Plan:
		return r, Errorf(CodePlanChanged, "the rebuild of the sequence %q has another plan by now; look at that one, and apply it if it is right", r.Sequence)
	case r.Step != RebuildPlanned:
		return r, nil
	case r.Exhausts() && !a.Exhausts:
		return r, Errorf(CodeInvalidRequest,
			"the plan leaves no number of the sequence %q to anybody: it goes on at %d, and the limit is %d; raise the limit, or plan with a smaller margin or without since; or say exhausts if that is meant; nothing was changed",
			r.Sequence, r.Plan.Next, r.Config.Limit)
	}
	to := r
	to.Step, to.Applied, to.Tested, to.Check = RebuildApplied, b.second(), nil, LedgerSum{}
	return b.change(ctx, r, to.noting(b.second(), "applied by %s", b.by))
}

// carryOut puts the counter where the plan says and verifies it.
func (b rebuilding) carryOut(ctx context.Context, r Rebuild) (Rebuild, error) {
	q, err := b.store.Restart(ctx, RestartOrder{
		Sequence: r.Sequence, Rebuild: r.ID, From: r.Epoch, To: r.Plan.Epoch, Next: r.Plan.Next, Config: r.Config,
	})
	if Is(err, CodeRebuildStep) {
		return b.replan(ctx, r, r.Base, "its counter is not what the plan was made for")
	}
	if err != nil {
		return Rebuild{}, err
	}
	return b.verify(ctx, r, q)
}

// replan gives up a plan that has turned out to be wrong after it was applied, and makes a new one by what is known now. The
// rebuild goes on under another ID: nothing that comes late from the first plan can do anything to the second. Nobody is served until that was
// verified; see wasBefore. base is below what the counter is not put any more.
func (b rebuilding) replan(ctx context.Context, r Rebuild, base Number, why string) (Rebuild, error) {
	to := b.anew(r)
	to.Base = base
	changed, err := b.change(ctx, r, to.noting(b.second(), "the plan turned out to be wrong: %s", why))
	if err != nil {
		return Rebuild{}, err
	}
	e := Errorf(CodePlanChanged, "the plan for the sequence %q turned out to be wrong: %s; nobody is served; look at the new plan, which is made by what is known now", r.Sequence, why)
	if _, err := b.gather(ctx, changed); err != nil {
		return Rebuild{}, e.Because(err)
	}
	return Rebuild{}, e
}

// anew is the rebuild before its evidence was gathered, under another ID.
func (b rebuilding) anew(r Rebuild) Rebuild {
	to := r
	to.ID, to.Step = newJobID("", b.now()), RebuildGathering
	to.Ledger, to.Check, to.Sources, to.Plan, to.Tested = LedgerSum{}, LedgerSum{}, nil, RebuildPlan{}, nil
	return to
}
