package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// claimed is what a claim answers.
type claimed struct {
	IDs   []string
	State string
	Token string
	Held  string `json:"held_until"`
	Ended []struct{ ID, State string }
}

type problem struct {
	Code    string
	Detail  string
	Doc     string `json:"documentation"`
	Unknown bool   `json:"outcome_unknown"`
}

// want stops the test unless the answer has the status.
func (w *doorWorld) want(a seen, status int, what string) seen {
	w.Helper()
	if a.status != status {
		w.Fatalf("%s: %d %s, want %d", what, a.status, a.body, status)
	}
	return a
}

// refused stops the test unless the answer is a problem with the status and the code.
func (w *doorWorld) refused(a seen, status int, code, what string) problem {
	w.Helper()
	w.want(a, status, what)
	p := into[problem](w.TB, a)
	if p.Code != code || a.header.Get("Content-Type") != "application/problem+json" {
		w.Fatalf("%s: %s, want the problem %s", what, a.body, code)
	}
	return p
}

// replayed stops the test unless the answer is the first one again, and says so.
func (w *doorWorld) replayed(a, first seen, what string) {
	w.Helper()
	w.want(a, first.status, what)
	if a.body != first.body || a.header.Get("Idempotent-Replayed") != "true" {
		w.Fatalf("%s: %s (replayed %q), want the first answer %s as replayed", what, a.body, a.header.Get("Idempotent-Replayed"), first.body)
	}
}

func (w *doorWorld) admin(method, path, body string) seen {
	w.Helper()
	a := w.door(w.TB, sent{method: method, path: path, body: body})
	if a.status >= 300 {
		w.Fatalf("%s %s: %d %s; the log:\n%s", method, path, a.status, a.body, w.log)
	}
	return a
}

// pool makes a pool of the configuration and puts n IDs into it.
func (w *doorWorld) pool(name, config string, n int) {
	w.Helper()
	w.admin("PUT", "/v1/pools/"+name, config)
	if n > 0 {
		w.seed(name, name+"-", n)
	}
}

func (w *doorWorld) seed(pool, prefix string, n int) {
	w.Helper()
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%s%03d", prefix, i)
	}
	body, err := json.Marshal(map[string]any{"ids": ids})
	if err != nil {
		w.Fatal(err)
	}
	w.admin("POST", "/v1/pools/"+pool+"/seed", string(body))
}

// available counts the pool's free IDs after a sweep. What processes have in memory is old by then.
func (w *doorWorld) available(pool string) int {
	w.Helper()
	w.clock.Advance(15 * time.Minute)
	for range 20 {
		if !into[struct{ More bool }](w.TB, w.admin("POST", "/v1/pools/"+pool+"/sweep", "")).More {
			break
		}
	}
	return into[struct{ Level struct{ Available int } }](w.TB, w.admin("GET", "/v1/pools/"+pool, "")).Level.Available
}

func claimWith(pool, key, body string) sent {
	return withKey(sent{method: "POST", path: "/v1/pools/" + pool + "/claims", body: body}, key)
}

func withKey(s sent, keys ...string) sent {
	s.header = http.Header{"Idempotency-Key": keys}
	return s
}

// client makes a credential with all that it takes to claim, and returns its secret.
func (w *doorWorld) client(name string) string {
	w.Helper()
	a := w.admin("POST", "/v1/credentials", fmt.Sprintf(`{"client": %q, "scopes": ["claim:*", "lease:*", "read:*"]}`, name))
	return into[struct{ Secret string }](w.TB, a).Secret
}

// insist repeats a request until it gets another answer than 503, as a client with a key would.
func (w *doorWorld) insist(at door, s sent) seen {
	for range 200 {
		if a := at(w.TB, s); a.status != http.StatusServiceUnavailable {
			return a
		}
		time.Sleep(5 * time.Millisecond) // as Retry-After asks; nothing depends on how long
	}
	return seen{status: http.StatusServiceUnavailable, body: "for ever"}
}

// together sends n requests at once, each from an environment of its own where there are enough.
func (w *doorWorld) together(n int, request func(i int) sent) []seen {
	w.Helper()
	const processes = 8
	at := make([]door, processes)
	for i := range at {
		at[i] = w.process().door
	}
	answers := make([]seen, n)
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() { answers[i] = w.insist(at[i%processes], request(i)) })
	}
	running.Wait()
	return answers
}
