package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// dataDir is the directory that one process has for itself as long as it runs.
type dataDir struct {
	path string
	lock *flock.Flock
}

// openData makes the directory if it is missing, for its owner's eyes only, and locks it. The lock ends with the
// process, however that ends.
func openData(path string) (*dataDir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	lock := flock.New(filepath.Join(path, "lock"), flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the data directory: %w", err)
	}
	if !ok {
		return nil, fmt.Errorf("another idpool uses the data directory %s; end it first, or name another directory with -data", path)
	}
	return &dataDir{path: path, lock: lock}, nil
}

func (d *dataDir) close() error { return d.lock.Unlock() }

// database is where SQLite keeps its file. An empty one is made if there is none, because SQLite would let everybody on
// the machine read it; the files that it puts beside it get the mode of this one.
func (d *dataDir) database() (string, error) {
	path := filepath.Join(d.path, "idpool.db")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", fmt.Errorf("make the database: %w", err)
	}
	return path, f.Close()
}

// tokenFile is where a token that was made here is kept.
func (d *dataDir) tokenFile() string { return filepath.Join(d.path, "token") }

// token returns the token of the directory. The first call ever makes it; it is on disk, whole, before it is returned.
func (d *dataDir) token() (string, error) {
	text, err := os.ReadFile(d.tokenFile())
	if err == nil {
		token := strings.TrimSpace(string(text))
		if !tokenForm.MatchString(token) {
			return "", fmt.Errorf("%s holds no token; remove the file, and a new token will be made", d.tokenFile())
		}
		return token, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the token: %w", err)
	}
	token := rand.Text()
	if err := writeWhole(d.tokenFile(), token+"\n"); err != nil {
		return "", fmt.Errorf("keep the token: %w", err)
	}
	return token, nil
}

// writeWhole writes a file for its owner's eyes only; after a crash it is there as a whole or not at all.
func writeWhole(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // after the rename there is nothing to remove
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
