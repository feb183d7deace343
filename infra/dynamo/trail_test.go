package dynamo_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// trailRecord is the nth record of a test, with an ID that sorts by the time.
func trailRecord(n int, at time.Time) alloc.AuditRecord {
	return alloc.AuditRecord{
		ID: fmt.Sprintf("%s-%05d", at.UTC().Format("20060102T150405.000000Z"), n), At: at.UTC(), Client: "c", Role: "manage:*", Action: "pool.create",
		Target: "pool/p", Detail: "words", Plan: "plan", Reason: "why", Before: "was", After: "is", Result: "ok", Request: "r", Address: "127.0.0.1",
	}
}

// wholeTrail reads the trail from the newest record, in pages.
func wholeTrail(t *testing.T, s *dynamo.Store, limit int) (all []alloc.AuditRecord) {
	t.Helper()
	for before := ""; ; before = all[len(all)-1].Place() {
		page, err := s.Records(t.Context(), before, limit)
		refused(t, err, "")
		all = append(all, page...)
		if len(page) < limit {
			return all
		}
	}
}

// sealed links records in their order as their chains have to be.
func sealed(rs []alloc.AuditRecord, months []string) []alloc.AuditRecord {
	all := make([]alloc.AuditRecord, len(rs))
	previous, position := "", int64(0)
	for i, r := range rs {
		if i > 0 && months[i] != months[i-1] {
			position = 0
		}
		position++
		all[i] = r.Seal(months[i], position, previous)
		previous = all[i].Hash
	}
	return all
}

func TestTheTrailIsAChainAMonthAndARepeatChangesNothing(t *testing.T) {
	onTables(t, func(t *testing.T, table dynamo.Table) {
		var rs []alloc.AuditRecord
		var months []string
		now := time.Date(2026, 11, 29, 0, 0, 0, 123456789, time.UTC)
		s, err := dynamo.New(dynamo.Config{Table: table, Now: func() time.Time { return now }})
		refused(t, err, "")
		if got := wholeTrail(t, s, 3); len(got) != 0 {
			t.Errorf("an empty trail has %v", got)
		}
		old := dynamo.Item{"pk": "A#trail", "sk": "20250101T000000.000000Z-1", "at": int64(1), "act": "pool.create", "res": "ok"}
		refused(t, table.Put(t.Context(), old, dynamo.Absent("pk")), "")
		refused(t, s.Record(t.Context(), alloc.AuditRecord{ID: old.Str("sk"), Action: "a repeat of what was recorded before there were chains"}), "")
		for i := range 9 {
			r := trailRecord(i, now)
			rs, months = append(rs, r), append(months, alloc.MonthOf(now))
			refused(t, s.Record(t.Context(), r), "")
			r.Detail = "other words"
			refused(t, s.Record(t.Context(), r), "")
			now = now.Add(time.Duration(i+1) * 24 * time.Hour)
		}
		want := sealed(rs, months)
		for month, n := range map[string]int{"2026-11": 2, "2026-12": 6, "2027-01": 1, "2027-02": 0} {
			got, err := process(t, table).Chain(t.Context(), month, 0, 100)
			if err != nil || len(got) != n {
				t.Errorf("the chain of %s has %d records, %v; want %d", month, len(got), err, n)
			}
		}
		ends, err := process(t, table).Months(t.Context())
		wantEnds := []alloc.TrailMonth{
			{Month: "2026-11", Last: 2, Hash: want[1].Hash},
			{Month: "2026-12", Last: 6, Hash: want[7].Hash},
			{Month: "2027-01", Last: 1, Hash: want[8].Hash},
		}
		if diff := cmp.Diff(wantEnds, ends); err != nil || diff != "" {
			t.Errorf("the ends of the chains: %v, -want +got:\n%s", err, diff)
		}
		want = append([]alloc.AuditRecord{{ID: old.Str("sk"), At: time.Unix(0, 1).UTC(), Action: "pool.create", Result: "ok"}}, want...)
		slices.Reverse(want)
		for _, limit := range []int{1, 2, 3, 10, 100} {
			if diff := cmp.Diff(want, wholeTrail(t, process(t, table), limit)); diff != "" {
				t.Errorf("in pages of %d: -want +got:\n%s", limit, diff)
			}
		}
		for _, r := range want[:9] {
			if !r.Intact() {
				t.Errorf("%+v is not intact", r)
			}
		}
	})
}

func TestAnIntentIsKeptUntilItsStepIsRecorded(t *testing.T) {
	onTables(t, func(t *testing.T, table dynamo.Table) {
		s, ctx := process(t, table), t.Context()
		at := time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)
		var rs []alloc.AuditRecord
		for i := range 5 {
			rs = append(rs, trailRecord(i, at.Add(time.Duration(i)*time.Minute)))
		}
		intended := func(before time.Time, limit int, want ...alloc.AuditRecord) {
			t.Helper()
			got, err := process(t, table).Intended(ctx, before, limit)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("intended: %v, -want +got:\n%s", err, diff)
			}
		}
		refused(t, s.Record(ctx, rs[4]), "")
		for _, r := range rs {
			refused(t, s.Intend(ctx, r), "")
			changed := r
			changed.Detail = "other words"
			refused(t, s.Intend(ctx, changed), "")
		}
		intended(at.Add(time.Hour), 10, rs[:4]...) // the last one was recorded before it was intended
		intended(at.Add(time.Hour), 2, rs[:2]...)
		intended(at.Add(2*time.Minute), 10, rs[:2]...)
		refused(t, s.Record(ctx, rs[1]), "")
		refused(t, s.Intend(ctx, rs[1]), "")
		intended(at.Add(time.Hour), 10, rs[0], rs[2], rs[3])
		if all := wholeTrail(t, s, 10); len(all) != 2 {
			t.Errorf("an intent is in the trail: %v", all)
		}
	})
}

func TestTheTrailSurvivesAFaultAtEveryWrite(t *testing.T) {
	atEachWrite(t, func(t *testing.T, b *bench) {
		var rs []alloc.AuditRecord
		var months []string
		for i := range 4 {
			r := trailRecord(i, b.clock.Now())
			rs, months = append(rs, r), append(months, alloc.MonthOf(b.clock.Now()))
			if i%2 == 0 {
				insist(b, func(s *dynamo.Store) (bool, error) { return true, s.Intend(t.Context(), r) })
			}
			insist(b, func(s *dynamo.Store) (bool, error) { return true, s.Record(t.Context(), r) })
			b.clock.Advance(20 * 24 * time.Hour)
		}
		want := sealed(rs, months)
		slices.Reverse(want)
		if diff := cmp.Diff(want, wholeTrail(t, b.open(), 10)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if left, err := b.open().Intended(t.Context(), b.clock.Now(), 10); err != nil || len(left) > 0 {
			t.Errorf("intended still: %v, %v", left, err)
		}
	})
}
