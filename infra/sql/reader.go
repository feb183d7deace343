package sql

import (
	"context"
	dbsql "database/sql"
	"time"
)

// reader runs steps that only read, several at a time, on connections that cannot write. Each statement sees the last
// commit of any process.
type reader struct {
	db         *dbsql.DB
	statements statements
	wait       time.Duration
}

// read runs a step of one statement (or of several that may see different commits) and translates its error.
func read[T any](ctx context.Context, r *reader, step func(*tx) (T, error)) (T, error) {
	var none T
	result, err := step(&tx{ctx: ctx, prepare: r.prepare})
	if err != nil {
		return none, fault(err)
	}
	return result, nil
}

func (r *reader) prepare(ctx context.Context, query string) (*dbsql.Stmt, error) {
	return r.statements.get(ctx, query, r.db.PrepareContext)
}
