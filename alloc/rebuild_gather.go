package alloc

import "context"

// How much of a ledger is read between two marks.
const (
	ledgerPage  = 500
	ledgerPages = 20
)

// gather brings a rebuild that is not planned yet to its plan, as far as there is time.
func (b rebuilding) gather(ctx context.Context, r Rebuild) (Rebuild, error) {
	if r.Step != RebuildGathering {
		return r, nil
	}
	was, err := b.freeze(ctx, r)
	if err != nil {
		return Rebuild{}, err
	}
	if r.Was == "" {
		r.Was = was
	}
	for !r.Ledger.Whole {
		if b.over() {
			return r, nil
		}
		to := r
		if to.Ledger, err = b.walk(ctx, r.Sequence, r.Ledger, nil); err != nil {
			return Rebuild{}, err
		}
		if r, err = b.change(ctx, r, to); err != nil {
			return Rebuild{}, err
		}
	}
	to, err := b.weigh(ctx, r)
	if Is(err, CodeNoEvidence) || Is(err, CodeInvalidConfig) {
		return Rebuild{}, b.refuse(ctx, r, asError(err))
	}
	if err != nil {
		return Rebuild{}, err
	}
	return b.change(ctx, r, to)
}

// freeze freezes the sequence and returns its state before that. Where another rebuild than the one of the record has frozen it,
// that one is over, and what it has left behind is cleared away: each is recorded before it freezes.
func (b rebuilding) freeze(ctx context.Context, r Rebuild) (was SequenceState, err error) {
	q, err := b.store.Freeze(ctx, r.Sequence, r.ID)
	if Is(err, CodeRebuildStep) {
		if err := b.clear(ctx, r, err); err != nil {
			return "", err
		}
		q, err = b.store.Freeze(ctx, r.Sequence, r.ID)
	}
	if err == nil && q.State == SequenceStopped {
		paused, err := b.lostPaused(ctx, r.Sequence)
		if err != nil || paused {
			return SequencePaused, err
		}
	}
	return stateBefore(q.State), err
}

// lostPaused reports whether the sequence has lost its counter while it was paused.
func (b rebuilding) lostPaused(ctx context.Context, name SequenceName) (bool, error) {
	e, err := b.store.Evidence(ctx, name)
	return err == nil && !e.Counter && e.Sequence.State == SequencePaused, err
}

// staysPaused reports whether the sequence was paused when the rebuild began, and the rebuild was given up after it had put the counter
// somewhere, or the sequence has stopped since: whoever rebuilds it again leaves it paused too.
func (r Rebuild) staysPaused() bool {
	return r.Was == SequencePaused && !r.Applied.IsZero() && r.Step != RebuildDone
}

// stateBefore is the state to go back to: one that was being resumed by a rebuild that is over served everybody as far as it knew.
func stateBefore(s SequenceState) SequenceState {
	if s == SequenceResuming || s == SequenceFrozen {
		return SequenceActive
	}
	return s
}

// clear opens a sequence that a rebuild which is over has left frozen. refusal is what Freeze said to the one of the record.
func (b rebuilding) clear(ctx context.Context, r Rebuild, refusal error) error {
	left, err := b.left(ctx, r)
	if err == nil && left == "" {
		return refusal
	}
	if err != nil {
		return err
	}
	return b.open(ctx, r.Sequence, left, r.wasBefore())
}

// left is the rebuild that has the sequence frozen, or has it serve a share, although the record r knows it no more; "" for none.
// CodeVersionMismatch where somebody has moved the record on.
func (b rebuilding) left(ctx context.Context, r Rebuild) (JobID, error) {
	e, err := b.store.Evidence(ctx, r.Sequence)
	if err != nil {
		return "", err
	}
	now, err := b.store.Rebuild(ctx, r.Sequence) // after that: a rebuild is recorded before it freezes
	if err != nil {
		return "", err
	}
	if now.Version != r.Version {
		return "", VersionMismatch("rebuild", string(r.Sequence), now.Version)
	}
	if q := e.Sequence; (q.State == SequenceFrozen || q.State == SequenceResuming) && (q.Rebuild != r.ID || r.Step.Ended()) {
		return q.Rebuild, nil
	}
	return "", nil
}

// wasBefore is the state to go back to without having been rebuilt; "" where that is not known. What was applied and turned
// out to be wrong is not opened again.
func (r Rebuild) wasBefore() SequenceState {
	if !r.Applied.IsZero() {
		return SequenceStopped
	}
	return r.Was
}

// open ends what a rebuild that is over did to the state of the sequence. to is the state after it, "" for that of before.
func (b rebuilding) open(ctx context.Context, name SequenceName, id JobID, to SequenceState) error {
	if to == "" {
		q, err := b.store.Freeze(ctx, name, id) // a repeat, which says what was before
		switch {
		case err == nil:
			to = stateBefore(q.State)
		case Is(err, CodeRebuildStep): // it was thawed before, or serves a share
			to = SequenceActive
		default:
			return err
		}
	}
	_, err := b.store.Thaw(ctx, name, id, to, 0)
	if Is(err, CodeRebuildStep) {
		return nil // it has nothing in hand
	}
	return err
}

// walk reads on in the ledger, where sum stands, and adds what it meets; meet, if given, is told of each entry.
func (b rebuilding) walk(ctx context.Context, name SequenceName, sum LedgerSum, meet func(LeaseRecord)) (LedgerSum, error) {
	for range ledgerPages {
		page, next, err := b.store.WalkLedger(ctx, name, sum.Mark, ledgerPage)
		if err != nil {
			return sum, err
		}
		if next != "" && next == sum.Mark {
			return sum, goesNotOn("leases")
		}
		for _, e := range page {
			sum = sum.plus(e)
			if meet != nil {
				meet(e)
			}
		}
		if sum.Mark = next; next == "" {
			sum.Whole = true
			break
		}
		if b.over() {
			break
		}
	}
	return sum, nil
}

// isDamaged reports whether the entry cannot be read: a Store gives what it is of with no token and no end.
func (e LeaseRecord) isDamaged() bool { return e.Token == "" || e.End < e.Start }

// plus is the sum with the entry that follows.
func (s LedgerSum) plus(e LeaseRecord) LedgerSum {
	if e.isDamaged() {
		s.Damaged++
		s.Blind = max(s.Blind, e.Start)
		return s
	}
	proven := s.Entries > s.Unproven // one was met before
	s.Entries++
	s.Highest, s.Epoch = max(s.Highest, e.End), max(s.Epoch, e.Epoch)
	if !e.Proven {
		s.Unproven++
		return s
	}
	if proven && e.Start <= s.Reach {
		s.Overlaps++
	}
	s.Reach = max(s.Reach, e.End)
	return s
}

// isBlind reports whether what cannot be read may go further than all that can.
func (s LedgerSum) isBlind() bool { return s.Damaged > 0 && (s.Entries == 0 || s.Blind > s.Highest) }
