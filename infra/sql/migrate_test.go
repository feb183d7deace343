package sql

import (
	dbsql "database/sql"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
)

// schema makes a database as the program of that schema left it, if it has grown from schema 1.
func schema(t *testing.T, version int) (path string) {
	t.Helper()
	path = newFile(t)
	steps, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	byHand(t, path, func(db *dbsql.DB) error {
		conn, err := db.Conn(t.Context())
		if err != nil {
			return err
		}
		defer conn.Close()
		for v := 1; v <= version; v++ {
			rows, err := os.ReadFile(fmt.Sprintf("testdata/schema%d.sql", v))
			if err != nil {
				return err
			}
			if err := migrate(t.Context(), conn, steps[:v]); err != nil {
				return err
			}
			if _, err := conn.ExecContext(t.Context(), string(rows)); err != nil {
				return err
			}
		}
		return nil
	})
	return path
}

func TestSchema1ComesThrough(t *testing.T) {
	path := schema(t, 1)
	before := map[alloc.PoolName]map[alloc.State]alloc.Count{}
	for _, pool := range []alloc.PoolName{"keeps", "forgets", "gone"} {
		before[pool] = census(t, path, pool)
	}
	now := time.Unix(1_800_000_100, 0)
	s := openAt(t, Config{Path: path, Now: func() time.Time { return now }})
	for pool, want := range before {
		if got := census(t, path, pool); got[alloc.StateFree] != 3 || got[alloc.StateClaimed] != want[alloc.StateClaimed] {
			t.Errorf("%s: got %v, want %v", pool, got, want)
		}
	}
	p, err := s.Pool(t.Context(), "forgets")
	want := alloc.PoolConfig{Policy: alloc.PolicyForget, FoldCase: true, MaxBatch: 7, OnRelease: alloc.ReleaseReturns}
	if err != nil || p.Config != want {
		t.Errorf("configuration: got %+v and %v, want %+v", p.Config, err, want)
	}
	q, err := s.Sequence(t.Context(), "invoices")
	if err != nil || q.Next != 115 || q.Config.RequireKey {
		t.Errorf("sequence: got %+v and %v, want it at 115, with no key demanded", q, err)
	}
	key := func(operation, resource string) *alloc.Key {
		return alloc.NewKey("old", operation, resource, "k", "print")
	}
	c, err := s.Claim(t.Context(), alloc.ClaimOrder{Pool: "keeps", Count: 3, By: "old", Key: key("claim", "pool/keeps")})
	if err != nil || !c.Replayed || c.State != alloc.StateClaimed || !slices.Equal(c.IDs, []alloc.ID{"keeps-2", "keeps-3", "keeps-4"}) || c.Ended != nil {
		t.Errorf("repeat of an old claim: got %+v and %v", c, err)
	}
	r, err := s.Lease(t.Context(), alloc.LeaseOrder{Sequence: "invoices", Count: 5, By: "old", Key: key("lease", "sequence/invoices")})
	if err != nil || !r.Replayed || r.Start != 110 || r.End != 114 {
		t.Errorf("repeat of an old lease: got %+v and %v", r, err)
	}
	old, err := s.Inspect(t.Context(), "keeps", "keeps-0")
	if err != nil || old.Owner != "ann" || old.Metadata["order"] != "4711" || !old.HeldUntil.IsZero() {
		t.Errorf("an old ID: got %+v and %v", old, err)
	}
	// What was claimed before there were ways back can go them.
	settle(t, s, alloc.EventRelease, "keeps", old.Token, "keeps-0")
	settle(t, s, alloc.EventRetire, "keeps", old.Token, "keeps-1")
	sweepOut(t, s, "keeps")
	wantCounts(t, s, path, "keeps")
	if l, err := s.Level(t.Context(), "keeps"); err != nil || l.Available != 4 || l.Retired != 1 || l.Claimed != 3 {
		t.Errorf("level: got %+v and %v, want 4 free, 1 retired, 3 claimed", l, err)
	}
	now = now.Add(alloc.KeyRetention)
	sweepOut(t, s, "forgets")
	wantCounts(t, s, path, "forgets")
	if l, err := s.Level(t.Context(), "forgets"); err != nil || l.Available != 3 || l.Forgotten != 5 {
		t.Errorf("level: got %+v and %v, want 3 free, 5 forgotten", l, err)
	}
}

func TestSchema2ComesThrough(t *testing.T) {
	path := schema(t, 2)
	now := time.Unix(1_800_000_100, 0)
	s := openAt(t, Config{Path: path, Now: func() time.Time { return now }})
	p, err := s.Pool(t.Context(), "licences")
	want := alloc.PoolConfig{Policy: alloc.PolicyKeep, MaxBatch: 100, OnRelease: alloc.ReleaseRetires, RequireKey: true}
	if err != nil || p.Config != want || p.Version != 3 {
		t.Errorf("pool: got %+v and %v, want %+v at version 3", p, err, want)
	}
	done := alloc.Job{
		ID: "06O8S6VK00BEAIQ59QGKI6LI8K", Kind: alloc.JobExport, Pool: "keeps", Format: "csv", By: "old", State: alloc.JobDone, Version: 3,
		Created: moment(1800000022000000000), Updated: moment(1800000024000000000), Done: 8, Parts: 1,
	}
	if got, err := s.Job(t.Context(), done.ID); err != nil || !got.Equal(done) {
		t.Errorf("job: got %+v and %v, want %+v", got, err, done)
	}
	if part, err := s.Part(t.Context(), done.ID, 0); err != nil || string(part.Data) != "id\n" || part.IDs != 8 || part.Tally != (alloc.Tally{}) {
		t.Errorf("part: got %+v and %v", part, err)
	}
	open, err := s.OpenJobs(t.Context(), "", 10)
	if err != nil || len(open) != 1 || open[0].State != alloc.JobRunning || open[0].Mark != "keeps-5" {
		t.Fatalf("open jobs: got %+v and %v, want the one that runs", open, err)
	}
	open[0].State, open[0].Log = alloc.JobCancelled, []alloc.JobEvent{{At: now.UTC(), Text: "cancelled"}}
	if _, err := s.ChangeJob(t.Context(), 2, open[0]); err != nil {
		t.Errorf("a step of it: %v", err)
	}
	if r, err := s.Refill(t.Context(), "licences"); err != nil || r.Version != 0 {
		t.Errorf("refill: got %+v and %v, want none", r, err)
	}
	c := alloc.PoolConfig{OnRelease: alloc.ReleaseRetires, Marks: alloc.Marks{Low: 10, Target: 20}}.WithDefaults()
	c.Generator.Kind = "ulid"
	if p, err := s.ChangePool(t.Context(), "licences", 3, c); err != nil || p.Config != c {
		t.Errorf("change: got %+v and %v, want %+v", p, err, c)
	}
	if p, err := s.Pool(t.Context(), "licences"); err != nil || p.Config != c {
		t.Errorf("after it: got %+v and %v, want %+v", p, err, c)
	}
	sweepOut(t, s, "licences")
	wantCounts(t, s, path, "licences")
	if l, err := s.Level(t.Context(), "licences"); err != nil || l.Available != 2 || l.Retired != 1 {
		t.Errorf("level: got %+v and %v, want 2 free, 1 retired", l, err)
	}
}

// The schema is the same whether a database grew into it or was made with it.
func TestOldAndNewHaveOneSchema(t *testing.T) {
	const all = `SELECT group_concat(type || ' ' || name || ' ' || sql, char(10)) FROM (SELECT * FROM sqlite_schema ORDER BY name)`
	_, made := storeOn(t)
	for version := 1; version <= 4; version++ {
		grown := schema(t, version)
		openAt(t, Config{Path: grown})
		if got, want := ask[string](t, grown, all), ask[string](t, made, all); got != want {
			t.Errorf("from %d: got the schema\n%s\nwant\n%s", version, got, want)
		}
		for _, check := range []string{`PRAGMA integrity_check`, `SELECT coalesce((SELECT "table" FROM pragma_foreign_key_check), 'ok')`} {
			if got := ask[string](t, grown, check); got != "ok" {
				t.Errorf("from %d: %s: got %s", version, check, got)
			}
		}
	}
}

// The place of a step is the schema that it leads to. A file that sorts before another one of its number takes that one's place, and a database
// of that schema is not brought up to date, or not at all.
func TestEachStepHasItsOwnNumber(t *testing.T) {
	files, err := fs.Glob(sqliteFiles, "sqlite/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for i, file := range files {
		if want := fmt.Sprintf("sqlite/%04d_", i+1); !strings.HasPrefix(file, want) {
			t.Errorf("step %d is %s, want a name that begins with %s", i+1, file, want)
		}
	}
}
