package sql

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
)

// auditAll makes all steps of an audit, each twice: what it finds is the same.
func auditAll(t testing.TB, next func(step string) (alloc.AuditStep, error)) (all alloc.AuditStep) {
	t.Helper()
	for step := ""; ; {
		s, err := next(step)
		if err != nil {
			t.Fatalf("audit, step %q: %v", step, err)
		}
		all.Done += s.Done
		all.Findings = append(all.Findings, s.Findings...)
		for _, count := range []struct {
			to   *alloc.Count
			from alloc.Count
		}{
			{&all.Tally.Free, s.Tally.Free},
			{&all.Tally.Held, s.Tally.Held},
			{&all.Tally.Claimed, s.Tally.Claimed},
			{&all.Tally.Returning, s.Tally.Returning},
			{&all.Tally.Retired, s.Tally.Retired},
		} {
			*count.to += count.from
		}
		if s.Next == "" {
			return all
		}
		if s.Next == step {
			t.Fatalf("audit: step %q does not go on", step)
		}
		step = s.Next
	}
}

func auditPool(t testing.TB, s *Store, pool alloc.PoolName, sample int) alloc.AuditStep {
	t.Helper()
	return auditAll(t, func(step string) (alloc.AuditStep, error) {
		return s.AuditPool(t.Context(), pool, alloc.AuditOrder{Job: "audit", Step: step, Sample: sample})
	})
}

func auditSequence(t testing.TB, s *Store, name alloc.SequenceName, sample int) alloc.AuditStep {
	t.Helper()
	return auditAll(t, func(step string) (alloc.AuditStep, error) {
		return s.AuditSequence(t.Context(), name, alloc.AuditOrder{Job: "audit", Step: step, Sample: sample})
	})
}

// audited is what a whole audit of a pool finds.
func audited(t testing.TB, s *Store, pool alloc.PoolName) []alloc.Finding {
	t.Helper()
	return auditPool(t, s, pool, 100).Findings
}

// plant is a fault that somebody does to a healthy system, and what an audit finds of it.
type plant struct {
	table, query string
	want         []alloc.Finding // without their details
}

// Every kind of finding that there can be here is found, once, and nothing else.
func TestAuditOfAPoolFindsWhatIsPlanted(t *testing.T) {
	const on = ` WHERE id = 'id-00003'`
	finding := func(kind alloc.FindingKind, on string, remedy alloc.Remedy) []alloc.Finding {
		return []alloc.Finding{{Kind: kind, On: on, Remedy: remedy}}
	}
	counts := finding(alloc.FindCounts, "p", alloc.RemedyRebuild)
	damagedID := finding(alloc.FindDamagedID, "id-00003", alloc.RemedyNone)
	for name, p := range map[string]plant{
		"nothing":                             {"pools", `UPDATE pools SET pool = pool`, nil},
		"the counts are lost":                 {"levels", `DELETE FROM levels`, finding(alloc.FindHead, "p", alloc.RemedyRebuild)},
		"one more is counted as seeded":       {"levels", `UPDATE levels SET n_seeded = n_seeded + 1`, counts},
		"one is counted as forgotten":         {"levels", `UPDATE levels SET n_seeded = n_seeded + 1, n_forgotten = n_forgotten + 1`, counts},
		"a free one is counted as claimed":    {"levels", `UPDATE levels SET n_free = n_free - 1, n_claimed = n_claimed + 1`, counts},
		"a retired one is counted as held":    {"levels", `UPDATE levels SET n_retired = n_retired - 1, n_held = n_held + 1`, counts},
		"a returning one is not counted":      {"levels", `UPDATE levels SET n_returning = n_returning - 1`, counts},
		"a free ID is removed":                {"ids", `DELETE FROM ids WHERE id = 'id-00005'`, counts},
		"a free ID is made claimed":           {"ids", `UPDATE ids SET state = 'claimed', token = 't' WHERE id = 'id-00005'`, counts},
		"metadata is no JSON":                 {"ids", `UPDATE ids SET metadata = '{[1'` + on, damagedID},
		"metadata is of another form":         {"ids", `UPDATE ids SET metadata = '[1]'` + on, damagedID},
		"a token is lost":                     {"ids", `UPDATE ids SET token = ''` + on, damagedID},
		"a generation is below 0":             {"ids", `UPDATE ids SET generation = -1` + on, damagedID},
		"a free ID has an owner's token":      {"ids", `UPDATE ids SET token = 't' WHERE id = 'id-00005'`, finding(alloc.FindDamagedID, "id-00005", alloc.RemedyNone)},
		"a hold is past its time":             {"ids", `UPDATE ids SET hold_until = 1` + on, finding(alloc.FindOverdueHold, "id-00003", alloc.RemedySweep)},
		"a key's IDs cannot be read":          {"claim_keys", `UPDATE claim_keys SET ids = '{' WHERE hash = $1`, finding(alloc.FindKey, "", alloc.RemedyNone)},
		"a key names an ID that is not there": {"claim_keys", `UPDATE claim_keys SET ids = '["id-00000","other"]' WHERE hash = $1`, finding(alloc.FindKey, "", alloc.RemedyNone)},
		"a key names an ID that is free":      {"claim_keys", `UPDATE claim_keys SET ids = '["id-00005"]' WHERE hash = $1`, finding(alloc.FindKey, "", alloc.RemedyNone)},
		"a key's token is another":            {"claim_keys", `UPDATE claim_keys SET token = 't' WHERE hash = $1`, finding(alloc.FindKey, "", alloc.RemedyNone)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, path := storeOn(t)
			filled(t, s, "p", 8)
			first := keyed(3, "k") // id-00000 to 2
			c := claimed(t, s, first)
			claimed(t, s, held("p", 1, time.Hour)) // id-00003
			back := claimed(t, s, keyed(1, "back"))
			settle(t, s, alloc.EventRelease, "p", back.Token, back.IDs...)
			settle(t, s, alloc.EventRetire, "p", c.Token, c.IDs[2])
			var args []any
			for i := range p.want {
				if p.want[i].Kind == alloc.FindKey {
					p.want[i].On, args = first.Key.Hash, []any{first.Key.Hash}
				}
			}
			if past(t, path, p.table, p.query, args...) != 1 {
				t.Fatal("nothing was planted")
			}
			got := audited(t, s, "p")
			for i := range got {
				if got[i].Detail == "" {
					t.Errorf("got %+v, want it in words too", got[i])
				}
				got[i].Detail = ""
			}
			if diff := cmp.Diff(p.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAuditOfASequenceFindsWhatIsPlanted(t *testing.T) {
	finding := func(kind alloc.FindingKind, on string, remedy alloc.Remedy) []alloc.Finding {
		return []alloc.Finding{{Kind: kind, On: on, Remedy: remedy}}
	}
	const second = "00000000000000000011"
	counter := finding(alloc.FindCounter, "q", alloc.RemedyRebuild)
	for name, p := range map[string]plant{
		"nothing":                           {"sequences", `UPDATE sequences SET version = version`, nil},
		"the counter is lost":               {"counters", `DELETE FROM counters`, counter},
		"the counter is behind":             {"counters", `UPDATE counters SET position = 25`, append(counter[:1:1], finding(alloc.FindMark, "q", alloc.RemedyRebuild)...)},
		"the mark is above the counter":     {"marks", `UPDATE marks SET high = 31`, finding(alloc.FindMark, "q", alloc.RemedyRebuild)},
		"a lease is above the counter":      {"leases", `INSERT INTO leases VALUES (1, 41, 50, 't', 'c', 0, 7, 1, 0, NULL)`, counter},
		"a carried lease is above it":       {"leases", `INSERT INTO leases VALUES (1, 41, 50, 't', 'c', 0, 7, 0, 1, NULL)`, counter},
		"a lease says not whose it is":      {"leases", `UPDATE leases SET token = '' WHERE low = 11`, finding(alloc.FindLease, second, alloc.RemedyNone)},
		"a lease overlaps one before":       {"leases", `UPDATE leases SET high = 11 WHERE low = 1`, finding(alloc.FindOverlap, second, alloc.RemedyNone)},
		"a lease lies in two before":        {"leases", `UPDATE leases SET high = 30 WHERE low = 1`, append(finding(alloc.FindOverlap, second, alloc.RemedyNone), finding(alloc.FindOverlap, "00000000000000000021", alloc.RemedyNone)...)},
		"an unproven lease overlaps":        {"leases", `INSERT INTO leases VALUES (1, 5, 8, 't', 'c', 0, 1, 0, 1, NULL)`, nil},
		"a lease ends above the limit":      {"sequences", `UPDATE sequences SET last_number = 29`, finding(alloc.FindLease, "00000000000000000021", alloc.RemedyNone)},
		"a lease starts below the sequence": {"sequences", `UPDATE sequences SET first_number = 2`, finding(alloc.FindLease, "00000000000000000001", alloc.RemedyNone)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, path := storeOn(t)
			if _, _, err := s.CreateSequence(t.Context(), "q", alloc.SequenceConfig{}.WithDefaults()); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if _, err := s.Lease(t.Context(), alloc.LeaseOrder{Sequence: "q", Count: 10}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := s.Watch(t.Context(), "q"); err != nil {
				t.Fatal(err)
			}
			if past(t, path, p.table, p.query) != 1 {
				t.Fatal("nothing was planted")
			}
			got := auditSequence(t, s, "q", 100).Findings
			for i := range got {
				got[i].Detail = ""
			}
			if diff := cmp.Diff(p.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// A part of the IDs is always the same part, and the parts of all percents are all.
func TestAuditOfASample(t *testing.T) {
	s, _ := storeOn(t)
	filled(t, s, "p", 2500)
	if got := auditPool(t, s, "p", 100); got.Done != 2500 || got.Tally.Free != 2500 || got.Findings != nil {
		t.Errorf("all: got %+v, want 2500 free IDs and no findings", got)
	}
	half := auditPool(t, s, "p", 50)
	if half.Done < 1000 || half.Done > 1500 || auditPool(t, s, "p", 50).Done != half.Done {
		t.Errorf("half: got %d, want about 1250, and the same again", half.Done)
	}
	if _, err := s.AuditPool(t.Context(), "p", alloc.AuditOrder{Step: "elsewhere", Sample: 100}); !alloc.Is(err, alloc.CodeInvalidRequest) {
		t.Errorf("a step that there is not: got %v", err)
	}
	if _, err := s.AuditPool(t.Context(), "other", alloc.AuditOrder{Sample: 100}); !alloc.Is(err, alloc.CodePoolNotFound) {
		t.Errorf("a pool that there is not: got %v", err)
	}
}

// Whatever goes on at the same time, an audit of what is healthy finds nothing.
func TestAuditUnderLoadFindsNothing(t *testing.T) {
	t.Parallel()
	s, path := storeOn(t)
	filled(t, s, "p", 3000)
	if _, _, err := s.CreateSequence(t.Context(), "q", alloc.SequenceConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var callers sync.WaitGroup
	for i := range 3 {
		callers.Go(func() {
			for n := i; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				r := round{s: s}
				if err := r.calls(n); err != nil && !mayRepeat(err) && !alloc.Is(err, alloc.CodePoolExhausted) {
					t.Errorf("a caller: %v", err)
					return
				}
				if _, err := s.Watch(t.Context(), "q"); err != nil {
					t.Errorf("watch: %v", err)
				}
			}
		})
	}
	for range 20 {
		if got := audited(t, s, "p"); got != nil {
			t.Errorf("pool: got %+v, want nothing", got)
		}
		if got := auditSequence(t, s, "q", 100).Findings; got != nil {
			t.Errorf("sequence: got %+v, want nothing", got)
		}
	}
	close(done)
	callers.Wait()
	wantCounts(t, s, path, "p")
}
