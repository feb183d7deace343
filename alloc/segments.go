package alloc

import (
	"context"
	"time"
)

// segments answers Next from ranges that this process has leased.
type segments struct {
	store Store
	now   func() time.Time
}

func newSegments(store Store, now func() time.Time) *segments {
	return &segments{store: store, now: now}
}

// take returns n numbers of the sequence.
func (s *segments) take(ctx context.Context, name SequenceName, n Count, by ClientID) ([]Number, error) {
	r, err := s.store.Lease(ctx, LeaseOrder{Sequence: name, Count: n, By: by})
	if err != nil {
		return nil, err
	}
	numbers := make([]Number, 0, n)
	for i := r.Start; i <= r.End; i++ {
		numbers = append(numbers, i)
	}
	return numbers, nil
}
