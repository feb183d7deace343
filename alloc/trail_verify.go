package alloc

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// What a step of the verification of the trail reads, and how old an intent is that the schedule should have recorded by now.
const (
	chainPage  = 100
	chainPages = 20
	lateIntent = 2 * unheardAfter
	intentPage = 1000
)

// maxBreaks is how many breaks of the trail are kept until the records that may acknowledge them are met. Of more the rest is told as it is met.
const maxBreaks = 50

// auditTrail verifies the next stretch of the trail: each month's chain from its beginning to the end that is kept apart, in the order of the
// months; at last, which steps were begun long ago without an end. The ends are read before the records: what is appended meanwhile comes after them. What was removed
// together with the end of its month shows where a record follows; behind the newest of all it shows by known alone, an end of the trail that was noted elsewhere.
func (s *Service) auditTrail(ctx context.Context, at string, known TrailMonth) (audited, error) {
	mark, err := readChainMark(at)
	if err != nil {
		return audited{}, err
	}
	months, err := s.months(ctx, known)
	if err != nil {
		return audited{}, err
	}
	v := chainVerifier{chainMark: mark, known: known}
	for _, end := range months {
		if end.Month < mark.month {
			continue
		}
		whole, err := s.verifyMonth(ctx, &v, end)
		if err != nil {
			return audited{}, err
		}
		if !whole {
			return v.step(auditTrail + v.chainMark.String()), nil
		}
	}
	late, err := s.lateIntents(ctx)
	if err != nil {
		return audited{}, err
	}
	for _, b := range v.breaks {
		v.found = append(v.found, b.finding())
	}
	v.found = append(v.found, late...)
	a := v.step("")
	a.end = TrailMonth{Month: v.month, Last: v.position, Hash: v.hash}
	return a, nil
}

// months is the ends of the chains, the oldest first; that of the month of known is no less than that.
func (s *Service) months(ctx context.Context, known TrailMonth) ([]TrailMonth, error) {
	months, err := s.store.Months(ctx)
	if err != nil || known.Month == "" {
		return months, err
	}
	i, there := slices.BinarySearchFunc(months, known, func(a, b TrailMonth) int { return strings.Compare(a.Month, b.Month) })
	switch {
	case !there:
		months = slices.Insert(slices.Clone(months), i, known)
	case months[i].Last < known.Last:
		months = slices.Clone(months)
		months[i] = known
	}
	return months, nil
}

// verifyMonth reads a month's chain on from where the verification stands. whole says that it came to its end before the pages of the
// step were used up.
func (s *Service) verifyMonth(ctx context.Context, v *chainVerifier, end TrailMonth) (whole bool, err error) {
	if v.month != end.Month {
		v.month, v.position = end.Month, 0
	}
	for v.pages < chainPages {
		v.pages++
		page, err := s.store.Chain(ctx, end.Month, v.position, chainPage)
		if err != nil {
			return false, err
		}
		for _, r := range page {
			if r.Position <= v.position {
				return false, goesNotOn("trail's records of " + end.Month)
			}
			v.record(r, end)
		}
		if len(page) < chainPage {
			v.end(end)
			return true, nil
		}
	}
	return false, nil
}

// chainVerifier verifies the records of the trail one after the other.
type chainVerifier struct {
	chainMark
	known TrailMonth // an end of the trail that was noted elsewhere; zero for none
	gap   bool       // the record before is missing: what the next one says of it cannot be judged
	pages int
	met   Count
	found []Finding
}

func (v *chainVerifier) step(next string) audited {
	return audited{AuditStep: AuditStep{Next: next, Done: v.met, Findings: v.found}}
}

// broken takes down a break from a position of the month on.
func (v *chainVerifier) broken(kind breakKind, first, last int64, seen string) {
	b := trailBreak{kind: kind, month: v.month, first: first, last: last, seen: seen}
	if len(v.breaks) < maxBreaks {
		v.breaks = append(v.breaks, b)
	} else {
		v.found = append(v.found, b.finding())
	}
}

// record takes the next record of a month whose end is kept as that.
func (v *chainVerifier) record(r AuditRecord, end TrailMonth) {
	v.met++
	if missing := r.Position - v.position - 1; missing > 0 {
		v.missing(v.position+1, r.Position-1)
	}
	intact, at := r.Intact() && r.Month == v.month, r.Position
	switch {
	case !intact:
		v.broken(breakChanged, at, at, seen("changed", r.Hash, r.digest()))
	case !v.gap && r.Previous != v.hash && v.hash == "":
		v.broken(breakBegun, at, at, seenLink(v.hash, r.Previous))
	case !v.gap && r.Previous != v.hash:
		v.broken(breakOrder, at, at, seenLink(v.hash, r.Previous))
	case at == end.Last && r.Hash != end.Hash:
		v.broken(breakEnd, at, at, seenLink(r.Hash, end.Hash))
	case v.month == v.known.Month && at == v.known.Last && r.Hash != v.known.Hash:
		v.broken(breakEnd, at, at, seenLink(r.Hash, v.known.Hash))
	}
	if intact {
		v.acknowledge(r)
	}
	v.position, v.hash, v.gap = at, r.Hash, false
}

// acknowledge takes an acknowledgement of a break that was met before.
func (v *chainVerifier) acknowledge(r AuditRecord) {
	if r.Action != acknowledged || r.Result != "ok" {
		return
	}
	for i, b := range v.breaks {
		if b.seen == r.Plan && b.acked == "" {
			v.breaks[i].acked = r.Place()
		}
	}
}

// end compares the end of a month as it was met with the one that is kept apart. That one may be behind, as records are appended, but
// never ahead.
func (v *chainVerifier) end(end TrailMonth) {
	if v.position < end.Last {
		v.missing(v.position+1, end.Last)
		v.position, v.hash, v.gap = end.Last, end.Hash, false // which is what the next month has to follow
	}
}

// missing tells of records that are not there.
func (v *chainVerifier) missing(first, last int64) {
	v.broken(breakMissing, first, last, seenMissing(v.month, first, last))
	v.gap = true
}

// lateIntents are the steps that were begun so long ago that the schedule should have recorded them, and did not.
func (s *Service) lateIntents(ctx context.Context) (found []Finding, err error) {
	open, err := s.store.Intended(ctx, s.now().Add(-lateIntent), intentPage)
	for _, r := range open {
		found = append(found, Finding{Kind: FindIntent, On: r.ID, Detail: fmt.Sprintf(
			"%s of %s by %s was begun at %s, and nothing says how it ended; the schedule, which has to record that, has not run since",
			r.Action, r.Target, r.Client, r.At.UTC().Format(time.RFC3339))})
	}
	return found, err
}
