package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"idpool/alloc"
	"idpool/infra/sql"
	"idpool/local/demo"
	"idpool/web/api"
)

// fillDemo plays a day in the database of the data directory, where that is empty.
func fillDemo(ctx context.Context, s settings, d *dataDir, out io.Writer) (err error) {
	if s.endpoint != "" {
		return errors.New("-demo goes with the database of -data only; leave out -dynamodb-endpoint")
	}
	path, err := d.database()
	if err != nil {
		return err
	}
	clock := demo.NewClock(s.clock()())
	store, err := sql.OpenSQLite(ctx, sql.Config{Path: path, Now: clock.Now})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	switch there, err := store.ListPools(ctx, "", 1); {
	case err != nil:
		return err
	case len(there) > 0:
		return nil
	}
	fmt.Fprintln(out, "playing a day of sample data, which takes a while")
	svc, err := alloc.NewService(alloc.Config{Store: store, Now: clock.Now, Encoders: api.Encoders(), Log: api.LogCodec()})
	if err != nil {
		return err
	}
	return demo.Fill(ctx, svc, clock)
}
