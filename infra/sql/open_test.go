package sql

import (
	"context"
	dbsql "database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestOpenRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		make func(t *testing.T, path string)
		want error
	}{
		"a database of somebody else": {func(t *testing.T, path string) {
			edit(t, path, `CREATE TABLE theirs (a)`)
		}, ErrForeignFile},
		"an empty database with somebody's mark": {func(t *testing.T, path string) {
			edit(t, path, `PRAGMA application_id = 7`)
		}, ErrForeignFile},
		"a file that is no database": {func(t *testing.T, path string) {
			write := os.WriteFile(path, []byte(strings.Repeat("voucher,code\r\n", 1000)), 0o600)
			if write != nil {
				t.Fatal(write)
			}
		}, ErrForeignFile},
		"a database whose header is overwritten": {func(t *testing.T, path string) {
			storeThere(t, path)
			overwrite(t, path, 0, 16)
		}, ErrForeignFile},
		"a schema of the future": {func(t *testing.T, path string) {
			storeThere(t, path)
			edit(t, path, `PRAGMA user_version = 99`)
		}, ErrNewerSchema},
		"a schema before the first": {func(t *testing.T, path string) {
			storeThere(t, path)
			edit(t, path, `PRAGMA user_version = -2147483646`)
		}, ErrDamaged},
		"a schema of nothing with tables in it": {func(t *testing.T, path string) {
			storeThere(t, path)
			edit(t, path, `PRAGMA user_version = 0`)
		}, ErrDamaged},
		"a database whose first page is overwritten": {func(t *testing.T, path string) {
			storeThere(t, path)
			overwrite(t, path, 100, 3900)
		}, ErrDamaged},
		"a folder": {func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, ErrNoAccess},
		"a path in a folder that is not there": {func(t *testing.T, path string) {
			if err := os.Remove(filepath.Dir(path)); err != nil {
				t.Fatal(err)
			}
		}, ErrNoAccess},
	} {
		t.Run(name, func(t *testing.T) {
			path := newFile(t)
			c.make(t, path)
			before, _ := os.ReadFile(path) // none where it is no file
			s, err := OpenSQLite(t.Context(), Config{Path: path})
			if err == nil {
				t.Fatalf("opened; want a refusal (close: %v)", s.Close())
			}
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if !strings.Contains(err.Error(), path) {
				t.Errorf("got %q, want the path in it", err)
			}
			if after, _ := os.ReadFile(path); string(after) != string(before) {
				t.Error("the refused file was changed")
			}
		})
	}
}

func TestOpenRefusesConfig(t *testing.T) {
	for name, c := range map[string]Config{
		"no path":          {},
		"negative readers": {Path: newFile(t), Readers: -1},
		"negative wait":    {Path: newFile(t), LockWait: -time.Second},
	} {
		if _, err := OpenSQLite(t.Context(), c); err == nil {
			t.Errorf("%s: opened, want a refusal", name)
		}
	}
}

func TestOpenTakesAnyFileName(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a b", "100%", "q?mode=memory", "a#b", "ä", "%41", "file:x", ":memory:", "-wal"} {
		path := filepath.Join(dir, name)
		filled(t, openAt(t, Config{Path: path}), "p", 1)
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%q: got %v, want the file under its own name", name, err)
		}
	}
}

func TestOpenTakesAnEmptyFile(t *testing.T) {
	path := newFile(t)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	filled(t, openAt(t, Config{Path: path}), "p", 1)
}

func TestOpenIsDurableByDefault(t *testing.T) {
	s, _ := storeOn(t)
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1"} {
		got, err := write(t.Context(), s.writer, func(t *tx) (v string, err error) {
			_, err = t.row(`PRAGMA `+pragma, nil, &v)
			return v, err
		})
		if err != nil || got != want {
			t.Errorf("%s: got %q and %v, want %q", pragma, got, err, want)
		}
	}
}

func TestReadersCannotWrite(t *testing.T) {
	s, _ := storeOn(t)
	_, err := read(t.Context(), s.reader, func(t *tx) (int64, error) { return t.exec(`DELETE FROM pools`) })
	wantCode(t, err, "unavailable")
}

// Many that open a new file at once, as processes that are started together do, all get it with one schema.
func TestOpenTogether(t *testing.T) {
	path := newFile(t)
	var openers sync.WaitGroup
	for range 8 {
		openers.Go(func() {
			s, err := OpenSQLite(t.Context(), Config{Path: path})
			if err != nil {
				t.Errorf("open: %v", err)
				return
			}
			if err := errors.Join(s.Ready(t.Context()), s.Close()); err != nil {
				t.Errorf("ready and close: %v", err)
			}
		})
	}
	openers.Wait()
}

func TestOpenGivesUpWithItsContext(t *testing.T) {
	path := newFile(t)
	byHand(t, path, func(db *dbsql.DB) error {
		if _, err := db.ExecContext(t.Context(), `BEGIN EXCLUSIVE`); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := OpenSQLite(ctx, Config{Path: path})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("open of a file that somebody holds: got %v, want deadline exceeded", err)
		}
		return nil
	})
}

func TestMigrateLeavesTheOldSchemaWhenItFails(t *testing.T) {
	_, path := storeOn(t)
	steps, err := migrations()
	if err != nil {
		t.Fatal(err)
	}
	latest := len(steps)
	good := append(steps, `CREATE TABLE later (a INTEGER) STRICT; INSERT INTO later VALUES (1)`)
	byHand(t, path, func(db *dbsql.DB) error {
		conn, err := db.Conn(t.Context())
		if err != nil {
			return err
		}
		defer conn.Close()
		if err := migrate(t.Context(), conn, append(good, `CREATE TABLE later (b INTEGER) STRICT`)); err == nil {
			t.Error("migrate with a step that cannot work: got no error")
		}
		if version, err := checkFile(t.Context(), conn, latest); err != nil || version != latest {
			t.Errorf("after it: got schema %d and %v, want %d", version, err, latest)
		}
		for range 2 {
			if err := migrate(t.Context(), conn, good); err != nil {
				t.Errorf("migrate: %v", err)
			}
		}
		return nil
	})
	if got := ask[int](t, path, `SELECT count(*) FROM later`); got != 1 {
		t.Errorf("rows that the step made: got %d, want 1: it ran once", got)
	}
	if _, err := OpenSQLite(t.Context(), Config{Path: path}); !errors.Is(err, ErrNewerSchema) {
		t.Errorf("open by the older program: got %v, want %v", err, ErrNewerSchema)
	}
}

// storeThere makes a database of ours at the path and closes it.
func storeThere(t testing.TB, path string) {
	t.Helper()
	s, err := OpenSQLite(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	filled(t, s, "p", 100)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// overwrite spoils n bytes of a file that no Store has open.
func overwrite(t testing.TB, path string, at int64, n int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte(strings.Repeat("\xA5", n)), at)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}
