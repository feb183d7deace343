package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"idpool/alloc"
	"idpool/infra/sqs"
	"idpool/web"
	"idpool/web/admin/signin"
	"idpool/web/api"
)

// drainTime is how long requests in work are waited for at the end.
const drainTime = 10 * time.Second

// startTime bounds the way to a store that is ready.
const startTime = 30 * time.Second

// run serves until the context ends, then ends cleanly: no new requests, those in work are answered, the schedule stops,
// the store is closed. An end on request is no error.
func run(ctx context.Context, s settings, logger *slog.Logger, out io.Writer) (err error) {
	out = &lines{w: out}
	data, err := openData(s.data, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, data.close()) }()
	token := s.token
	if token == "" {
		if token, err = data.token(); err != nil {
			return err
		}
	}
	listener, err := listen(ctx, s.addr)
	if err != nil {
		return err
	}
	defer listener.Close() // a second time after Serve, which does no harm

	if s.demo {
		if err := fillDemo(ctx, s, data, out); err != nil {
			return err
		}
	}
	opening, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	store, closeStore, err := openStore(opening, s, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	old, closeOld, err := openOld(opening, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeOld()) }()
	queue := sqs.NewLocal()
	seen := newMonitor(queue.Len)
	svc, err := alloc.NewService(alloc.Config{
		Store: store, Now: s.clock(), Encoders: api.Encoders(), Log: api.LogCodec(), VerifyFor: verifyFor, Queue: queue, Old: old, Ended: seen.ended(logger),
		Stopped: func(ctx context.Context, s alloc.Stop) { web.LogStop(ctx, logger, s) },
	})
	if err != nil {
		return err
	}
	verify, err := verifier(svc, token)
	if err != nil {
		return err
	}
	hello := greeting{settings: s, addr: listener.Addr(), token: token, tokenFile: data.tokenFile(), unused: data.unused(s)}
	p := pages{now: s.clock(), readOnly: s.readOnly, facts: hello.facts(), gallery: s.gallery, loopback: isLoopback(listener.Addr().String())}
	if !s.insecure {
		if p.once, err = signin.NewOnce(s.clock(), func(path string) { hello.invite(out, path) }); err != nil {
			return err
		}
	}
	h, err := handler(svc, verify, p, seen, logger)
	if err != nil {
		return err
	}

	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	background := work(working, svc, queue, s.refillEvery, seen, logger)
	defer func() {
		stop()
		background.Wait()
	}()
	greet(out, hello)
	if p.once != nil {
		p.once.Print("")
	}
	return server{handler: h, drain: drainTime, logger: logger, out: out}.serve(ctx, listener)
}

// listen opens the address, or says in words what is in the way.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is in use by another program; end it, or choose another with -addr (port 0 picks a free one)", addr)
	}
	if errors.Is(err, syscall.EADDRNOTAVAIL) {
		return nil, fmt.Errorf("%s is no address of this machine; choose one with -addr (127.0.0.1 is always there)", addr)
	}
	return l, err
}

// server is what answers requests.
type server struct {
	handler http.Handler
	drain   time.Duration // how long requests in work are waited for at the end
	logger  *slog.Logger
	out     io.Writer
}

// serve answers requests until the context ends, then those in work.
func (s server) serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       requestTime,
		WriteTimeout:      requestTime + 10*time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10, // the gateway takes 10,240 bytes
		ErrorLog:          slog.NewLogLogger(s.logger.Handler(), slog.LevelInfo),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	fmt.Fprintln(s.out, "ending; requests in work are answered (a second signal ends at once)")
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.drain)
	defer cancel()
	if err := server.Shutdown(draining); err != nil {
		return errors.Join(fmt.Errorf("requests were still in work after %s and have been cut off: %w", s.drain, err), server.Close())
	}
	return nil
}
