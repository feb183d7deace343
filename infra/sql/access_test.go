//go:build unix

package sql

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestAccess(t *testing.T) {
	for name, c := range map[string]struct {
		file, folder os.FileMode
		want         string
	}{
		"all that is needed":          {0o666, 0o777, "opened"},
		"a file that is read-only":    {0o444, 0o777, "read-only"},
		"a folder that is read-only":  {0o666, 0o555, "read-only"}, // no room for the log beside the file
		"a file that is out of reach": {0o000, 0o777, "no access"},
	} {
		t.Run(name, func(t *testing.T) {
			folder, binary := publicFolder(t), filepath.Join(publicFolder(t), "opener")
			path := filepath.Join(folder, "idpool.db")
			storeThere(t, path)
			content, err := os.ReadFile(os.Args[0])
			if err != nil {
				t.Fatal(err)
			}
			err = errors.Join(os.WriteFile(binary, content, 0o755), os.Chmod(binary, 0o755), os.Chmod(path, c.file), os.Chmod(folder, c.folder))
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), binary, "opener", path)
			cmd.Dir = folder
			if os.Geteuid() == 0 { // whom no mode stops
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			}
			out, err := cmd.CombinedOutput()
			if got := strings.TrimSpace(string(out)); err != nil || got != c.want {
				t.Errorf("got %q and %v, want %q", got, err, c.want)
			}
		})
	}
}

// publicFolder makes a folder that others may use too.
func publicFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "idpool-sql-") //nolint:usetesting // t.TempDir is in a folder that only its user may enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(os.Chmod(folder, 0o777), os.RemoveAll(folder)); err != nil {
			t.Errorf("remove: %v", err)
		}
	})
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	return folder
}
