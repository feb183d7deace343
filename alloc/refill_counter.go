package alloc

import (
	"context"
	"fmt"
	"time"

	"idpool/alloc/generator"
)

// periodOf names the sequence that counts in the period: the generator's own where its format has none.
func periodOf(g generator.Config, at time.Time) SequenceName {
	if period := g.Period(at); period != "" {
		return SequenceName(g.Sequence + "." + period)
	}
	return SequenceName(g.Sequence)
}

// counter reads the sequence of the name, and makes that of a period when its first number is wanted. refusal is why no
// number may be taken: the sequence that the generator names is to be active too, as it is the one that people pause.
func (f *filling) counter(ctx context.Context, name SequenceName) (q Sequence, refusal *Error, err error) {
	base, refusal, err := f.usable(ctx, SequenceName(f.pool.Config.Generator.Sequence))
	if err != nil || refusal != nil || name == base.Name {
		return base, refusal, err
	}
	q, refusal, err = f.periodCounter(ctx, base.Name, name)
	if refusal != nil && refusal.Code == CodeSequenceNotFound {
		if err := f.createCounter(ctx, base, name); err != nil {
			return Sequence{}, nil, err
		}
		q, refusal, err = f.periodCounter(ctx, base.Name, name)
	}
	if err == nil && refusal == nil && q.Config.Limit < base.Config.Limit {
		return f.raiseLimit(ctx, q, base)
	}
	return q, refusal, err
}

// createCounter makes the counter of a period. One that was made meanwhile is made all the same.
func (f *filling) createCounter(ctx context.Context, base Sequence, name SequenceName) error {
	config := base.Config
	config.PeriodOf = base.Name
	_, created, err := f.store.CreateSequence(ctx, name, config)
	if err != nil && !Is(err, CodeSequenceExists) {
		return err
	}
	if !created {
		return nil
	}
	return f.record(ctx, f.caller, aSequence, string(name), "create", config.words(), nil)
}

// raiseLimit gives the counter of a period the limit that its sequence was given since. Where somebody else changes the
// counter in the same moment, the next run looks again.
func (f *filling) raiseLimit(ctx context.Context, q, base Sequence) (Sequence, *Error, error) {
	config := q.Config
	config.Limit = base.Config.Limit
	changed, err := f.store.ChangeSequence(ctx, q.Name, q.Version, config)
	f.segments.changed(q.Name)
	switch {
	case Is(err, CodeVersionMismatch):
		return f.periodCounter(ctx, base.Name, q.Name)
	case err != nil:
		return q, nil, err
	}
	return changed, nil, f.record(ctx, f.caller, aSequence, string(q.Name), "change", fmt.Sprintf("from version %d to %s", q.Version, config.words()), nil)
}

// periodCounter reads the counter of a period of the sequence, as usable does. One that the refill has not made is refused: a
// pool's maker has shown that he may lease of the sequence, not of another that is called like one of its periods.
func (s *Service) periodCounter(ctx context.Context, base, name SequenceName) (q Sequence, refusal *Error, err error) {
	q, refusal, err = s.usable(ctx, name)
	if refusal != nil && refusal.Code == CodeSequencePaused && q.Config.PeriodOf == base && q.Epoch == 1 && q.Next == q.Config.Start {
		refusal = q.unsure()
	}
	known := err == nil && (refusal == nil || refusal.Code == CodeSequencePaused)
	if known && q.Config.PeriodOf != base {
		refusal = Errorf(CodeSequenceExists,
			"the sequence %q was not made to count a period of %q, so no numbers are taken of it; use a generator of another sequence", name, base)
	}
	return q, refusal, err
}

// inPeriod is the counter of a period of the sequence as the next refill has it: where it is not made yet it begins as the
// sequence has, and its limit is never lower than the sequence's.
func (s Sequence) inPeriod(q Sequence, made bool) Sequence {
	if !made {
		s.Next = s.Config.Start
		return s
	}
	q.Config.Limit = max(q.Config.Limit, s.Config.Limit)
	return q
}

// usable reads a sequence. refusal is why it gives no numbers.
func (s *Service) usable(ctx context.Context, name SequenceName) (q Sequence, refusal *Error, err error) {
	q, err = s.store.Sequence(ctx, name)
	if err == nil {
		err = q.checkState()
	}
	switch CodeOf(err) {
	case "":
		return q, nil, nil
	case CodeSequencePaused, CodeSequenceStopped, CodeSequenceDeleted, CodeSequenceNotFound:
		return q, asError(err), nil
	}
	return q, nil, err
}
