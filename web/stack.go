package web

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"idpool/alloc"
)

// Options is what a Stack is made of. The zero value works.
type Options struct {
	Logger *slog.Logger     // where each request's event goes; default: nowhere
	Now    func() time.Time // default time.Now

	// Metrics is given the time and the attributes of each event, and returns more to be logged with them: what makes
	// metrics of the log. Nil for nothing.
	Metrics func(at time.Time, event []slog.Attr) []slog.Attr
}

// Stack puts around a handler what every answer needs: a request ID, one log event, recovery from panics, security
// headers, compression and the limit on bodies. It is the same behind API Gateway and in the local program. Credentials are the
// business of [Bearer] and [BasicOrBearer], and of the pages' sign-in, inside the stack.
func Stack(h http.Handler, o Options) http.Handler {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now //nolint:forbidigo // the default of Options.Now
	}
	return compressed(logged(secured(recovered(limited(h))), o))
}

// ContentSecurityPolicy is sent with every answer. It allows nothing inline, so no page needs a nonce.
const ContentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// secured sets the headers that keep a browser from doing with an answer what it is not meant for. A handler may set
// another Cache-Control.
func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", ContentSecurityPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// recovered turns a panic into a 500. Behind Lambda a panic that got out would end the process and lose its stock, so
// none does, http.ErrAbortHandler included.
func recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			Note(r.Context(), slog.String(KeyPanicStack, string(debug.Stack())))
			err := alloc.Errorf(alloc.CodeInternal, "panic").Because(fmt.Errorf("panic: %v", v))
			if rec, ok := w.(*recorder); ok && rec.status != 0 {
				// Part of an answer is out; there is no taking it back.
				setCode(r.Context(), err.Code)
				Note(r.Context(), slog.String(KeyError, err.Error()))
				return
			}
			WriteError(w, r, err)
		}()
		next.ServeHTTP(w, r)
	})
}
