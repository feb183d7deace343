package alloc_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// The voucher export of a customer: 2,407 codes, 37 repeats, 3 that are no codes, 5 that differ only in case.
func TestSeedOfTheExport(t *testing.T) {
	data, err := os.ReadFile("testdata/codes.csv")
	if err != nil {
		t.Fatal(err)
	}
	entries, _, err := alloc.ReadSeed(data, alloc.SeedFormat{CSV: true})
	if err != nil {
		t.Fatal(err)
	}
	s, m := newPool(t, alloc.PoolConfig{})
	r, err := s.Seed(asAdmin(t.Context()), alloc.SeedRequest{Pool: "vouchers", Entries: entries})
	if err != nil {
		t.Fatal(err)
	}
	if r.Added != 2407 || r.Duplicate != 37 || r.Conflict != 0 || r.Invalid != 3 || r.CaseOnly != 5 {
		t.Errorf("got added %d, duplicate %d, conflict %d, invalid %d, case only %d; want 2407, 37, 0, 3, 5",
			r.Added, r.Duplicate, r.Conflict, r.Invalid, r.CaseOnly)
	}
	if free := m.Census("vouchers")[alloc.StateFree]; free != 2407 {
		t.Errorf("the pool has %d free IDs, want 2407", free)
	}
	if got := len(r.AddedFirst); got != alloc.SeedExamples {
		t.Errorf("got %d examples of added IDs, want %d", got, alloc.SeedExamples)
	}
	if want := (alloc.SeedFinding{Line: 2, ID: "B5UL-C3VL-NBF8"}); r.AddedFirst[0] != want {
		t.Errorf("the first added is %+v, want %+v", r.AddedFirst[0], want)
	}
	invalid := []alloc.SeedFinding{
		{Line: 702, ID: `""`, Reason: "it is empty"},
		{Line: 903, ID: `"ABCD-` + "\uFFFD" + `EFG-HJKL"`, Reason: "it has a character that cannot be seen, U+0007"},
		{Line: 1204, ID: `"` + strings.Repeat("X", 40) + `…"`, Reason: "it is longer than 256 bytes"},
	}
	if diff := cmp.Diff(invalid, r.InvalidFirst); diff != "" {
		t.Errorf("invalid findings (-want +got):\n%s", diff)
	}
	for _, f := range r.CaseFirst {
		if !strings.Contains(f.Reason, "differs only in case from") {
			t.Errorf("the case warning %+v does not say what it is", f)
		}
	}
	for i := 1; i < len(r.DuplicateFirst); i++ {
		if r.DuplicateFirst[i-1].Line >= r.DuplicateFirst[i].Line {
			t.Errorf("duplicates are not in the order of their lines: %+v", r.DuplicateFirst)
		}
	}

	// C32, C33: the same file again adds nothing and takes nothing away.
	again, err := s.Seed(asAdmin(t.Context()), alloc.SeedRequest{Pool: "vouchers", Entries: entries})
	if err != nil {
		t.Fatal(err)
	}
	if again.Added != 0 || again.Duplicate != 2407+37 || again.Invalid != 3 {
		t.Errorf("the file again: got %+v, want all 2444 duplicate", again)
	}
}

func entriesOf(ids ...string) []alloc.SeedEntry {
	var entries []alloc.SeedEntry
	for i, id := range ids {
		entries = append(entries, alloc.SeedEntry{Line: i + 1, Raw: id})
	}
	return entries
}

func TestSeedFindings(t *testing.T) {
	s, _ := newPool(t, alloc.PoolConfig{})
	ctx := asAdmin(t.Context())
	if _, err := s.Seed(ctx, alloc.SeedRequest{Pool: "vouchers", Entries: entriesOf("TAKEN")}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Claim(ctx, alloc.ClaimRequest{Pool: "vouchers", Count: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Seed(ctx, alloc.SeedRequest{Pool: "vouchers", Entries: entriesOf("THERE")}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Seed(ctx, alloc.SeedRequest{Pool: "vouchers", Entries: entriesOf(
		" new ", "TAKEN", "new", "THERE", "\xff", "NEW", "new", "stra\u00dfe", "STRA\u1e9eE", "e\u0301", "\u00e9",
	)})
	if err != nil {
		t.Fatal(err)
	}
	want := alloc.SeedReport{
		Pool: "vouchers", Job: got.Job, Added: 5, Duplicate: 4, Conflict: 1, Invalid: 1, CaseOnly: 2,
		AddedFirst: []alloc.SeedFinding{{1, "new", ""}, {6, "NEW", ""}, {8, "stra\u00dfe", ""}, {9, "STRA\u1e9eE", ""}, {10, "\u00e9", ""}},
		DuplicateFirst: []alloc.SeedFinding{
			{3, "new", "it is on line 1 already"},
			{4, "THERE", "it is in the pool already"},
			{7, "new", "it is on line 1 already"},
			{11, "\u00e9", "it is on line 10 already"},
		},
		ConflictFirst: []alloc.SeedFinding{{2, "TAKEN", "it is in the pool and taken"}},
		InvalidFirst:  []alloc.SeedFinding{{5, "\"\uFFFD\"", "it is not valid UTF-8"}},
		CaseFirst: []alloc.SeedFinding{
			{6, "NEW", "it differs only in case from new on line 1"},
			{9, "STRA\u1e9eE", "it differs only in case from stra\u00dfe on line 8"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestSeedFoldsCase(t *testing.T) {
	s, m := newPool(t, alloc.PoolConfig{FoldCase: true})
	got, err := s.Seed(asAdmin(t.Context()), alloc.SeedRequest{Pool: "vouchers", Entries: entriesOf("abc", "ABC", "Abd")})
	if err != nil {
		t.Fatal(err)
	}
	if got.Added != 2 || got.Duplicate != 1 || got.CaseOnly != 0 || got.AddedFirst[1].ID != "abd" || m.Census("vouchers")[alloc.StateFree] != 2 {
		t.Errorf("got %+v, want abc and abd added, ABC a duplicate and no warning", got)
	}
}

func TestSeedJobs(t *testing.T) {
	s, m := newPool(t, alloc.PoolConfig{})
	seed := func(intent alloc.Token, ids ...string) alloc.SeedReport {
		t.Helper()
		r, err := s.Seed(asAdmin(t.Context()), alloc.SeedRequest{Pool: "vouchers", Entries: entriesOf(ids...), Intent: intent})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first, repeat := seed("k", "1", "2"), seed("k", "1", "2")
	if first.Job != repeat.Job || repeat.Added != 2 {
		t.Errorf("a repeat of an intent is job %s with %+v, want job %s with 2 added", repeat.Job, repeat, first.Job)
	}
	if got := m.Census("vouchers")[alloc.StateFree]; got != 2 {
		t.Errorf("after a repeat of an intent there are %d IDs, want 2", got)
	}
	jobs := map[alloc.JobID]bool{first.Job: true}
	for _, other := range []alloc.SeedReport{
		seed("j", "1", "2"), seed("", "1"), seed("", "1", "3"), seed("", "12"),
	} {
		if jobs[other.Job] {
			t.Errorf("another seeding has the same job %s", other.Job)
		}
		jobs[other.Job] = true
	}
	if repeat := seed("j", "1", "2"); repeat.Duplicate != 2 {
		t.Errorf("another intent's job counts %+v, want 2 duplicates", repeat)
	}
	// Without an intent the job is named after its IDs, so that sending them again goes on with what was cut off.
	keyless, again := seed("", "7", "8"), seed("", "7", " 8 ")
	if keyless.Job != again.Job || keyless.Added != 2 || again.Duplicate != 2 {
		t.Errorf("the same IDs without an intent are %+v and then %+v, want one job, 2 added and then 2 duplicates", keyless, again)
	}
}

// seedStore lets the n-th call of Seed fail.
type seedStore struct {
	alloc.Store
	calls, fails int
	err          error
	short        bool
}

func (s *seedStore) Seed(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
	if len(b.IDs) < 1 || len(b.IDs) > alloc.MaxSeedIDs {
		return nil, alloc.Errorf(alloc.CodeInternal, "a batch of %d", len(b.IDs))
	}
	if s.calls++; s.calls == s.fails {
		return nil, s.err
	}
	outcomes, err := s.Store.Seed(ctx, b)
	if s.short {
		outcomes = outcomes[:len(outcomes)-1]
	}
	return outcomes, err
}

func TestSeedHalfway(t *testing.T) {
	entries := make([]alloc.SeedEntry, 2*alloc.MaxSeedIDs+1)
	for i := range entries {
		entries[i] = alloc.SeedEntry{Line: i + 1, Raw: fmt.Sprint("ID-", i)}
	}
	m := alloctest.NewModel(nil)
	broken := &seedStore{Store: m, fails: 3, err: alloc.Errorf(alloc.CodeThrottled, "too many requests")}
	s := newService(t, broken)
	ctx := asAdmin(t.Context())
	if _, _, err := s.CreatePool(ctx, "vouchers", alloc.PoolConfig{}); err != nil {
		t.Fatal(err)
	}
	request := alloc.SeedRequest{Pool: "vouchers", Entries: entries, Intent: "k"}
	r, err := s.Seed(ctx, request)
	e := wantCode(t, err, alloc.CodeThrottled)
	if !e.Unknown || !strings.Contains(e.Message, "10000 of 10001 IDs") || !strings.Contains(e.Message, "again is safe") {
		t.Errorf("got %+v, want Unknown with the count and the advice", e)
	}
	if r.Added != 10000 {
		t.Errorf("the report counts %d added, want the 10000 of before the error", r.Added)
	}
	r, err = s.Seed(ctx, request)
	if err != nil || r.Added != 10001 || m.Census("vouchers")[alloc.StateFree] != 10001 {
		t.Errorf("the repeat gives %+v, %v; want all 10001 added by the same job", r, err)
	}

	broken.calls, broken.fails = 0, 1
	broken.err = alloc.Errorf(alloc.CodePoolDraining, "the pool is draining")
	if _, err = s.Seed(ctx, request); wantCode(t, err, alloc.CodePoolDraining).Unknown {
		t.Errorf("a refusal of the first batch is reported as unknown")
	}
	broken.fails, broken.short = 0, true
	if _, err = s.Seed(ctx, request); !wantCode(t, err, alloc.CodeInternal).Unknown {
		t.Errorf("missing outcomes are not reported as unknown")
	}
	ended, cancel := context.WithCancel(ctx)
	broken.short = false
	broken.Store = endStore{m, cancel}
	r, err = s.Seed(ended, request)
	if wantCode(t, err, alloc.CodeUnavailable); r.Added != alloc.MaxSeedIDs {
		t.Errorf("the end of the context after one batch leaves %d added, want %d", r.Added, alloc.MaxSeedIDs)
	}
}

// endStore ends the context as soon as a batch is in.
type endStore struct {
	alloc.Store
	end context.CancelFunc
}

func (s endStore) Seed(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
	defer s.end()
	return s.Store.Seed(ctx, b)
}

func TestSeedRefuses(t *testing.T) {
	s, _ := newPool(t, alloc.PoolConfig{})
	ctx := asAdmin(t.Context())
	_, err := s.Seed(ctx, alloc.SeedRequest{Pool: "vouchers"})
	wantCode(t, err, alloc.CodeInvalidRequest)
	_, err = s.Seed(ctx, alloc.SeedRequest{Pool: "nobody", Entries: entriesOf("1")})
	wantCode(t, err, alloc.CodePoolNotFound)
	if _, err := s.SetPoolState(ctx, "vouchers", 0, alloc.PoolDraining); err != nil {
		t.Fatal(err)
	}
	_, err = s.Seed(ctx, alloc.SeedRequest{Pool: "vouchers", Entries: entriesOf("\x00")})
	wantCode(t, err, alloc.CodePoolDraining)
	if r, err := s.Seed(as(t.Context(), "nosy"), alloc.SeedRequest{Pool: "vouchers", Entries: entriesOf("1")}); !alloc.Is(err, alloc.CodeForbidden) || r.Added != 0 {
		t.Errorf("without scope: %+v, %v", r, err)
	}
}

// Every entry is counted once, added IDs are in the pool as the report says, and the first of equal ones wins.
func TestSeedCountsEveryEntryOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s, m := newPool(t, alloc.PoolConfig{FoldCase: rapid.Bool().Draw(rt, "fold")})
		known := alloc.Count(0)
		for range rapid.IntRange(1, 3).Draw(rt, "files") {
			ids := rapid.SliceOfN(rapid.StringMatching(`[ ]?[aAbB\x01é]{0,3}[ ]?`), 1, 60).Draw(rt, "ids")
			r, err := s.Seed(asAdmin(t.Context()), alloc.SeedRequest{Pool: "vouchers", Entries: entriesOf(ids...)})
			if err != nil {
				rt.Fatal(err)
			}
			if sum := r.Added + r.Duplicate + r.Conflict + r.Invalid; sum != alloc.Count(len(ids)) {
				rt.Fatalf("%d outcomes for %d entries: %+v", sum, len(ids), r)
			}
			known += r.Added
			if free := m.Census("vouchers")[alloc.StateFree]; free != known {
				rt.Fatalf("%d IDs are in the pool, %d were added", free, known)
			}
			for _, list := range [][]alloc.SeedFinding{r.AddedFirst, r.DuplicateFirst, r.ConflictFirst, r.InvalidFirst, r.CaseFirst} {
				for i, f := range list {
					if i > 0 && f.Line <= list[i-1].Line || i >= alloc.SeedExamples || f.Line < 1 || f.Line > len(ids) {
						rt.Fatalf("findings out of order: %+v", list)
					}
				}
			}
		}
	})
}
