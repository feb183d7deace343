package lambdahttp_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
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
	z.Write([]byte("hello")) //nolint:errcheck // it writes to memory
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
					w.Write([]byte{c}) //nolint:errcheck // it writes to memory
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
	h := newHandler(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Write(bytes.Repeat([]byte("x"), 6<<20)) //nolint:errcheck // it writes to memory
	}, lambdahttp.Options{})
	wantProblem(t, send(t, h, event("GET", "/")), 500, "internal", "")
}

// TestResponsesAreThoseOfNetHTTP runs each handler behind both and compares what the client gets.
func TestResponsesAreThoseOfNetHTTP(t *testing.T) {
	write := func(w http.ResponseWriter, text string) { w.Write([]byte(text)) } //nolint:errcheck // the comparison shows it
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
		"a redirect": {"GET", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/there", 303) }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(tt.handler)
			defer server.Close()
			client := *server.Client()
			client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			req, err := http.NewRequestWithContext(t.Context(), tt.method, server.URL+"/", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			want, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer want.Body.Close()
			var wantBody bytes.Buffer
			wantBody.ReadFrom(want.Body) //nolint:errcheck // the comparison shows it

			got := send(t, newHandler(t, tt.handler, lambdahttp.Options{}), event(tt.method, "/"))
			if got.StatusCode != want.StatusCode || got.Body != wantBody.String() {
				t.Errorf("answer %d %q, net/http gives %d %q", got.StatusCode, got.Body, want.StatusCode, wantBody.String())
			}
			names := func(yield func(string) bool) {
				for n := range want.Header {
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
				if w := strings.Join(want.Header[n], ","); got.Headers[n] != w {
					t.Errorf("header %s is %q, net/http gives %q", n, got.Headers[n], w)
				}
			}
		})
	}
}

func TestNewRefusesANilHandler(t *testing.T) {
	if _, err := lambdahttp.New(nil, lambdahttp.Options{}); err == nil {
		t.Error("New(nil) gave no error")
	}
}
