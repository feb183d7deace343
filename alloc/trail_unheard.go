package alloc

import (
	"context"
	"time"
)

// unheardAfter is how old an intent is whose process has surely ended: no request, and no run of the schedule, takes so long. unheardPage
// is how many of them one run of the schedule records.
const (
	unheardAfter = 15 * time.Minute
	unheardPage  = 100
)

// endUnheard records the steps that were begun and whose process has ended before it could say how they ended, as far as there is time.
// Each stays the step of who began it.
func (s *Service) endUnheard(ctx context.Context, over func() bool) (ended int, err error) {
	if over() {
		return 0, nil
	}
	open, err := s.store.Intended(ctx, s.now().Add(-unheardAfter), unheardPage)
	if err != nil {
		return 0, err
	}
	for _, r := range open {
		if over() {
			break
		}
		r.Result = ResultUnknown
		if err := s.keep(ctx, r); err != nil {
			return ended, err
		}
		ended++
	}
	return ended, nil
}
