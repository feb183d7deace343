package alloc

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// idleSample is how old the last sample of a sequence may be of which nothing was used since: old periods' sequences are
// many, and stand still. It is less than the shortest of ForecastWindows, in which there is always one so.
const idleSample = 50 * time.Minute

// tendedSequences is what a run did for the sequences.
type tendedSequences struct {
	standings []SequenceStanding
	rebuilds  []Rebuild
	failed    error // the first
	throttled Count // sequences that were left to the next run because the engine was asked for more than it takes
}

// tendSequences looks after each sequence until the time for that is over: whether its counter is where it must be, how its
// rebuild goes on, how it stands. Beside an error, it tells of what went well.
func (s *Service) tendSequences(ctx context.Context, sequences []Sequence, enough func() bool) (t tendedSequences) {
	fail := func(err error) bool {
		t.failed = cmp.Or(t.failed, err)
		if Is(err, CodeThrottled) {
			t.throttled++
		}
		return err != nil
	}
	for _, listed := range sequences {
		if enough() {
			break
		}
		q, err := s.store.Watch(ctx, listed.Name)
		if fail(err) || q.State == SequenceDeleted {
			continue
		}
		r, did, err := s.tendRebuild(ctx, q, enough)
		if fail(err); did {
			t.rebuilds = append(t.rebuilds, r)
		}
		if standing, err := s.tendSequence(ctx, q); !fail(err) {
			t.standings = append(t.standings, standing)
		}
	}
	slices.SortFunc(t.standings, func(a, b SequenceStanding) int { return cmp.Compare(a.Sequence, b.Sequence) })
	slices.SortFunc(t.rebuilds, func(a, b Rebuild) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return t
}

// tendSequence tells how the sequence stands, and keeps a sample of that.
func (s *Service) tendSequence(ctx context.Context, q Sequence) (SequenceStanding, error) {
	now := q.sample(s.now())
	standing := SequenceStanding{Sequence: q.Name, State: q.State, Behind: q.Behind, Left: now.Available, Next: q.Next}
	if standing.Faulty() || !q.State.hasPosition() { // its position is not to be trusted
		standing.Left, standing.Next, standing.Forecast.At = 0, 0, now.At
		return standing, nil
	}
	burns, last, err := s.sequenceBurns(ctx, q, now)
	if err != nil {
		return standing, err
	}
	standing.Forecast = forecastOf(now.At, now.Available, burns)
	if last.Used == now.Used && last.Available == now.Available && now.At.Sub(last.At) < idleSample {
		return standing, nil
	}
	return standing, s.store.SampleSequence(ctx, q.Name, now)
}
