package static

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"
)

func TestFilesAreServedUnderTheirHash(t *testing.T) {
	h := Handler(http.NotFoundHandler())
	for name, media := range map[string]string{Stylesheet: "text/css; charset=utf-8", Icon: "image/svg+xml"} {
		address := Address(name)
		if !regexp.MustCompile(`^/static/[a-z]+-[0-9a-f]{12}\.(css|svg)$`).MatchString(address) {
			t.Errorf("%s is at %q", name, address)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, nil))
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != media || w.Body.Len() == 0 {
			t.Errorf("%s: %d %q, %d bytes", address, w.Code, w.Header().Get("Content-Type"), w.Body.Len())
		}
	}
	for _, path := range []string{"/static/app.css", "/static/", "/static/app-000000000000.css", "/static/static.go"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if w.Code != http.StatusNotFound || w.Header().Get("Cache-Control") != "" {
			t.Errorf("%s: %d, to be kept %q", path, w.Code, w.Header().Get("Cache-Control"))
		}
	}
	if got := Address("nothing"); got != "" {
		t.Errorf("a file that is not there is at %q", got)
	}
}

// The whole stylesheet stays below 12 KB on the wire, and fetches nothing.
func TestTheStylesheetIsSmall(t *testing.T) {
	content := load().files[Address(Stylesheet)].content
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.Copy(z, bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 12<<10 {
		t.Errorf("%d bytes compressed", b.Len())
	}
	if found := regexp.MustCompile(`url\(|@import`).Find(content); found != nil {
		t.Errorf("it has %q", found)
	}
}
