// Command local is the whole of idpool in one process, for a developer's machine and for small loads: the handlers of
// all functions on one address, and the schedule as a ticker.
//
// By default it keeps its data in SQLite under -data, and needs nothing but itself. With -dynamodb-endpoint the same
// handlers run on any DynamoDB-compatible server.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// Exit codes, beside 0 for an end on request.
const (
	exitFailed = 1 // it could not start or go on
	exitUsage  = 2 // a flag or its environment twin is wrong
)

func main() {
	// The first signal asks for a clean end; stop gives the second one its usual effect, an end at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	os.Exit(start(ctx, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr)) //nolint:gocritic // nothing is left to stop
}

// start runs the program and returns its exit code.
func start(ctx context.Context, args []string, lookup func(string) (string, bool), out, errs io.Writer) int {
	s, err := readSettings(args, lookup, errs)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(errs, err)
		return exitUsage
	}
	logger := slog.New(slog.NewTextHandler(errs, &slog.HandlerOptions{Level: s.log}))
	if err := run(ctx, s, logger, out); err != nil {
		fmt.Fprintln(errs, "idpool:", err)
		return exitFailed
	}
	return 0
}
