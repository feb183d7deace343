package functions_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

// build builds the function of that folder as it is deployed, for this machine.
func build(t testing.TB, folder string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bootstrap")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-tags", "lambda.norpc", "-o", path, "./"+folder)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v: %s", folder, err, out)
	}
	return path
}

// environment is one execution environment of a function: its process, and the runtime API of Lambda (version
// 2018-06-01) that it asks for events, one at a time.
type environment struct {
	events chan event
	log    bytes.Buffer // what it printed; to be read after the test's end
}

type event struct {
	payload  []byte
	deadline time.Time
	outcome  chan outcome
}

// outcome is what the function said of an event.
type outcome struct {
	failed bool
	body   []byte
}

// start starts the function with these settings. It ends with the test.
func start(t testing.TB, folder string, settings ...string) *environment {
	t.Helper()
	e := &environment{events: make(chan event)}
	var pending sync.Map // event by its ID
	count := 0           // requests for events come one after the other: the process handles one at a time
	const api = "/2018-06-01/runtime/"
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+api+"invocation/next", func(w http.ResponseWriter, r *http.Request) {
		select {
		case ev := <-e.events:
			count++
			id := strconv.Itoa(count)
			pending.Store(id, ev)
			w.Header().Set("Lambda-Runtime-Aws-Request-Id", id)
			w.Header().Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(ev.deadline.UnixMilli(), 10))
			w.Write(ev.payload) // the function's process is gone; the test ends by its own deadline
		case <-r.Context().Done():
		}
	})
	answered := func(failed bool) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body) // a body cut short shows in the test
			if ev, ok := pending.LoadAndDelete(r.PathValue("id")); ok {
				ev.(event).outcome <- outcome{failed, body}
			}
			w.WriteHeader(http.StatusAccepted)
		}
	}
	mux.HandleFunc("POST "+api+"invocation/{id}/response", answered(false))
	mux.HandleFunc("POST "+api+"invocation/{id}/error", answered(true))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)

	cmd := exec.Command(build(t, folder)) // it is killed when the test ends
	cmd.Env = append([]string{
		"AWS_LAMBDA_RUNTIME_API=" + server.Listener.Addr().String(), "AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local", "AWS_LAMBDA_LOG_FORMAT=JSON",
	}, settings...)
	cmd.Stdout, cmd.Stderr = &e.log, &e.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill() // it fails only where the process is gone
		cmd.Wait()         // it was killed
		server.CloseClientConnections()
		if t.Failed() {
			t.Logf("%s printed:\n%s", folder, e.log.String())
		}
	})
	return e
}

// invoke hands the function an event and returns what it answers. A function that fails fails the test.
func (e *environment) invoke(t testing.TB, payload any) []byte {
	t.Helper()
	got := e.ask(t, payload)
	if got.failed {
		t.Fatalf("the function failed: %s", got.body)
	}
	return got.body
}

// ask hands the function an event, and returns what became of it.
func (e *environment) ask(t testing.TB, payload any) (got outcome) {
	t.Helper()
	data, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	const limit = 30 * time.Second
	ev := event{payload: data, deadline: time.Now().Add(limit), outcome: make(chan outcome, 1)}
	timeout := time.After(limit)
	select {
	case e.events <- ev:
	case <-timeout:
		t.Fatal("the function asks for no event")
	}
	select {
	case got = <-ev.outcome:
	case <-timeout:
		t.Fatal("the function does not answer")
	}
	return got
}

func TestNoFunctionStartsWithASettingThatIsWrong(t *testing.T) {
	for folder, c := range map[string]struct{ setting, fault string }{
		"allocate":   {"IDPOOL_TABLE=", "IDPOOL_TABLE must"},
		"refill":     {"IDPOOL_TABLE=a b", "IDPOOL_TABLE must"},
		"admin":      {"IDPOOL_OIDC_CLIENT_SECRET=a-token", "IDPOOL_OIDC_CLIENT_SECRET is set"},
		"authorizer": {"IDPOOL_TOKEN_HASH=a-token", "IDPOOL_TOKEN_HASH must"},
	} {
		cmd := exec.CommandContext(t.Context(), build(t, folder))
		cmd.Env = []string{"IDPOOL_TABLE=idpool", "AWS_REGION=us-east-1", "IDPOOL_DYNAMODB_ENDPOINT=http://127.0.0.1:1", c.setting}
		out, err := cmd.CombinedOutput()
		want := fmt.Sprintf("%s does not start: %s", folder, c.fault)
		if err == nil || !bytes.Contains(out, []byte(want)) || bytes.Contains(out, []byte("a-token")) {
			t.Errorf("%s with %s: %v, %q, want %q and not the value", folder, c.setting, err, out, want)
		}
	}
}
