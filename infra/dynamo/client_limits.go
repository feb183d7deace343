package dynamo

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/aws/smithy-go/middleware"
)

// Limits bound one operation of the client: all its attempts, and each by itself. Every operation has deadlines of its
// own; none is shared with another caller.
type Limits struct {
	FirstAttempt time.Duration // an attempt before the client has had any answer: names, TLS; default 1.5 s
	Attempt      time.Duration // every later attempt; default 500 ms
	Operation    time.Duration // all attempts with their waits; default 2.5 s
	Reserve      time.Duration // kept of the caller's own deadline, to answer in; default 300 ms
}

func (l Limits) withDefaults() Limits {
	set := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	set(&l.FirstAttempt, 1500*time.Millisecond)
	set(&l.Attempt, 500*time.Millisecond)
	set(&l.Operation, 2500*time.Millisecond)
	set(&l.Reserve, 300*time.Millisecond)
	return l
}

// errNoTime says that the caller's deadline was too near to begin an operation.
var errNoTime = errors.New("too little time is left to begin")

// attempts is what became of the attempts of one operation. The SDK's error is about the last attempt alone, but an
// earlier one may have written.
type attempts struct {
	watched bool  // the client is one of NewClient's, so that what follows is complete
	open    bool  // an attempt may have been applied although it failed
	last    error // of the last attempt that was sent
}

type attemptsKey struct{}

// watch returns a context whose operation reports its attempts.
func watch(ctx context.Context) (context.Context, *attempts) {
	a := &attempts{}
	return context.WithValue(ctx, attemptsKey{}, a), a
}

func attemptsOf(ctx context.Context) *attempts {
	if a, ok := ctx.Value(attemptsKey{}).(*attempts); ok {
		return a
	}
	return &attempts{}
}

// limiter keeps the limits of one client.
type limiter struct {
	Limits
	answered atomic.Bool
}

// install adds the limits to an operation's middleware: the operation's around everything, the attempt's behind the
// retry loop and the signing, right before the request is sent.
func (l *limiter) install(stack *middleware.Stack) error {
	if err := stack.Initialize.Add(middleware.InitializeMiddlewareFunc("idpool:operation", l.operation), middleware.Before); err != nil {
		return err
	}
	return stack.Finalize.Add(middleware.FinalizeMiddlewareFunc("idpool:attempt", l.attempt), middleware.After)
}

func (l *limiter) operation(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
	out middleware.InitializeOutput, md middleware.Metadata, err error,
) {
	attemptsOf(ctx).watched = true
	limit := l.Operation
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)-l.Reserve)
	}
	if limit <= 0 {
		return out, md, errNoTime
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return next.HandleInitialize(ctx, in)
}

func (l *limiter) attempt(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
	out middleware.FinalizeOutput, md middleware.Metadata, err error,
) {
	limit := l.FirstAttempt
	if l.answered.Load() {
		limit = l.Attempt
	}
	attemptCtx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, md, err = next.HandleFinalize(attemptCtx, in)
	seen := attemptsOf(ctx)
	seen.last = err
	if err == nil || isRefusal(err) {
		l.answered.Store(true)
		return out, md, err
	}
	if isDial(err) {
		return out, md, err
	}
	seen.open = true
	if ctx.Err() != nil {
		return out, md, err
	}
	return out, md, &lostAnswer{err}
}

// lostAnswer is an attempt of which only the server knows what became: it was not answered in its time, or the answer
// broke off. It is repeated, whatever the SDK would think of it: every write of this package bears being repeated.
type lostAnswer struct{ err error }

func (e *lostAnswer) Error() string        { return "no whole answer: " + e.err.Error() }
func (e *lostAnswer) Unwrap() error        { return e.err }
func (e *lostAnswer) RetryableError() bool { return true }

// CanceledError hides that an attempt out of time looks to the SDK as if the caller had given up.
func (e *lostAnswer) CanceledError() bool { return false }

// isRefusal reports whether the server answered that it did nothing: any status of 400 to 499 but that of a request
// that timed out on its way.
func isRefusal(err error) bool {
	status := statusOf(err)
	return status >= 400 && status < 500 && status != http.StatusRequestTimeout
}

// statusOf returns the status of the answer that the error was made of, 0 where there was none.
func statusOf(err error) int {
	e, ok := errors.AsType[interface {
		error
		HTTPStatusCode() int
	}](err)
	if !ok {
		return 0
	}
	return e.HTTPStatusCode()
}

// isDial reports whether the request never left because there was no connection.
func isDial(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// jitter draws a wait between half the limit and the limit.
func jitter(limit time.Duration) time.Duration {
	return limit/2 + rand.N(limit/2+1)
}

// pause waits after an attempt, counted from 1, or until ctx ends.
func pause(ctx context.Context, attempt int) error {
	d, err := backoff(attempt, nil)
	if err != nil {
		return internal(err)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return failure(ctx, ctx.Err(), &attempts{watched: true}, false)
	}
}
