package sql

import (
	"context"
	dbsql "database/sql"
	"database/sql/driver"
	"errors"

	"idpool/alloc"
)

// session is the writer's connection with its prepared statements. Its statements run on a context that never ends: one
// cut off in the middle would leave in doubt what it did.
type session struct {
	conn       *dbsql.Conn
	statements statements
}

func (s *session) prepare(ctx context.Context, query string) (*dbsql.Stmt, error) {
	return s.statements.get(ctx, query, s.conn.PrepareContext)
}

func (s *session) tx() *tx { return &tx{ctx: context.Background(), prepare: s.prepare} }

// run runs the job inside a savepoint. A refusal undoes it alone and becomes its j.err; an error of the engine is
// returned, and the transaction is void.
func (s *session) run(j *job) error {
	if err := s.end("SAVEPOINT step"); err != nil {
		return err
	}
	err := j.step(s.tx())
	j.err = nil
	if err == nil {
		return s.end("RELEASE step")
	}
	if _, refused := errors.AsType[*alloc.Error](err); !refused {
		return err
	}
	j.err = err
	if err := s.end("ROLLBACK TO step"); err != nil {
		return err
	}
	return s.end("RELEASE step")
}

// end runs a statement that begins or ends a transaction or a savepoint.
func (s *session) end(statement string) error {
	_, err := s.tx().exec(statement)
	return err
}

// discard closes the connection for good instead of giving it back to its pool; an open transaction is rolled back. The
// statements go first: database/sql leaves those of a *sql.Conn to their owner, and SQLite keeps a connection with open
// statements alive, with its locks and its log.
func (s *session) discard() {
	s.statements.close()
	s.conn.Raw(func(any) error { return driver.ErrBadConn }) //nolint:errcheck // this error is what makes database/sql close it
	s.conn.Close()                                           //nolint:errcheck // it is closed already, and says so
}
