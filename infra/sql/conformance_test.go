package sql

import (
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

func TestConformance(t *testing.T) { alloctest.Run(t, newFixture) }

func TestModel(t *testing.T) { alloctest.RunModel(t, newFixture) }

func TestLinearizable(t *testing.T) { alloctest.RunLinearizable(t, newFixture) }

// newFixture is a database file of its own.
func newFixture(t *testing.T) alloctest.Fixture {
	path := newFile(t)
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
			edit(t, path, `DELETE FROM counters WHERE sequence = (SELECT sequence FROM sequences WHERE name = $1)`, name)
		},
	}
}
