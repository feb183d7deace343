package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// reply is what the tests over a real connection look at.
type reply struct {
	Status   int
	Replayed bool
	Code     alloc.Code
	IDs      []string
	Numbers  []string
}

// post sends a request over a real connection.
func post(ctx context.Context, server *httptest.Server, path, body string, headers ...string) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+path, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	setHeaders(req.Header, token, body, headers)
	resp, err := server.Client().Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return reply{}, err
	}
	r := reply{Status: resp.StatusCode, Replayed: resp.Header.Get("Idempotent-Replayed") == "true"}
	return r, json.Unmarshal(data, &r)
}

// atOnce runs n callers and fails the test for each that errs.
func atOnce(t *testing.T, n int, caller func(i int) error) {
	t.Helper()
	var wg sync.WaitGroup
	errs := make(chan error, n)
	for i := range n {
		wg.Go(func() { errs <- caller(i) })
	}
	wg.Wait()
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// The main job on real input: a voucher export is seeded as it was sent, 64 clients claim all of it, each code goes to one
// of them, and then the pool is exhausted.
func TestRealInput(t *testing.T) {
	codes, err := os.ReadFile("../../alloc/testdata/codes.csv")
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, alloctest.NewModel(nil))
	c.must(201, "PUT", "/v1/pools/vouchers", "")
	type report struct {
		Added, Duplicate, Conflict, Invalid int
		CaseOnly                            int `json:"case_only"`
		First                               map[string][]struct {
			Line       int
			ID, Reason string
		}
		Warnings []string
	}
	seed := func() report {
		return read[report](t, c.must(200, "POST", "/v1/pools/vouchers/seed", string(codes), "Content-Type: text/csv").Body)
	}
	first := seed()
	if got, want := [...]int{first.Added, first.Duplicate, first.Conflict, first.Invalid}, [...]int{2407, 37, 0, 3}; got != want {
		t.Fatalf("added, duplicate, conflict, invalid: %v, want %v", got, want)
	}
	if first.CaseOnly == 0 || len(first.Warnings) != 1 || len(first.First["added"]) != 20 || len(first.First["duplicate"]) != 20 || len(first.First["invalid"]) != 3 {
		t.Errorf("the report misses something: %+v", first)
	}
	for _, f := range first.First["invalid"] {
		if f.Line < 2 || f.Reason == "" {
			t.Errorf("a finding without its line or reason: %+v", f)
		}
	}
	// C33: the same file again doubles nothing.
	if again := seed(); again.Added != 0 || again.Duplicate != 2407+37 || again.Invalid != 3 {
		t.Errorf("the same file again: %+v", again)
	}

	server := httptest.NewServer(c.h)
	t.Cleanup(server.Close)
	var mu sync.Mutex
	owners := map[string]int{}
	atOnce(t, 64, func(client int) error {
		for {
			r, err := post(t.Context(), server, "/v1/pools/vouchers/claims", "")
			switch {
			case err != nil:
				return err
			case r.Status == http.StatusConflict && r.Code == alloc.CodePoolExhausted:
				return nil
			case r.Status != http.StatusCreated || len(r.IDs) != 1:
				return fmt.Errorf("client %d: %+v", client, r)
			}
			mu.Lock()
			if other, ok := owners[r.IDs[0]]; ok {
				err = fmt.Errorf("%q went to client %d and to client %d", r.IDs[0], other, client)
			}
			owners[r.IDs[0]] = client
			mu.Unlock()
			if err != nil {
				return err
			}
		}
	})
	if len(owners) != 2407 {
		t.Errorf("%d codes were claimed, want 2407", len(owners))
	}
	// C32: what was claimed stays claimed.
	if again := seed(); again.Added != 0 || again.Conflict != 2407 || again.Duplicate != 37 {
		t.Errorf("the same file after all was claimed: added %d, conflict %d, duplicate %d", again.Added, again.Conflict, again.Duplicate)
	}
}

// K10, C44: one key, many callers: one claim.
func TestOneKeyIsOneClaim(t *testing.T) {
	c := newClient(t, alloctest.NewModel(nil))
	c.must(201, "PUT", "/v1/pools/p", "")
	c.must(200, "POST", "/v1/pools/p/seed", `{"ids": ["A-1", "A-2", "A-3", "A-4"]}`)
	server := httptest.NewServer(c.h)
	t.Cleanup(server.Close)
	replies := make([]reply, 64)
	atOnce(t, len(replies), func(i int) (err error) {
		replies[i], err = post(t.Context(), server, "/v1/pools/p/claims", `{"count": 2}`, "Idempotency-Key: k")
		return err
	})
	firsts := 0
	for _, r := range replies {
		if !r.Replayed {
			firsts++
		}
		if diff := cmp.Diff(replies[0].IDs, r.IDs); r.Status != http.StatusCreated || len(r.IDs) != 2 || diff != "" {
			t.Errorf("%d with other IDs:\n%s", r.Status, diff)
		}
	}
	if firsts != 1 {
		t.Errorf("%d answers say that they are the first, want 1", firsts)
	}
}

// C05: one of many creators makes the pool, and its configuration stays.
func TestOneCreatorWins(t *testing.T) {
	c := newClient(t, alloctest.NewModel(nil))
	statuses := make([]int, 50)
	var wg sync.WaitGroup
	for i := range statuses {
		wg.Go(func() { statuses[i] = c.do("PUT", "/v1/pools/p", fmt.Sprintf(`{"max_batch": %d}`, i+1)).Code })
	}
	wg.Wait()
	winner := -1
	for i, status := range statuses {
		switch {
		case status == http.StatusCreated && winner < 0:
			winner = i
		case status != http.StatusPreconditionRequired:
			t.Errorf("creator %d: %d", i, status)
		}
	}
	if body := c.must(200, "GET", "/v1/pools/p", "").Body.Bytes(); !bytes.Contains(body, fmt.Appendf(nil, `"max_batch":%d,`, winner+1)) {
		t.Errorf("creator %d won, the pool is %s", winner, body)
	}
}

// C01, C29: numbers are different strings, whoever asks.
func TestNumbersAreDifferentStrings(t *testing.T) {
	c := newClient(t, alloctest.NewModel(nil))
	c.must(201, "PUT", "/v1/sequences/s", `{"start": "9007199254740993"}`)
	server := httptest.NewServer(c.h)
	t.Cleanup(server.Close)
	var mu sync.Mutex
	seen := map[string]bool{}
	atOnce(t, 50, func(int) error {
		r, err := post(t.Context(), server, "/v1/sequences/s/next", `{"count": 3}`)
		if err != nil || r.Status != http.StatusCreated || len(r.Numbers) != 3 {
			return fmt.Errorf("%+v, %w", r, err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, n := range r.Numbers {
			if seen[n] || len(n) != 16 {
				return fmt.Errorf("the number %q came twice or is not exact", n)
			}
			seen[n] = true
		}
		return nil
	})
}

// What a file may have been meant as is said beside what became of it.
func TestASeedingWarns(t *testing.T) {
	c := newClient(t, nil)
	c.must(201, "PUT", "/v1/pools/p", "")
	for _, f := range []struct {
		media, query, file string
		says               []string
	}{
		{"text/csv", "", "Gutscheincode;Rabatt\nA1;10\nA2;20\na2;20\n", []string{"send header=true", "upper and lower case"}},
		{"text/csv", "?header=true", "Gutscheincode;Rabatt\nA1;10\n", nil},
		{"text/plain", "", "B1;10\nB2;20\n", []string{"send Content-Type: text/csv"}},
		{"application/json", "", `{"ids": ["C1;10", "C2;20"]}`, nil},
	} {
		got := read[struct{ Warnings []string }](t, c.must(200, "POST", "/v1/pools/p/seed"+f.query, f.file, "Content-Type: "+f.media).Body).Warnings
		if got == nil || len(got) != len(f.says) {
			t.Errorf("%s%s: the warnings are %q, want as many as %q", f.media, f.query, got, f.says)
			continue
		}
		for i, says := range f.says {
			if !strings.Contains(got[i], says) {
				t.Errorf("%s%s: warned %q, want %q", f.media, f.query, got[i], says)
			}
		}
	}
}
