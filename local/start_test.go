package main

import (
	"bytes"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReadSettings(t *testing.T) {
	usual := settings{addr: "127.0.0.1:8080", data: ".idpool", table: "idpool", refillEvery: 5 * time.Second, log: slog.LevelWarn}
	with := func(change func(*settings)) settings {
		s := usual
		change(&s)
		return s
	}
	tests := []struct {
		name string
		args []string
		env  map[string]string
		want settings
	}{
		{"nothing is said", nil, nil, usual},
		{
			"flags",
			[]string{"-addr", ":0", "-data", "d", "-dynamodb-endpoint", "http://127.0.0.1:8000", "-table", "t.1", "-old", "t.0", "-token", "0123456789abcdef", "-refill-every", "1m", "-log", "info", "-read-only", "-gallery"},
			nil,
			settings{":0", "d", "http://127.0.0.1:8000", "t.1", "t.0", "0123456789abcdef", time.Minute, false, slog.LevelInfo, false, true, true, nil},
		},
		{
			"the environment",
			nil,
			map[string]string{
				"IDPOOL_ADDR": "[::1]:1", "IDPOOL_DATA": "d", "IDPOOL_DYNAMODB_ENDPOINT": "https://dynamodb.eu-west-1.amazonaws.com/",
				"IDPOOL_TABLE": "t_1", "IDPOOL_TOKEN": "0123456789abcdef", "IDPOOL_REFILL_EVERY": "100ms", "IDPOOL_LOG": "error", "IDPOOL_INSECURE_DASHBOARD": "true",
			},
			settings{"[::1]:1", "d", "https://dynamodb.eu-west-1.amazonaws.com/", "t_1", "", "0123456789abcdef", 100 * time.Millisecond, false, slog.LevelError, true, false, false, nil},
		},
		{
			"a flag beats its twin",
			[]string{"-data=flag"},
			map[string]string{"IDPOOL_DATA": "environment", "IDPOOL_TABLE": "table"},
			with(func(s *settings) { s.data, s.table = "flag", "table" }),
		},
		{"no schedule", []string{"-refill-every", "0"}, nil, with(func(s *settings) { s.refillEvery = 0 })},
		{"an empty variable is one that is not set", nil, map[string]string{"IDPOOL_ADDR": ""}, usual},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readSettings(tt.args, lookupIn(tt.env), &bytes.Buffer{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(settings{})); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
		})
	}
}

func lookupIn(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

// TestBadSettings runs main's own function: a fault ends it with exit code 2 before anything is touched.
func TestBadSettings(t *testing.T) {
	tests := []struct {
		name string
		args []string
		env  map[string]string
		want []string // each is to be told
	}{
		{"a flag that there is not", []string{"-port", "1"}, nil, []string{"-port", "-h lists"}},
		{"an argument", []string{"serve"}, nil, []string{`"serve" is no flag`}},
		{"a flag without its value", []string{"-addr"}, nil, []string{"-addr"}},
		{"an address without a port", []string{"-addr", "localhost"}, nil, []string{"-addr must be host:port"}},
		{"a port too high", []string{"-addr", ":65536"}, nil, []string{"-addr must be host:port"}},
		{"a URL as an address", []string{"-addr", "http://x:1"}, nil, []string{"-addr must be host:port"}},
		{"an endpoint without scheme", nil, map[string]string{"IDPOOL_DYNAMODB_ENDPOINT": "localhost:8000"}, []string{"IDPOOL_DYNAMODB_ENDPOINT must be a URL"}},
		{"an endpoint with a path", []string{"-dynamodb-endpoint", "http://x/y"}, nil, []string{"-dynamodb-endpoint must be a URL"}},
		{"a table name too short", []string{"-table", "ab"}, nil, []string{"-table must be a name"}},
		{"the present directory as the old one", []string{"-data", "d", "-old", "./d/"}, nil, []string{"-old", "must be another one than d"}},
		{"the present table as the old one", []string{"-dynamodb-endpoint", "http://x:1", "-old", "idpool"}, nil, []string{"-old", "must be another one than idpool"}},
		{"a run every hour and more", []string{"-refill-every", "1h1s"}, nil, []string{"-refill-every must be a time"}},
		{"a run before time began", []string{"-refill-every", "-1s"}, nil, []string{"-refill-every must be a time"}},
		{"a run without a pause", []string{"-refill-every", "99ms"}, nil, []string{"or 0 to switch the schedule off"}},
		{"no directory", []string{"-data", ""}, nil, []string{"-data must name a directory"}},
		{"a level that there is not", []string{"-log", "loud"}, nil, []string{"-log must be debug"}},
		{"a dashboard for everybody on the network", []string{"-addr", ":8080", "-insecure-dashboard"}, nil, []string{"-addr must be of loopback"}},
		{"one at an address of this machine", []string{"-addr", "192.0.2.1:8080"}, map[string]string{"IDPOOL_INSECURE_DASHBOARD": "true"}, []string{"-addr must be of loopback"}},
		{"a switch that is neither", []string{"-read-only=maybe"}, nil, []string{"-read-only must be true or false"}},
		{
			"all faults are told together",
			[]string{"-addr", "x", "-table", "?"},
			map[string]string{"IDPOOL_TOKEN": "short", "IDPOOL_REFILL_EVERY": "soon"},
			[]string{"-addr must", "-table must", "IDPOOL_TOKEN must", "IDPOOL_REFILL_EVERY must"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := start(t.Context(), tt.args, lookupIn(tt.env), &out, &errs); code != exitUsage {
				t.Errorf("exit code %d, want %d", code, exitUsage)
			}
			for _, want := range tt.want {
				if !strings.Contains(errs.String(), want) {
					t.Errorf("message %q, want %q in it", errs.String(), want)
				}
			}
			if strings.Contains(errs.String(), "short") || out.Len() > 0 {
				t.Errorf("message %q, output %q: a token must not be shown", errs.String(), out.String())
			}
		})
	}
}

func TestHelpNamesEveryFlagAndItsTwin(t *testing.T) {
	var out, errs bytes.Buffer
	if code := start(t.Context(), []string{"-h"}, lookupIn(nil), &out, &errs); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	for _, o := range options() {
		if !strings.Contains(strings.ReplaceAll(errs.String(), "\n", " "), " -"+o.flag+" ") || !strings.Contains(errs.String(), o.env) {
			t.Errorf("the help does not name -%s and %s:\n%s", o.flag, o.env, errs.String())
		}
	}
}

func TestAProgramThatCannotStartSaysWhy(t *testing.T) {
	dir := t.TempDir()
	taken, err := net.Listen("tcp", "127.0.0.1:0") // it is a port of this machine
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	running := launch(t, "-data", filepath.Join(dir, "running"))
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"the port is in use", []string{"-data", filepath.Join(dir, "a"), "-addr", taken.Addr().String()}, "in use by another program"},
		{"the data is in use", []string{"-data", filepath.Join(dir, "running")}, "another idpool uses the data directory"},
		{"the data directory is a file", []string{"-data", file}, file + " is no directory; name a directory with -data"},
		{"the data directory is to be in a file", []string{"-data", filepath.Join(file, "x")}, file + " is no directory; name a directory with -data"},
		{"the address is another machine's", []string{"-data", filepath.Join(dir, "c"), "-addr", "192.0.2.1:0"}, "192.0.2.1:0 is no address of this machine"},
		{"no server at the endpoint", []string{"-data", filepath.Join(dir, "b"), "-dynamodb-endpoint", "http://127.0.0.1:1"}, "idpool: nothing listens at http://127.0.0.1:1: start it first\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := command(t, tt.args...).CombinedOutput()
			if code := exitCode(err); code != exitFailed || !strings.Contains(string(out), tt.want) {
				t.Errorf("exit code %d, output %q, want %d and %q", code, out, exitFailed, tt.want)
			}
		})
	}
	running.end(t)
}

func TestTheTokenIsMadeOnceAndKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	run := func() (token, output string) {
		cmd := command(t, "-data", dir)
		cmd.Args = append(cmd.Args[:1], "-addr", "127.0.0.1:0", "-data", dir) // without -token
		p := launchCommand(t, cmd)
		p.end(t)
		text, err := os.ReadFile(filepath.Join(dir, "token"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text)), p.output()
	}
	token, output := run()
	if !tokenForm.MatchString(token) || !strings.Contains(output, token) {
		t.Errorf("token %q, want a proper one and in the output:\n%s", token, output)
	}
	if again, _ := run(); again != token {
		t.Errorf("the second run has the token %q, the first one had %q", again, token)
	}
	for name, want := range map[string]fs.FileMode{"": 0o700, "token": 0o600, "idpool.db": 0o600, "lock": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("mode of %q is %o, want %o", name, got, want)
		}
	}

	if err := os.WriteFile(filepath.Join(dir, "token"), []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := command(t)
	cmd.Args = append(cmd.Args[:1], "-addr", "127.0.0.1:0", "-data", dir)
	if out, err := cmd.CombinedOutput(); exitCode(err) != exitFailed || !strings.Contains(string(out), "holds no token") {
		t.Errorf("a spoilt token file: %v, %s", err, out)
	}
}

func TestAGivenTokenIsNeitherKeptNorShown(t *testing.T) {
	dir := t.TempDir()
	p := launch(t, "-data", dir)
	p.end(t)
	if strings.Contains(p.output(), testToken) {
		t.Errorf("the output shows the token:\n%s", p.output())
	}
	if _, err := os.Stat(filepath.Join(dir, "token")); err == nil {
		t.Error("the token is in a file")
	}
}
