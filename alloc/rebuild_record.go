package alloc

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// The record of a rebuild decides: each step is stored there before it is done, and what is done by it can be repeated. So of
// several who carry a rebuild on at once, one moves the record on, and the others find what it says then; and whoever dies in
// the middle leaves a record that says what is to be repeated.

// rebuildTries is how often a step is looked at anew because somebody else has moved the record on meanwhile.
const rebuildTries = 20

// rebuilding is one call that carries rebuilds on.
type rebuilding struct {
	*Service
	by   ClientID
	auto bool        // the schedule does, by itself
	over func() bool // the time of the call is: what is left of a long ledger is for the next
}

// rebuildMargin is what is left of a request's time for the last steps, when no more of a ledger is read.
const rebuildMargin = 2 * time.Second

// rebuildingOf is a call of the caller in ctx.
func (s *Service) rebuildingOf(ctx context.Context) (b rebuilding, done context.CancelFunc) {
	caller, _ := CallerFrom(ctx)
	soon, done := endingBefore(ctx, rebuildMargin)
	return rebuilding{Service: s, by: caller.Client, over: func() bool { return soon.Err() != nil }}, done
}

// steps reads the record of the sequence and does what is to be done by it, anew for as long as somebody else moves it on
// at the same time. CodeSequenceNotFound, CodeSequenceDeleted where there is nothing that could be at the step.
func (b rebuilding) steps(ctx context.Context, name SequenceName, do func(Rebuild) (Rebuild, error)) (Rebuild, error) {
	var last error
	for range rebuildTries {
		r, err := b.store.Rebuild(ctx, name)
		if err != nil {
			return Rebuild{}, err
		}
		never := r.Version == 0
		r, err = do(r)
		switch {
		case err == nil:
			return r, nil
		case never && Is(err, CodeRebuildStep): // perhaps there is no such sequence
			if _, missing := b.store.Evidence(ctx, name); missing != nil {
				err = missing
			}
			return Rebuild{}, err
		case !Is(err, CodeVersionMismatch):
			return Rebuild{}, err
		}
		last = err
	}
	return Rebuild{}, Errorf(CodeBusy, "others are carrying on the rebuild of the sequence %q at the same time; repeat the request", name).Because(last).After(retrySoon)
}

// change puts to in the place of r. CodeVersionMismatch where somebody else has moved it on.
func (b rebuilding) change(ctx context.Context, r, to Rebuild) (changed Rebuild, err error) {
	to.Change, to.Updated = NewToken(), b.second()
	err = insist(func() error {
		changed, err = b.store.ChangeRebuild(ctx, r.Version, to)
		return err
	})
	return changed, err
}

// noting is the rebuild with one more event.
func (r Rebuild) noting(at time.Time, format string, args ...any) Rebuild {
	kept := r.Log[max(0, len(r.Log)-MaxJobEvents+1):]
	r.Log = append(slices.Clone(kept), JobEvent{At: at, Text: clip(inWords(format, args...))})
	return r
}

// notAtStep refuses what the rebuild is not at.
func (r Rebuild) notAtStep(format string, args ...any) error {
	return Errorf(CodeRebuildStep, "the rebuild of the sequence %q %s", r.Sequence, fmt.Sprintf(format, args...))
}

// neverBegun refuses what needs a rebuild where there never was one.
func (r Rebuild) neverBegun() error {
	return Errorf(CodeRebuildStep, "the sequence %q was never rebuilt; plan that first, if its counter is lost or wrong", r.Sequence)
}

// after is the state of the sequence when all are served again: one that was paused is so again.
func (r Rebuild) after() SequenceState {
	if r.Was == SequencePaused {
		return SequencePaused
	}
	return SequenceActive
}

// standing says in words how far it is, for the trail.
func (r Rebuild) standing() string {
	switch {
	case r.Version == 0:
		return ""
	case r.Plan.ID == "":
		return string(r.Step)
	case r.Step == RebuildResuming:
		return fmt.Sprintf("%s, %d in 100 callers, epoch %d", r.Step, r.Share, r.Plan.Epoch)
	}
	return fmt.Sprintf("%s, next %d, epoch %d", r.Step, r.Plan.Next, r.Plan.Epoch)
}

// administerRebuild makes a step of a rebuild an administrative one, whose record says how the rebuild was before and after it.
func (s *Service) administerRebuild(
	ctx context.Context, need Action, name SequenceName, verb string, fill func(*step), run func() (Rebuild, error),
) (r Rebuild, err error) {
	before := ""
	st := step{
		need: need, on: aSequence, name: string(name), verb: verb,
		before: said(&before), after: func() string { return r.standing() }, plan: func() string { return r.Plan.ID },
	}
	fill(&st)
	err = s.administer(ctx, st, func() (err error) {
		if was, err := s.store.Rebuild(ctx, name); err == nil { // else the step itself will say why
			before = was.standing()
		}
		r, err = run()
		return err
	})
	return r, err
}
