package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"idpool/alloc"
	"idpool/infra/dynamo"
	"idpool/infra/sql"
)

// openStore opens the engine that the settings name. What it returns beside the Store closes it.
func openStore(ctx context.Context, s settings, d *dataDir) (alloc.Store, func() error, error) {
	if s.endpoint == "" {
		path, err := d.database()
		if err != nil {
			return nil, nil, err
		}
		store, err := sql.OpenSQLite(ctx, sql.Config{Path: path, Now: s.clock()})
		if err != nil {
			return nil, nil, err
		}
		return store, store.Close, nil
	}
	client, err := dynamo.NewClient(ctx, dynamo.ClientConfig{Endpoint: s.endpoint})
	if err != nil {
		return nil, nil, err
	}
	if err := dynamo.CreateTable(ctx, client, s.table); err != nil {
		return nil, nil, noTable(s, err)
	}
	store, err := dynamo.New(dynamo.Config{Table: dynamo.NewSDKTable(client, s.table)})
	if err != nil {
		return nil, nil, err
	}
	return store, func() error { return nil }, nil
}

// openOld opens what was in use before a restore, nil where nothing is named. What it returns beside that closes it. A database is
// brought to the present schema; else nothing is written. While a program uses its directory it is refused: what is taken there goes on.
func openOld(ctx context.Context, s settings) (alloc.Old, func() error, error) {
	none := func() error { return nil }
	if s.old == "" {
		return nil, none, nil
	}
	if s.endpoint == "" {
		path := filepath.Join(s.old, sqliteFile)
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			return nil, nil, fmt.Errorf("there is no database %s; name the data directory from before the restore with -old", path)
		}
		unlock, err := lockOld(s.old)
		if err != nil {
			return nil, nil, err
		}
		store, err := sql.OpenSQLite(ctx, sql.Config{Path: path})
		if err != nil {
			return nil, nil, errors.Join(err, unlock())
		}
		return store, func() error { return errors.Join(store.Close(), unlock()) }, nil
	}
	client, err := dynamo.NewClient(ctx, dynamo.ClientConfig{Endpoint: s.endpoint})
	if err != nil {
		return nil, nil, err
	}
	store, err := dynamo.New(dynamo.Config{Table: dynamo.NewSDKTable(client, s.old)})
	if err != nil {
		return nil, nil, err
	}
	if err := store.Ready(ctx); err != nil {
		return nil, nil, fmt.Errorf("the old table %s at %s cannot be read: %w", s.old, s.endpoint, err)
	}
	return store, none, nil
}

// noTable says why the table cannot be used: in words of its own where there is no server to ask.
func noTable(s settings, err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("nothing listens at %s: start it first", s.endpoint)
	}
	if unknown, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Errorf("the host of %s is not found: %w", s.endpoint, unknown)
	}
	return fmt.Errorf("cannot use the table %s at %s: %w", s.table, s.endpoint, err)
}
