package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	kills      = 50
	stormers   = 6  // clients of a storm
	seedBatch  = 40 // IDs of one seeding: about as many as are claimed, so that the pool is empty now and then
	claimBatch = 2
)

// TestKill9LosesAndDoublesNothing kills the program 50 times at a random moment of a storm of claims, leases and seeds,
// in every third round with its engine. After each restart everything that was acknowledged is there, what was not is
// found out by its key, and no ID is missing from the counts. At the end no ID and no number has come twice.
func TestKill9LosesAndDoublesNothing(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		book := &book{tokens: map[string]string{}, numbers: map[int64]bool{}}
		for round := range kills {
			p := launch(t, append(e.flags(), "-refill-every", "300ms")...)
			if round == 0 {
				must[poolSeen](t, p, http.StatusCreated, request{method: "PUT", path: "/v1/pools/p"})
				must[poolSeen](t, p, http.StatusCreated, request{method: "PUT", path: "/v1/sequences/s"})
			}
			book.check(t, p)
			var storm sync.WaitGroup
			for worker := range stormers {
				storm.Go(func() { book.storm(t, p, fmt.Sprintf("%d-%d", round, worker), worker) })
			}
			time.Sleep(20*time.Millisecond + rand.N(200*time.Millisecond)) // the random moment
			p.kill()
			if round%3 == 2 {
				e.crash(t)
			}
			storm.Wait()
			if t.Failed() {
				t.Fatalf("failed in round %d", round)
			}
		}
		p := launch(t, e.flags()...)
		book.check(t, p)
		book.close(t, p)
		p.end(t)
	})
}

// book is what the clients know: what was acknowledged, and what they asked for without getting an answer.
type book struct {
	mu      sync.Mutex
	tokens  map[string]string // of each acknowledged ID
	fresh   []string          // acknowledged IDs of this round
	ranges  []rangeSeen
	numbers map[int64]bool // of next
	seeded  int
	pending []request // with a key and without an answer
	maybe   int       // IDs of claims without key and answer
}

// storm sends one request after the other until the program is gone.
func (b *book) storm(t *testing.T, p *program, name string, worker int) {
	client := newClient(t)
	for n := 0; ; n++ {
		r := stormRequest(fmt.Sprintf("%s-%d", name, n), worker, n)
		a, err := r.do(t.Context(), client, p.url)
		switch {
		case err == nil:
			b.enter(t, r, a)
			continue
		case r.key != "":
			b.mu.Lock()
			b.pending = append(b.pending, r)
			b.mu.Unlock()
		case strings.HasSuffix(r.path, "/claims"):
			b.mu.Lock()
			b.maybe += claimBatch
			b.mu.Unlock()
		}
		return
	}
}

// stormRequest is the nth request of a client. They all claim and lease; the first one seeds, too.
func stormRequest(name string, worker, n int) request {
	claim := request{method: "POST", path: "/v1/pools/p/claims", body: fmt.Sprintf(`{"count": %d}`, claimBatch)}
	switch {
	case worker == 0 && n%3 == 0:
		ids := make([]string, seedBatch)
		for i := range ids {
			ids[i] = fmt.Sprintf("%s-%d", name, i)
		}
		return request{method: "POST", path: "/v1/pools/p/seed", body: strings.Join(ids, "\n"), contentType: "text/plain", key: name}
	case n%8 == 3:
		return request{method: "POST", path: "/v1/sequences/s/leases", body: `{"count": 7}`, key: name}
	case n%8 == 5:
		return request{method: "POST", path: "/v1/sequences/s/next", body: `{"count": 2}`}
	case n%2 == 0:
		claim.key = name
	}
	return claim
}

// enter writes an answer down. Nothing may come that somebody has already.
func (b *book) enter(t *testing.T, r request, a answer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case a.status == http.StatusServiceUnavailable:
		// Refused, or its outcome is not known: with a key it is asked again, without one it may have taken IDs.
		if r.key != "" {
			b.pending = append(b.pending, r)
		} else if strings.HasSuffix(r.path, "/claims") {
			b.maybe += claimBatch
		}
		return
	case a.code() == "pool_exhausted":
		return
	case a.status != http.StatusOK && a.status != http.StatusCreated:
		t.Errorf("%s %s: %d %s", r.method, r.path, a.status, a.body)
		return
	}
	var seen struct {
		claimSeen
		rangeSeen
		numbersSeen
		seedSeen
	}
	if err := json.Unmarshal(a.body, &seen); err != nil {
		t.Errorf("%s %s: %s: %v", r.method, r.path, a.body, err)
	}
	switch r.path[strings.LastIndex(r.path, "/"):] {
	case "/claims":
		for _, id := range seen.IDs {
			if other, twice := b.tokens[id]; twice {
				t.Errorf("%q was handed out with token %s and again with %s", id, other, seen.Token)
			}
			b.tokens[id] = seen.Token
			b.fresh = append(b.fresh, id)
		}
	case "/leases":
		b.ranges = append(b.ranges, seen.rangeSeen)
	case "/next":
		for _, text := range seen.Numbers {
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || b.numbers[n] {
				t.Errorf("number %q was handed out twice, or is none: %v", text, err)
			}
			b.numbers[n] = true
		}
	case "/seed":
		if seen.Added != seedBatch || seen.Duplicate+seen.Conflict+seen.Invalid != 0 {
			t.Errorf("seeded %+v, want %d added", seen.seedSeen, seedBatch)
		}
		b.seeded += seedBatch
	}
}

// check is what has to hold after every restart.
func (b *book) check(t *testing.T, p *program) {
	t.Helper()
	client := newClient(t)
	for _, r := range b.take() {
		b.enterInTime(t, client, p, r)
	}
	for _, id := range b.fresh {
		r := request{method: "GET", path: "/v1/pools/p/ids?id=" + url.QueryEscape(id)}
		if got := must[idSeen](t, p, http.StatusOK, r); got.State != "claimed" {
			t.Errorf("%q was acknowledged as claimed and is %s", id, got.State)
		}
	}
	b.fresh = nil
	level := sweptLevel(t, p, "p")
	if level.sum() != level.Seeded || level.Seeded != b.seeded {
		t.Errorf("level %+v does not add up to the %d that were seeded", level, b.seeded)
	}
	if taken := len(b.tokens); level.Claimed < taken || level.Claimed > taken+b.maybe {
		t.Errorf("%d IDs are claimed, acknowledged are %d and at most %d more", level.Claimed, taken, b.maybe)
	}
}

// take returns the pending requests and forgets them.
func (b *book) take() []request {
	pending := b.pending
	b.pending = nil
	return pending
}

// enterInTime repeats a request with a key until it has its outcome.
func (b *book) enterInTime(t *testing.T, client *http.Client, p *program, r request) {
	for deadline := time.Now().Add(30 * time.Second); ; backOff() {
		a, err := r.do(t.Context(), client, p.url)
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("%s %s with its key again: %d %s %v", r.method, r.path, a.status, a.body, err)
		}
		if a.status != http.StatusServiceUnavailable {
			b.enter(t, r, a)
			return
		}
	}
}

// close takes all that is left and adds everything up.
func (b *book) close(t *testing.T, p *program) {
	for id := range claimAll(t, p, "p", 4, 50) {
		if _, twice := b.tokens[id]; twice {
			t.Errorf("%q was handed out again at the end", id)
		}
		b.tokens[id] = ""
	}
	if missing := b.seeded - len(b.tokens); missing < 0 || missing > b.maybe {
		t.Errorf("%d seeded, %d handed out; at most %d may have been claimed by requests that got no answer", b.seeded, len(b.tokens), b.maybe)
	}
	slices.SortFunc(b.ranges, func(x, y rangeSeen) int { return int(x.Start - y.Start) })
	for i, r := range b.ranges {
		if i > 0 && b.ranges[i-1].End >= r.Start {
			t.Errorf("ranges %+v and %+v overlap", b.ranges[i-1], r)
		}
		for n := r.Start; n <= r.End; n++ {
			if b.numbers[n] {
				t.Errorf("number %d is in the range %+v and was handed out by next", n, r)
			}
		}
	}
	t.Logf("%d IDs seeded, %d handed out, %d ranges, %d numbers", b.seeded, len(b.tokens), len(b.ranges), len(b.numbers))
	if len(b.tokens) < kills || len(b.ranges) < kills {
		t.Errorf("the storms were too calm to show anything")
	}
}
