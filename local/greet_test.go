package main

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheGreetingTellsWhoCanAsk(t *testing.T) {
	const warning = "\n  network    reachable from the network over plain HTTP"
	for address, want := range map[string]bool{
		"127.0.0.1": false, "::1": false, "0.0.0.0": true, "::": true, "192.0.2.1": true,
	} {
		var out strings.Builder
		greet(&out, greeting{addr: &net.TCPAddr{IP: net.ParseIP(address), Port: 8080}})
		if got := strings.Contains(out.String(), warning); got != want {
			t.Errorf("%s: warned is %t, want %t:\n%s", address, got, want, out.String())
		}
	}
}

// TestTheGreetingTellsOfDataThatIsNotUsed: both engines keep their data in one folder, under one token.
func TestTheGreetingTellsOfDataThatIsNotUsed(t *testing.T) {
	const endpoint = "http://127.0.0.1:8000"
	for name, tt := range map[string]struct {
		files    []string
		endpoint string
		want     string // "" for no warning
	}{
		"SQLite in a new folder":       {nil, "", ""},
		"SQLite with its own data":     {[]string{sqliteFile}, "", ""},
		"SQLite beside dynoxide's":     {[]string{sqliteFile, dynoxideFile}, "", "dynoxide (dynamodb.db)"},
		"DynamoDB in a new folder":     {nil, endpoint, ""},
		"DynamoDB with its own data":   {[]string{dynoxideFile}, endpoint, ""},
		"DynamoDB where SQLite's is":   {[]string{sqliteFile}, endpoint, "SQLite (idpool.db)"},
		"DynamoDB beside that of both": {[]string{sqliteFile, dynoxideFile}, endpoint, "SQLite (idpool.db)"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := openData(t.TempDir(), slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			defer d.close()
			for _, file := range tt.files {
				if err := os.WriteFile(filepath.Join(d.path, file), []byte("x"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s := settings{data: d.path, endpoint: tt.endpoint}
			var out strings.Builder
			greet(&out, greeting{settings: s, addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, unused: d.unused(s)})
			warning := "\n  warning    " + d.path + " also has data of "
			if got := strings.Contains(out.String(), warning); got != (tt.want != "") {
				t.Errorf("warned is %t, want %q:\n%s", got, tt.want, out.String())
			}
			if want := warning + tt.want + ", which is not used now: "; tt.want != "" && !strings.Contains(out.String(), want) {
				t.Errorf("want %q:\n%s", want, out.String())
			}
		})
	}
}

// The old directory is named when the program is ready, is refused while a program uses it, and no program begins to use it meanwhile.
func TestTheOldDirectoryIsReadByItself(t *testing.T) {
	old, logger := t.TempDir(), slog.New(slog.DiscardHandler)
	s := settings{data: t.TempDir(), old: old}
	var out strings.Builder
	greet(&out, greeting{settings: s, addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}})
	if !strings.Contains(out.String(), "\n  old        SQLite, data in "+old+", of before a restore") {
		t.Errorf("the old directory is not named:\n%s", out.String())
	}
	d, err := openData(old, logger)
	if err != nil {
		t.Fatal(err)
	}
	store, closeStore, err := openStore(t.Context(), settings{data: old}, d)
	if err != nil || store.Ready(t.Context()) != nil {
		t.Fatal(err)
	}
	if _, _, err := openOld(t.Context(), s); err == nil || !strings.Contains(err.Error(), "another idpool uses the old directory") {
		t.Errorf("beside a program that uses it: %v, want it refused", err)
	}
	if err := errors.Join(closeStore(), d.close()); err != nil {
		t.Fatal(err)
	}
	for range 2 { // of those that only read there may be several
		_, closeOld, err := openOld(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		defer closeOld()
	}
	if d, err := openData(old, logger); err == nil {
		t.Errorf("a program begins to use it: %v, want it refused", d.close())
	}
}
