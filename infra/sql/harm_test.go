package sql

import (
	"context"
	dbsql "database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"testing"

	"modernc.org/sqlite"

	"idpool/alloc/alloctest"
)

// past changes the file by hand, past the triggers of the table, which are there again after it.
func past(t testing.TB, path, table, query string, args ...any) (changed int64) {
	t.Helper()
	byHand(t, path, func(db *dbsql.DB) error {
		tx, err := db.BeginTx(context.Background(), nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		rows, err := tx.Query(`SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = $1`, table)
		if err != nil {
			return err
		}
		defer rows.Close()
		triggers := map[string]string{}
		for rows.Next() {
			var name, text string
			if err := rows.Scan(&name, &text); err != nil {
				return err
			}
			triggers[name] = text
		}
		if err := rows.Err(); err != nil {
			return err
		}
		for name := range triggers {
			if _, err := tx.Exec(`DROP TRIGGER ` + name); err != nil {
				return err
			}
		}
		result, err := tx.Exec(query, args...)
		if err != nil {
			return err
		}
		for _, text := range triggers {
			if _, err := tx.Exec(text); err != nil {
				return err
			}
		}
		if changed, err = result.RowsAffected(); err != nil {
			return err
		}
		return tx.Commit()
	})
	return changed
}

// harms is what each kind of damage is here. What is not among them this form has nothing for: the configuration is in one
// place, and what lists the free IDs is an index.
var harms = map[alloctest.DamageKind]struct {
	table, query string
	args         func(d alloctest.Damage) []any
}{
	alloctest.LoseHead:     {"pools", `DELETE FROM pools WHERE name = $1`, ofPool},
	alloctest.SkewCount:    {"levels", `UPDATE levels SET n_seeded = n_seeded + 1 WHERE pool = (SELECT pool FROM pools WHERE name = $1)`, ofPool},
	alloctest.LoseTrace:    {"ids", `DELETE FROM ids WHERE pool = (SELECT pool FROM pools WHERE name = $1) AND id = $2`, ofID},
	alloctest.LoseMark:     {"marks", `DELETE FROM marks WHERE sequence = (SELECT sequence FROM sequences WHERE name = $1)`, ofSequence},
	alloctest.CutLedger:    {"leases", `DELETE FROM leases WHERE sequence = (SELECT sequence FROM sequences WHERE name = $1) AND low >= $2`, fromNumber},
	alloctest.DamageLease:  {"leases", `UPDATE leases SET token = '' WHERE sequence = (SELECT sequence FROM sequences WHERE name = $1) AND low = $2`, fromNumber},
	alloctest.LoseRecord:   {"trail", `DELETE FROM trail WHERE month = $1 AND position = $2`, atPlace},
	alloctest.ChangeRecord: {"trail", `UPDATE trail SET detail = 'changed by hand' WHERE month = $1 AND position = $2`, atPlace},
}

func ofPool(d alloctest.Damage) []any     { return []any{d.Pool} }
func ofID(d alloctest.Damage) []any       { return []any{d.Pool, d.ID} }
func ofSequence(d alloctest.Damage) []any { return []any{d.Sequence} }
func fromNumber(d alloctest.Damage) []any { return []any{d.Sequence, d.Number} }
func atPlace(d alloctest.Damage) []any    { return []any{d.Month, d.Position} }

// damage does harm to the file as alloctest.Fixture asks for it.
func damage(t testing.TB, path string, d alloctest.Damage) bool {
	t.Helper()
	harm, possible := harms[d.Kind]
	if !possible {
		return false
	}
	if past(t, path, harm.table, harm.query, harm.args(d)...) == 0 {
		t.Fatalf("%s: there is nothing of that kind: %+v", d.Kind, d)
	}
	return true
}

// restorer is what a connection of the driver offers to put a file's content back.
type restorer interface {
	NewRestore(from string) (*sqlite.Backup, error)
}

// snapshot keeps a copy of the file, and returns what puts it back. Stores that are open stay so.
func snapshot(t testing.TB, path string) func(t testing.TB) {
	t.Helper()
	kept := filepath.Join(t.TempDir(), "kept.db")
	edit(t, path, `VACUUM INTO $1`, kept)
	return func(t testing.TB) {
		t.Helper()
		byHand(t, path, func(db *dbsql.DB) error {
			conn, err := db.Conn(context.Background())
			if err != nil {
				return err
			}
			defer conn.Close()
			return conn.Raw(func(driver any) error {
				from, ok := driver.(restorer)
				if !ok {
					return fmt.Errorf("a connection of the driver is a %T", driver)
				}
				back, err := from.NewRestore(source(kept, url.Values{}))
				if err != nil {
					return err
				}
				if _, err := back.Step(-1); err != nil {
					return err
				}
				return back.Finish()
			})
		})
	}
}
