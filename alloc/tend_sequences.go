package alloc

import (
	"cmp"
	"context"
	"slices"
)

// tendSequences keeps a sample of each sequence and tells how it stands, until the time for that is over; beside an
// error, it tells of those that went well.
func (s *Service) tendSequences(ctx context.Context, sequences []Sequence, enough func() bool) (standings []SequenceStanding, failed error) {
	for _, q := range sequences {
		if enough() {
			break
		}
		now := q.sample(s.now())
		if q.State == SequenceStopped { // its position is not to be trusted
			standings = append(standings, SequenceStanding{Sequence: q.Name, State: q.State, Forecast: Forecast{At: now.At}})
			continue
		}
		if err := s.store.SampleSequence(ctx, q.Name, now); err != nil {
			failed = cmp.Or(failed, err)
			continue
		}
		f, err := s.forecastSequence(ctx, q, now)
		if err != nil {
			failed = cmp.Or(failed, err)
			continue
		}
		standings = append(standings, SequenceStanding{Sequence: q.Name, State: q.State, Left: now.Available, Forecast: f})
	}
	slices.SortFunc(standings, func(a, b SequenceStanding) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return standings, failed
}
