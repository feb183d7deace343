package alloc

import (
	"context"
	"strconv"
)

// CreateSequence makes a sequence; see Sequences.CreateSequence for what a repeat and a clash give. Needs ActionManage.
// CodeInvalidConfig with SequenceConfig.PeriodOf.
func (s *Service) CreateSequence(ctx context.Context, name SequenceName, config SequenceConfig) (q Sequence, created bool, err error) {
	return create(ctx, s, aSequence, name, config.WithDefaults(),
		func(ctx context.Context, name SequenceName, config SequenceConfig) (Sequence, bool, error) {
			if config.PeriodOf != "" {
				return Sequence{}, false, Errorf(CodeInvalidConfig, "only the refill makes the counter of a period")
			}
			return s.store.CreateSequence(ctx, name, config)
		})
}

// ChangeSequence replaces the configuration of the sequence at version from, all but SequenceConfig.PeriodOf. It holds for
// Next in this process at once, in others within 30 seconds. Needs ActionManage.
func (s *Service) ChangeSequence(ctx context.Context, name SequenceName, from Version, config SequenceConfig) (Sequence, error) {
	return change(ctx, s, aSequence, name, from, config.WithDefaults(), s.store.Sequence,
		func(ctx context.Context, name SequenceName, from Version, config SequenceConfig) (Sequence, error) {
			now, err := s.store.Sequence(ctx, name)
			if err != nil {
				return Sequence{}, err
			}
			config.PeriodOf = now.Config.PeriodOf
			defer s.segments.changed(name) // after a failure too: the outcome may be unknown
			return s.store.ChangeSequence(ctx, name, from, config)
		})
}

// sequenceVerbs are the states that an administrator may set, with the verb of their record.
var sequenceVerbs = map[SequenceState]string{SequenceActive: "resume", SequencePaused: "pause", SequenceDeleted: "delete"}

// SetSequenceState pauses, resumes (SequenceActive) or deletes a sequence. It holds for Next in this process at once, in
// others within 30 seconds. Pausing ends a rebuild that was verified: nobody is served, and when the sequence is resumed all are, whoever may do that. Needs
// ActionOperate to pause and resume, and ActionManage to delete. CodeSequenceActive where one that serves is to be deleted: it is paused first.
func (s *Service) SetSequenceState(ctx context.Context, name SequenceName, from Version, to SequenceState) (Sequence, error) {
	return setState(ctx, s, aSequence, name, from, to, sequenceVerbs, s.store.Sequence,
		func(ctx context.Context, name SequenceName, from Version, to SequenceState) (Sequence, error) {
			after := s.segments.forget
			if to == SequenceActive {
				after = s.segments.changed
			}
			defer after(name) // after a failure too: the outcome may be unknown
			q, err := s.store.SetSequenceState(ctx, name, from, to)
			if to == SequenceActive && err == nil {
				return s.resumed(ctx, q)
			}
			if to != SequencePaused || !Is(err, CodeSequenceRebuilding) {
				return q, err
			}
			if err := s.pauseRebuilt(ctx, name, from); err != nil {
				return Sequence{}, err
			}
			return s.store.SetSequenceState(ctx, name, from, to)
		})
}

// resumed is a sequence that was just resumed: one whose counter is not where it must be stops again at once, before it serves anybody
// that is not proven. Where that cannot be looked at now, the schedule looks.
func (s *Service) resumed(ctx context.Context, q Sequence) (Sequence, error) {
	if seen, err := s.store.Watch(ctx, q.Name); err == nil && seen.State == SequenceStopped {
		return Sequence{}, q.stopped()
	}
	return q, nil
}

// Sequence returns a sequence with its position. Needs ActionRead.
func (s *Service) Sequence(ctx context.Context, name SequenceName) (Sequence, error) {
	if _, err := s.admit(ctx, ActionRead, string(name)); err != nil {
		return Sequence{}, err
	}
	q, err := s.store.Sequence(ctx, name)
	if err != nil {
		return Sequence{}, err
	}
	if q.State == SequenceDeleted {
		return Sequence{}, q.deleted()
	}
	return q, nil
}

// DeletedSequence is to sequences what DeletedPool is to pools. CodeSequenceNotFound.
func (s *Service) DeletedSequence(ctx context.Context, name SequenceName) (Sequence, error) {
	if _, err := s.admit(ctx, ActionManage, string(name)); err != nil {
		return Sequence{}, err
	}
	q, err := s.store.Sequence(ctx, name)
	switch {
	case err != nil:
		return Sequence{}, err
	case q.State != SequenceDeleted:
		return Sequence{}, Errorf(CodeSequenceNotFound, "there is no deleted sequence %q", name)
	}
	return q, nil
}

// Sequences is to sequences what Pools is to pools.
func (s *Service) Sequences(ctx context.Context, c Cursor, limit int) (sequences []Sequence, next Cursor, err error) {
	look := func(q Sequence) entry[SequenceName] {
		return entry[SequenceName]{position: q.Name, name: string(q.Name), hidden: q.State == SequenceDeleted}
	}
	return readable(ctx, s, listSequences, c, limit, s.store.ListSequences, look)
}

// Leases returns entries of a sequence's ledger, highest first, from the cursor on; at most limit, 1 to 100. next is what
// to give to go on, "" at the end. Needs ActionRead.
func (s *Service) Leases(ctx context.Context, name SequenceName, c Cursor, limit int) (leases []LeaseRecord, next Cursor, err error) {
	if _, err := s.admit(ctx, ActionRead, string(name)); err != nil {
		return nil, "", err
	}
	read := func(ctx context.Context, below string, limit int) ([]LeaseRecord, error) {
		start := MaxNumber + 1
		if below != "" {
			n, err := strconv.ParseUint(below, 10, 64)
			if err != nil {
				return nil, Errorf(CodeInternal, "a signed cursor has no number").Because(err)
			}
			start = Number(n)
		}
		return s.store.Leases(ctx, name, start, limit)
	}
	position := func(r LeaseRecord) string {
		if r.Start == 0 {
			return "" // nothing is below
		}
		return strconv.FormatUint(uint64(r.Start), 10)
	}
	return paged(ctx, s, listLeases(name), c, limit, read, position)
}

// LeaseRequest asks for a range, or for numbers.
type LeaseRequest struct {
	Sequence SequenceName
	Count    Count
	Key      string // Idempotency-Key; "" for none
	Print    string // canonical form of the request, compared when the key comes again
}

// Lease takes a range of consecutive numbers; see Sequences.Lease. Needs ActionLease. CodeQuotaExceeded as in Claim.
func (s *Service) Lease(ctx context.Context, r LeaseRequest) (leased Range, err error) {
	caller, key, err := s.admitLease(ctx, "lease", r, MaxLeaseLimit)
	if err != nil {
		return Range{}, err
	}
	o := LeaseOrder{Sequence: r.Sequence, Count: r.Count, By: caller.Client, Key: key}
	s.quotas.charge(ctx, caller, r.Count, func(refusal *Error) bool {
		o.Refusal = refusal
		leased, err = s.store.Lease(ctx, o)
		return isUsed(err, leased.Replayed)
	})
	return leased, err
}

// admitLease checks who asks for numbers and what for, and makes the stored form of the key; nil for none.
func (s *Service) admitLease(ctx context.Context, operation string, r LeaseRequest, limit Count) (Caller, *Key, error) {
	caller, err := s.admit(ctx, ActionLease, string(r.Sequence))
	if err != nil {
		return Caller{}, nil, err
	}
	if r.Count < 1 || r.Count > limit {
		return Caller{}, nil, Errorf(CodeInvalidCount, "count must be 1 to %d", limit)
	}
	key, err := keyFor(caller, operation, aSequence.target(string(r.Sequence)), r.Key, r.Print)
	return caller, key, err
}
