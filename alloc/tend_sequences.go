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

// tendSequences keeps a sample of each sequence and tells how it stands, until the time for that is over; beside an
// error, it tells of those that went well.
func (s *Service) tendSequences(ctx context.Context, sequences []Sequence, enough func() bool) (standings []SequenceStanding, failed error) {
	for _, q := range sequences {
		if enough() {
			break
		}
		standing, err := s.tendSequence(ctx, q)
		if err != nil {
			failed = cmp.Or(failed, err)
			continue
		}
		standings = append(standings, standing)
	}
	slices.SortFunc(standings, func(a, b SequenceStanding) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return standings, failed
}

func (s *Service) tendSequence(ctx context.Context, q Sequence) (SequenceStanding, error) {
	now := q.sample(s.now())
	standing := SequenceStanding{Sequence: q.Name, State: q.State, Left: now.Available}
	if q.State == SequenceStopped { // its position is not to be trusted
		standing.Left, standing.Forecast.At = 0, now.At
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
