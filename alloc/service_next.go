package alloc

import "context"

// Next takes r.Count numbers, 1 to MaxNext, in rising order but not always consecutive. They come from a segment that
// this process leased before, mostly without a round trip; what is left of a segment when the process ends is a gap.
//
// With a key they are kept under it before they are given, in one write, and a repeat from anywhere within KeyRetention
// gets the same, also when the sequence is paused, exhausted or deleted since. What was taken for a repeat goes back to
// the segment; after an unknown outcome it becomes a gap, and a repeat finds out. CodeKeyMismatch as in Lease. A sequence
// that requires a key refuses this process's requests without one within 30 seconds. Needs ActionLease. CodeQuotaExceeded
// as in Claim.
func (s *Service) Next(ctx context.Context, r LeaseRequest) (numbers []Number, replayed bool, err error) {
	caller, key, err := s.admitLease(ctx, "next", r, MaxNext)
	if err != nil {
		return nil, false, err
	}
	a := ask{n: r.Count, by: caller.Client, keyed: key != nil}
	var g given
	s.quotas.charge(ctx, caller, r.Count, func(refusal *Error) (used bool) {
		switch {
		case key != nil:
			g, err = s.nextKeyed(ctx, r.Sequence, a, *key, refusal)
		case refusal != nil:
			err = refusal
		default:
			var t taken
			t, err = s.segments.take(ctx, r.Sequence, a)
			g = given{numbers: t.numbers.numbers(), used: err == nil}
		}
		return g.used
	})
	return g.numbers, g.replayed, err
}

// given is what a request for numbers got.
type given struct {
	numbers  []Number
	replayed bool
	used     bool // numbers were taken for it, or may have been
}

// nextKeyed takes numbers and keeps them under the key, or gives what is kept already. It looks for that before a segment
// has to be leased, and before anything is refused: a repeat costs no segment, and is answered whatever the sequence or
// the quota say. It looks again after a refusal, as a twin of the request may have been served meanwhile.
func (s *Service) nextKeyed(ctx context.Context, name SequenceName, a ask, key Key, refusal *Error) (given, error) {
	if refusal == nil {
		if t, ok := s.segments.takeWarm(name, a); ok {
			return s.keepNumbers(ctx, key, t)
		}
	}
	g, found, err := s.keptNumbers(ctx, key)
	switch {
	case found || err != nil:
		return g, err
	case refusal != nil:
		return given{}, refusal
	}
	t, refused := s.segments.take(ctx, name, a)
	if refused == nil {
		return s.keepNumbers(ctx, key, t)
	}
	if g, found, err = s.keptNumbers(ctx, key); !found && err == nil {
		err = refused
	}
	return g, err
}

// keptNumbers finds the numbers that are kept under the key.
func (s *Service) keptNumbers(ctx context.Context, key Key) (g given, found bool, err error) {
	k, found, err := s.store.FindKey(ctx, key)
	if err != nil || !found {
		return given{}, false, err
	}
	g, err = replayOf(k)
	return g, err == nil, err
}

// replayOf gives what is kept.
func replayOf(k Kept) (given, error) {
	numbers, err := decodeNumbers(k.Answer)
	return given{numbers: numbers, replayed: true}, err
}

// keepNumbers keeps the numbers under the key, or gives those that are there and puts these back.
func (s *Service) keepNumbers(ctx context.Context, key Key, t taken) (given, error) {
	used := true // in a panic too
	defer func() { s.segments.settle(t, used) }()
	token := NewToken()
	k, err := s.store.OpenKey(ctx, key, token, t.numbers.encode())
	switch {
	case err != nil:
		used = asError(err).Unknown
		return given{used: used}, err
	case k.Token != token:
		used = false
		return replayOf(k)
	}
	return given{numbers: t.numbers.numbers(), used: true}, nil
}
