package web

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"idpool/alloc"
)

// Keys of the attributes of a request's log event.
const (
	KeyRequestID    = "request_id"
	KeyMethod       = "method"
	KeyRoute        = "route" // the pattern, never the path: a path is the client's text
	KeyStatus       = "status"
	KeyCode         = "code"
	KeyDuration     = "duration_ms"
	KeyBytesIn      = "bytes_in"  // as announced; -1 if it was not
	KeyBytesOut     = "bytes_out" // before it is compressed
	KeyClient       = "client"
	KeyCredential   = "credential" // the ID of a stored credential, which is no secret
	KeyAddress      = "address"
	KeyPool         = "pool"
	KeySequence     = "sequence"
	KeyCount        = "count"
	KeyStolen       = "stolen"   // IDs that were tried and found taken by somebody else
	KeyThrottle     = "throttle" // why the engine refused because of load, in its own words
	KeyOperation    = "operation"
	KeyOutcome      = "outcome"  // see Outcome
	KeyKeyed        = "keyed"    // an Idempotency-Key came with it; never the key
	KeyReplayed     = "replayed" // the answer of an earlier request with the same key
	KeyError        = "error"
	KeyPartialError = "partial_error" // of a part of an answer; may come several times
	KeyPanicStack   = "stack"
	KeyReason       = "reason"  // why a generator is dry, or a sequence is rebuilt or has stopped; of a line of its own
	KeyNext         = "next"    // where the counter of a stopped sequence stands; of a line of its own
	KeyStep         = "step"    // of a rebuild; of a line of its own
	KeyUnheard      = "unheard" // steps that nobody has told the end of; of a line of its own
	KeyJob          = "job"     // like what follows of an audit that is done, which has a line of its own
	KeyVerdict      = "verdict"
	KeyTrailVerdict = "trail_verdict"
	KeyTrailEnd     = "trail_end" // month, position and hash: what a later audit may be asked to find again
)

// event collects what is known of one request, to be logged once at its end.
type event struct {
	requestID string
	received  time.Time
	logger    *slog.Logger // with the request's ID

	mu        sync.Mutex
	attrs     []slog.Attr
	operation string
	outcome   Outcome
	code      alloc.Code // of the problem that was answered; "" for none
}

type eventKey struct{}

// Note adds attributes to the log event of the request that ctx belongs to. Without one it does nothing. What it is
// given must hold no secret, no idempotency key and no ID.
func Note(ctx context.Context, attrs ...slog.Attr) {
	note(ctx, func(e *event) { e.attrs = append(e.attrs, attrs...) })
}

// RequestID returns the ID of the request that ctx belongs to, "" outside a Stack. It is made here: one that a client
// sends is not believed.
func RequestID(ctx context.Context) string {
	if e, ok := ctx.Value(eventKey{}).(*event); ok {
		return e.requestID
	}
	return ""
}

// Logger is for what the request that ctx belongs to has to say in a line of its own, beside its event. Outside a Stack it says
// nothing.
func Logger(ctx context.Context) *slog.Logger {
	if e, ok := ctx.Value(eventKey{}).(*event); ok {
		return e.logger
	}
	return slog.New(slog.DiscardHandler)
}

// Received is when the request that ctx belongs to came.
func Received(ctx context.Context) time.Time {
	if e, ok := ctx.Value(eventKey{}).(*event); ok {
		return e.received
	}
	return time.Now() //nolint:forbidigo // outside a Stack, which brings the clock
}

// logged gives each request its ID, in the context and in the answer, and logs one event at its end.
func logged(next http.Handler, o Options) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := o.Now()
		e := &event{requestID: rand.Text(), received: begin, operation: otherOperation}
		e.logger = o.Logger.With(slog.String(KeyRequestID, e.requestID))
		ctx := context.WithValue(r.Context(), eventKey{}, e)
		rec := &recorder{ResponseWriter: w}
		rec.Header().Set("X-Request-Id", e.requestID)
		next.ServeHTTP(rec, r.WithContext(ctx))
		if rec.status == 0 {
			rec.WriteHeader(http.StatusOK)
		}

		e.mu.Lock()
		defer e.mu.Unlock()
		end := o.Now()
		attrs := []slog.Attr{
			slog.String(KeyRequestID, e.requestID),
			slog.String(KeyMethod, r.Method),
			slog.String(KeyOperation, e.operation),
			slog.Int(KeyStatus, rec.status),
			slog.String(KeyOutcome, string(e.outcomeOf(rec.status))),
			slog.Float64(KeyDuration, float64(end.Sub(begin).Microseconds())/1000),
			slog.Int64(KeyBytesIn, r.ContentLength),
			slog.Int64(KeyBytesOut, rec.bytes),
			slog.String(KeyAddress, RemoteAddress(r)),
		}
		if e.code != "" {
			attrs = append(attrs, slog.String(KeyCode, string(e.code)))
		}
		attrs = append(attrs, e.attrs...)
		if o.Metrics != nil {
			attrs = append(attrs, o.Metrics(end, attrs)...)
		}
		o.Logger.LogAttrs(ctx, levelOf(rec.status), "request", attrs...)
	})
}

func levelOf(status int) slog.Level {
	switch {
	case status < http.StatusInternalServerError:
		return slog.LevelInfo
	case status == http.StatusServiceUnavailable:
		return slog.LevelWarn
	default:
		return slog.LevelError
	}
}

// recorder passes an answer on and remembers its status and size.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
