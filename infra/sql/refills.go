package sql

import (
	"context"
	dbsql "database/sql"
	"slices"

	"idpool/alloc"
	"idpool/alloc/generator"
)

const (
	refillColumns = `pool, version, updated, batch, ids, up_to, filling, dry, dry_since, generator, burning`
	refillValues  = `$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11`

	selectRefill = `SELECT ` + refillColumns + ` FROM refills WHERE pool = $1`
	insertRefill = `INSERT INTO refills (` + refillColumns + `) VALUES (` + refillValues + `)`
	updateRefill = `UPDATE refills SET (` + refillColumns + `) = (` + refillValues + `) WHERE pool = $1`
)

// refillRow returns the values of refillColumns.
func refillRow(r alloc.Refill) []any {
	if r.IDs == nil {
		r.IDs = []alloc.ID{}
	}
	return []any{
		r.Pool, r.Version, optional(r.Updated), r.Batch, asJSON(&r.IDs), r.UpTo, r.Filling, r.Dry, optional(r.DrySince),
		generatorColumn(r.Generator), r.Burning,
	}
}

func scanRefill(row scanner) (r alloc.Refill, err error) {
	var updated, dry dbsql.NullInt64
	var gen storedGenerator
	err = row.Scan(&r.Pool, &r.Version, &updated, &r.Batch, asJSON(&r.IDs), &r.UpTo, &r.Filling, &r.Dry, &dry, asJSON(&gen), &r.Burning)
	r.Updated, r.DrySince, r.Generator = momentOf(updated), momentOf(dry), generator.Config(gen)
	if len(r.IDs) == 0 {
		r.IDs = nil
	}
	return r, err
}

// refill reads the record of a pool; one of version 0 where there is none.
func (t *tx) refill(pool alloc.PoolName) (alloc.Refill, error) {
	found, err := list(t, scanRefill, selectRefill, pool)
	if err != nil || len(found) == 0 {
		return alloc.Refill{Pool: pool}, err
	}
	return found[0], nil
}

// Refill reads a pool's record.
func (s *Store) Refill(ctx context.Context, pool alloc.PoolName) (alloc.Refill, error) {
	r, err := read(ctx, s.reader, func(t *tx) (alloc.Refill, error) { return t.refill(pool) })
	return r, err
}

// ChangeRefill replaces the record if it is at version from, or puts it if that is 0 and there is none.
func (s *Store) ChangeRefill(ctx context.Context, from alloc.Version, r alloc.Refill) (alloc.Refill, error) {
	r.IDs = slices.Clone(r.IDs) // the step may outlive this call
	r.Updated, r.DrySince, r.Version = plainTime(r.Updated), plainTime(r.DrySince), from+1
	return write(ctx, s.writer, func(t *tx) (alloc.Refill, error) {
		present, err := t.refill(r.Pool)
		if err != nil {
			return alloc.Refill{}, err
		}
		if sameRefill(present, r) {
			return present, nil
		}
		if present.Version != from {
			return alloc.Refill{}, alloc.VersionMismatch("refill", string(r.Pool), present.Version)
		}
		change := updateRefill
		if from == 0 {
			change = insertRefill
		}
		_, err = t.exec(change, refillRow(r)...)
		return r, err
	})
}

// sameRefill compares all that two records have.
func sameRefill(a, b alloc.Refill) bool {
	return slices.Equal(a.IDs, b.IDs) && a.Pool == b.Pool && a.Version == b.Version && a.Updated.Equal(b.Updated) && a.Batch == b.Batch &&
		a.UpTo == b.UpTo && a.Filling == b.Filling && a.Dry == b.Dry && a.DrySince.Equal(b.DrySince) && a.Generator == b.Generator && a.Burning == b.Burning
}
