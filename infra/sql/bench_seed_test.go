package sql

import (
	"context"
	"crypto/rand"
	dbsql "database/sql"
	"testing"

	"idpool/alloc"
)

// seedStep is how many IDs a step of a seeding by a job adds.
const seedStep = 1000

// randomIDs makes IDs as they come in files: no neighbours in the index.
func randomIDs(n int) []alloc.ID {
	ids := make([]alloc.ID, n)
	for i := range ids {
		ids[i] = alloc.ID(rand.Text()[:16])
	}
	return ids
}

// Seeding of random IDs, a step of 1,000 an iteration, into a pool that grows with it; and the same rows into the same
// table by the engine alone, one prepared statement a row, as many rows a transaction. Compare IDs/s for equal counts of
// iterations (-benchtime 1000x).
func BenchmarkSeedJob(b *testing.B) {
	b.Run("store", func(b *testing.B) {
		s, _ := storeOn(b)
		filled(b, s, "p", 0)
		seedAll(b, func(ids []alloc.ID) error {
			return second(s.Seed(b.Context(), alloc.SeedBatch{Pool: "p", Job: "job", IDs: ids}))
		})
	})
	b.Run("engine", func(b *testing.B) {
		s, path := storeOn(b)
		filled(b, s, "p", 0)
		db, err := connect(path, 1, writerParameters())
		if err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		stmt, err := db.PrepareContext(b.Context(), `INSERT INTO ids (pool, id, state, generation, job) VALUES (1, $1, 'free', 0, 'job')`)
		if err != nil {
			b.Fatal(err)
		}
		defer stmt.Close()
		seedAll(b, func(ids []alloc.ID) error { return insertAll(b.Context(), db, stmt, ids) })
	})
}

// insertAll inserts a row for each ID in a transaction.
func insertAll(ctx context.Context, db *dbsql.DB, stmt *dbsql.Stmt, ids []alloc.ID) error {
	t, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer t.Rollback() // after the commit there is nothing to roll back
	in := t.StmtContext(ctx, stmt)
	for _, id := range ids {
		if _, err := in.ExecContext(ctx, id); err != nil {
			return err
		}
	}
	return t.Commit()
}

func seedAll(b *testing.B, step func(ids []alloc.ID) error) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		ids := randomIDs(seedStep)
		b.StartTimer()
		if err := step(ids); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*seedStep)/b.Elapsed().Seconds(), "IDs/s")
}
