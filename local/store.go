package main

import (
	"context"
	"fmt"

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
		store, err := sql.OpenSQLite(ctx, sql.Config{Path: path})
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
		return nil, nil, fmt.Errorf("cannot use the table %s at %s: %w", s.table, s.endpoint, err)
	}
	store, err := dynamo.New(dynamo.Config{Table: dynamo.NewSDKTable(client, s.table)})
	if err != nil {
		return nil, nil, err
	}
	return store, func() error { return nil }, nil
}
