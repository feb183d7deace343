package sql

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// The suites wait for the disk most of the time, so they do it together.

func TestConformance(t *testing.T) {
	t.Parallel()
	alloctest.Run(t, newFixture)
}

func TestModel(t *testing.T) {
	t.Parallel()
	alloctest.RunModel(t, newFixture)
}

func TestLinearizable(t *testing.T) {
	t.Parallel()
	alloctest.RunLinearizable(t, newFixture)
}

func TestTimeTravels(t *testing.T) {
	t.Parallel()
	alloctest.RunTimeTravels(t, alloctest.TimeTravels{Runs: 10}, newFixture)
}

// empty is the content of a database that was just made, which is quicker to write than to make.
var empty = sync.OnceValues(func() ([]byte, error) {
	folder, err := os.MkdirTemp("", "idpool-sql-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "idpool.db")
	s, err := OpenSQLite(context.Background(), Config{Path: path})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// newFixture is a database file of its own.
func newFixture(t *testing.T) alloctest.Fixture {
	path := newFile(t)
	content, err := empty()
	if err == nil {
		err = os.WriteFile(path, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return fixtureAt(path)
}

// fixtureAt is the database in the file.
func fixtureAt(path string) alloctest.Fixture {
	return alloctest.Fixture{
		Open: func(t testing.TB, now func() time.Time) alloc.Store { return openAt(t, Config{Path: path, Now: now}) },
		Census: func(t testing.TB, pool alloc.PoolName) map[alloc.State]alloc.Count {
			return census(t, path, pool)
		},
		SetCounter: func(t testing.TB, name alloc.SequenceName, next alloc.Number) {
			edit(t, path, `UPDATE counters SET position = $2 WHERE sequence = (SELECT sequence FROM sequences WHERE name = $1)`,
				name, int64(next)-1)
		},
		DropCounter: func(t testing.TB, name alloc.SequenceName) {
			edit(t, path, `DELETE FROM counters WHERE sequence = (SELECT sequence FROM sequence_names WHERE name = $1)`, name)
			past(t, path, "sequences", `DELETE FROM sequences WHERE name = $1`, name)
		},
		Damage:   func(t testing.TB, d alloctest.Damage) bool { return damage(t, path, d) },
		Snapshot: func(t testing.TB) func(t testing.TB) { return snapshot(t, path) },
		Clone: func(t testing.TB) alloctest.Fixture {
			kept := newFile(t)
			edit(t, path, `VACUUM INTO $1`, kept)
			return fixtureAt(kept)
		},
	}
}
