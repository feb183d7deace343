package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

func TestCleanPathNeverRedirects(t *testing.T) {
	tests := map[string]bool{
		"/": true, "/v1/pools": true, "/v1/pools/": true, "/v1/pools/%2F": true, "/v1/pools/%2e%2e/claims": true, "/v1/pools/é": true,
		"//": false, "/v1//pools": false, "/v1/../pools": false, "/v1/./pools": false, "/v1/pools/..": false, "/v1/pools//": false,
		"/..": false, "": false, "*": false, "v1": false,
	}
	for path, clean := range tests {
		mux := http.NewServeMux()
		mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "reached") }) // a recorder
		u, err := url.ParseRequestURI(path)
		if err != nil {
			u = &url.URL{Path: path}
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
		r.URL = u
		w := httptest.NewRecorder()
		CleanPath(mux).ServeHTTP(w, r)
		if got := w.Code == http.StatusOK && w.Body.String() == "reached"; got != clean {
			t.Errorf("%q: reached %t, want %t (%d)", path, got, clean, w.Code)
		}
		if !clean && w.Code != http.StatusNotFound {
			t.Errorf("%q: %d, want 404", path, w.Code)
		}
	}
}

func TestSplit(t *testing.T) {
	say := func(s string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, s) }) // a recorder
	}
	for path, want := range map[string]string{
		"/v1": "api", "/v1/pools": "api", "/v1//pools": "api", "/healthz": "api", "/readyz": "api", "/openapi.json": "api", "/openapi.yaml": "pages",
		"/": "pages", "/static/app.css": "pages", "/v1x": "pages", "/favicon.ico": "pages",
	} {
		w := httptest.NewRecorder()
		Split(say("api"), say("pages")).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if got := w.Body.String(); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
