package sql

import (
	"context"
	dbsql "database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"idpool/alloc"
)

// openAt opens a Store on the file; it is closed with the test.
func openAt(t testing.TB, c Config) *Store {
	t.Helper()
	s, err := OpenSQLite(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// newFile names a database file that is not there yet.
func newFile(t testing.TB) string { return filepath.Join(t.TempDir(), "idpool.db") }

// byHand opens a connection of the test's own to the file, past any Store, for as long as do runs.
func byHand(t testing.TB, path string, do func(db *dbsql.DB) error) {
	t.Helper()
	db, err := connect(path, 1, url.Values{"_pragma": {"busy_timeout(10000)"}, "_txlock": {"immediate"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(do(db), db.Close()); err != nil {
		t.Fatal(err)
	}
}

// edit changes the file by hand.
func edit(t testing.TB, path, query string, args ...any) {
	t.Helper()
	byHand(t, path, func(db *dbsql.DB) error {
		_, err := db.ExecContext(context.Background(), query, args...)
		return err
	})
}

// ask reads one value from the file by hand.
func ask[T any](t testing.TB, path, query string, args ...any) (v T) {
	t.Helper()
	byHand(t, path, func(db *dbsql.DB) error { return db.QueryRowContext(context.Background(), query, args...).Scan(&v) })
	return v
}

// census counts the pool's IDs by state, row by row.
func census(t testing.TB, path string, pool alloc.PoolName) map[alloc.State]alloc.Count {
	t.Helper()
	counts := map[alloc.State]alloc.Count{}
	byHand(t, path, func(db *dbsql.DB) error {
		rows, err := db.QueryContext(context.Background(), `SELECT ids.state, count(*) FROM ids JOIN pools USING (pool) WHERE name = $1 GROUP BY 1`, pool)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var state alloc.State
			var n alloc.Count
			if err := rows.Scan(&state, &n); err != nil {
				return err
			}
			counts[state] = n
		}
		return rows.Err()
	})
	return counts
}

// storeOn opens a Store with defaults on a new file.
func storeOn(t testing.TB) (*Store, string) {
	t.Helper()
	path := newFile(t)
	return openAt(t, Config{Path: path}), path
}

// filled makes a pool of n IDs, id-00000 and so on.
func filled(t testing.TB, s *Store, pool alloc.PoolName, n int) {
	t.Helper()
	config := alloc.PoolConfig{MaxBatch: alloc.MaxBatchLimit}.WithDefaults()
	if _, _, err := s.CreatePool(t.Context(), pool, config); err != nil {
		t.Fatal(err)
	}
	var ids []alloc.ID
	for i := range n {
		ids = append(ids, alloc.ID(fmt.Sprintf("id-%05d", i)))
	}
	for batch := range slices.Chunk(ids, alloc.MaxSeedIDs) {
		if _, err := s.Seed(t.Context(), alloc.SeedBatch{Pool: pool, Job: "fill", IDs: batch}); err != nil {
			t.Fatal(err)
		}
	}
}

// one is an order of one ID.
func one(pool alloc.PoolName) alloc.ClaimOrder {
	return alloc.ClaimOrder{Pool: pool, Count: 1, By: "test"}
}

// wantCode stops the test unless err is an *alloc.Error with the code, and returns it.
func wantCode(t testing.TB, err error, code alloc.Code) *alloc.Error {
	t.Helper()
	e, ok := errors.AsType[*alloc.Error](err)
	if !ok || e.Code != code {
		t.Fatalf("got %v, want %s", err, code)
	}
	return e
}

// held is an order of n IDs with a hold.
func held(pool alloc.PoolName, n alloc.Count, hold time.Duration) alloc.ClaimOrder {
	return alloc.ClaimOrder{Pool: pool, Count: n, By: "test", Hold: hold}
}

// claimed claims what must be there.
func claimed(t testing.TB, s *Store, o alloc.ClaimOrder) alloc.Claim {
	t.Helper()
	c, err := s.Claim(t.Context(), o)
	if err != nil {
		t.Fatalf("claim: %v", err)
	}
	return c
}

// settle does what must be possible, and again: the repeat has the same answer.
func settle(t testing.TB, s *Store, e alloc.Event, pool alloc.PoolName, token alloc.Token, ids ...alloc.ID) alloc.State {
	t.Helper()
	o := alloc.SettleOrder{Pool: pool, Event: e, IDs: ids, Token: token}
	first, err := s.Settle(t.Context(), o)
	if err != nil {
		t.Fatalf("%s %v: %v", e, ids, err)
	}
	again, err := s.Settle(t.Context(), o)
	if err != nil || again.State != first.State {
		t.Fatalf("%s %v again: got %+v and %v, first %+v", e, ids, again, err, first)
	}
	return first.State
}

// sweepOut sweeps the pool until there is no more.
func sweepOut(t testing.TB, s *Store, pool alloc.PoolName) {
	t.Helper()
	for {
		report, err := s.Sweep(t.Context(), pool)
		if err != nil {
			t.Fatalf("sweep: %v", err)
		}
		if !report.More {
			return
		}
	}
}

// wantCounts holds the pool's level against its rows.
func wantCounts(t testing.TB, s *Store, path string, pool alloc.PoolName) {
	t.Helper()
	l, err := s.Level(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	c := census(t, path, pool)
	got := alloc.Level{
		Available: c[alloc.StateFree], Held: c[alloc.StateHeld], Claimed: c[alloc.StateClaimed],
		Returning: c[alloc.StateReturning], Retired: c[alloc.StateRetired],
		Seeded: l.Seeded, Forgotten: l.Forgotten, CountedAt: l.CountedAt,
	}
	if got != l {
		t.Errorf("level: got %+v, the rows are %v", l, c)
	}
	if sum := l.Available + l.Held + l.Claimed + l.Returning + l.Retired + l.Forgotten; sum != l.Seeded {
		t.Errorf("level: got %+v, which adds up to %d, want %d", l, sum, l.Seeded)
	}
}
