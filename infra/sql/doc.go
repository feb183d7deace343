// Package sql is alloc.Store on a relational database: SQLite, embedded and in one file.
//
// Each step of the Store is one transaction, so that nothing has to be finished or undone after a crash: it is there as
// a whole, or it never was. A claim is one UPDATE (or, in a pool that forgets, one DELETE) of free rows with RETURNING;
// its idempotency record and the pool's counts go with it. What comes back (a hold that is over, an ID that was released)
// waits as returning for a sweep, which puts it behind all that are free. What is answered is on disk: the write-ahead log
// is synced at every commit.
//
// So the way back is short. A pool's rows are the truth, and its rebuild counts them anew. A sequence's ledger, counter and
// high-water mark stand in tables of their own, each transaction leaves them in one piece, and a rebuild moves the counter only
// up. What a restore carries forward is told apart in its rows, and is the one thing that the triggers let go where nothing
// else may.
//
// The steps are written once, in SQL that PostgreSQL understands too ($1 for parameters, ON CONFLICT, RETURNING), on
// the small type tx. What belongs to SQLite alone is in sqlite.go (files and connections), migrate.go and the folder sqlite
// (the schema and its triggers), writer.go and session.go (its one writer at a time, and the group commit that makes up for
// it), and fault.go (its result codes).
package sql
