package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/gofrs/flock"
)

// dataDir is the directory that one process has for itself as long as it runs.
type dataDir struct {
	path   string
	lock   *flock.Flock
	logger *slog.Logger
}

// othersMay are the bits of a mode by which others than the owner get at a file.
const othersMay fs.FileMode = 0o077

// hasModes says that files of this system have owners and modes.
const hasModes = runtime.GOOS != "windows"

// openData makes the directory if it is missing, for its owner's eyes only, and locks it. The lock ends with the
// process, however that ends. Of a directory that was there and is open to others it warns: it may be so on purpose.
func openData(path string, logger *slog.Logger) (*dataDir, error) {
	if err := makeDir(path); err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("look at the data directory: %w", err)
	}
	if mode := info.Mode().Perm(); hasModes && mode&othersMay != 0 {
		logger.Warn("the data directory is open to other users of this machine, with the IDs in it; close it with chmod 700",
			"directory", path, "mode", fmt.Sprintf("%#o", mode))
	}
	lock := flock.New(filepath.Join(path, lockFile), flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the data directory: %w", err)
	}
	if !ok {
		return nil, fmt.Errorf("another idpool uses the data directory %s; end it first, or name another directory with -data", path)
	}
	return &dataDir{path: path, lock: lock, logger: logger}, nil
}

// makeDir makes the directory, or says in words what is in the way.
func makeDir(path string) error {
	err := os.MkdirAll(path, 0o700)
	if at, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("the data directory cannot be %s: %s is no directory; name a directory with -data", path, at.Path)
	}
	if err != nil {
		return fmt.Errorf("make the data directory: %w", err)
	}
	return nil
}

// lockOld locks a directory that is only read from, so that no program begins to use it meanwhile; several may read from it.
func lockOld(path string) (unlock func() error, err error) {
	lock := flock.New(filepath.Join(path, lockFile), flock.SetPermissions(0o600))
	switch ok, err := lock.TryRLock(); {
	case err != nil:
		return nil, fmt.Errorf("lock the old directory: %w", err)
	case !ok:
		return nil, fmt.Errorf("another idpool uses the old directory %s, and hands out IDs of it that a restore may miss; end it first", path)
	}
	return lock.Unlock, nil
}

// lockFile is the file of a data directory that says whether a process uses it.
const lockFile = "lock"

func (d *dataDir) close() error { return d.lock.Unlock() }

// The engines' files in the directory.
const (
	sqliteFile   = "idpool.db"
	dynoxideFile = "dynamodb.db" // .ci/run-dynamodb has the engine keep it here
)

// unused names the engine that has data in the directory while another is in use, "" if there is none. The two share the
// directory and its token, and know nothing of each other's IDs.
func (d *dataDir) unused(s settings) string {
	name, file := "SQLite", sqliteFile
	if s.endpoint == "" {
		name, file = "dynoxide", dynoxideFile
	}
	if info, err := os.Stat(filepath.Join(d.path, file)); err != nil || info.Size() == 0 {
		return ""
	}
	return name + " (" + file + ")"
}

// database is where SQLite keeps its file. An empty one is made if there is none, because SQLite would let everybody on
// the machine read it; the files that it puts beside it get the mode of this one.
func (d *dataDir) database() (string, error) {
	path := filepath.Join(d.path, sqliteFile)
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
	text, err := d.readToken()
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

// readToken reads the file of the token. One that others can read is closed to them first, and where that is not ours to
// do, it is not used. What is no file is left as it is, unopened: to open a pipe waits for its other end.
func (d *dataDir) readToken() ([]byte, error) {
	if info, err := os.Stat(d.tokenFile()); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file; move it away, and a new token will be made", d.tokenFile())
	}
	f, err := os.Open(d.tokenFile())
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); hasModes && mode&othersMay != 0 {
		if err := f.Chmod(mode &^ othersMay); err != nil {
			return nil, fmt.Errorf("%s is open to other users (mode %#o) and cannot be closed to them; remove the file, and a new token will be made: %w", d.tokenFile(), mode, err)
		}
		d.logger.Warn("the token was open to other users of this machine and is not any more; to have a new one made, remove its file and start again",
			"file", d.tokenFile(), "mode", fmt.Sprintf("%#o", mode))
	}
	return io.ReadAll(f)
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
