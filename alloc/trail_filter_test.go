package alloc_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
	"time"

	"idpool/alloc"
)

// reads counts what is read of the trail.
type reads struct {
	alloc.Store
	most, now int
}

func (s *reads) Records(ctx context.Context, before string, limit int) ([]alloc.AuditRecord, error) {
	got, err := s.Store.Records(ctx, before, limit)
	s.now += len(got)
	s.most = max(s.most, s.now)
	return got, err
}

// A filter gives all records that it wants, each once and in their order, on pages of any size, whatever else was recorded; and what a page reads is
// bounded.
func TestTheTrailIsFiltered(t *testing.T) {
	o := newOffice(t)
	store := &reads{Store: o.model}
	s, err := alloc.NewService(alloc.Config{Store: store, Now: o.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	once := o.Service
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a schedule, no secret
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	var all []alloc.AuditRecord
	for i := range 4000 {
		r := alloc.AuditRecord{
			ID: fmt.Sprintf("%04d", i), At: o.clock.Now().Add(-time.Duration(rng.IntN(3600)) * time.Second), Client: alloc.ClientID(pick("a", "b", "c")),
			Action: pick("pool.pause", "pool.change", "sequence.pause"), Target: pick("pool/x", "pool/y", "sequence/x"), Result: pick("ok", "forbidden"),
		}
		if i == 17 {
			r.Client = "rare"
		}
		if err := o.model.Record(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
		o.clock.Advance(30 * time.Minute)
	}
	slices.Reverse(all)
	month, from, until := alloc.MonthOf(all[2000].At), all[2500].At, all[1000].At
	for what, c := range map[string]struct {
		filter alloc.TrailFilter
		wants  func(alloc.AuditRecord) bool
	}{
		"all":             {alloc.TrailFilter{}, func(alloc.AuditRecord) bool { return true }},
		"a client":        {alloc.TrailFilter{Client: "b"}, func(r alloc.AuditRecord) bool { return r.Client == "b" }},
		"a rare client":   {alloc.TrailFilter{Client: "rare"}, func(r alloc.AuditRecord) bool { return r.Client == "rare" }},
		"nobody":          {alloc.TrailFilter{Client: "nobody"}, func(alloc.AuditRecord) bool { return false }},
		"an action":       {alloc.TrailFilter{Action: "pool.pause"}, func(r alloc.AuditRecord) bool { return r.Action == "pool.pause" }},
		"some actions":    {alloc.TrailFilter{Action: "pool.*"}, func(r alloc.AuditRecord) bool { return r.Action[:5] == "pool." }},
		"a target":        {alloc.TrailFilter{Target: "pool/x", Result: "ok"}, func(r alloc.AuditRecord) bool { return r.Target == "pool/x" && r.Result == "ok" }},
		"a result":        {alloc.TrailFilter{Result: "forbidden"}, func(r alloc.AuditRecord) bool { return r.Result == "forbidden" }},
		"from a time":     {alloc.TrailFilter{From: from}, func(r alloc.AuditRecord) bool { return !r.At.Before(from) }},
		"until a time":    {alloc.TrailFilter{Until: until}, func(r alloc.AuditRecord) bool { return r.At.Before(until) }},
		"between the two": {alloc.TrailFilter{From: from, Until: until}, func(r alloc.AuditRecord) bool { return !r.At.Before(from) && r.At.Before(until) }},
	} {
		var want []string
		for _, r := range all {
			if c.wants(r) {
				want = append(want, r.ID)
			}
		}
		at, whole, err := once.TrailAtOnce(o.ctx, c.filter)
		if ids := recordIDs(at); err != nil || !whole || !slices.Equal(ids, want) {
			t.Errorf("%s, at once: %d records, whole %t, want %d, %v", what, len(ids), whole, len(want), err)
		}
		for _, limit := range []int{7, 100} {
			var got []string
			pages := 0
			for next := alloc.Cursor(""); ; pages++ {
				store.now = 0
				page, then, err := s.Trail(o.ctx, c.filter, next, limit)
				if err != nil || len(page) > limit || pages > 1000 {
					t.Fatalf("%s: a page of %d: %v", what, len(page), err)
				}
				for _, r := range page {
					got = append(got, r.ID)
				}
				if next = then; next == "" {
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, in pages of %d: %d records, want %d", what, limit, len(got), len(want))
			}
		}
	}
	var got []alloc.AuditRecord
	for next := alloc.Cursor(""); ; {
		store.now = 0
		page, then, err := s.Trail(o.ctx, alloc.TrailFilter{Month: month}, next, 100)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, page...)
		if next = then; next == "" {
			break
		}
	}
	chain, err := o.model.Chain(t.Context(), month, 0, 10_000)
	if err != nil || len(got) != len(chain) || len(got) < 1000 {
		t.Errorf("a month: %d records, want the %d of its chain, %v", len(got), len(chain), err)
	}
	if store.most > 1000 {
		t.Errorf("a page has read %d records", store.most)
	}
}

func TestBadFiltersOfTheTrailAreRefused(t *testing.T) {
	o := newOffice(t)
	now := time.Now()
	for _, f := range []alloc.TrailFilter{
		{Month: "2026-13"},
		{Month: "2026"},
		{Month: "2026-11-01"},
		{From: now, Until: now},
		{From: now, Until: now.Add(-time.Second)},
		{Client: alloc.ClientID(make([]byte, 2000))},
	} {
		_, _, err := o.Trail(o.ctx, f, "", 10)
		wantCode(t, err, alloc.CodeInvalidRequest)
		_, _, err = o.TrailAtOnce(o.ctx, f)
		wantCode(t, err, alloc.CodeInvalidRequest)
	}
}

func recordIDs(records []alloc.AuditRecord) (ids []string) {
	for _, r := range records {
		ids = append(ids, r.ID)
	}
	return ids
}

// longTrail is a Store with a trail, the newest record first.
type longTrail struct {
	alloc.Store
	records []alloc.AuditRecord
	reads   int
}

// newLongTrail has so many records, of one client and in one month.
func newLongTrail(store alloc.Store, n int) *longTrail {
	l := &longTrail{Store: store}
	for ; n > 0; n-- {
		at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
		l.records = append(l.records, alloc.AuditRecord{ID: fmt.Sprint(n), At: at, Client: "somebody", Link: alloc.Link{Month: "2026-11", Position: int64(n)}})
	}
	return l
}

func (l *longTrail) Records(_ context.Context, before string, limit int) ([]alloc.AuditRecord, error) {
	l.reads++
	i := sort.Search(len(l.records), func(i int) bool { return before == "" || l.records[i].Place() < before })
	return l.records[i:min(i+limit, len(l.records))], nil
}

// What is given of the trail at once is all or nothing, and what is read for it is bounded.
func TestTheTrailAtOnceIsBounded(t *testing.T) {
	o := newOffice(t)
	all, nobody := alloc.TrailFilter{}, alloc.TrailFilter{Client: "nobody"}
	for what, c := range map[string]struct {
		filter      alloc.TrailFilter
		there       int
		whole       bool
		gives       int
		readsAtMost int
	}{
		"nothing":                       {all, 0, true, 0, 1},
		"as many as it gives":           {all, 5000, true, 5000, 51},
		"as many, by a filter":          {alloc.TrailFilter{Client: "somebody"}, 5000, true, 5000, 51},
		"one more":                      {all, 5001, false, 0, 51},
		"nobody's, up to the bound":     {nobody, 9999, true, 0, 100},
		"nobody's, beyond it":           {nobody, 10_001, false, 0, 100},
		"another month, beyond it":      {alloc.TrailFilter{Month: "2026-12"}, 10_001, true, 0, 1},
		"from a later month, beyond it": {alloc.TrailFilter{From: time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC)}, 10_001, true, 0, 1},
	} {
		store := newLongTrail(o.model, c.there)
		s, err := alloc.NewService(alloc.Config{Store: store, Now: o.clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		got, whole, err := s.TrailAtOnce(o.ctx, c.filter)
		if err != nil || whole != c.whole || len(got) != c.gives || store.reads > c.readsAtMost {
			t.Errorf("%s: %d records, whole %t, in %d reads, %v", what, len(got), whole, store.reads, err)
		}
	}
}
