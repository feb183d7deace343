package sql

import (
	"context"
	dbsql "database/sql"
	"database/sql/driver"
	"errors"
	"sync/atomic"
	"testing"
)

// The forms in which a statement fails: it was not carried out, or it was and its answer is lost.
type form string

const (
	refusedForm form = "refused"
	appliedForm form = "applied but reported as failed"
)

var errEngine = errors.New("injected fault of the engine")

// faulty is a driver whose n-th statement from when it is armed fails. It counts what is run, not what is prepared.
type faulty struct {
	driver driver.Driver
	path   string
	form   form
	left   atomic.Int64 // statements until the one that fails; 0 for none
}

// withFaults puts a writer into the Store whose connection can be made to fail.
func withFaults(t *testing.T, s *Store, path string) *faulty {
	t.Helper()
	f := &faulty{driver: s.writer.db.Driver(), path: path}
	s.writer.stop()
	db := dbsql.OpenDB(f)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	s.writer = newWriter(db, s.writer.lockWait)
	t.Cleanup(s.writer.stop) // before the database is closed
	return f
}

// arm lets the n-th statement from now fail, counted from 1.
func (f *faulty) arm(n int, in form) {
	f.form = in
	f.left.Store(int64(n))
}

// disarm lets all pass and reports whether the fault came.
func (f *faulty) disarm() bool { return f.left.Swap(0) <= 0 }

// run runs a statement, or what of it the fault leaves.
func (f *faulty) run(statement func() error) error {
	armed := f.left.Load() > 0 && f.left.Add(-1) == 0
	if !armed {
		return statement()
	}
	f.left.Store(-1)
	if f.form == appliedForm {
		return errors.Join(errEngine, statement())
	}
	return errEngine
}

// Connect implements driver.Connector.
func (f *faulty) Connect(context.Context) (driver.Conn, error) {
	conn, err := f.driver.Open(source(f.path, writerParameters()))
	return faultyConn{conn, f}, err
}

// Driver implements driver.Connector.
func (f *faulty) Driver() driver.Driver { return f.driver }

type faultyConn struct {
	driver.Conn
	f *faulty
}

// PrepareContext implements driver.ConnPrepareContext.
func (c faultyConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	stmt, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
	return faultyStmt{stmt, c.f}, err
}

type faultyStmt struct {
	driver.Stmt
	f *faulty
}

// ExecContext implements driver.StmtExecContext.
func (s faultyStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (result driver.Result, err error) {
	err = s.f.run(func() (err error) {
		result, err = s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
		return err
	})
	return result, err
}

// QueryContext implements driver.StmtQueryContext.
func (s faultyStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (rows driver.Rows, err error) {
	err = s.f.run(func() (err error) {
		rows, err = s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
		return err
	})
	if err != nil && rows != nil { // it is to have been carried out to its end
		for next := make([]driver.Value, len(rows.Columns())); rows.Next(next) == nil; {
		}
		return nil, errors.Join(err, rows.Close())
	}
	return rows, err
}

var _ driver.Connector = (*faulty)(nil)
