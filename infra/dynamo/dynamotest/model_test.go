package dynamotest

import (
	"flag"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"idpool/infra/dynamo"
)

// A failure prints its seed; `go test ./infra/dynamo/dynamotest -run Model -dynamotest.seed=N` plays that schedule alone.
var (
	seedFlag = flag.Uint64("dynamotest.seed", 0, "play the one schedule of this seed")
	fromFlag = flag.Uint64("dynamotest.from", 1, "the first seed of the schedules to play")
	runsFlag = flag.Int("dynamotest.runs", 0, "how many schedules of each kind to play (default: a number that takes seconds)")
)

// kind is a kind of random schedule.
type kind func(t *testing.T, seed uint64, mutate func(dynamo.Table) dynamo.Table) runner

// runner is one schedule, ready to be played.
type runner interface {
	run()
	state() *chaos
}

func (c *chaos) state() *chaos { return c }

func pools(t *testing.T, seed uint64, mutate func(dynamo.Table) dynamo.Table) runner {
	return newPoolRun(t, seed, mutate)
}

func sequences(t *testing.T, seed uint64, mutate func(dynamo.Table) dynamo.Table) runner {
	return newSequenceRun(t, seed, mutate)
}

// playSeed plays one schedule and returns how it went.
func playSeed(t *testing.T, k kind, seed uint64, mutate func(dynamo.Table) dynamo.Table, traced bool) *chaos {
	var c *chaos
	synctest.Test(t, func(t *testing.T) {
		r := k(t, seed, mutate)
		c = r.state()
		c.traced = traced
		r.run()
	})
	return c
}

// search plays schedules and fails with the first that breaks a promise, or when they do not come to what is worth
// coming to: then they prove little.
func search(t *testing.T, k kind, runs int, worth ...string) {
	if *seedFlag != 0 {
		c := playSeed(t, k, *seedFlag, nil, true)
		if len(c.broken) > 0 {
			t.Errorf("seed %d broke: %s", *seedFlag, c.report())
		} else {
			t.Logf("seed %d broke nothing: %s", *seedFlag, c.report())
		}
		return
	}
	if *runsFlag > 0 {
		runs = *runsFlag
	}
	s := searcher{k: k, end: *fromFlag + uint64(runs), came: map[string]int{}}
	s.next.Store(*fromFlag)
	began := time.Now()
	t.Run("schedules", func(t *testing.T) {
		for shard := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(shard), func(t *testing.T) {
				t.Parallel()
				s.run(t)
			})
		}
	})
	t.Logf("%d schedules from seed %d, %.0f a second; so many came to: %v", runs, *fromFlag, float64(runs)/time.Since(began).Seconds(), s.came)
	if raced {
		return // fewer schedules are played then, for the sake of what they race for; they come to all of it without the detector
	}
	for _, what := range worth {
		if s.came[what] == 0 && !t.Failed() {
			t.Errorf("no schedule came to: %s", what)
		}
	}
}

// searcher hands out seeds to shards and gathers what their schedules came to.
type searcher struct {
	k     kind
	next  atomic.Uint64
	end   uint64
	found atomic.Bool

	mu   sync.Mutex
	came map[string]int
}

func (s *searcher) run(t *testing.T) {
	for n := s.next.Add(1) - 1; n < s.end && !s.found.Load(); n = s.next.Add(1) - 1 {
		c := playSeed(t, s.k, n, nil, false)
		if len(c.broken) > 0 {
			s.found.Store(true)
			t.Errorf("seed %d broke: %v\nplayed again: %s", n, c.broken, playSeed(t, s.k, n, nil, true).report())
		}
		s.mu.Lock()
		for what := range c.came {
			s.came[what]++
		}
		s.mu.Unlock()
	}
}

func TestModelOfPools(t *testing.T) {
	search(t, pools, 2000, "an ID that came back", "an ID seeded again", "free listings published again",
		"a key record void", "a key record failed at once", "a key record replaced", "listings exchanged",
		"a claim refused as exhausted", "a claim replayed", "a late write that was applied",
		"confirm answered", "release answered", "retire answered", "an owner refused", "a key ended", "an ID told ended",
		"a hold over", "a hold confirmed", "an ID retired")
}

func TestModelOfSequences(t *testing.T) {
	search(t, sequences, 2000, "a counter edited", "a sequence stopped", "a lease refused as exhausted", "a lease replayed",
		"a late write that was applied")
}
