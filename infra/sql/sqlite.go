package sql

import (
	"context"
	dbsql "database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"strconv"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// applicationID marks a database file as ours ("idpl").
const applicationID = 0x6964706c

// openSQLite opens the file for one writer and several readers, with its schema up to date.
func openSQLite(ctx context.Context, c Config) (writing, reading *dbsql.DB, err error) {
	fail := func(err error) (*dbsql.DB, *dbsql.DB, error) {
		return nil, nil, fmt.Errorf("sql: open %s: %w", c.Path, refused(err))
	}
	path, err := filepath.Abs(c.Path)
	if err != nil {
		return fail(err)
	}
	writing, err = connect(path, 1, writerParameters())
	if err != nil {
		return fail(err)
	}
	if err := patiently(ctx, func() error { return prepareFile(ctx, writing) }); err != nil {
		return fail(errors.Join(err, writing.Close()))
	}
	reading, err = connect(path, c.Readers, url.Values{
		"_pragma":     {"busy_timeout(" + strconv.FormatInt(c.LockWait.Milliseconds(), 10) + ")"},
		"_query_only": {"1"},
	})
	if err != nil {
		return fail(errors.Join(err, writing.Close()))
	}
	return writing, reading, nil
}

// writerParameters are those of the writer's connection. It asks for the lock again by itself, so that it can give up when
// its caller does: no busy_timeout. Seeding random IDs touches a page for each: a cache of 16 MB and a checkpoint at 32 MB
// of log spare a fifth of the time (measured). What a savepoint needs to undo a step is kept in memory, as long as the step
// runs: in a file, as is the default, it took half of the system time of a seeding (measured).
func writerParameters() url.Values {
	return url.Values{"_pragma": {
		"busy_timeout(0)", "synchronous(FULL)", "foreign_keys(1)",
		"cache_size(-16384)", "temp_store(MEMORY)", "wal_autocheckpoint(8000)", "journal_size_limit(67108864)",
	}}
}

// source names the file and how it is opened, as the driver wants it.
func source(path string, parameters url.Values) string {
	parameters.Set("_defensive", "1")
	parameters.Set("_dqs", "0")
	name := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: parameters.Encode()}
	return name.String()
}

// connect makes a pool of connections to the file; none is opened yet.
func connect(path string, connections int, parameters url.Values) (*dbsql.DB, error) {
	db, err := dbsql.Open("sqlite", source(path, parameters))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

// prepareFile makes sure that the file is ours, in write-ahead mode and of the present schema.
func prepareFile(ctx context.Context, db *dbsql.DB) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // goes back to its pool
	steps, err := migrations()
	if err != nil {
		return err
	}
	version, err := checkFile(ctx, conn, len(steps))
	if err != nil {
		return err
	}
	var mode string
	if err := conn.QueryRowContext(ctx, `PRAGMA journal_mode = WAL`).Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("the file system does not allow a write-ahead log (journal mode %q); use a local one", mode)
	}
	if version == len(steps) {
		// Where a file may not be written SQLite opens it to read, and says so only at the first change: here is one of nothing.
		_, err := conn.ExecContext(ctx, `UPDATE pools SET pool = pool WHERE false`)
		return err
	}
	return migrate(ctx, conn, steps)
}

// checkFile refuses a file that is not ours, or of a later version than this program knows, and returns the version of
// its schema. It changes nothing.
func checkFile(ctx context.Context, conn *dbsql.Conn, latest int) (version int, err error) {
	var application, objects int
	err = conn.QueryRowContext(ctx, `SELECT
		(SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version),
		(SELECT count(*) FROM sqlite_schema)`).Scan(&application, &version, &objects)
	switch {
	case err != nil:
		return 0, err
	case application == 0 && version == 0 && objects == 0:
		return 0, nil // new
	case application != applicationID:
		return 0, ErrForeignFile
	case version < 1:
		return 0, fmt.Errorf("%w (schema %d)", ErrDamaged, version) // no migration leaves that behind
	case version > latest:
		return 0, fmt.Errorf("%w (schema %d, this program knows %d)", ErrNewerSchema, version, latest)
	}
	return version, nil
}

// patiently repeats what fails because somebody else holds a lock, until the context ends.
func patiently(ctx context.Context, do func() error) error {
	for {
		err := do()
		if !locked(err) {
			return err
		}
		select {
		case <-time.After(time.Millisecond + rand.N(10*time.Millisecond)):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}
