// Package lambdahttp serves an http.Handler behind an API Gateway HTTP API (payload format 2.0), so that the handler
// sees the same request and writes the same response as under net/http.
//
// Who calls is what the gateway's authorizer says in the event's own context, never a header: see caller.go.
//
// It is the one place that knows aws-lambda-go-api-proxy. What that adapter does differently from net/http is set right
// here: see request.go and response.go, where each difference is named.
package lambdahttp

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/awslabs/aws-lambda-go-api-proxy/httpadapter"

	"idpool/alloc"
)

// Options is how the function is reached.
type Options struct {
	// BasePath is what stands before the handler's paths: "/dev" for a named stage, the mapping's key for a custom
	// domain; "" for neither. It is taken off where it stands as whole segments; a path without it is left as it is, so
	// that the function answers under both of its addresses.
	BasePath string

	// Logger gets one record for each request that could not be served; the default is slog.Default.
	Logger *slog.Logger
}

// Handler answers one event. It never returns an error, because Lambda would drop the answer and the client would see a
// bare 502; and it never panics, because the process would end and its stock of IDs with it.
type Handler func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error)

// maxResponse is what a function's answer may measure in bytes as the JSON that the runtime sends, a little below Lambda's
// 6 MB: a larger one would be refused by the runtime, which ends the process.
const maxResponse = 6<<20 - 64<<10

// New returns a Handler that serves h.
func New(h http.Handler, o Options) (Handler, error) {
	if h == nil {
		return nil, errors.New("lambdahttp: a handler is required")
	}
	base, err := cleanBase(o.BasePath)
	if err != nil {
		return nil, err
	}
	logger := o.Logger
	if logger == nil {
		logger = slog.Default()
	}
	s := &server{base: base, logger: logger, handler: h}
	s.adapter = httpadapter.NewV2(http.HandlerFunc(s.serve))
	return s.answer, nil
}

type server struct {
	base    string // "" or "/…" without a slash at its end
	logger  *slog.Logger
	handler http.Handler
	adapter *httpadapter.HandlerAdapterV2
}

// answer checks the event, lets the adapter call serve, and turns whatever goes wrong into a response.
func (s *server) answer(ctx context.Context, e events.APIGatewayV2HTTPRequest) (resp events.APIGatewayV2HTTPResponse, _ error) {
	defer func() {
		if p := recover(); p != nil {
			s.logger.ErrorContext(ctx, "a request ended in a panic", "panic", p, "stack", string(debug.Stack()))
			resp = internalFault(e)
		}
	}()
	in, err := read(e, s.base)
	if err != nil {
		return refusal(e, err.Error()), nil
	}
	caller, known, err := callerOf(e)
	if err != nil {
		s.logger.ErrorContext(ctx, "the authorizer's context cannot be read", "error", err)
		return internalFault(e), nil
	}
	ctx = context.WithValue(ctx, incomingKey{}, in)
	if known {
		ctx = alloc.WithCaller(ctx, caller)
	}
	resp, err = s.adapter.ProxyWithContext(ctx, in.forAdapter(e))
	if err != nil {
		s.logger.ErrorContext(ctx, "the adapter could not serve a request", "error", err)
		return internalFault(e), nil
	}
	if size := encodedSize(resp); size > maxResponse {
		s.logger.ErrorContext(ctx, "a response was too large for a function", "bytes", size)
		return internalFault(e), nil
	}
	return resp, nil
}

// maxEscape is how many bytes one byte of text may take in JSON: \u0001.
const maxEscape = 6

// encodedSize is what a response measures as the runtime encodes it: a quote takes two bytes there, a control character
// six. So the encoding itself is measured, unless the body is so small that no escaping could matter.
func encodedSize(resp events.APIGatewayV2HTTPResponse) int {
	if bound := maxEscape * len(resp.Body); bound <= maxResponse/2 {
		return bound
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // as the runtime does
	if encoder.Encode(resp) != nil {
		return math.MaxInt // cannot be: strings and numbers always can be encoded
	}
	return out.Len()
}

// serve is the handler that the adapter calls: between it and the real one the request and the response are set right.
func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	in, _ := r.Context().Value(incomingKey{}).(*incoming)
	in.correct(r)
	out := &response{header: http.Header{}, head: r.Method == http.MethodHead}
	s.handler.ServeHTTP(out, r)
	out.finish(w)
}

type incomingKey struct{}

func cleanBase(base string) (string, error) {
	base = strings.Trim(base, "/")
	if base == "" {
		return "", nil
	}
	if strings.ContainsAny(base, "%?# \t\r\n") || strings.Contains(base, "//") {
		return "", errors.New("lambdahttp: Options.BasePath must be plain path segments, as in /dev")
	}
	return "/" + base, nil
}

// decodable reports whether the adapter can read the body of the event.
func decodable(e events.APIGatewayV2HTTPRequest) bool {
	if !e.IsBase64Encoded {
		return true
	}
	_, err := base64.StdEncoding.DecodeString(e.Body)
	return err == nil
}
