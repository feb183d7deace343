package alloc

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
)

// TendReport says what one run of the schedule did.
type TendReport struct {
	Swept  []SweepReport // in the order of their names
	Failed map[PoolName]error
	Left   int // pools that the run had not come to, or not come to the end of, when its time was over
}

// Tend is one run of the schedule: it sweeps every pool. A pool that fails does not stop the others. It ends early,
// without error, when the context does: the next run goes on; each run has an order of its own, so that the same pools
// are not left out for ever. Needs ActionTend on all.
func (s *Service) Tend(ctx context.Context) (TendReport, error) {
	report := TendReport{Failed: map[PoolName]error{}}
	if _, err := permit(ctx, ActionTend, everything); err != nil {
		return report, err
	}
	names, err := s.livePools(ctx)
	rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names {
		if ctx.Err() != nil {
			report.Left++
			continue
		}
		switch r, err := s.store.Sweep(ctx, name); {
		case err == nil:
			report.Swept = append(report.Swept, r)
		case ctx.Err() != nil:
			report.Left++
		case Is(err, CodePoolDeleted): // since it was listed
		default:
			report.Failed[name] = err
		}
	}
	slices.SortFunc(report.Swept, func(a, b SweepReport) int { return cmp.Compare(a.Pool, b.Pool) })
	if ctx.Err() != nil {
		return report, nil
	}
	return report, err
}

// livePools lists the pools that are not deleted; beside an error, those that were found before it.
func (s *Service) livePools(ctx context.Context) ([]PoolName, error) {
	const page = 100
	var names []PoolName
	for after := PoolName(""); ; {
		pools, err := s.store.ListPools(ctx, after, page)
		if err != nil {
			return names, err
		}
		for _, p := range pools {
			after = p.Name
			if p.State != PoolDeleted {
				names = append(names, p.Name)
			}
		}
		if len(pools) < page {
			return names, nil
		}
	}
}
