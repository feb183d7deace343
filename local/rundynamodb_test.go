//go:build !goonly

package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// runDynamoDB prepares .ci/run-dynamodb, as `make run-dynamodb` calls it, for the program under test.
func runDynamoDB(t *testing.T, port int, environment ...string) *exec.Cmd {
	t.Helper()
	built, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("../.ci/run-dynamodb")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() // the script looks for the program beside its own folder
	for _, name := range []string{".ci", "build"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, ".ci", "run-dynamodb")
	if err := os.WriteFile(path, script, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(built, filepath.Join(dir, "build", "idpool")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", path, "-addr", "127.0.0.1:0", "-token", testToken)
	cmd.Env = append(os.Environ(), "IDPOOL_DATA=", "IDPOOL_TABLE=", "DYNAMODB_PORT="+strconv.Itoa(port))
	cmd.Env = append(cmd.Env, environment...)
	return cmd
}

// freePort is one on which nothing listens now.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return portOf(l)
}

func portOf(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

func TestRunDynamoDBStartsTheEngineAndEndsIt(t *testing.T) {
	port := freePort(t)
	p := launchCommand(t, runDynamoDB(t, port))
	must[poolSeen](t, p, 201, request{method: "PUT", path: "/v1/pools/p"})
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.wait(); err != nil {
		t.Errorf("the end was not clean: %v: %s", err, p.errs)
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		t.Fatalf("the engine did not end with the program: %v", err)
	}
	l.Close()
}

// Whatever listens on the port already is not asked for a table, however it would answer.
func TestRunDynamoDBKeepsOffAnothersPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	engine := fakeEngine(t, `echo "error: port is already in use" >&2; exit 1`)
	port := portOf(l)
	for name, cmd := range map[string]*exec.Cmd{
		"taken before":    runDynamoDB(t, port),
		"taken meanwhile": runDynamoDB(t, freePort(t), "IDPOOL_DYNOXIDE="+engine),
	} {
		out, err := cmd.CombinedOutput()
		if exitCode(err) != 1 || !strings.Contains(string(out), "is taken by another program; set DYNAMODB_PORT to a free one\n") ||
			strings.Contains(string(out), "ready") {
			t.Errorf("%s: %v:\n%s", name, err, out)
		}
	}
}

// An engine that ends at once is not taken for one that has started.
func TestRunDynamoDBTellsOfAnEngineThatDoesNotStart(t *testing.T) {
	engine := fakeEngine(t, `echo "the file is damaged" >&2; exit 1`)
	out, err := runDynamoDB(t, freePort(t), "IDPOOL_DYNOXIDE="+engine).CombinedOutput()
	if exitCode(err) != 1 || !strings.Contains(string(out), "the file is damaged\ndynoxide did not start on port ") {
		t.Errorf("%v:\n%s", err, out)
	}
}

// fakeEngine is a program that does what the script says.
func fakeEngine(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "engine")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}
