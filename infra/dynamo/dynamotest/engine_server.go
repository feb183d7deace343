//go:build !goonly

package dynamotest

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"
)

// engineVersion is the dynoxide that `make tools` builds.
const engineVersion = "3.2.0"

// Server is a running dynoxide.
type Server struct {
	URL string

	cmd  *exec.Cmd
	log  bytes.Buffer // what it printed; to be read after done
	kill sync.Once
	done chan struct{} // closed when the process is gone
}

// Kill ends the process at once, as a crash of its machine would, and waits until it is gone.
func (s *Server) Kill() {
	s.kill.Do(func() { s.cmd.Process.Kill() }) // it fails only where the process is gone already
	<-s.done
}

// startServer tries again where somebody else took the port between its choice and its use.
func startServer(path string) (*Server, error) {
	binary, err := findEngine()
	if err != nil {
		return nil, err
	}
	const tries = 5
	for range tries {
		var s *Server
		if s, err = launch(binary, path); err == nil {
			return s, nil
		}
	}
	return nil, err
}

func findEngine() (string, error) {
	path := os.Getenv("IDPOOL_DYNOXIDE")
	if path == "" {
		cache := os.Getenv("IDPOOL_CACHE")
		if cache == "" {
			base, err := userCache()
			if err != nil {
				return "", err
			}
			cache = filepath.Join(base, "idpool")
		}
		path = filepath.Join(cache, "dynoxide-"+engineVersion, "bin", "dynoxide")
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("the DynamoDB engine of the tests is missing: %w; run `make tools`, "+
			"or name a DynamoDB-compatible server in IDPOOL_DYNAMODB_ENDPOINT", err)
	}
	return path, nil
}

// userCache is where the Makefile looks too; os.UserCacheDir differs on macOS.
func userCache() (string, error) {
	if dir := os.Getenv("XDG_CACHE_HOME"); dir != "" {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".cache"), err
}

func launch(binary, path string) (*Server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	args := []string{"serve", "--port", fmt.Sprint(port), "--log", "quiet"}
	if path != "" {
		args = append(args, "--db-path", path)
	}
	s := &Server{URL: fmt.Sprintf("http://127.0.0.1:%d", port), cmd: exec.Command(binary, args...), done: make(chan struct{})}
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	s.cmd.SysProcAttr = dieWithParent()
	started := make(chan error)
	go s.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", binary, err)
	}
	return s, s.await()
}

// run starts the process and waits for it on one thread that ends no sooner: the kernel takes the end of the thread that
// started a child for the end of its parent.
func (s *Server) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := s.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	s.cmd.Wait() // it is killed: how it ended says nothing
	close(s.done)
}

// await returns when the server answers.
func (s *Server) await() error {
	client := &http.Client{Timeout: time.Second}
	defer client.CloseIdleConnections()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		select {
		case <-s.done:
			return fmt.Errorf("dynoxide ended at once: %s", s.log.Bytes())
		case <-time.After(2 * time.Millisecond):
		}
		resp, err := client.Get(s.URL)
		if err == nil {
			return resp.Body.Close()
		}
	}
	s.Kill()
	return errors.New("dynoxide did not answer within 20 s")
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
