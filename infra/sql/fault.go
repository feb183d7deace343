package sql

import (
	"context"
	"errors"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"idpool/alloc"
)

// Why OpenSQLite refuses a file; see with errors.Is.
var (
	ErrForeignFile = errors.New("the file is not a database of idpool; choose another path, or restore the file from a backup if it was one")
	ErrNewerSchema = errors.New("the file was written by a newer version of idpool; use that version or a later one")
	ErrReadOnly    = errors.New("the database may not be written; give the program write access to the file and its folder")
	ErrNoAccess    = errors.New("the database file cannot be opened; its folder has to be there, and the program needs access to both")
	ErrDamaged     = errors.New("the database file is damaged; stop every program that uses it and restore it from a backup")
)

// errLocked is the cause of every refusal because somebody else was writing.
var errLocked = errors.New("another process holds the write lock")

// resultCode returns SQLite's primary result code, lib.SQLITE_OK if err is none of its errors.
func resultCode(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return lib.SQLITE_OK
}

// belowZero reports whether err means that a row would have broken one of its table's checks: of a level, that a count would be negative.
func belowZero(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code() == lib.SQLITE_CONSTRAINT_CHECK
}

// locked reports whether err means that somebody else holds a lock that will be free again.
func locked(err error) bool {
	switch resultCode(err) {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_PROTOCOL:
		return true
	}
	return false
}

// refused names the reason for which a file cannot be opened.
func refused(err error) error {
	switch resultCode(err) {
	case lib.SQLITE_CORRUPT:
		return errors.Join(ErrDamaged, err)
	case lib.SQLITE_NOTADB:
		return errors.Join(ErrForeignFile, err)
	case lib.SQLITE_READONLY, lib.SQLITE_PERM:
		return errors.Join(ErrReadOnly, err)
	case lib.SQLITE_CANTOPEN:
		return errors.Join(ErrNoAccess, err)
	}
	return err
}

// fault translates an error of the engine; an error of the domain and nil pass as they are. What it returns says that
// nothing was changed: whoever cannot know that sets Unknown.
func fault(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*alloc.Error](err); ok {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return outOfTime(err)
	}
	if locked(err) {
		return busy(err)
	}
	switch resultCode(err) {
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return alloc.Errorf(alloc.CodeInternal, "the database is damaged; an operator must restore it").Because(err)
	case lib.SQLITE_FULL:
		return unavailable("the database has no room left on its disk; try again when an operator has made some").After(time.Minute).Because(err)
	case lib.SQLITE_READONLY, lib.SQLITE_PERM, lib.SQLITE_AUTH:
		return unavailable("the database may not be written; try again when an operator has made it writable").After(time.Minute).Because(err)
	case lib.SQLITE_IOERR, lib.SQLITE_CANTOPEN, lib.SQLITE_NOLFS:
		return unavailable("the database's disk does not work; try again later").After(time.Minute).Because(err)
	case lib.SQLITE_INTERRUPT, lib.SQLITE_ABORT, lib.SQLITE_NOMEM, lib.SQLITE_SCHEMA:
		return unavailable("the database did not answer; try again").After(time.Second).Because(err)
	}
	return alloc.Errorf(alloc.CodeInternal, "a fault of the database; report it with the request ID").Because(err)
}

func unavailable(message string) *alloc.Error {
	return alloc.Errorf(alloc.CodeUnavailable, "%s", message)
}

// busy is the error of a step that did not get the write lock in time.
func busy(cause error) *alloc.Error {
	return unavailable("the database is busy with other writers; try again").After(time.Second).Because(errors.Join(errLocked, cause))
}

// outOfTime is the error of a step whose context ended before it began, or that only read.
func outOfTime(cause error) *alloc.Error {
	return unavailable("the database did not answer in time; try again").After(time.Second).Because(cause)
}

// unknown says of an error that the step may have been applied all the same.
func unknown(err *alloc.Error) *alloc.Error {
	c := *err
	c.Unknown = true
	return &c
}

// contended turns the refusal of a step that did not get the write lock into CodeBusy, for the steps that have it.
func contended(err error) error {
	if !errors.Is(err, errLocked) {
		return err
	}
	e, _ := errors.AsType[*alloc.Error](err)
	c := *e
	c.Code = alloc.CodeBusy
	return &c
}
