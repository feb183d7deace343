package alloc

import "context"

// ApplyRebuild carries out the plan of the ID and verifies it: the step after it is RebuildVerified, or RebuildApplied still where the ledger is
// longer than what the request's time is enough for; the same request, or the schedule, goes on. A repeat, by whomever, is a success that changes nothing.
// Where the verification fails the sequence stays closed, and there is a new plan, by new evidence: CodePlanChanged. Needs
// ActionManage. CodePlanChanged, CodeRebuildStep.
func (s *Service) ApplyRebuild(ctx context.Context, name SequenceName, plan string) (Rebuild, error) {
	defer s.segments.forget(name)
	b, done := s.rebuildingOf(ctx)
	defer done()
	return b.applied(ctx, ActionManage, name, plan)
}

// applied is ApplyRebuild with its record.
func (b rebuilding) applied(ctx context.Context, need Action, name SequenceName, plan string) (Rebuild, error) {
	return b.administerRebuild(ctx, need, name, "apply-rebuild", func(st *step) {
		st.detail = func() string { return "the plan " + quoteShort(plan) }
		st.plan = said(&plan)
	}, func() (Rebuild, error) {
		return b.steps(ctx, name, func(r Rebuild) (Rebuild, error) {
			r, err := b.commit(ctx, r, plan)
			if err != nil || r.Step != RebuildApplied {
				return r, err
			}
			return b.carryOut(ctx, r)
		})
	})
}

// commit decides that the plan of the ID is carried out: from then on it can be neither cancelled nor replaced.
func (b rebuilding) commit(ctx context.Context, r Rebuild, plan string) (Rebuild, error) {
	switch {
	case r.Step == RebuildGathering:
		return r, r.notAtStep("has no plan yet; ask for it again, look at it, and apply that")
	case r.Step == "", r.Step == RebuildCancelled, r.Step == RebuildDone && r.Plan.ID != plan:
		return r, r.notAtStep("is not on; plan one first")
	case r.Plan.ID != plan:
		return r, Errorf(CodePlanChanged, "the rebuild of the sequence %q has another plan by now; look at that one, and apply it if it is right", r.Sequence)
	case r.Step != RebuildPlanned:
		return r, nil
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
		return b.replan(ctx, r, "its counter is not what the plan was made for")
	}
	if err != nil {
		return Rebuild{}, err
	}
	return b.verify(ctx, r, q)
}

// replan gives up a plan that has turned out to be wrong after it was applied, and makes a new one by what is known now. The
// rebuild goes on under another ID: nothing that comes late from the first plan can do anything to the second. The sequence counts as
// stopped from then on, whatever it was before: nobody is served until it was verified.
func (b rebuilding) replan(ctx context.Context, r Rebuild, why string) (Rebuild, error) {
	to := r
	to.ID, to.Step, to.Was = newJobID("", b.now()), RebuildGathering, SequenceStopped
	to.Ledger, to.Check, to.Sources, to.Plan, to.Tested = LedgerSum{}, LedgerSum{}, nil, RebuildPlan{}, nil
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
