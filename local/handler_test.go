package main

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"idpool/alloc"
	"idpool/infra/sql"
)

// TestOnlyThisMachineGetsInWithoutASignIn covers DNS rebinding too: a page of another site whose name was made to point here
// sends that name as Host. And a proxy on this machine, which hands on what the network asks.
func TestOnlyThisMachineGetsInWithoutASignIn(t *testing.T) {
	store, err := sql.OpenSQLite(t.Context(), sql.Config{Path: filepath.Join(t.TempDir(), "db")})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	svc, err := alloc.NewService(alloc.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	verify, err := verifier(svc, testToken)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, addr, host string
		password         string
		want             int
		header           string // of a proxy
	}{
		{"this machine by its address", "127.0.0.1:8080", "127.0.0.1:8080", "", 200, ""},
		{"this machine by another address of its own", "127.0.0.1:8080", "127.8.9.1", "", 200, ""},
		{"this machine by its name", "127.0.0.1:8080", "LocalHost:8080", "", 200, ""},
		{"this machine by its address of version 6", "[::1]:8080", "[::1]:8080", "", 200, ""},
		{"a name that was made to point here", "127.0.0.1:8080", "evil.example:8080", "", 401, ""},
		{"a name that begins like ours", "127.0.0.1:8080", "127.0.0.1.evil.example", "", 401, ""},
		{"no name", "127.0.0.1:8080", "", "", 401, ""},
		{"the network, asked by the name of this machine", "0.0.0.0:8080", "localhost:8080", "", 401, ""},
		{"the network, version 6", "[::]:8080", "[::1]:8080", "", 401, ""},
		{"the network, with the token", "0.0.0.0:8080", "ids.example", testToken, 200, ""},
		{"the network, with another token", "0.0.0.0:8080", "ids.example", "another", 401, ""},
		{"a proxy that says for whom it asks", "127.0.0.1:8080", "127.0.0.1:8080", "", 401, "X-Forwarded-For"},
		{"a proxy that says by which name it was asked", "127.0.0.1:8080", "localhost", "", 401, "X-Forwarded-Host"},
		{"a proxy that says how it was asked", "127.0.0.1:8080", "localhost", "", 401, "x-forwarded-proto"},
		{"a proxy that says so in the standard way", "[::1]:8080", "[::1]:8080", "", 401, "Forwarded"},
		{"a proxy that says who it is", "127.0.0.1:8080", "127.0.0.1", "", 401, "Via"},
		{"a proxy that says so in the way of nginx", "127.0.0.1:8080", "127.0.0.1:8080", "", 401, "X-Real-IP"},
		{"a proxy, with the token", "127.0.0.1:8080", "127.0.0.1:8080", testToken, 200, "X-Forwarded-For"},
		{"this machine, with a header of no proxy", "127.0.0.1:8080", "127.0.0.1:8080", "", 200, "X-Request-Id"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, err := handler(svc, verify, pages{loopback: isLoopback(tt.addr)}, newMonitor(func() int { return 0 }), slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(h)
			defer server.Close()
			for _, path := range []string{"/", "/metrics", "/v1/pools"} {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				req.Host = tt.host
				if tt.host == "" {
					req.Host = "."
				}
				if tt.header != "" {
					req.Header.Set(tt.header, "203.0.113.7")
				}
				if tt.password != "" {
					req.SetBasicAuth("anybody", tt.password)
				}
				resp, err := server.Client().Do(req)
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil {
					t.Fatal(err)
				}
				want := tt.want
				switch {
				case path == "/v1/pools":
					want = http.StatusUnauthorized // the API takes bearer credentials alone, from everywhere
				case path == "/" && (want != 200 || tt.password != ""):
					want = http.StatusForbidden // pages take no credential at all
				}
				if resp.StatusCode != want {
					t.Errorf("GET %s: %d %s, want %d", path, resp.StatusCode, text, want)
				}
				if page := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html"); page != (want == 200 && path == "/") {
					t.Errorf("GET %s has the type %s", path, resp.Header.Get("Content-Type"))
				}
			}
		})
	}
}
