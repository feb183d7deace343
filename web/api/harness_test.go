package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/web"
	"idpool/web/api"
)

// noon is the time at which the tests happen.
var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

const token = "the-token-of-the-tests"

// client talks to the whole API over one Store.
type client struct {
	t     testing.TB
	h     http.Handler
	token string
	log   *safeBuffer // the events of its requests, one JSON object a line
}

func newClient(t testing.TB, store alloc.Store) client {
	t.Helper()
	now := func() time.Time { return noon }
	if store == nil {
		store = alloctest.NewModel(now)
	}
	return clientAt(t, store, now)
}

func clientAt(t testing.TB, store alloc.Store, now func() time.Time) client {
	t.Helper()
	svc, err := alloc.NewService(alloc.Config{Store: store, Now: now, Encoders: api.Encoders(), Log: api.LogCodec()})
	if err != nil {
		t.Fatal(err)
	}
	log := &safeBuffer{}
	h := stacked(t, api.All(svc), svc, now, log)
	return client{t: t, h: h, token: token, log: log}
}

// stacked is a handler as a program serves it, held against the contract.
func stacked(t testing.TB, h http.Handler, svc *alloc.Service, now func() time.Time, log io.Writer) http.Handler {
	t.Helper()
	verify, err := web.NewTokenVerifier(web.TokenHash(token))
	if err != nil {
		t.Fatal(err)
	}
	logger := slog.New(slog.NewJSONHandler(log, nil))
	return checked(t, web.Stack(web.Bearer(web.FirstOf(verify, svc.Verify))(h), web.Options{Logger: logger, Now: now}))
}

// as is the same client with another credential, "" for none.
func (c client) as(token string) client {
	c.token = token
	return c
}

// safeBuffer is a buffer that several may write to.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// take returns what was written and empties the buffer.
func (b *safeBuffer) take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.buf.String()
	b.buf.Reset()
	return s
}

// do sends a request with the token. A body is sent as JSON unless the headers, given as "Name: value", say otherwise;
// "Name:" leaves a header out.
func (c client) do(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	c.t.Helper()
	return c.in(c.t.Context(), method, path, body, headers...)
}

// in is do in a context.
func (c client) in(ctx context.Context, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	c.t.Helper()
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	r.RemoteAddr = "192.0.2.1:4711"
	setHeaders(r.Header, c.token, body, headers)
	w := httptest.NewRecorder()
	c.h.ServeHTTP(w, r)
	return w
}

func setHeaders(h http.Header, token, body string, headers []string) {
	if token != "" {
		h.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		h.Set("Content-Type", "application/json")
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ":")
		if h.Del(name); value != "" {
			h.Set(name, strings.TrimSpace(value))
		}
	}
}

// must is do for steps that a test builds on.
func (c client) must(status int, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	c.t.Helper()
	w := c.do(method, path, body, headers...)
	if w.Code != status {
		c.t.Fatalf("%s %s %.200s: %d %s, want %d", method, path, body, w.Code, w.Body, status)
	}
	return w
}

// read decodes an answer.
func read[T any](t testing.TB, body io.Reader) T {
	t.Helper()
	var v T
	if err := json.NewDecoder(body).Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// problemOf checks that an answer is a problem document that helps, and returns it.
func problemOf(t testing.TB, w *httptest.ResponseRecorder) web.Problem {
	t.Helper()
	if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Fatalf("%d with Content-Type %q, want a problem: %.300s", w.Code, got, w.Body)
	}
	p := read[web.Problem](t, w.Body)
	switch {
	case p.Status != w.Code, p.Status != web.StatusOf(p.Code):
		t.Errorf("status %d in the body, %d in the answer, %d in the table", p.Status, w.Code, web.StatusOf(p.Code))
	case len(p.Detail) < 20, p.Title == "", !strings.HasSuffix(p.Type, string(p.Code)):
		t.Errorf("the problem does not help: %+v", p)
	case p.RequestID == "" || p.RequestID != w.Header().Get("X-Request-Id"):
		t.Errorf("request ID %q in the body, %q in the header", p.RequestID, w.Header().Get("X-Request-Id"))
	}
	return p
}
