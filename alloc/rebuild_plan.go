package alloc

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
)

// PlanRebuild begins the rebuild of a sequence, or goes on with the one that is on: it freezes the sequence, gathers what every source says, and
// makes the plan. Where a long ledger takes more than the time of the request, the step is RebuildGathering still; the same request, or the schedule, goes
// on. The same request again gives the same plan; another one makes a new plan, as long as none was applied. In the place of one that was applied, and
// with which not all callers are served yet, there is a new one only by RebuildRequest.Replaces: so a request that comes late closes nothing. A rebuild that
// the schedule has begun by itself is in the hand of who asks from then on. Where the plan is refused the sequence is as it was
// before; but stopped, where one that was applied was to be replaced. Needs ActionManage. CodeSequenceNotFound, CodeSequenceDeleted, CodeInvalidRequest, CodeInvalidConfig; CodeNoEvidence where the counter
// alone is known; CodeRebuildStep where it was applied already; CodePlanChanged where somebody asks for another plan at the same
// time, Replaces is not the plan that was applied last, or a lower number is reported than was before and that is not taken back with it: what somebody
// has seen in use is used. Where seen says which rebuild was looked at, there is a new plan of that one alone, and only beside the plan that it had, and of what was reported for it:
// CodePlanChanged; a request that changes nothing is a success all the same.
func (s *Service) PlanRebuild(ctx context.Context, r RebuildRequest, seen ...RebuildSeen) (Rebuild, error) {
	defer s.segments.forget(r.Sequence) // after a failure too: the outcome may be unknown
	b, done := s.rebuildingOf(ctx)
	defer done()
	return b.planned(ctx, ActionManage, r, seen...)
}

// planned is PlanRebuild with its record.
func (b rebuilding) planned(ctx context.Context, need Action, r RebuildRequest, seen ...RebuildSeen) (Rebuild, error) {
	r.Since = wholeSeconds(r.Since)
	return b.administerRebuild(ctx, need, r.Sequence, "plan-rebuild", func(st *step) {
		st.detail, st.reason = func() string { return r.words() }, said(&r.Why)
	}, func() (Rebuild, error) { return b.plan(ctx, &r, seen) })
}

// words says in words what is asked for, for the trail.
func (r RebuildRequest) words() string {
	words := []string{fmt.Sprintf("margin %d", cmp.Or(r.Margin, DefaultMargin))}
	if r.NoReported {
		words = append(words, "what was reported before taken back")
	}
	if r.HasReported {
		words = append(words, fmt.Sprintf("reported %d", r.Reported))
	}
	if !r.Since.IsZero() {
		words = append(words, "since "+r.Since.Format(time.RFC3339))
	}
	if r.Config != (SequenceConfig{}) {
		words = append(words, r.Config.words())
	}
	if r.Replaces != "" {
		words = append(words, "in the place of the plan "+quoteShort(r.Replaces))
	}
	return strings.Join(words, ", ")
}

// plan makes the plan, and fills in what the request did not say.
func (b rebuilding) plan(ctx context.Context, r *RebuildRequest, seen []RebuildSeen) (Rebuild, error) {
	e, err := b.store.Evidence(ctx, r.Sequence)
	if err != nil {
		return Rebuild{}, err
	}
	said := *r
	asked := false // the record has this request
	return b.steps(ctx, r.Sequence, func(now Rebuild) (Rebuild, error) {
		asks, err := said.after(now).checked(e, b.now())
		if err != nil {
			return Rebuild{}, err
		}
		*r = asks
		if !asked && !(now.isToPlan() && now.asks(asks)) {
			if err := now.checkSeen(seen); err != nil {
				return Rebuild{}, err
			}
		}
		if err := said.checkReported(now); err != nil {
			return Rebuild{}, err
		}
		begun, err := b.begun(ctx, now, asks, &asked)
		if err != nil {
			return Rebuild{}, err
		}
		return b.gather(ctx, begun)
	})
}

// goesOn reports whether the request goes on with the rebuild, or replaces it: what was said of that counts on.
func (r RebuildRequest) goesOn(now Rebuild) bool {
	return now.isToPlan() || r.Replaces != "" && now.isApplied()
}

// checkReported refuses a number below the one that was reported before. Whoever has looked at the rebuild before that was reported would bring numbers
// back that somebody has seen in use.
func (r RebuildRequest) checkReported(now Rebuild) error {
	if !r.HasReported || r.NoReported || !now.HasReported || r.Reported >= now.Reported || !r.goesOn(now) {
		return nil
	}
	return Errorf(CodePlanChanged,
		"the number %d was reported as used for the sequence %q before, and reported must not be below it; leave it out, or, if that was wrong, take it back first (null) and plan again; nothing was changed", now.Reported, r.Sequence)
}

// after fills in what was said before of the rebuild that the request goes on with, or of the one that it replaces.
func (r RebuildRequest) after(now Rebuild) RebuildRequest {
	if r.goesOn(now) {
		if !r.HasReported && !r.NoReported {
			r.Reported, r.HasReported = now.Reported, now.HasReported
		}
		if now.isToPlan() && r.Since.IsZero() && !r.NoSince {
			r.Since = now.Since
		}
		if r.Config == (SequenceConfig{}) {
			r.Config = now.Config
		}
		r.Margin = cmp.Or(r.Margin, now.Margin)
	}
	r.Margin = cmp.Or(r.Margin, DefaultMargin)
	return r
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
		return r, Errorf(CodeInvalidConfig, "the configuration of the sequence %q is lost; say in config how it is to be, its limit not below any number that was ever used ({} for the defaults)", r.Sequence)
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
	case asks.Replaces != "" && asks.Replaces != r.replaceable():
		return Rebuild{}, Errorf(CodePlanChanged, "the plan %s is not the one of the sequence %q that was applied last, so nothing replaces it; look at the rebuild as it is now", quoteShort(asks.Replaces), asks.Sequence)
	case r.isApplied() && asks.Replaces != "" && !r.Step.Ended():
		to = b.replacing(r, asks)
	case !r.isToPlan():
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
		return r.notAtStep("was applied, and is to be verified; apply its plan once more, that goes on with it; or plan another that replaces %q", r.Plan.ID)
	}
	e, err := b.store.Evidence(ctx, r.Sequence)
	switch q := e.Sequence; {
	case err != nil:
		return err
	case e.Counter && q.Rebuild == r.ID && (q.State == SequenceFrozen || q.State == SequenceResuming):
		return r.notAtStep("was applied; resume the sequence for all first, then plan another; or plan one now that replaces %q: that closes the sequence again", r.Plan.ID)
	}
	return nil // it was stopped again since
}

// newRebuild is the rebuild after r.
func (b rebuilding) newRebuild(r Rebuild, asks RebuildRequest) Rebuild {
	at := b.second()
	to := Rebuild{
		Sequence: asks.Sequence, ID: newJobID("", b.now()), Step: RebuildGathering, By: b.by, Why: asks.Why, Auto: b.auto, Started: at, Autos: r.lately(at),
		Base: r.base(),
	}
	if b.auto {
		to.Autos = append(to.Autos, at)
	}
	if r.staysPaused() {
		to.Was, to.Applied = r.Was, r.Applied // it counts as applied itself: the sequence is closed until it was verified
	}
	to.request(asks)
	return to.noting(at, "begun by %s", b.by)
}

// replacing is the rebuild that plans anew in the place of a plan that was applied. It counts as applied itself: the sequence is closed
// until it was verified.
func (b rebuilding) replacing(r Rebuild, asks RebuildRequest) Rebuild {
	at := b.second()
	to := b.anew(r)
	to.By, to.Why, to.Auto, to.Started = b.by, asks.Why, b.auto, at // what is leased until it is frozen again counts too
	to.Share, to.Resumed, to.Base = 0, time.Time{}, r.base()
	to.request(asks)
	return to.noting(at, "planned anew by %s: %s", b.by, asks.words())
}

// isToPlan reports whether the rebuild is on, and has no plan yet that was applied.
func (r Rebuild) isToPlan() bool { return r.Step == RebuildGathering || r.Step == RebuildPlanned }

// isApplied reports whether the plan that it has was applied.
func (r Rebuild) isApplied() bool {
	switch r.Step {
	case RebuildApplied, RebuildVerified, RebuildResuming, RebuildDone:
		return true
	}
	return false
}

// replaceable is the plan that a new one may replace: the one that was applied, also when it is being replaced already.
func (r Rebuild) replaceable() string {
	if r.isApplied() {
		return r.Plan.ID
	}
	return r.Replaces
}

// base is where the counter was put last, with Base of what comes after the rebuild; 0 for nowhere.
func (r Rebuild) base() Number {
	if r.isApplied() {
		return max(r.Base, r.Plan.Next)
	}
	return r.Base
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
	if asks.Replaces != "" {
		r.Replaces = asks.Replaces
	}
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
	return Rebuild{}, r.neverBegun()
}
