package lambdahttp_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"idpool/infra/lambdahttp"
)

func TestA12AHandlerThatFlushesIsToldThatItCannot(t *testing.T) {
	h := newHandler(t, func(w http.ResponseWriter, _ *http.Request) {
		if err := http.NewResponseController(w).Flush(); !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("Flush: %v, want ErrNotSupported", err)
		}
		if _, ok := w.(http.Flusher); ok {
			t.Error("the writer says that it can flush")
		}
	}, lambdahttp.Options{})
	send(t, h, event("GET", "/"))
}

func TestA18BodiesGoOutWhole(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write([]byte("hello")) // it writes to memory
	z.Close()
	tests := []struct {
		name, body string
		base64     bool
	}{
		{"text", "héllo \u2028 <&>", false},
		{"nothing", "", false},
		{"gzip", zipped.String(), true},
		{"an image", "\x89PNG\r\n\x1a\n", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHandler(t, func(w http.ResponseWriter, _ *http.Request) {
				for _, c := range []byte(tt.body) {
					w.Write([]byte{c}) // it writes to memory
				}
			}, lambdahttp.Options{})
			resp := send(t, h, event("GET", "/"))
			got := resp.Body
			if resp.IsBase64Encoded {
				raw, err := base64.StdEncoding.DecodeString(got)
				if err != nil {
					t.Fatal(err)
				}
				got = string(raw)
			}
			if got != tt.body || resp.IsBase64Encoded != tt.base64 {
				t.Errorf("body %q, base64 %t, want %q, %t", got, resp.IsBase64Encoded, tt.body, tt.base64)
			}
		})
	}
}

func TestCookiesGoOutOneByOneAndOtherHeadersJoined(t *testing.T) {
	h := newHandler(t, func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "1"})
		http.SetCookie(w, &http.Cookie{Name: "b", Value: "2"})
		w.Header().Add("Www-Authenticate", "Basic")
		w.Header().Add("Www-Authenticate", "Bearer")
		w.Header().Set("X-Lines", "a\r\nb: c")
		w.WriteHeader(401)
	}, lambdahttp.Options{})
	resp := send(t, h, event("GET", "/"))
	if diff := cmp.Diff([]string{"a=1", "b=2"}, resp.Cookies); diff != "" {
		t.Errorf("cookies (-want +got):\n%s", diff)
	}
	want := map[string]string{"Www-Authenticate": "Basic,Bearer", "X-Lines": "a  b: c"}
	if diff := cmp.Diff(want, resp.Headers); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}

func TestAResponseThatIsTooLargeForAFunctionIsAProblem(t *testing.T) {
	tests := []struct {
		name, text string
		times      int
		fits       bool
	}{
		{"letters that fit", "x", 5 << 20, true},
		{"letters that do not", "x", 6 << 20, false},
		{"quotes that fit when escaped", `"`, 5 << 19, true},
		{"quotes that fit until they are escaped", `"`, 4 << 20, false},
		{"angle brackets, which the runtime does not escape", "<", 5 << 20, true},
		{"control characters that fit until they are escaped", "\x01", 1<<20 + 1<<14, false},
		{"bytes that fit in base64", "\xff", 4 << 20, true},
		{"bytes that fit until they are in base64", "\xff", 5 << 20, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHandler(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/plain")
				w.Write(bytes.Repeat([]byte(tt.text), tt.times)) // it writes to memory
			}, lambdahttp.Options{})
			resp := send(t, h, event("GET", "/"))
			if !tt.fits {
				wantProblem(t, resp, 500, "internal", "")
				return
			}
			if resp.StatusCode != http.StatusOK {
				t.Errorf("status %d, want 200", resp.StatusCode)
			}
		})
	}
}

// TestResponsesAreThoseOfNetHTTP runs each handler behind both and compares what the client gets.
func TestResponsesAreThoseOfNetHTTP(t *testing.T) {
	write := func(w http.ResponseWriter, text string) { w.Write([]byte(text)) } // the comparison shows it
	tests := map[string]struct {
		method  string
		handler http.HandlerFunc
	}{
		"the first status counts": {"GET", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(201)
			w.WriteHeader(500)
			write(w, "made")
		}},
		"headers after the status are late": {"GET", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(200)
			w.Header().Set("X-Late", "1")
		}},
		"headers after the first byte are late": {"GET", func(w http.ResponseWriter, _ *http.Request) {
			write(w, "x")
			w.Header().Set("X-Late", "1")
			w.WriteHeader(404)
		}},
		"an empty first write": {"GET", func(w http.ResponseWriter, _ *http.Request) {
			write(w, "")
			write(w, "<html>")
		}},
		"a type that is left open": {"GET", func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			write(w, "<html>")
		}},
		"a body with an encoding has no guessed type": {"GET", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			write(w, "abc")
		}},
		"no body with 204": {"GET", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(204)
			if _, err := w.Write([]byte("x")); !errors.Is(err, http.ErrBodyNotAllowed) {
				t.Errorf("Write after 204: %v", err)
			}
		}},
		"no body with HEAD": {"HEAD", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			write(w, "text")
		}},
		"an early hint is not the answer": {"GET", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(103)
			w.WriteHeader(202)
		}},
		"a redirect": {"GET", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/there", http.StatusSeeOther) }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			status, header, body := overNetHTTP(t, tt.method, tt.handler)
			got := send(t, newHandler(t, tt.handler, lambdahttp.Options{}), event(tt.method, "/"))
			if got.StatusCode != status || got.Body != body {
				t.Errorf("answer %d %q, net/http gives %d %q", got.StatusCode, got.Body, status, body)
			}
			names := func(yield func(string) bool) {
				for n := range header {
					if !yield(n) {
						return
					}
				}
				for n := range got.Headers {
					if !yield(n) {
						return
					}
				}
			}
			for _, n := range slices.Compact(slices.Sorted(names)) {
				if n == "Date" || n == "Content-Length" {
					continue // the gateway's to set
				}
				if w := strings.Join(header[n], ","); got.Headers[n] != w {
					t.Errorf("header %s is %q, net/http gives %q", n, got.Headers[n], w)
				}
			}
		})
	}
}

// overNetHTTP is what a client gets from the handler behind net/http.
func overNetHTTP(t *testing.T, method string, h http.Handler) (status int, header http.Header, body string) {
	t.Helper()
	server := httptest.NewServer(h)
	defer server.Close()
	req, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := server.Client().Transport.RoundTrip(req) // a client would follow redirects
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(text)
}

func TestNewRefusesANilHandler(t *testing.T) {
	if _, err := lambdahttp.New(nil, lambdahttp.Options{}); err == nil {
		t.Error("New(nil) gave no error")
	}
}
