package sql

import (
	dbsql "database/sql"
	"os"
	"slices"
	"testing"
	"time"

	"idpool/alloc"
)

// schema1 makes a database as the program of schema 1 left it.
func schema1(t *testing.T) (path string) {
	t.Helper()
	path = newFile(t)
	steps, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	rows, err := os.ReadFile("testdata/schema1.sql")
	if err != nil {
		t.Fatal(err)
	}
	byHand(t, path, func(db *dbsql.DB) error {
		conn, err := db.Conn(t.Context())
		if err != nil {
			return err
		}
		defer conn.Close()
		if err := migrate(t.Context(), conn, steps[:1]); err != nil {
			return err
		}
		_, err = conn.ExecContext(t.Context(), string(rows))
		return err
	})
	return path
}

func TestSchema1ComesThrough(t *testing.T) {
	path := schema1(t)
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

// The schema is the same whether a database grew into it or was made with it.
func TestOldAndNewHaveOneSchema(t *testing.T) {
	const all = `SELECT group_concat(type || ' ' || name || ' ' || sql, char(10)) FROM (SELECT * FROM sqlite_schema ORDER BY name)`
	grown := schema1(t)
	openAt(t, Config{Path: grown})
	_, made := storeOn(t)
	if got, want := ask[string](t, grown, all), ask[string](t, made, all); got != want {
		t.Errorf("got the schema\n%s\nwant\n%s", got, want)
	}
	if got := ask[string](t, grown, `PRAGMA integrity_check`); got != "ok" {
		t.Errorf("integrity: got %s", got)
	}
}
