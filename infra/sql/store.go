package sql

import (
	"context"
	dbsql "database/sql"
	"errors"
	"sync"
	"time"

	"idpool/alloc"
)

// Config is what a Store on SQLite is made of.
type Config struct {
	// Path is the database file; required. It is made if it is missing; the folder must be there, on a local file system,
	// and two files with the endings -wal and -shm stand beside it while it is in use. All three hold the IDs in clear:
	// keep them in a folder that only the program's user may enter.
	Path string

	Now      func() time.Time // safe for concurrent use; default time.Now
	Readers  int              // most connections that read at the same time; default 4
	LockWait time.Duration    // how long a step waits for another process that writes, within its context; default 5 s
}

// Defaults of Config.
const (
	defaultReaders  = 4
	defaultLockWait = 5 * time.Second
)

func (c Config) withDefaults() (Config, error) {
	if c.Path == "" {
		return c, errors.New("sql: Config.Path is required")
	}
	if c.Readers < 0 || c.LockWait < 0 {
		return c, errors.New("sql: Config.Readers and Config.LockWait must not be negative")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Readers == 0 {
		c.Readers = defaultReaders
	}
	if c.LockWait == 0 {
		c.LockWait = defaultLockWait
	}
	return c, nil
}

// Store is alloc.Store on one SQLite file. It keeps nothing in memory between steps but connections and prepared
// statements, so that any number of Stores in any number of processes on one machine may share the file.
type Store struct {
	now    func() time.Time
	writer *writer
	reader *reader
	close  func() error
}

var _ alloc.Store = (*Store)(nil)

// OpenSQLite opens the file, brings its schema up to date and returns a ready Store. ErrForeignFile, ErrNewerSchema,
// ErrDamaged, ErrReadOnly and ErrNoAccess say why a file is refused; nothing in it is changed then.
func OpenSQLite(ctx context.Context, c Config) (*Store, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	writing, reading, err := openSQLite(ctx, c)
	if err != nil {
		return nil, err
	}
	s := &Store{now: c.Now, writer: newWriter(writing, c.LockWait)}
	s.reader = &reader{db: reading, closing: s.writer.closing}
	s.close = sync.OnceValue(func() error {
		s.writer.stop()
		return errors.Join(reading.Close(), writing.Close())
	})
	return s, nil
}

// Close ends the step in work, refuses those that wait and closes the file. It may be called more than once.
func (s *Store) Close() error { return s.close() }

// Ready makes one cheap read.
func (s *Store) Ready(ctx context.Context) error {
	_, err := read(ctx, s.reader, func(t *tx) (bool, error) {
		var one int
		return t.row(`SELECT 1 FROM pools LIMIT 1`, nil, &one)
	})
	return err
}

// clock is the present time in the precision that the database keeps.
func (s *Store) clock() time.Time { return s.now().UTC().Round(0) }

// instant and moment translate between times and their columns.
func instant(t time.Time) int64 { return t.UnixNano() }

func moment(n int64) time.Time { return time.Unix(0, n).UTC() }

// plainTime is a time as its column gives it back; the zero time stays.
func plainTime(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return moment(instant(t))
}

// optional and momentOf do so where the zero time, NULL in the column, stands for none.
func optional(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	return new(instant(t))
}

func momentOf(n dbsql.NullInt64) time.Time {
	if !n.Valid {
		return time.Time{}
	}
	return moment(n.Int64)
}
