package alloc

import (
	"context"
	"fmt"
	"strconv"
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

// chainMark is where the verification of the trail stands: behind a record of a month, or behind all of them.
type chainMark struct {
	month    string // "" before the first one
	position int64
	hash     string // of the last record before; "" for none
}

func (m chainMark) String() string {
	return fmt.Sprintf("%s %d %s", m.month, m.position, m.hash)
}

func readChainMark(text string) (m chainMark, err error) {
	if text == "" {
		return chainMark{}, nil
	}
	words := strings.Split(text, " ")
	if len(words) == 3 {
		m.month, m.hash = words[0], words[2]
		if m.position, err = strconv.ParseInt(words[1], 10, 64); err == nil {
			return m, nil
		}
	}
	return chainMark{}, Errorf(CodeInternal, "where the verification of the trail goes on is not known")
}

// auditTrail verifies the next stretch of the trail: each month's chain from its beginning to the end that is kept apart, in the order of the
// months; at last, which steps were begun long ago without an end. The ends are read before the records: what is appended meanwhile comes after them. What was removed
// together with the end of its month shows where a record follows; behind the newest of all it does not show.
func (s *Service) auditTrail(ctx context.Context, at string) (AuditStep, error) {
	mark, err := readChainMark(at)
	if err != nil {
		return AuditStep{}, err
	}
	months, err := s.store.Months(ctx)
	if err != nil {
		return AuditStep{}, err
	}
	v := chainVerifier{chainMark: mark}
	for _, end := range months {
		if end.Month < mark.month {
			continue
		}
		whole, err := s.verifyMonth(ctx, &v, end)
		if err != nil {
			return AuditStep{}, err
		}
		if !whole {
			return v.step(auditTrail + v.chainMark.String()), nil
		}
	}
	late, err := s.lateIntents(ctx)
	if err != nil {
		return AuditStep{}, err
	}
	v.found = append(v.found, late...)
	return v.step(""), nil
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
	gap   bool // the record before is missing: what the next one says of it cannot be judged
	pages int
	met   Count
	found []Finding
}

func (v *chainVerifier) step(next string) AuditStep {
	return AuditStep{Next: next, Done: v.met, Findings: v.found}
}

func (v *chainVerifier) find(on, format string, args ...any) {
	v.found = append(v.found, Finding{Kind: FindTrail, On: on, Detail: fmt.Sprintf(format, args...)})
}

// record takes the next record of a month whose end is kept as that.
func (v *chainVerifier) record(r AuditRecord, end TrailMonth) {
	v.met++
	if missing := r.Position - v.position - 1; missing > 0 {
		v.missing(v.position+1, r.Position-1)
	}
	place := AuditRecord{Link: Link{Month: v.month, Position: r.Position}}.Place()
	switch {
	case !r.Intact() || r.Month != v.month:
		v.find(place, "the record was changed after it was written: it does not have the hash with which it was sealed")
	case !v.gap && r.Previous != v.hash && v.hash == "":
		v.find(place, "it follows a record that is not there: what was before it was removed")
	case !v.gap && r.Previous != v.hash:
		v.find(place, "it does not follow the record before it, which was replaced, or is not the one that was there")
	case r.Position == end.Last && r.Hash != end.Hash:
		v.find(place, "it is not the record that the end of its month, which is kept apart, is known by")
	}
	v.position, v.hash, v.gap = r.Position, r.Hash, false
}

// end compares the end of a month as it was met with the one that is kept apart. That one may be behind, as records are appended, but
// never ahead.
func (v *chainVerifier) end(end TrailMonth) {
	if v.position < end.Last {
		v.missing(v.position+1, end.Last)
		v.hash, v.gap = end.Hash, false // which is what the next month has to follow
	}
}

// missing tells of records that are not there.
func (v *chainVerifier) missing(first, last int64) {
	on := AuditRecord{Link: Link{Month: v.month, Position: first}}.Place()
	if first == last {
		v.find(on, "record %d of the month is missing", first)
	} else {
		v.find(on, "records %d to %d of the month are missing", first, last)
	}
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
