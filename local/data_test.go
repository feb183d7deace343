package main

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWhatOthersCouldReadIsClosed starts from files as a careless copy leaves them. A new directory and token have modes
// of their own: see TestTheTokenIsMadeOnceAndKept.
func TestWhatOthersCouldReadIsClosed(t *testing.T) {
	const token = "a-token-that-was-there"
	tests := []struct {
		name        string
		dir, file   fs.FileMode
		after       fs.FileMode // of the token's file
		warnings    int
		warnedAbout string
	}{
		{"both closed", 0o700, 0o600, 0o600, 0, ""},
		{"a closed token that may not be written", 0o700, 0o400, 0o400, 0, ""},
		{"a token that everybody can read", 0o700, 0o644, 0o600, 1, "the token was open"},
		{"a token that its group can read", 0o700, 0o640, 0o600, 1, "the token was open"},
		{"a token that others can write", 0o700, 0o602, 0o600, 1, "the token was open"},
		{"a directory that everybody can list", 0o755, 0o600, 0o600, 1, "the data directory is open"},
		{"a directory that its group can enter", 0o710, 0o600, 0o600, 1, "the data directory is open"},
		{"both open", 0o777, 0o666, 0o600, 2, "chmod 700"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			if err := os.Mkdir(dir, tt.dir); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "token")
			if err := os.WriteFile(file, []byte(token+"\n"), tt.file); err != nil {
				t.Fatal(err)
			}
			for name, mode := range map[string]fs.FileMode{dir: tt.dir, file: tt.file} { // whatever the umask is
				if err := os.Chmod(name, mode); err != nil {
					t.Fatal(err)
				}
			}
			var log strings.Builder
			d, err := openData(dir, slog.New(slog.NewTextHandler(&log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			got, err := d.token()
			if err != nil || got != token {
				t.Errorf("token %q, error %v, want %q", got, err, token)
			}
			if n := strings.Count(log.String(), "level=WARN"); n != tt.warnings || !strings.Contains(log.String(), tt.warnedAbout) {
				t.Errorf("%d warnings, want %d, with %q:\n%s", n, tt.warnings, tt.warnedAbout, log.String())
			}
			if strings.Contains(log.String(), token) {
				t.Errorf("the log shows the token:\n%s", log.String())
			}
			for name, want := range map[string]fs.FileMode{dir: tt.dir, file: tt.after} {
				info, err := os.Stat(name)
				if err != nil {
					t.Fatal(err)
				}
				if info.Mode().Perm() != want {
					t.Errorf("mode of %s is %o, want %o", filepath.Base(name), info.Mode().Perm(), want)
				}
			}
			if err := d.close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestWhatIsNoTokenFileIsLeftAlone has a folder where the token should be.
func TestWhatIsNoTokenFileIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "token")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	const mode fs.FileMode = 0o755
	if err := os.Chmod(folder, mode); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	d, err := openData(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.token(); err == nil || !strings.Contains(err.Error(), folder+" is no file; move it away") {
		t.Errorf("error %v, want that it is no file", err)
	}
	info, err := os.Stat(folder)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != mode {
		t.Errorf("mode of the folder is %o, want %o as before", got, mode)
	}
	if err := d.close(); err != nil {
		t.Error(err)
	}
}
