package alloc

import (
	"context"
	"time"
)

// rebuildStill is after how long without a change a step that somebody has begun counts as left: no request takes so long.
const rebuildStill = time.Minute

// tendRebuild carries on the rebuild of a sequence that is not open to all, and begins one by itself where the configuration allows. did says that
// there was something to do.
func (s *Service) tendRebuild(ctx context.Context, q Sequence, over func() bool) (r Rebuild, did bool, err error) {
	switch q.State {
	case SequenceStopped, SequenceFrozen, SequenceResuming:
	default:
		return Rebuild{}, false, nil
	}
	if r, err = s.store.Rebuild(ctx, q.Name); err != nil {
		return Rebuild{}, false, err
	}
	caller, _ := CallerFrom(ctx)
	b := rebuilding{Service: s, by: caller.Client, auto: true, over: over}
	before := r.Version
	if r, err = b.tend(ctx, q, r); Is(err, CodeVersionMismatch) {
		return Rebuild{}, false, nil // somebody else is at it
	}
	if r.Version != before {
		s.segments.forget(q.Name)
	}
	return r, r.Version != before, err
}

func (b rebuilding) tend(ctx context.Context, q Sequence, r Rebuild) (Rebuild, error) {
	still := b.now().Sub(r.Updated) >= rebuildStill
	switch {
	case r.Step.Ended() && q.State != SequenceStopped:
		return r, b.tidy(ctx, r)
	case q.State == SequenceStopped && (r.Step.Ended() || r.Step == RebuildVerified || r.Step == RebuildResuming): // once more
		if !q.Config.AutoRebuild || !r.mayBegin(b.now()) || r.staysPaused() {
			return r, nil
		}
		if paused, err := b.lostPaused(ctx, q.Name); err != nil || paused { // it serves nobody, and nothing is gained
			return r, err
		}
		return b.beginAuto(ctx, q.Name)
	case r.Step == RebuildResuming && q.State == SequenceFrozen && (r.Auto || still): // the record says whom to serve
		return r, b.serve(ctx, r)
	case r.Auto:
		return b.goOnAuto(ctx, r)
	case !still:
		return r, nil
	}
	left, err := b.goOn(ctx, r)
	if err != nil {
		return b.whatIsLeft(ctx, q.Name, err)
	}
	return left, nil
}

// tidy opens a sequence that a rebuild which is over has left frozen, as a call of its first step does that comes late.
func (b rebuilding) tidy(ctx context.Context, r Rebuild) error {
	left, err := b.left(ctx, r)
	if err != nil || left == "" {
		return err
	}
	to := SequenceState("")
	switch {
	case r.Step == RebuildDone && left == r.ID:
		to = r.after() // it is decided that all are served
	case r.Step == RebuildCancelled:
		to = r.wasBefore()
	}
	return b.open(ctx, r.Sequence, left, to)
}
