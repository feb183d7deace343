package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestATokenThatCannotBeClosedIsNotUsed takes a file whose mode nobody may change, root included.
func TestATokenThatCannotBeClosedIsNotUsed(t *testing.T) {
	d, err := openData(filepath.Join(t.TempDir(), "data"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	if err := os.Symlink("/proc/self/status", d.tokenFile()); err != nil {
		t.Fatal(err)
	}
	token, err := d.token()
	if err == nil || !strings.Contains(err.Error(), "cannot be closed") || !strings.Contains(err.Error(), "remove the file") {
		t.Errorf("token %q, error %v, want one that says what to do", token, err)
	}
}
