package alloc

import (
	"context"
	"fmt"
	"slices"
)

// acknowledged is the action of the record that acknowledges a break of the trail.
const acknowledged = string(aTrail) + ".acknowledge"

// Acknowledgement is of a break of the trail that an audit has found: that an administrator knows of it, and why it is there.
type Acknowledgement struct {
	Month    string // with Position the place of the finding
	Position int64
	Seen     string     // as the finding says it
	Known    TrailMonth // as the audit was asked with that has found it
	Why      string     // needed
}

// Acknowledge leaves a record in the trail that the break is known. Audits tell it for information from then on; another break there, or
// more that is missing, is a finding again. Needs ActionManage on all. CodeBreakNotFound where there is no such break.
func (s *Service) Acknowledge(ctx context.Context, a Acknowledgement) error {
	before := ""
	st := step{
		need: ActionManage, on: aTrail, verb: "acknowledge", reason: said(&a.Why), plan: said(&a.Seen), before: said(&before),
		detail: func() string {
			return fmt.Sprintf("the break at position %d of %s, of which %s was seen", a.Position, quoteShort(a.Month), quoteShort(a.Seen))
		},
	}
	return s.administer(ctx, st, func() error {
		if a.Why == "" {
			return Errorf(CodeInvalidRequest, "say why: what has happened to the trail there, and how you know")
		}
		if err := checkWhy(a.Why); err != nil {
			return err
		}
		there, err := s.breakAt(ctx, a)
		if err == nil {
			before = there.words()
		}
		return err
	})
}

// breakAt looks for the break that is to be acknowledged.
func (s *Service) breakAt(ctx context.Context, a Acknowledgement) (trailBreak, error) {
	months, err := s.months(ctx, a.Known)
	if err != nil {
		return trailBreak{}, err
	}
	v := chainVerifier{known: a.Known}
	i := slices.IndexFunc(months, func(end TrailMonth) bool { return end.Month == a.Month })
	if i >= 0 && a.Position > 0 {
		if v.month = a.Month; i > 0 {
			if v.hash, err = s.lastHash(ctx, months[i-1]); err != nil {
				return trailBreak{}, err
			}
		}
		if err := s.lookAt(ctx, &v, months[i], a.Position); err != nil {
			return trailBreak{}, err
		}
	}
	for _, b := range v.breaks {
		if b.first == a.Position && b.seen == a.Seen {
			return b, nil
		}
	}
	return trailBreak{}, Errorf(CodeBreakNotFound, "there is no such break of the trail; verify the trail, and take month, position and seen from the finding")
}

// lastHash is what the month after has to follow.
func (s *Service) lastHash(ctx context.Context, end TrailMonth) (string, error) {
	hash := end.Hash
	for after := end.Last - 1; ; {
		page, err := s.store.Chain(ctx, end.Month, max(0, after), chainPage)
		if err != nil {
			return "", err
		}
		for _, r := range page {
			if r.Position >= end.Last {
				hash = r.Hash
			}
			after = r.Position
		}
		if len(page) < chainPage {
			return hash, nil
		}
	}
}

// lookAt verifies the one place.
func (s *Service) lookAt(ctx context.Context, v *chainVerifier, end TrailMonth, position int64) error {
	if position > 1 {
		before, err := s.store.Chain(ctx, end.Month, position-2, 1)
		if err != nil {
			return err
		}
		if v.gap = true; len(before) > 0 && before[0].Position == position-1 {
			v.gap, v.hash = false, before[0].Hash
		}
		v.position = position - 1
	}
	page, err := s.store.Chain(ctx, end.Month, v.position, 1)
	if err != nil {
		return err
	}
	if len(page) == 0 {
		v.end(end)
		return nil
	}
	v.record(page[0], end)
	return nil
}
