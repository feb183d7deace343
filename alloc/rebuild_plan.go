package alloc

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// PlanRebuild begins the rebuild of a sequence, or goes on with the one that is on: it freezes the sequence, gathers what every source says, and
// makes the plan. Where a long ledger takes more than the time of the request, the step is RebuildGathering still; the same request, or the schedule, goes
// on. The same request again gives the same plan; another one makes a new plan, as long as none was applied. One that
// the schedule has begun by itself is in the hand of who asks from then on. Where the plan is refused the sequence is as it was
// before. Needs ActionManage. CodeSequenceNotFound, CodeSequenceDeleted, CodeInvalidRequest, CodeInvalidConfig; CodeNoEvidence where the counter
// alone is known; CodeRebuildStep where it was applied already; CodePlanChanged where somebody asks for another plan at the same time.
func (s *Service) PlanRebuild(ctx context.Context, r RebuildRequest) (Rebuild, error) {
	defer s.segments.forget(r.Sequence) // after a failure too: the outcome may be unknown
	b, done := s.rebuildingOf(ctx)
	defer done()
	return b.planned(ctx, ActionManage, r)
}

// planned is PlanRebuild with its record.
func (b rebuilding) planned(ctx context.Context, need Action, r RebuildRequest) (Rebuild, error) {
	if r.Margin == 0 {
		r.Margin = DefaultMargin
	}
	r.Since = wholeSeconds(r.Since)
	return b.administerRebuild(ctx, need, r.Sequence, "plan-rebuild", func(st *step) {
		st.detail, st.reason = r.words, said(&r.Why)
	}, func() (Rebuild, error) { return b.plan(ctx, r) })
}

// words says in words what is asked for, for the trail.
func (r RebuildRequest) words() string {
	words := []string{fmt.Sprintf("margin %d", r.Margin)}
	if r.HasReported {
		words = append(words, fmt.Sprintf("reported %d", r.Reported))
	}
	if !r.Since.IsZero() {
		words = append(words, "since "+r.Since.Format(time.RFC3339))
	}
	if r.Config != (SequenceConfig{}) {
		words = append(words, r.Config.words())
	}
	return strings.Join(words, ", ")
}

func (b rebuilding) plan(ctx context.Context, r RebuildRequest) (Rebuild, error) {
	e, err := b.store.Evidence(ctx, r.Sequence)
	if err != nil {
		return Rebuild{}, err
	}
	if r, err = r.checked(e, b.now()); err != nil {
		return Rebuild{}, err
	}
	asked := false // the record has this request
	return b.steps(ctx, r.Sequence, func(now Rebuild) (Rebuild, error) {
		begun, err := b.begun(ctx, now, r, &asked)
		if err != nil {
			return Rebuild{}, err
		}
		return b.gather(ctx, begun)
	})
}

// checked refuses a request that cannot be right by what is known of the sequence, and fills in its configuration: the one given counts only where
// the sequence's own is lost.
func (r RebuildRequest) checked(e Evidence, now time.Time) (RebuildRequest, error) {
	if err := checkWhy(r.Why); err != nil {
		return r, err
	}
	if err := checkPast("since", r.Since, now); err != nil {
		return r, err
	}
	switch {
	case r.Margin < 0 || r.Margin > MaxMargin:
		return r, Errorf(CodeInvalidRequest, "margin must be 1 to %d", MaxMargin)
	case e.Configured:
		r.Config = e.Sequence.Config
	case r.Config == (SequenceConfig{}):
		return r, Errorf(CodeInvalidConfig, "the configuration of the sequence %q is lost; say with the request how it is to be, its limit not below any number that was ever used", r.Sequence)
	}
	if !e.Configured {
		r.Config = r.Config.WithDefaults()
		if err := r.Config.Check(); err != nil {
			return r, err
		}
		if of := r.Config.PeriodOf; of != "" && !strings.HasPrefix(string(r.Sequence), string(of)+".") {
			return r, Errorf(CodeInvalidConfig, "the sequence %q cannot count a period of %q: it is not called so", r.Sequence, of)
		}
	}
	switch {
	case !r.HasReported:
		r.Reported = 0
	case r.Reported > r.Config.Limit:
		return r, Errorf(CodeInvalidRequest, "reported must be at most %d, the sequence's limit", r.Config.Limit)
	}
	return r, nil
}

// begun is a rebuild that has the request: the one that is on, where it was not applied, or a new one. Once it had the request and has
// another now, somebody else asks for something else: whose plan is made is for them to settle.
func (b rebuilding) begun(ctx context.Context, r Rebuild, asks RebuildRequest, asked *bool) (Rebuild, error) {
	var to Rebuild
	switch {
	case r.Step != RebuildGathering && r.Step != RebuildPlanned:
		if err := b.checkFree(ctx, r); err != nil {
			return Rebuild{}, err
		}
		to = b.newRebuild(r, asks)
	case b.auto && !r.Auto:
		return Rebuild{}, r.notAtStep("is in the hand of %s", r.By)
	case r.asks(asks) && r.Auto == b.auto:
		*asked = true
		return r, nil
	case *asked:
		return Rebuild{}, Errorf(CodePlanChanged, "somebody else has asked for another plan for the sequence %q at the same time; look at that one, or ask again", asks.Sequence)
	default:
		to = b.askedAnew(r, asks)
	}
	changed, err := b.change(ctx, r, to)
	*asked = *asked || err == nil
	return changed, err
}

// checkFree refuses a new rebuild beside one that has the sequence in hand.
func (b rebuilding) checkFree(ctx context.Context, r Rebuild) error {
	switch {
	case r.Step.Ended():
		return nil
	case r.Step == RebuildApplied:
		return r.notAtStep("was applied, and is to be verified; apply its plan once more, that goes on with it")
	}
	e, err := b.store.Evidence(ctx, r.Sequence)
	switch q := e.Sequence; {
	case err != nil:
		return err
	case e.Counter && q.Rebuild == r.ID && (q.State == SequenceFrozen || q.State == SequenceResuming):
		return r.notAtStep("was applied; resume the sequence for all first, then plan another")
	}
	return nil // it was stopped again since
}

// newRebuild is the rebuild after r.
func (b rebuilding) newRebuild(r Rebuild, asks RebuildRequest) Rebuild {
	at := b.second()
	to := Rebuild{
		Sequence: asks.Sequence, ID: newJobID("", b.now()), Step: RebuildGathering, By: b.by, Why: asks.Why, Auto: b.auto, Started: at, Autos: r.lately(at),
	}
	if b.auto {
		to.Autos = append(to.Autos, at)
	}
	to.request(asks)
	return to.noting(at, "begun by %s", b.by)
}

// lately is when the schedule began one by itself, within the day before.
func (r Rebuild) lately(at time.Time) (autos []time.Time) {
	for _, t := range r.Autos {
		if at.Sub(t) < 24*time.Hour {
			autos = append(autos, t)
		}
	}
	return autos
}

// askedAnew is the rebuild with another request. What was read of the ledger counts on: the sequence has been frozen since.
func (b rebuilding) askedAnew(r Rebuild, asks RebuildRequest) Rebuild {
	to := r
	to.Step, to.Sources, to.Plan, to.Auto = RebuildGathering, nil, RebuildPlan{}, b.auto
	if r.Auto != b.auto {
		to.By, to.Why = b.by, asks.Why
	}
	to.request(asks)
	return to.noting(b.second(), "asked for by %s: %s", b.by, asks.words())
}

// request takes the request over.
func (r *Rebuild) request(asks RebuildRequest) {
	r.Reported, r.HasReported, r.Margin, r.Since, r.Config = asks.Reported, asks.HasReported, asks.Margin, asks.Since, asks.Config
}

// asks reports whether the rebuild is what the request asks for.
func (r Rebuild) asks(asks RebuildRequest) bool {
	return r.HasReported == asks.HasReported && r.Reported == asks.Reported && r.Margin == asks.Margin && r.Since.Equal(asks.Since) && r.Config == asks.Config
}

// Rebuild returns the last rebuild of a sequence. Needs ActionRead. CodeRebuildStep where there never was one; CodeSequenceNotFound.
func (s *Service) Rebuild(ctx context.Context, name SequenceName) (Rebuild, error) {
	if _, err := s.admit(ctx, ActionRead, string(name)); err != nil {
		return Rebuild{}, err
	}
	r, err := s.store.Rebuild(ctx, name)
	if err != nil || r.Version > 0 {
		return r, err
	}
	if _, err := s.store.Evidence(ctx, name); err != nil {
		return Rebuild{}, err
	}
	return Rebuild{}, Errorf(CodeRebuildStep, "the sequence %q was never rebuilt", name)
}
