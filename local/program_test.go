package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// testToken is the credential of every program that a test starts.
const testToken = "a-token-of-the-tests"

// binary builds the program, once for all tests.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "idpool-test-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "idpool")
	out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build: %w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := binary(); err == nil {
		os.RemoveAll(filepath.Dir(path)) // it is in the system's folder for such files
	}
	os.Exit(code)
}

// program is the built program, running.
type program struct {
	url    string
	cmd    *exec.Cmd
	errs   *bytes.Buffer // what it wrote to standard error; to be read after wait
	output func() string // what it wrote to standard output; it waits for the end
	wait   func() error  // for its end, any number of times
}

// command prepares the program with the test's token and a free port.
func command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, append([]string{"-addr", "127.0.0.1:0", "-token", testToken}, args...)...) // it is killed when the test ends
	cmd.Env = append(os.Environ(), "IDPOOL_DYNAMODB_ENDPOINT=", "IDPOOL_TABLE=", "IDPOOL_DATA=")
	return cmd
}

// launch starts the program and returns when it is ready. It ends with the test.
func launch(t testing.TB, args ...string) *program {
	t.Helper()
	return launchCommand(t, command(t, args...))
}

func launchCommand(t testing.TB, cmd *exec.Cmd) *program {
	t.Helper()
	p := &program{cmd: cmd, errs: &bytes.Buffer{}}
	cmd.Stderr = p.errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(out)
	first, readErr := reader.ReadString('\n')
	rest := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(reader) // the pipe ends with the program
		rest <- first + string(text)
	}()
	p.output = sync.OnceValue(func() string { return <-rest })
	p.wait = sync.OnceValue(func() error {
		p.output() // Wait closes the pipe, so it comes after the last line
		return cmd.Wait()
	})
	t.Cleanup(func() { p.kill() })
	url, ok := strings.CutPrefix(strings.TrimSpace(first), "idpool is ready at ")
	if readErr != nil || !ok {
		p.kill()
		t.Fatalf("the program did not start: %s%s", first, p.errs)
	}
	p.url = url
	return p
}

// kill ends the program as the end of its machine would, and waits until it is gone.
func (p *program) kill() {
	p.cmd.Process.Kill() // it fails only where the program has ended by itself
	p.wait()             // it was killed
}

// end asks for a clean end and checks that it was one.
func (p *program) end(t testing.TB) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.wait(); err != nil {
		t.Errorf("the end was not clean: %v: %s", err, p.errs)
	}
}

// newClient is one client with connections of its own.
func newClient(t testing.TB) *http.Client {
	transport := &http.Transport{MaxIdleConnsPerHost: 128}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

// answer is what a request led to.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// code is the code of a problem, "" for another answer.
func (a answer) code() string {
	var p struct{ Code string }
	json.Unmarshal(a.body, &p) // another answer
	return p.Code
}

// request is one call of the API with the test's token.
type request struct {
	method, path string
	body         string
	contentType  string // default JSON
	key          string // Idempotency-Key
}

// do sends the request once. The error is the transport's: whether the request was carried out is not known then. With
// it, a status is that of an answer that was cut short.
func (r request) do(ctx context.Context, client *http.Client, url string) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, url+r.path, strings.NewReader(r.body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	if r.body != "" {
		if r.contentType == "" {
			r.contentType = "application/json"
		}
		req.Header.Set("Content-Type", r.contentType)
	}
	if r.key != "" {
		req.Header.Set("Idempotency-Key", r.key)
	}
	resp, err := client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, body}, err
}

// must sends the request and decodes its answer, which has to have the status. It repeats what the service asks to be
// repeated, as a client would.
func must[T any](t testing.TB, p *program, status int, r request) T {
	t.Helper()
	client := newClient(t)
	for deadline := time.Now().Add(30 * time.Second); ; {
		a, err := r.do(t.Context(), client, p.url)
		if err != nil {
			t.Fatal(err)
		}
		if a.status == http.StatusServiceUnavailable && time.Now().Before(deadline) {
			backOff()
			continue
		}
		if a.status != status {
			t.Fatalf("%s %s: %d %s, want %d", r.method, r.path, a.status, a.body, status)
		}
		return decode[T](t, a.body)
	}
}

// decode reads an answer; one that is no JSON fails the test.
func decode[T any](t testing.TB, body []byte) T {
	var v T
	if err := json.Unmarshal(body, &v); err != nil {
		t.Errorf("the answer %s: %v", body, err)
	}
	return v
}

// backOff is the wait of a client that was told to come back, shorter than it was told.
func backOff() { time.Sleep(50 * time.Millisecond) }

// The parts of answers that tests look at.
type (
	poolSeen struct {
		Name  string
		Level levelSeen
	}
	levelSeen struct {
		Available, Seeded, Held, Claimed, Returning, Retired, Forgotten int
	}
	seedSeen struct {
		Added, Duplicate, Conflict, Invalid int
		CaseOnly                            int `json:"case_only"`
	}
	claimSeen struct {
		IDs   []string
		Token string
	}
	idSeen struct {
		State, Owner string
	}
	rangeSeen struct {
		Start, End int64 `json:",string"`
	}
	numbersSeen struct{ Numbers []string }
	sweepSeen   struct{ More bool }
)

// sum is every ID that the level knows of.
func (l levelSeen) sum() int {
	return l.Available + l.Held + l.Claimed + l.Returning + l.Retired + l.Forgotten
}

// exitCode is that of a program that has ended.
func exitCode(err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}
