package alloc

import (
	"context"
	"fmt"
	"time"
)

// When the schedule rebuilds a sequence by itself, where the configuration allows it.
const (
	MaxAutoRebuilds = 3               // of a sequence, within a day
	autoPause       = time.Hour       // after one that was given up for lack of evidence
	autoResume      = 5 * time.Minute // for how long a share of the callers is served, without a stop, before all are
)

// mayBegin reports whether the schedule may begin another rebuild of a sequence by itself, after the one of the record.
func (r Rebuild) mayBegin(now time.Time) bool {
	lately := r.lately(now)
	if r.Auto && r.Step == RebuildCancelled && now.Sub(r.Updated) < autoPause {
		return false // the evidence is what it was
	}
	return len(lately) < MaxAutoRebuilds
}

// doubt is why the schedule does not carry out a plan that it has made by itself; "" for no reason.
func (r Rebuild) doubt() string {
	l := r.Ledger
	switch {
	case !r.Applied.IsZero():
		return "a plan was applied and turned out to be wrong"
	case l.Overlaps > 0:
		return several(l.Overlaps, "proven lease overlaps another", "proven leases overlap others")
	case l.Damaged > 0:
		return several(l.Damaged, "entry of the ledger cannot be read", "entries of the ledger cannot be read")
	case r.Exhausts():
		return "the sequence would have no number left"
	case !r.agrees():
		return "no two sources beside the counter agree"
	}
	return ""
}

// agrees reports whether two sources beside the counter say the same, within the margin. A mark may be behind the ledger by as much as
// was leased since it was raised; a ledger that is behind the mark has lost something.
func (r Rebuild) agrees() bool {
	var said []Source
	for _, s := range r.Sources {
		switch {
		case !s.Known:
		case s.Kind == SourceLedger, s.Kind == SourceMark, s.Kind == SourceSamples:
			said = append(said, s)
		}
	}
	for i, a := range said {
		for _, b := range said[i+1:] {
			if apart(a.Last, b.Last) <= r.Margin || a.Kind == SourceLedger && b.Kind == SourceMark && b.Last <= a.Last {
				return true
			}
		}
	}
	return false
}

func apart(a, b Number) Count {
	return burned(min(a, b), max(a, b))
}

// beginAuto begins the rebuild of a sequence that has stopped, and goes on with it.
func (b rebuilding) beginAuto(ctx context.Context, name SequenceName) (Rebuild, error) {
	r, err := b.planned(ctx, ActionTend, RebuildRequest{Sequence: name, Why: "the sequence has stopped"})
	if err != nil {
		return b.whatIsLeft(ctx, name, err)
	}
	return b.goOnAuto(ctx, r)
}

// whatIsLeft is the rebuild whose step was refused. A refusal by the evidence is no failure of the schedule: the rebuild says it.
func (b rebuilding) whatIsLeft(ctx context.Context, name SequenceName, refusal error) (Rebuild, error) {
	switch CodeOf(refusal) {
	case CodeNoEvidence, CodeInvalidConfig, CodePlanChanged, CodeRebuildStep:
		return b.store.Rebuild(ctx, name)
	}
	return Rebuild{}, refusal
}

// goOnAuto carries on what the schedule has begun, as far as there is time: to where a share of the callers is served.
func (b rebuilding) goOnAuto(ctx context.Context, r Rebuild) (Rebuild, error) {
	for !b.over() {
		next, err := b.stepAuto(ctx, r)
		if err != nil {
			return b.whatIsLeft(ctx, r.Sequence, err)
		}
		if next.Version == r.Version {
			return next, nil
		}
		r = next
	}
	return r, nil
}

// stepAuto does the next step.
func (b rebuilding) stepAuto(ctx context.Context, r Rebuild) (Rebuild, error) {
	switch r.Step {
	case RebuildGathering:
		return b.goOn(ctx, r)
	case RebuildPlanned:
		if doubt := r.doubt(); doubt != "" {
			return b.cancelled(ctx, ActionTend, r.Sequence, fmt.Sprintf("not rebuilt without being asked: %s", doubt))
		}
		return b.applied(ctx, ActionTend, RebuildApproval{Sequence: r.Sequence, Plan: r.Plan.ID})
	case RebuildApplied:
		return b.goOn(ctx, r)
	case RebuildVerified:
		return b.resumed(ctx, ActionTend, r.Sequence, 0)
	case RebuildResuming:
		if b.now().Sub(r.Resumed) >= autoResume {
			return b.resumed(ctx, ActionTend, r.Sequence, 100)
		}
	}
	return r, nil
}

// goOn carries on a step that takes long and was decided before: nobody decides anything with that.
func (b rebuilding) goOn(ctx context.Context, r Rebuild) (Rebuild, error) {
	switch r.Step {
	case RebuildGathering:
		return b.gather(ctx, r)
	case RebuildApplied:
		return b.carryOut(ctx, r)
	}
	return r, nil
}
