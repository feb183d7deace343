package alloc

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"
)

// TrailFilter says which records of the trail are wanted; the zero one wants all.
type TrailFilter struct {
	Client ClientID  // whose; "" for all, as in what follows
	Action string    // or the beginning of some and '*': "pool.*"
	Target string    // or the beginning of some and '*': "pool/team-a.*"
	Result string    // "ok", an error code, ResultUnknown
	Month  string    // in whose chain it stands, like "2026-11"
	From   time.Time // of its At; zero for no bound
	Until  time.Time // before which its At is; zero for no bound
}

// maxFilter is the greatest length of what a filter asks for, in characters.
const maxFilter = 200

// check refuses what no record can be like.
func (f TrailFilter) check() error {
	for _, text := range []string{string(f.Client), f.Action, f.Target, f.Result} {
		if utf8.RuneCountInString(text) > maxFilter {
			return Errorf(CodeInvalidRequest, "client, action, target and result have at most %d characters", maxFilter)
		}
	}
	switch {
	case f.Month != "" && !IsMonth(f.Month):
		return Errorf(CodeInvalidRequest, "month must be one like 2026-11")
	case !f.From.IsZero() && !f.Until.IsZero() && !f.From.Before(f.Until):
		return Errorf(CodeInvalidRequest, "until must be later than from")
	}
	return nil
}

// wants reports whether the record is one of these.
func (f TrailFilter) wants(r AuditRecord) bool {
	switch {
	case f.Client != "" && r.Client != f.Client,
		f.Result != "" && r.Result != f.Result,
		f.Month != "" && r.Month != f.Month,
		!f.From.IsZero() && r.At.Before(f.From),
		!f.Until.IsZero() && !r.At.Before(f.Until):
		return false
	}
	return like(f.Action, r.Action) && like(f.Target, r.Target)
}

// like reports whether the text is the pattern, or begins like one that ends in '*'; "" is like all.
func like(pattern, text string) bool {
	if prefix, ok := strings.CutSuffix(pattern, everything); ok {
		return strings.HasPrefix(text, prefix)
	}
	return pattern == "" || pattern == text
}

// begin is the place before which the first record that is wanted stands; "" for the end of the trail.
func (f TrailFilter) begin() string {
	if f.Month == "" {
		return ""
	}
	return TrailMonth{Month: f.Month, Last: int64(MaxNumber)}.place()
}

// behind reports whether the record stands, in the order of the trail backwards, behind all that are wanted. A record stands in the month
// in which its step was begun or a later one, but for what clocks differ, which is surely less than a month.
func (f TrailFilter) behind(r AuditRecord) bool {
	if r.Month < f.Month {
		return true
	}
	return r.Month != "" && !f.From.IsZero() && r.Month < MonthOf(f.From.UTC().AddDate(0, 0, -31))
}

// trailPages bounds what a page of a trail reads, be there much that is wanted or nothing.
const trailPages = 10

// Trail returns the administrative steps that the filter wants, newest first, from the cursor on; at most limit, 1 to 100. next is what to give
// to go on, "" at the end: what a page reads is bounded, so it may have fewer, or none, and not be the last. A cursor is a place in the trail, whatever the
// filter. Needs ActionRead on all.
func (s *Service) Trail(ctx context.Context, f TrailFilter, c Cursor, limit int) (records []AuditRecord, next Cursor, err error) {
	if _, err := s.permit(ctx, ActionRead, everything); err != nil {
		return nil, "", err
	}
	if err := checkPage(limit); err != nil {
		return nil, "", err
	}
	if err := f.check(); err != nil {
		return nil, "", err
	}
	at, err := s.cursors.position(ctx, listTrail, c)
	if err != nil {
		return nil, "", err
	}
	if begin := f.begin(); begin != "" && (at == "" || at > begin) {
		at = begin
	}
	records, at, err = s.trailBack(ctx, f, at, limit, trailPages)
	if err == nil && at != "" {
		next, err = s.cursors.at(ctx, listTrail, at)
	}
	return records, next, err
}

// Bounds of what TrailAtOnce gives and reads.
const (
	MaxTrailAtOnce   = 5000
	MaxTrailRead     = trailPagesAtOnce * chainPage
	trailPagesAtOnce = 100
)

// TrailAtOnce returns all steps that the filter wants, newest first, without pages. It is all or nothing: whole is false, and there are no records, where
// more than MaxTrailAtOnce are wanted, or where MaxTrailRead records were read and there may be more. A filter by a month reads that month alone; one by From
// reads nothing from more than two months before; all else is looked for in the whole trail. Needs ActionRead on all.
func (s *Service) TrailAtOnce(ctx context.Context, f TrailFilter) (records []AuditRecord, whole bool, err error) {
	if _, err := s.permit(ctx, ActionRead, everything); err != nil {
		return nil, false, err
	}
	if err := f.check(); err != nil {
		return nil, false, err
	}
	records, next, err := s.trailBack(ctx, f, f.begin(), MaxTrailAtOnce+1, trailPagesAtOnce)
	if err != nil || next != "" || len(records) > MaxTrailAtOnce {
		return nil, false, err
	}
	return records, true, nil
}

// trailBack returns records that are wanted and stand before the place, of so many pages, and before which place to go on; "" at the end.
func (s *Service) trailBack(ctx context.Context, f TrailFilter, at string, limit, pages int) (records []AuditRecord, next string, err error) {
	size := chainPage
	if f == (TrailFilter{}) {
		size = min(limit, chainPage)
	}
	for range pages {
		page, err := s.store.Records(ctx, at, size)
		if err != nil {
			return nil, "", err
		}
		for i, r := range page {
			if f.behind(r) {
				return records, "", nil
			}
			at = r.Place()
			if !f.wants(r) {
				continue
			}
			if records = append(records, r); len(records) == limit && (i+1 < len(page) || len(page) == size) {
				return records, at, nil
			}
		}
		if len(page) < size {
			return records, "", nil
		}
	}
	return records, at, nil
}
