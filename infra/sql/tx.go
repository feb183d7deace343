package sql

import (
	"context"
	dbsql "database/sql"
	"errors"
	"sync"

	"idpool/alloc"
)

// tx is what a step sees of its transaction: prepared statements by their text. An error of it is the engine's own;
// steps return it as it is, and their runner translates it.
type tx struct {
	ctx     context.Context
	prepare func(ctx context.Context, query string) (*dbsql.Stmt, error)

	calls  alloc.Count // statements run so far
	writes alloc.Count // of these, those that changed rows
}

// stmt returns the prepared statement of a call.
func (t *tx) stmt(query string) (*dbsql.Stmt, error) {
	t.calls++
	return t.prepare(t.ctx, query)
}

// exec runs a statement and returns how many rows it changed.
func (t *tx) exec(query string, args ...any) (int64, error) {
	stmt, err := t.stmt(query)
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(t.ctx, args...)
	if err != nil {
		return 0, err
	}
	changed, err := result.RowsAffected()
	if changed > 0 {
		t.writes++
	}
	return changed, err
}

// row reads the first row into dest; false if there is none.
func (t *tx) row(query string, args []any, dest ...any) (bool, error) {
	stmt, err := t.stmt(query)
	if err != nil {
		return false, err
	}
	err = stmt.QueryRowContext(t.ctx, args...).Scan(dest...)
	if errors.Is(err, dbsql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// scanner reads the columns of a row, as *sql.Row and *sql.Rows do.
type scanner interface{ Scan(dest ...any) error }

// list reads all rows, each with scan.
func list[T any](t *tx, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	stmt, err := t.stmt(query)
	if err != nil {
		return nil, err
	}
	rows, err := stmt.QueryContext(t.ctx, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err below has what matters
	var all []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

// statements keeps what was prepared, by its text. The zero value is ready.
type statements struct {
	mu     sync.Mutex
	byText map[string]*dbsql.Stmt
}

// get returns the statement, prepared by prepare if it is new. The lock is not held meanwhile: of two that prepare the
// same text at once one is closed again.
func (s *statements) get(ctx context.Context, query string, prepare func(context.Context, string) (*dbsql.Stmt, error)) (*dbsql.Stmt, error) {
	s.mu.Lock()
	stmt := s.byText[query]
	s.mu.Unlock()
	if stmt != nil {
		return stmt, nil
	}
	fresh, err := prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if stmt := s.byText[query]; stmt != nil {
		return stmt, fresh.Close()
	}
	if s.byText == nil {
		s.byText = map[string]*dbsql.Stmt{}
	}
	s.byText[query] = fresh
	return fresh, nil
}

// close closes all statements.
func (s *statements) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stmt := range s.byText {
		stmt.Close() //nolint:errcheck // nothing depends on it any more
	}
	s.byText = nil
}
