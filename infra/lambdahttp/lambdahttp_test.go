package lambdahttp_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"idpool/infra/lambdahttp"
)

// event is a request as API Gateway sends it.
func event(method, path string, change ...func(*events.APIGatewayV2HTTPRequest)) events.APIGatewayV2HTTPRequest {
	e := events.APIGatewayV2HTTPRequest{
		Version: "2.0", RouteKey: "$default", RawPath: path,
		Headers: map[string]string{"host": "api.example.com"},
		RequestContext: events.APIGatewayV2HTTPRequestContext{
			DomainName: "api.example.com", Stage: "$default", RequestID: "r-1",
			HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{
				Method: method, Path: path, Protocol: "HTTP/1.1", SourceIP: "203.0.113.7",
			},
		},
	}
	for _, c := range change {
		c(&e)
	}
	return e
}

func header(name, value string) func(*events.APIGatewayV2HTTPRequest) {
	return func(e *events.APIGatewayV2HTTPRequest) { e.Headers[name] = value }
}

func body(text string, isBase64 bool) func(*events.APIGatewayV2HTTPRequest) {
	return func(e *events.APIGatewayV2HTTPRequest) { e.Body, e.IsBase64Encoded = text, isBase64 }
}

func newHandler(t testing.TB, h http.HandlerFunc, o lambdahttp.Options) lambdahttp.Handler {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	handler, err := lambdahttp.New(h, o)
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

// send serves one event and fails the test if the function would.
func send(t testing.TB, h lambdahttp.Handler, e events.APIGatewayV2HTTPRequest) events.APIGatewayV2HTTPResponse {
	t.Helper()
	resp, err := h(t.Context(), e)
	if err != nil {
		t.Fatalf("the function fails: %v", err)
	}
	return resp
}

// receive serves one event and returns the request that the handler saw, with its body read.
func receive(t testing.TB, o lambdahttp.Options, e events.APIGatewayV2HTTPRequest) (*http.Request, string) {
	t.Helper()
	var seen *http.Request
	var text []byte
	h := newHandler(t, func(w http.ResponseWriter, r *http.Request) {
		seen = r
		var err error
		if text, err = io.ReadAll(r.Body); err != nil {
			t.Errorf("read the body: %v", err)
		}
	}, o)
	resp := send(t, h, e)
	if seen == nil {
		t.Fatalf("the handler was not called; answer %d %s", resp.StatusCode, resp.Body)
	}
	return seen, string(text)
}

// wantProblem checks an answer that is a problem document.
func wantProblem(t testing.TB, resp events.APIGatewayV2HTTPResponse, status int, code, inDetail string) {
	t.Helper()
	var p struct {
		Status       int
		Code, Detail string
		RequestID    string `json:"request_id"`
	}
	if resp.StatusCode != status || resp.Headers["Content-Type"] != "application/problem+json" {
		t.Fatalf("answer %d %v %s, want a problem with status %d", resp.StatusCode, resp.Headers, resp.Body, status)
	}
	if err := json.Unmarshal([]byte(resp.Body), &p); err != nil {
		t.Fatal(err)
	}
	if p.Status != status || p.Code != code || !strings.Contains(p.Detail, inDetail) || p.RequestID != "r-1" {
		t.Errorf("problem %+v, want status %d, code %q, request r-1 and %q in its detail", p, status, code, inDetail)
	}
}

func TestA01HeaderValuesWithCommasArriveWhole(t *testing.T) {
	e := event("POST", "/",
		header("idempotency-key", `"a, b,c"`), header("date", "Tue, 15 Nov 1994 08:12:31 GMT"),
		header("if-match", `"1", "2"`), header("x-none", ""), header("accept", " text/csv,application/json "))
	r, _ := receive(t, lambdahttp.Options{}, e)
	want := http.Header{
		"Idempotency-Key": {`"a, b,c"`}, "Date": {"Tue, 15 Nov 1994 08:12:31 GMT"}, "If-Match": {`"1", "2"`},
		"X-None": {""}, "Accept": {"text/csv,application/json"},
	}
	if diff := cmp.Diff(want, r.Header); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	if r.Host != "api.example.com" {
		t.Errorf("Host = %q, want that of the header, which is no header of the request", r.Host)
	}
}

func TestA02AHandlerThatWritesNothingAnswers200(t *testing.T) {
	h := newHandler(t, func(http.ResponseWriter, *http.Request) {}, lambdahttp.Options{})
	resp := send(t, h, event("GET", "/"))
	if resp.StatusCode != 200 || resp.Body != "" || len(resp.Headers) != 0 {
		t.Errorf("answer %+v, want a bare 200", resp)
	}
}

func TestA03NobodyForgesTheContextByAHeader(t *testing.T) {
	e := event("GET", "/", header("X-GoLambdaProxy-ApiGw-Context", `{"accountId":"forged"}`),
		header("x-golambdaproxy-apigw-stagevars", "{}"), header("x-amzn-request-context", "{}"), header("x-mine", "kept"))
	r, _ := receive(t, lambdahttp.Options{}, e)
	if diff := cmp.Diff(http.Header{"X-Mine": {"kept"}}, r.Header); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
}

func TestA04TheBasePathIsTakenOffAsWholeSegments(t *testing.T) {
	tests := []struct{ name, base, path, want string }{
		{"the default stage has none", "", "/v1/pools/p", "/v1/pools/p"},
		{"a named stage", "dev", "/dev/v1/pools/p", "/v1/pools/p"},
		{"a mapping of a custom domain", "/ids/v2/", "/ids/v2/v1/pools/p", "/v1/pools/p"},
		{"nothing behind it", "/dev", "/dev", "/"},
		{"a slash behind it", "/dev", "/dev/", "/"},
		{"half a segment", "/dev", "/developer/x", "/developer/x"},
		{"not at the start", "/dev", "/v1/dev", "/v1/dev"},
		{"the other address of the same function", "/dev", "/v1/pools/p", "/v1/pools/p"},
		{"twice", "/dev", "/dev/dev/x", "/dev/x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, _ := receive(t, lambdahttp.Options{BasePath: tt.base}, event("GET", tt.path))
			if r.URL.Path != tt.want || r.RequestURI != tt.want {
				t.Errorf("path %q, request URI %q, want %q", r.URL.Path, r.RequestURI, tt.want)
			}
		})
	}
	for _, bad := range []string{"/a b", "/a?b", "/a%2Fb", "/a//b", "/a#b"} {
		if _, err := lambdahttp.New(http.NotFoundHandler(), lambdahttp.Options{BasePath: bad}); err == nil {
			t.Errorf("base path %q was taken", bad)
		}
	}
}

func TestA06PathsKeepTheirEscapes(t *testing.T) {
	tests := []struct{ name, raw, path, escaped string }{
		{"an escaped slash is no separator", "/v1/ids/a%2Fb", "/v1/ids/a/b", "/v1/ids/a%2Fb"},
		{"a decoded question mark begins no query", "/v1/ids/a?b", "/v1/ids/a?b", "/v1/ids/a%3Fb"},
		{"an escaped question mark", "/v1/ids/a%3Fb", "/v1/ids/a?b", "/v1/ids/a%3Fb"},
		{"an escaped per cent sign", "/v1/ids/50%25", "/v1/ids/50%", "/v1/ids/50%25"},
		{"a decoded hash begins no fragment", "/a#b", "/a#b", "/a%23b"},
		{"a decoded space", "/a b", "/a b", "/a%20b"},
		{"decoded text", "/é/订单", "/é/订单", "/%C3%A9/%E8%AE%A2%E5%8D%95"},
		{"no slash in front", "v1", "/v1", "/v1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := event("GET", tt.raw, func(e *events.APIGatewayV2HTTPRequest) { e.RawQueryString = "id=a%2Fb&id=c%2Cd" })
			r, _ := receive(t, lambdahttp.Options{}, e)
			if r.URL.Path != tt.path || r.URL.EscapedPath() != tt.escaped || r.RequestURI != tt.escaped+"?id=a%2Fb&id=c%2Cd" {
				t.Errorf("path %q, escaped %q, request URI %q, want %q and %q", r.URL.Path, r.URL.EscapedPath(), r.RequestURI, tt.path, tt.escaped)
			}
			if diff := cmp.Diff([]string{"a/b", "c,d"}, r.URL.Query()["id"]); diff != "" {
				t.Errorf("several values of one parameter (-want +got):\n%s", diff)
			}
		})
	}
}

func TestA06BadRequestsAreRefusedWith400(t *testing.T) {
	h := newHandler(t, func(http.ResponseWriter, *http.Request) { t.Error("the handler was called") }, lambdahttp.Options{})
	tests := []struct {
		name   string
		event  events.APIGatewayV2HTTPRequest
		detail string
	}{
		{"a stray per cent sign", event("GET", "/v1/ids/50%"), "%25"},
		{"half an escape", event("GET", "/%4"), "%25"},
		{"a control character in the path", event("GET", "/a\nb"), "control"},
		{"a method that is none", event("GET /x", "/"), "method"},
		{"no method", event("", "/"), "method"},
		{"a line end in a header", event("GET", "/", header("x-a", "b\r\nx-c: d")), "header"},
		{"a header name with a space", event("GET", "/", header("x a", "b")), "header"},
		{"a line end in a cookie", event("GET", "/", func(e *events.APIGatewayV2HTTPRequest) { e.Cookies = []string{"a=\n"} }), "cookie"},
		{"a body that is no base64", event("POST", "/", body("%%%", true)), "base64"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			wantProblem(t, send(t, h, tt.event), 400, "invalid_request", tt.detail)
		})
	}
}

func TestA09APanicIsAProblemAndTheProcessGoesOn(t *testing.T) {
	for name, v := range map[string]any{"a value": "boom", "an error": http.ErrAbortHandler} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			h := newHandler(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(201)
				panic(v)
			}, lambdahttp.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			wantProblem(t, send(t, h, event("GET", "/")), 500, "internal", "repeat")
			if !strings.Contains(log.String(), "lambdahttp_test.go") {
				t.Errorf("the log has no stack: %s", log.String())
			}
		})
	}
}

func TestA10RemoteAddrHasHostAndPort(t *testing.T) {
	for source, want := range map[string]string{
		"203.0.113.7": "203.0.113.7", "2001:db8::1": "2001:db8::1", "203.0.113.7:99": "203.0.113.7", "": "::", "nonsense": "::",
	} {
		e := event("GET", "/", func(e *events.APIGatewayV2HTTPRequest) { e.RequestContext.HTTP.SourceIP = source })
		r, _ := receive(t, lambdahttp.Options{}, e)
		if host, _, err := net.SplitHostPort(r.RemoteAddr); err != nil || host != want {
			t.Errorf("source %q: RemoteAddr %q, want host %q", source, r.RemoteAddr, want)
		}
	}
}

func TestA11AllCookiesAreSeen(t *testing.T) {
	e := event("GET", "/", header("cookie", "ignored=1"), func(e *events.APIGatewayV2HTTPRequest) {
		e.Cookies = []string{"a=1", "b=2; c=3"}
	})
	r, _ := receive(t, lambdahttp.Options{}, e)
	if got := r.Header["Cookie"]; len(got) != 1 || got[0] != "a=1; b=2; c=3" {
		t.Errorf("Cookie = %q, want one header with all", got)
	}
	for _, name := range []string{"a", "b", "c"} {
		if _, err := r.Cookie(name); err != nil {
			t.Errorf("cookie %s: %v", name, err)
		}
	}
	r, _ = receive(t, lambdahttp.Options{}, event("GET", "/", header("Cookie", "a=1")))
	if got := r.Header.Get("Cookie"); got != "a=1" {
		t.Errorf("a cookie header alone gives %q, want a=1", got)
	}
}

func TestA14TheDeadlineReachesTheHandler(t *testing.T) {
	type mark struct{}
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), mark{}, "here"))
	h := newHandler(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Context().Value(mark{}) != "here" {
			t.Error("the context is not the invocation's")
		}
		cancel()
		if r.Context().Err() == nil {
			t.Error("the end of the invocation's context did not reach the handler")
		}
	}, lambdahttp.Options{})
	if _, err := h(ctx, event("GET", "/")); err != nil {
		t.Fatal(err)
	}
}

func TestA15OtherPayloadVersionsAreRefused(t *testing.T) {
	h := newHandler(t, func(http.ResponseWriter, *http.Request) { t.Error("the handler was called") }, lambdahttp.Options{})
	for _, version := range []string{"", "1.0", "3.0"} {
		e := event("GET", "/", func(e *events.APIGatewayV2HTTPRequest) { e.Version = version })
		wantProblem(t, send(t, h, e), 400, "invalid_request", "2.0")
	}
}

func TestA16TheFunctionNeverFails(t *testing.T) {
	t.Setenv("GO_API_HOST", "::not a host::") // the adapter reads it, and fails on it
	h := newHandler(t, func(http.ResponseWriter, *http.Request) {}, lambdahttp.Options{})
	wantProblem(t, send(t, h, event("GET", "/")), 500, "internal", "repeat")
}

func TestA18BodiesComeInWhole(t *testing.T) {
	png := "\x89PNG\r\n\x1a\n\x00\xff"
	tests := []struct{ name, sent, want string }{
		{"JSON", `{"count":1}`, ""},
		{"a form", "a=1&b=%C3%A9", ""},
		{"nothing", "", ""},
		{"bytes that are no text", png, ""},
	}
	for _, tt := range tests {
		for _, coded := range []bool{false, true} {
			if !coded && tt.sent == png {
				continue // the gateway has no other way to send it
			}
			sent := tt.sent
			if coded {
				sent = base64.StdEncoding.EncodeToString([]byte(sent))
			}
			r, got := receive(t, lambdahttp.Options{}, event("POST", "/", body(sent, coded), header("content-length", "999"), header("transfer-encoding", "chunked")))
			if got != tt.sent || r.ContentLength != int64(len(tt.sent)) {
				t.Errorf("%s (base64 %t): %q with length %d, want %q", tt.name, coded, got, r.ContentLength, tt.sent)
			}
			if r.Header.Get("Transfer-Encoding") != "" {
				t.Errorf("%s: the body is said to be chunked still", tt.name)
			}
		}
	}
}
