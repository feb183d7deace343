package dynamotest

import (
	"flag"
	"fmt"
	"runtime"
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

// playSeed plays one schedule and returns what it broke.
func playSeed(t *testing.T, k kind, seed uint64, mutate func(dynamo.Table) dynamo.Table, traced bool) (broken []string, report string) {
	synctest.Test(t, func(t *testing.T) {
		r := k(t, seed, mutate)
		c := r.state()
		c.traced = traced
		r.run()
		broken = c.broken
		if traced {
			report = c.report()
		}
	})
	return broken, report
}

// search plays schedules and fails with the first that breaks a promise.
func search(t *testing.T, k kind, runs int) {
	if *seedFlag != 0 {
		if broken, report := playSeed(t, k, *seedFlag, nil, true); len(broken) > 0 {
			t.Errorf("seed %d: %s", *seedFlag, report)
		} else {
			t.Logf("seed %d breaks nothing:\n%s", *seedFlag, report)
		}
		return
	}
	if *runsFlag > 0 {
		runs = *runsFlag
	}
	seed, found := atomic.Uint64{}, atomic.Bool{}
	seed.Store(*fromFlag)
	end := *fromFlag + uint64(runs)
	began := time.Now()
	t.Run("schedules", func(t *testing.T) {
		for shard := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(shard), func(t *testing.T) {
				t.Parallel()
				for n := seed.Add(1) - 1; n < end && !found.Load(); n = seed.Add(1) - 1 {
					if broken, _ := playSeed(t, k, n, nil, false); len(broken) > 0 {
						found.Store(true)
						_, report := playSeed(t, k, n, nil, true)
						t.Errorf("seed %d broke: %v\nplayed again:\n%s", n, broken, report)
					}
				}
			})
		}
	})
	t.Logf("%d schedules from seed %d, %.0f a second", runs, *fromFlag, float64(runs)/time.Since(began).Seconds())
}

func TestModelOfPools(t *testing.T)     { search(t, pools, 2000) }
func TestModelOfSequences(t *testing.T) { search(t, sequences, 2000) }
