package sql

import (
	"context"
	dbsql "database/sql"
)

// reader runs steps that only read, several at a time, on connections that cannot write. Each statement sees the last
// commit of any process.
type reader struct {
	db         *dbsql.DB
	statements statements
	closing    <-chan struct{} // closed when the Store is being closed
}

// read runs a step of one statement (or of several that may see different commits) and translates its error.
func read[T any](ctx context.Context, r *reader, step func(*tx) (T, error)) (T, error) {
	var none T
	result, err := step(&tx{ctx: ctx, prepare: r.prepare})
	if err == nil {
		return result, nil
	}
	select {
	case <-r.closing:
		return none, errClosed() // database/sql has no type for this
	default:
		return none, fault(err)
	}
}

func (r *reader) prepare(ctx context.Context, query string) (*dbsql.Stmt, error) {
	return r.statements.get(ctx, query, r.db.PrepareContext)
}
