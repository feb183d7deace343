package web

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// An answer is compressed for who takes it, where that is worth it, and never for another site, which could guess at what is in it.
func TestAnswersAreCompressedForWhoTakesThat(t *testing.T) {
	long := strings.Repeat("<p>a row of a table</p>\n", 200)
	for name, c := range map[string]struct {
		accept, site, body string
		packed             bool
	}{
		"a browser":                       {"gzip, deflate, br, zstd", "same-origin", long, true},
		"an address that was typed":       {"gzip, deflate, br, zstd", "none", long, true},
		"a client that is no browser":     {"gzip", "", long, true},
		"one that takes nothing":          {"", "", long, false},
		"one that takes anything but":     {"gzip;q=0", "", long, false},
		"a short answer":                  {"gzip", "", "short", false},
		"what another site asks for":      {"gzip", "cross-site", long, false},
		"what a neighbour site asks for":  {"gzip", "same-site", long, false},
		"what a browser may say some day": {"gzip", "another", long, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				w.Header().Set("ETag", `"7"`)
				io.WriteString(w, c.body)
			})
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
			if c.accept != "" {
				r.Header.Set("Accept-Encoding", c.accept)
			}
			if c.site != "" {
				r.Header.Set("Sec-Fetch-Site", c.site)
			}
			w, _ := served(t, h, r)
			got := w.Result()
			defer got.Body.Close()
			if got.Header.Get("Vary") != "Accept-Encoding" || got.Header.Get("ETag") != `"7"` || got.Header.Get("Content-Type") != "text/html; charset=utf-8" {
				t.Errorf("the headers are %v", got.Header)
			}
			var body io.Reader = got.Body
			if packed := got.Header.Get("Content-Encoding") == "gzip"; packed != c.packed {
				t.Fatalf("compressed: %v, want %v", packed, c.packed)
			} else if packed {
				if w.Body.Len() > len(c.body)/4 {
					t.Errorf("%d bytes of %d", w.Body.Len(), len(c.body))
				}
				z, err := gzip.NewReader(got.Body)
				if err != nil {
					t.Fatal(err)
				}
				body = z
			}
			if text, err := io.ReadAll(body); err != nil || string(text) != c.body {
				t.Errorf("%v and %d bytes, want %d", err, len(text), len(c.body))
			}
		})
	}
}

// A panic is an answer also where it comes from behind the compression.
func TestAPanicIsAnAnswerToWhoTakesCompression(t *testing.T) {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.Header.Set("Accept-Encoding", "gzip")
	w, events := served(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") }), r)
	if w.Code != http.StatusInternalServerError || len(events) != 1 || events[0][KeyStatus] != 500.0 || events[0][KeyBytesOut] == 0.0 {
		t.Errorf("%d and %v", w.Code, events)
	}
}
