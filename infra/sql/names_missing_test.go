package sql

import (
	dbsql "database/sql"
	"testing"

	"idpool/alloc"
	"idpool/alloc/generator"
)

// IDs that were counted and are gone are said each time that the rebuild is asked, whatever comes between, and by no other.
func TestRebuildSaysWhatIsMissing(t *testing.T) {
	s, path := storeOn(t)
	filled(t, s, "p", 10)
	missing := func(job alloc.JobID) alloc.Count {
		t.Helper()
		done, err := s.RebuildPool(t.Context(), alloc.PoolRebuildOrder{Pool: "p", Job: job})
		if err != nil {
			t.Fatal(err)
		}
		return done.Tally.Missing
	}
	want := func(job alloc.JobID, want alloc.Count) {
		t.Helper()
		if got := missing(job); got != want {
			t.Errorf("%s: got %d missing, want %d", job, got, want)
		}
	}
	want("whole", 0)
	past(t, path, "ids", `DELETE FROM ids WHERE id IN ('id-00001', 'id-00002')`)
	want("first", 2)
	want("first", 2)
	past(t, path, "ids", `DELETE FROM ids WHERE id = 'id-00003'`)
	want("first", 3)
	want("first", 3)
	want("next", 0)
	// Where the counts are lost as well, the last sample knows.
	sweepOut(t, s, "p")
	byHand(t, path, func(db *dbsql.DB) error {
		_, err := db.ExecContext(t.Context(), `DELETE FROM levels`)
		return err
	})
	past(t, path, "ids", `DELETE FROM ids WHERE id = 'id-00004'`)
	want("last", 1)
	want("last", 1)
	wantCounts(t, s, path, "p")
}

// In a pool that forgets, what is gone without a trace counts as forgotten, and is said as far as the counts know of it.
func TestRebuildSaysWhatIsMissingFromAPoolThatForgets(t *testing.T) {
	s, path := storeOn(t)
	forgetting(t, s, "a", "b", "c", "d")
	claimed(t, s, one("p"))
	past(t, path, "ids", `DELETE FROM ids WHERE id = 'd'`)
	for range 2 {
		done, err := s.RebuildPool(t.Context(), alloc.PoolRebuildOrder{Pool: "p", Job: "r"})
		if err != nil || done.Tally != (alloc.Tally{Free: 2, Missing: 1}) {
			t.Errorf("rebuild: got %+v and %v, want one missing", done, err)
		}
	}
	if l, err := s.Level(t.Context(), "p"); err != nil || l.Seeded != 4 || l.Forgotten != 2 {
		t.Errorf("level: got %+v and %v, want 4 seeded, 2 forgotten", l, err)
	}
}

// A row that cannot be read hides no other pool. A rebuild takes its generator from the copy, or leaves it out.
func TestAGeneratorThatCannotBeReadDamagesItsPoolAlone(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(t testing.TB, path, query string)
		want generator.Kind
	}{
		"with a copy":    {func(t testing.TB, path, query string) { past(t, path, "pools", query) }, "ulid"},
		"without a copy": {func(t testing.TB, path, query string) { edit(t, path, query) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, path := storeOn(t)
			config := alloc.PoolConfig{Marks: alloc.Marks{Low: 1, Target: 2}}.WithDefaults()
			config.Generator.Kind = "ulid"
			if _, _, err := s.CreatePool(t.Context(), "broken", config); err != nil {
				t.Fatal(err)
			}
			filled(t, s, "p", 1)
			c.harm(t, path, `UPDATE pools SET generator = '{"kind":1}' WHERE name = 'broken'`)
			listed, err := s.ListPools(t.Context(), "", 10)
			if err != nil || len(listed) != 2 || listed[0].State != alloc.PoolDamaged || listed[1].State != alloc.PoolActive {
				t.Errorf("list: got %+v and %v, want the first damaged", listed, err)
			}
			wantCode(t, second(s.Pool(t.Context(), "broken")), alloc.CodePoolDamaged)
			wantCode(t, second(s.Claim(t.Context(), one("broken"))), alloc.CodePoolDamaged)
			if found := audited(t, s, "broken"); len(found) != 1 || found[0].Kind != alloc.FindHead {
				t.Errorf("audit: got %+v, want a damaged head", found)
			}
			if e, err := s.PoolEvidence(t.Context(), "broken"); err != nil || e.Head || !e.Configured || len(e.Damage) != 1 {
				t.Errorf("evidence: got %+v and %v", e, err)
			}
			if _, err := s.RebuildPool(t.Context(), alloc.PoolRebuildOrder{Pool: "broken", Job: "r"}); err != nil {
				t.Fatal(err)
			}
			config.Generator.Kind = c.want
			if p, err := s.Pool(t.Context(), "broken"); err != nil || p.Config != config {
				t.Errorf("rebuilt: got %+v and %v, want %+v", p, err, config)
			}
			wantCopies(t, path)
		})
	}
}
