package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// engine is a store with its data, which outlives the programs that a test starts on it.
type engine interface {
	flags() []string  // with which the program uses it
	crash(testing.TB) // it is killed and started again; nothing where it is part of the program

	// While no program uses it:
	snapshot(testing.TB) engine                // a copy of all that is there, as a restored backup is
	old() string                               // how a program on the copy names this one with -old
	loseCounter(t testing.TB, sequence string) // the position of the sequence is deleted
	loseHead(t testing.TB, pool string)        // what the pool's IDs are handed out by is deleted; they themselves stay
}

// sqlite is part of the program; its data is in a folder.
type sqlite struct{ dir string }

func newSQLite(t testing.TB) engine { return sqlite{t.TempDir()} }

func (s sqlite) flags() []string { return []string{"-data", s.dir} }

func (s sqlite) crash(testing.TB) {}

func (s sqlite) snapshot(t testing.TB) engine {
	copied := sqlite{t.TempDir()}
	if err := os.CopyFS(copied.dir, os.DirFS(s.dir)); err != nil {
		t.Fatal(err)
	}
	return copied
}

func (s sqlite) old() string { return s.dir }

func (s sqlite) exec(t testing.TB, query string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(s.dir, sqliteFile))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}

func (s sqlite) loseCounter(t testing.TB, sequence string) {
	s.exec(t, `DELETE FROM counters WHERE sequence = (SELECT sequence FROM sequences WHERE name = $1)`, sequence)
}

func (s sqlite) loseHead(t testing.TB, pool string) {
	s.exec(t, `DELETE FROM levels WHERE pool = (SELECT pool FROM pools WHERE name = $1)`, pool)
	s.exec(t, `DROP TRIGGER pools_are_kept`)
	s.exec(t, `DELETE FROM pools WHERE name = $1`, pool)
}

// onEachEngine runs the test on every store that this build has, on all at once: they wait for the disk, mostly.
func onEachEngine(t *testing.T, test func(*testing.T, engine)) {
	for name, open := range engines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}
