package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/infra/lambdahttp"
	"idpool/infra/sql"
	"idpool/web"
	"idpool/web/api"
)

// A door is how a request comes in: through the local program's handler over HTTP, or as an event through the authorizer
// and the Lambda adapter. The cases behind it are the same, on every store.

// sent is a request at a door.
type sent struct {
	method, path string
	body         string
	secret       string      // credential; "" for the bootstrap token, "-" for none
	header       http.Header // beside what follows from the rest
	ctx          context.Context
}

// seen is its answer.
type seen struct {
	status int
	header http.Header
	body   string
}

// door sends a request and returns the answer.
type door func(t testing.TB, s sent) seen

// environment is one process over the data, with nothing in memory when it begins.
type environment struct {
	door
	store *alloctest.Faulty
}

// data is what environments stand on: it opens a Store as a new process has it.
type data func(t testing.TB, now func() time.Time) alloc.Store

func sqliteData(t testing.TB) data {
	path := t.TempDir() + "/idpool.db"
	return func(t testing.TB, now func() time.Time) alloc.Store {
		s, err := sql.OpenSQLite(t.Context(), sql.Config{Path: path, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
}

// doorWorld is what a case sees.
type doorWorld struct {
	testing.TB
	clock *alloctest.Clock
	data  data
	enter func(t testing.TB, svc *alloc.Service, logger *slog.Logger) door
	log   *lockedBuffer

	environment // the first one
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// doorCase is one case; its name begins with those of cases.md.
type doorCase struct {
	name string
	run  func(w *doorWorld)
}

// atEveryDoor runs the cases at each door, on each store.
func atEveryDoor(t *testing.T, cases []doorCase) {
	for store, newData := range doorData() {
		for name, enter := range map[string]func(testing.TB, *alloc.Service, *slog.Logger) door{"local": enterLocal, "lambda": enterLambda} {
			t.Run(store+"/"+name, func(t *testing.T) {
				t.Parallel()
				for _, c := range cases {
					t.Run(c.name, func(t *testing.T) {
						w := &doorWorld{TB: t, clock: alloctest.NewClock(), data: newData(t), enter: enter, log: &lockedBuffer{}}
						w.environment = w.process()
						c.run(w)
					})
				}
			})
		}
	}
}

// process starts another environment.
func (w *doorWorld) process() environment {
	w.Helper()
	store := alloctest.NewFaulty(w.data(w.TB, w.clock.Now), nil)
	svc, err := alloc.NewService(alloc.Config{Store: store, Now: w.clock.Now, Encoders: api.Encoders()})
	if err != nil {
		w.Fatal(err)
	}
	return environment{w.enter(w.TB, svc, slog.New(slog.NewJSONHandler(w.log, nil))), store}
}

func doorVerifier(t testing.TB, svc *alloc.Service) web.Verifier {
	t.Helper()
	verify, err := verifier(svc, testToken)
	if err != nil {
		t.Fatal(err)
	}
	return verify
}

func (s sent) secretOr() string {
	if s.secret == "" {
		return testToken
	}
	return s.secret
}

func enterLocal(t testing.TB, svc *alloc.Service, logger *slog.Logger) door {
	t.Helper()
	h, err := handler(svc, doorVerifier(t, svc), pages{loopback: true}, newMonitor(func() int { return 0 }), logger)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return func(t testing.TB, s sent) seen {
		t.Helper()
		ctx := s.ctx
		if ctx == nil {
			ctx = t.Context()
		}
		r, err := http.NewRequestWithContext(ctx, s.method, server.URL+s.path, strings.NewReader(s.body))
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(r.Header, s.header)
		if s.body != "" && r.Header.Get("Content-Type") == "" {
			r.Header.Set("Content-Type", "application/json")
		}
		if s.secret != "-" {
			r.Header.Set("Authorization", "Bearer "+s.secretOr())
		}
		resp, err := server.Client().Do(r)
		if err != nil {
			return seen{status: http.StatusGatewayTimeout, body: err.Error()} // nobody heard the answer
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return seen{status: http.StatusGatewayTimeout, body: err.Error()}
		}
		return seen{resp.StatusCode, resp.Header, string(body)}
	}
}

// enterLambda is API Gateway and the functions behind it: the authorizer's context, and the two functions by the table of
// routes.
func enterLambda(t testing.TB, svc *alloc.Service, logger *slog.Logger) door {
	t.Helper()
	function := func(h http.Handler) lambdahttp.Handler {
		f, err := lambdahttp.New(web.Stack(web.Authorized(h), web.Options{Logger: logger}), lambdahttp.Options{Logger: logger})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	allocate, admin := function(api.Allocate(svc)), function(api.Admin(svc))
	routes := http.NewServeMux()
	for _, rt := range api.Routes(nil) {
		if rt.Function == api.FunctionAllocate {
			routes.Handle(rt.Method+" "+rt.Path, http.NotFoundHandler())
		}
	}
	verify := doorVerifier(t, svc)
	return func(t testing.TB, s sent) seen {
		t.Helper()
		e, u := gatewayEvent(t, s)
		if caller, err := verify(t.Context(), s.secretOr()); err == nil {
			known, err := lambdahttp.AuthorizerContext(caller)
			if err != nil {
				t.Fatal(err)
			}
			e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{Lambda: known}
		} else if strings.HasPrefix(u.Path, "/v1/") {
			return seen{status: http.StatusForbidden, body: `{"message":"Forbidden"}`} // the gateway's own
		}
		serve := admin
		if _, pattern := routes.Handler(&http.Request{Method: s.method, URL: u, Host: "api.example.com"}); pattern != "" {
			serve = allocate
		}
		ctx := s.ctx
		if ctx == nil {
			ctx = t.Context()
		}
		resp, err := serve(ctx, e)
		if err != nil {
			t.Fatalf("the function failed: %v", err)
		}
		return answerOf(t, resp)
	}
}

// gatewayEvent is the request as API Gateway sends it on: header lines of one name are joined with a comma.
func gatewayEvent(t testing.TB, s sent) (events.APIGatewayV2HTTPRequest, *url.URL) {
	t.Helper()
	u, err := url.Parse(s.path)
	if err != nil {
		t.Fatal(err)
	}
	e := events.APIGatewayV2HTTPRequest{
		Version: "2.0", RouteKey: "$default", RawPath: u.EscapedPath(), RawQueryString: u.RawQuery, Body: s.body,
		Headers: map[string]string{"host": "api.example.com"},
	}
	for name, values := range s.header {
		e.Headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	if s.body != "" && e.Headers["content-type"] == "" {
		e.Headers["content-type"] = "application/json"
	}
	e.RequestContext.Stage = "$default"
	e.RequestContext.HTTP = events.APIGatewayV2HTTPRequestContextHTTPDescription{Method: s.method, Path: u.EscapedPath(), SourceIP: "203.0.113.7"}
	return e, u
}

func answerOf(t testing.TB, resp events.APIGatewayV2HTTPResponse) seen {
	t.Helper()
	a := seen{status: resp.StatusCode, header: http.Header{}, body: resp.Body}
	if resp.IsBase64Encoded {
		body, err := base64.StdEncoding.DecodeString(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		a.body = string(body)
	}
	for name, value := range resp.Headers {
		a.header.Set(name, value)
	}
	for name, values := range resp.MultiValueHeaders {
		a.header[http.CanonicalHeaderKey(name)] = values
	}
	return a
}

// into reads the answer's JSON.
func into[T any](t testing.TB, a seen) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		t.Fatalf("the answer %d %q is not what it should be: %v", a.status, a.body, err)
	}
	return v
}
