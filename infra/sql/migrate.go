package sql

import (
	"context"
	dbsql "database/sql"
	"embed"
	"fmt"
	"io/fs"
)

//go:embed sqlite/*.sql
var sqliteFiles embed.FS

// migrations returns the steps of the schema, in order: the n-th leads from version n-1 to n. They go forward only, and
// a step that was released is never edited.
func migrations() ([]string, error) {
	names, err := fs.Glob(sqliteFiles, "sqlite/*.sql") // sorted
	if err != nil {
		return nil, err
	}
	var steps []string
	for _, name := range names {
		text, err := sqliteFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		steps = append(steps, string(text))
	}
	return steps, nil
}

// migrate brings the schema up to date in one transaction: whoever crashes in it leaves the old one. Of several
// processes at once, one does it.
func migrate(ctx context.Context, conn *dbsql.Conn, steps []string) (err error) {
	if _, err := conn.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			conn.ExecContext(context.WithoutCancel(ctx), `ROLLBACK`) //nolint:errcheck // fails only where there is nothing to roll back
		}
	}()
	version, err := checkFile(ctx, conn, len(steps)) // as it is now, under the lock
	if err != nil {
		return err
	}
	for ; version < len(steps); version++ {
		if _, err := conn.ExecContext(ctx, steps[version]); err != nil {
			return fmt.Errorf("schema %d: %w", version+1, err)
		}
	}
	marks := fmt.Sprintf(`PRAGMA user_version = %d; PRAGMA application_id = %d`, version, applicationID)
	if _, err := conn.ExecContext(ctx, marks); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, `COMMIT`)
	return err
}
