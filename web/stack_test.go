package web

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"idpool/alloc"
)

// served runs one request through a Stack and returns the answer with the events that were logged.
func served(t *testing.T, h http.Handler, r *http.Request) (*httptest.ResponseRecorder, []map[string]any) {
	t.Helper()
	var log bytes.Buffer
	w := httptest.NewRecorder()
	Stack(h, Options{Logger: slog.New(slog.NewJSONHandler(&log, nil))}).ServeHTTP(w, r)
	var events []map[string]any
	for d := json.NewDecoder(&log); ; {
		var e map[string]any
		if err := d.Decode(&e); err == io.EOF {
			return w, events
		} else if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
}

func TestOneEventForEachRequestWithoutSecrets(t *testing.T) {
	verify, err := NewTokenVerifier(TokenHash("a-secret-token"))
	if err != nil {
		t.Fatal(err)
	}
	h := Bearer(verify)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := IdempotencyKey(r); err != nil {
			t.Error(err)
		}
		WriteError(w, r, alloc.Errorf(alloc.CodeInvalidID, "the ID \"a-secret-id\" is not allowed"))
	}))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/pools/p/ids?id=a-secret-id", strings.NewReader("a-secret-body"))
	r.Header.Set("Authorization", "Bearer a-secret-token")
	r.Header.Set("Idempotency-Key", "a-secret-key")
	r.Header.Set("X-Request-Id", "chosen-by-the-client")
	r.RemoteAddr = "203.0.113.9"
	w, events := served(t, h, r)

	if len(events) != 1 {
		t.Fatalf("got %d events, want 1", len(events))
	}
	e := events[0]
	if line, _ := json.Marshal(e); bytes.Contains(line, []byte("secret")) {
		t.Errorf("the event has a secret: %s", line)
	}
	id := w.Header().Get("X-Request-Id")
	for key, want := range map[string]any{
		KeyRequestID: id, KeyMethod: "POST", KeyStatus: 400.0, KeyCode: "invalid_id", KeyClient: "default",
		KeyAddress: "203.0.113.9", KeyBytesIn: 13.0, slog.LevelKey: "INFO",
	} {
		if e[key] != want {
			t.Errorf("%s: %v, want %v", key, e[key], want)
		}
	}
	if len(id) != 26 || id == "chosen-by-the-client" {
		t.Errorf("request ID %q is not of our making", id)
	}
	if !strings.Contains(w.Body.String(), id) {
		t.Errorf("the problem does not name the request: %s", w.Body)
	}
}

func TestFaultsOfOursAreLoggedWithTheirCause(t *testing.T) {
	tests := map[string]struct {
		code  alloc.Code
		level string
	}{
		"an engine that does not answer is a warning": {alloc.CodeUnavailable, "WARN"},
		"a fault of ours is an error":                 {alloc.CodeInternal, "ERROR"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				WriteError(w, r, alloc.Errorf(tt.code, "sentence").Because(io.ErrUnexpectedEOF))
			})
			_, events := served(t, h, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
			if len(events) != 1 || events[0][slog.LevelKey] != tt.level {
				t.Fatalf("events %v, want one of level %s", events, tt.level)
			}
			if got, _ := events[0][KeyError].(string); !strings.Contains(got, "unexpected EOF") {
				t.Errorf("error %q, want its cause in it", got)
			}
		})
	}
}

// A09: a panic that got out of a Lambda handler would end the process.
func TestAPanicIsAnAnswer(t *testing.T) {
	for name, v := range map[string]any{"any": "boom", "one that net/http knows": http.ErrAbortHandler} {
		t.Run(name, func(t *testing.T) {
			h := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(v) })
			w, events := served(t, h, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
			if w.Code != http.StatusInternalServerError || w.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("got %d %v", w.Code, w.Header())
			}
			if strings.Contains(w.Body.String(), "boom") {
				t.Errorf("the answer tells of the panic: %s", w.Body)
			}
			if len(events) != 1 || events[0][KeyPanicStack] == nil || events[0][slog.LevelKey] != "ERROR" {
				t.Errorf("events %v, want one error with a stack", events)
			}
		})
	}
	t.Run("after the answer has begun", func(t *testing.T) {
		h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusCreated)
			panic("boom")
		})
		w, events := served(t, h, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		if w.Code != http.StatusCreated || w.Body.Len() != 0 {
			t.Errorf("got %d %q, want the answer left as it was", w.Code, w.Body)
		}
		if len(events) != 1 || events[0][KeyCode] != "internal" {
			t.Errorf("events %v, want one with the code internal", events)
		}
	})
}

// A02: a handler that writes nothing has answered 200.
func TestSilenceIsAnAnswer(t *testing.T) {
	written := 0
	h := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	w := &statusCounter{ResponseWriter: httptest.NewRecorder(), written: &written}
	Stack(h, Options{}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	if written != http.StatusOK {
		t.Errorf("status %d written, want 200", written)
	}
}

type statusCounter struct {
	http.ResponseWriter
	written *int
}

func (w *statusCounter) WriteHeader(status int) {
	*w.written = status
	w.ResponseWriter.WriteHeader(status)
}

func TestEveryAnswerHasTheSecurityHeaders(t *testing.T) {
	h := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	w, _ := served(t, h, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	for header, want := range map[string]string{
		"Content-Security-Policy": ContentSecurityPolicy, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
		"Referrer-Policy": "same-origin", "Cache-Control": "no-store", "Cross-Origin-Opener-Policy": "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
	} {
		if got := w.Header().Get(header); got != want {
			t.Errorf("%s: %q, want %q", header, got, want)
		}
	}
	if strings.Contains(ContentSecurityPolicy, "unsafe") {
		t.Error("the content security policy has an exception")
	}
}

func TestBodiesAreLimited(t *testing.T) {
	type reading = func(r *http.Request, advice string) ([]byte, error)
	tests := map[string]struct {
		read reading
		size int
		want int
	}{
		"a body at the limit":               {ReadBody, MaxBody, http.StatusOK},
		"a body one byte beyond":            {ReadBody, MaxBody + 1, http.StatusRequestEntityTooLarge},
		"a body far beyond":                 {ReadBody, 8 * MaxBody, http.StatusRequestEntityTooLarge},
		"a file beyond the limit of bodies": {ReadUpload, MaxBody + 1, http.StatusOK},
		"a file at the limit":               {ReadUpload, MaxUpload, http.StatusOK},
		"a file one byte beyond":            {ReadUpload, MaxUpload + 1, http.StatusRequestEntityTooLarge},
		"a file far beyond":                 {ReadUpload, 8 * MaxUpload, http.StatusRequestEntityTooLarge},
	}
	for name, tt := range tests {
		for _, announced := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, err := tt.read(r, "split it")
					if err != nil {
						WriteError(w, r, err)
						return
					}
					if len(body) != tt.size {
						t.Errorf("read %d bytes of %d", len(body), tt.size)
					}
				})
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(make([]byte, tt.size)))
				if !announced {
					r.ContentLength = -1
				}
				w, _ := served(t, h, r)
				if w.Code != tt.want {
					t.Errorf("status %d, want %d", w.Code, tt.want)
				}
				if tt.want != http.StatusOK && !strings.Contains(w.Body.String(), "split it") {
					t.Errorf("the problem does not say what to do: %s", w.Body)
				}
			})
		}
	}
}

// A handler that reads a body by itself gets no more than a body has.
func TestAHandlersOwnReadingIsLimited(t *testing.T) {
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if data, err := io.ReadAll(r.Body); err == nil || len(data) != MaxBody {
			t.Errorf("%d bytes, %v; want %d and an error", len(data), err, MaxBody)
		}
	})
	served(t, h, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", bytes.NewReader(make([]byte, MaxBody+1))))
}

// What a function is sent in one event is a file and its headers, in base64.
func TestAFileFitsAnEvent(t *testing.T) {
	const event = 6 << 20
	if got := base64.StdEncoding.EncodedLen(MaxUpload) + 64<<10; got > event {
		t.Errorf("%d bytes, want at most %d", got, event)
	}
	if MaxUpload != alloc.MaxInputBytes {
		t.Errorf("a file has %d bytes, a part of one %d", MaxUpload, alloc.MaxInputBytes)
	}
}

func TestABodyThatBreaksOffIsTheClientsFault(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := ReadBody(r, "")
		WriteError(w, r, err)
	})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", io.MultiReader(strings.NewReader("{"), brokenReader{}))
	if w, _ := served(t, h, r); w.Code != http.StatusBadRequest {
		t.Errorf("status %d, want 400: %s", w.Code, w.Body)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
