package main

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// refillSeen is what a run of the schedule says of refills.
type refillSeen struct {
	Refills []struct {
		Pool  string
		Added int
	}
}

// TestC38ManyRefillsAndSeedsEndAtTheTarget has runs of the schedule, by the ticker and by hand, beside seedings by hand: refills add no
// more than what is missing to the target, not double. What is seeded by hand after the target was reached comes on top of it. Then claims
// empty the pool below its low mark, and six runs at once fill it again, to the target exactly.
func TestC38ManyRefillsAndSeedsEndAtTheTarget(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		const target, hands, handful = 1200, 6, 40
		p := launch(t, append(e.flags(), "-refill-every", "100ms")...)
		must[poolSeen](t, p, http.StatusCreated, request{
			method: "PUT", path: "/v1/pools/p",
			body: fmt.Sprintf(`{"generator": {"kind": "random", "length": 10, "prefix": "V-", "check": "mod37_36"}, "refill": {"low": 300, "target": %d}}`, target),
		})
		byHand := func(name string) {
			ids := make([]string, handful)
			for j := range ids {
				ids[j] = fmt.Sprintf("HAND-%s-%d", name, j)
			}
			must[seedSeen](t, p, http.StatusOK, request{method: "POST", path: "/v1/pools/p/seed", body: strings.Join(ids, "\n"), contentType: "text/plain"})
		}
		tend := func() { must[refillSeen](t, p, http.StatusOK, request{method: "POST", path: "/v1/tend"}) }
		var all sync.WaitGroup
		for i := range hands {
			all.Go(tend)
			all.Go(func() { byHand(fmt.Sprint("a", i)) })
		}
		all.Wait()
		tend()
		level := sweptLevel(t, p, "p")
		if filled := level.Seeded - hands*handful; level.Available != level.Seeded || level.Available < target || filled > target {
			t.Errorf("level %+v, of which %d are refilled; want the target of %d and no more than that refilled", level, filled, target)
		}

		seen := map[string]bool{}
		form := regexp.MustCompile(`^(V-[0-9A-Z]{11}|HAND-a\d-\d+)$`)
		for left := level.Available; left >= 300; left -= 95 {
			for _, id := range must[claimSeen](t, p, http.StatusCreated, request{method: "POST", path: "/v1/pools/p/claims", body: `{"count": 95}`}).IDs {
				if seen[id] || !form.MatchString(id) {
					t.Errorf("claimed %q, which came before (%t) or is not of the generator's form", id, seen[id])
				}
				seen[id] = true
			}
		}
		for range hands {
			all.Go(tend)
		}
		all.Wait()
		if level := sweptLevel(t, p, "p"); level.Available != target || level.Seeded != target+len(seen) || level.Claimed != len(seen) {
			t.Errorf("level %+v, want the target again after %d claims", level, len(seen))
		}
	})
}

// TestWithoutScheduleNothingComesBack: a hold that ended while the program was down does not come back, nor is a pool filled, before
// somebody asks for it.
func TestWithoutScheduleNothingComesBack(t *testing.T) {
	e := newSQLite(t)
	p := launch(t, append(e.flags(), "-refill-every", "0")...)
	must[any](t, p, http.StatusCreated, request{method: "PUT", path: "/v1/pools/filled", body: `{"generator": {"kind": "ulid"}, "refill": {"low": 5, "target": 10}}`})
	must[any](t, p, http.StatusCreated, request{method: "PUT", path: "/v1/pools/p"})
	must[any](t, p, http.StatusOK, request{method: "POST", path: "/v1/pools/p/seed", body: "ONE\n", contentType: "text/plain"})
	must[any](t, p, http.StatusCreated, request{method: "POST", path: "/v1/pools/p/claims", body: `{"hold": 1}`})
	time.Sleep(1100 * time.Millisecond) // no clock of the program can be turned
	p.end(t)
	if told := p.output(); !strings.Contains(told, "schedule   off") {
		t.Errorf("the program does not say that the schedule is off:\n%s", told)
	}

	p = launch(t, append(e.flags(), "-refill-every", "0")...)
	job := must[jobSeen](t, p, http.StatusAccepted, request{method: "POST", path: "/v1/pools/p/audit"}) // jobs go on
	if done := jobEnd(t, p, job.ID); done.State != "done" {
		t.Errorf("a job without the schedule: %+v", done)
	}
	level := func(pool string) levelSeen {
		return must[poolSeen](t, p, http.StatusOK, request{method: "GET", path: "/v1/pools/" + pool}).Level
	}
	if p, filled := level("p"), level("filled"); p.Held != 1 || p.Available != 0 || filled.Seeded != 0 {
		t.Errorf("without a schedule: %+v and %+v", p, filled)
	}
	must[any](t, p, http.StatusOK, request{method: "POST", path: "/v1/tend"})
	if p, filled := level("p"), level("filled"); p.Available != 1 || filled.Available != 10 {
		t.Errorf("after a run that was asked for: %+v and %+v", p, filled)
	}
}

// TestANumberedPoolHasEachNumberOnce kills the program in the middle of refills of a pool whose IDs are numbers of a sequence. The
// pool has each number once, and no number that was not leased. On SQLite, where a lease is one transaction with its key, there is no gap. On
// DynamoDB a lease that is cut off between its counter and its key leaves one, as the contract of Lease says.
func TestANumberedPoolHasEachNumberOnce(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		const target = 1500
		seen := map[string]bool{}
		for round := range 6 {
			p := launch(t, append(e.flags(), "-refill-every", "100ms")...)
			if round == 0 {
				must[any](t, p, http.StatusCreated, request{method: "PUT", path: "/v1/sequences/invoices"})
				must[poolSeen](t, p, http.StatusCreated, request{method: "PUT", path: "/v1/pools/p", body: fmt.Sprintf(
					`{"generator": {"kind": "sequence", "sequence": "invoices", "format": "INV-{n:6}"}, "refill": {"low": %d, "target": %d}}`, target-1, target)})
			}
			for range 3 {
				r := request{method: "POST", path: "/v1/pools/p/claims", body: `{"count": 20}`, key: fmt.Sprint("order-", round)}
				a, err := r.do(t.Context(), newClient(t), p.url)
				if err == nil && a.status == http.StatusCreated {
					for _, id := range decode[claimSeen](t, a.body).IDs {
						seen[id] = true
					}
				}
			}
			p.kill()
			if round%2 == 1 {
				e.crash(t)
			}
		}
		p := launch(t, e.flags()...)
		for range 4 {
			must[refillSeen](t, p, http.StatusOK, request{method: "POST", path: "/v1/tend"})
		}
		level := sweptLevel(t, p, "p")
		if level.Available != target || level.Claimed < len(seen) {
			t.Errorf("level %+v after %d claims that were answered, want %d available", level, len(seen), target)
		}
		next, err := strconv.Atoi(must[struct{ Next string }](t, p, http.StatusOK, request{method: "GET", path: "/v1/sequences/invoices"}).Next)
		if err != nil {
			t.Fatal(err)
		}
		there, client := 0, newClient(t)
		for n := 1; n < next; n++ {
			a, err := request{method: "GET", path: fmt.Sprintf("/v1/pools/p/ids?id=INV-%06d", n)}.do(t.Context(), client, p.url)
			switch {
			case err != nil || a.status != http.StatusOK && a.status != http.StatusNotFound:
				t.Fatalf("INV-%06d: %d %v", n, a.status, err)
			case a.status == http.StatusOK:
				there++
			}
		}
		if _, dense := e.(sqlite); there != level.Seeded || dense && there != next-1 {
			t.Errorf("of %d numbers that were leased %d are in the pool, which counts %d", next-1, there, level.Seeded)
		}
	})
}
