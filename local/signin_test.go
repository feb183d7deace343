package main

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

var invitation = regexp.MustCompile(`sign in to the dashboard, once and within 5 minutes: (http://[^/]+)(/signin/once)\?code=([A-Z2-7]+)$`)

// TestWhoeverHasTheTerminalSignsIn takes the address that is printed at the start, and one that is asked for on the page.
func TestWhoeverHasTheTerminalSignsIn(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		s := settings{addr: "127.0.0.1:0", data: t.TempDir(), token: testToken, refillEvery: time.Hour}
		ended <- run(ctx, s, slog.New(slog.DiscardHandler), write)
		write.Close()
	}()
	printed := make(chan []string, 4)
	go func() {
		for lines := bufio.NewScanner(read); lines.Scan(); {
			if m := invitation.FindStringSubmatch(lines.Text()); m != nil {
				printed <- m
			}
		}
	}()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := newClient(t)
	client.Jar = jar
	m := <-printed
	base, path := m[1], m[2]
	send := func(status int, method, path string, form url.Values, words string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != status || !strings.Contains(string(text), words) {
			t.Errorf("%s %s: %d and %v, want %d and %q: %.2000s", method, path, resp.StatusCode, err, status, words, text)
		}
	}
	send(200, "GET", "/", nil, "Print a new address") // by way of the sign-in
	send(200, "GET", path+"?code="+m[3], nil, "Sign in as administrator")
	send(200, "POST", path, url.Values{"code": {m[3]}}, "Whoever has the terminal · admin")
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	if cookies := jar.Cookies(u); len(cookies) != 1 || cookies[0].Name != "idpool-"+u.Port() {
		t.Errorf("the cookies are %v, want one with the port in its name", cookies)
	}
	send(200, "POST", "/signout", nil, "You are signed out")
	send(403, "POST", path, url.Values{"code": {m[3]}}, "was used before")
	send(200, "POST", "/signin/new", nil, "was printed in the terminal")
	send(200, "POST", path, url.Values{"code": {(<-printed)[3]}}, "Whoever has the terminal · admin")
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
