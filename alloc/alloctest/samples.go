package alloctest

import (
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"idpool/alloc"
)

// sampleCases are about the samples of pools, which Sweep keeps.
var sampleCases = []testCase{
	{"Sweep keeps a sample of the pool for each minute in which it runs, and none for one in which it does not", func(w *world) {
		w.full("p", 8)
		var want []alloc.Sample
		for i, pause := range []time.Duration{0, time.Minute, 90 * time.Second, 5 * time.Minute, time.Hour, 25 * time.Hour} {
			w.clock.Advance(pause)
			w.sweep("p")
			want = append(want, alloc.Sample{At: w.clock.Now(), Available: alloc.Count(8 + 2*i), Used: 0})
			w.seedNew("p", "more", someIDs(fmt.Sprint(i, "-"), 2))
		}
		w.samples("p", want)
	}},
	{"however often Sweep runs in a minute, in however many processes at once, it keeps one sample", func(w *world) {
		w.full("p", 6)
		w.nextMinute()
		for range 2 {
			for _, pause := range []time.Duration{0, time.Second, 29 * time.Second, 29 * time.Second, 999 * time.Millisecond} {
				w.clock.Advance(pause)
				w.sweep("p")
			}
			w.nextMinute()
		}
		w.clock.Advance(30 * time.Second)
		stores := w.processes(6)
		w.together(len(stores), func(i int) { w.sweepPatiently(stores[i], "p") })
		got := w.readSamples("p", w.clock.Now().Add(-time.Hour), w.clock.Now().Add(time.Hour), 100)
		equal(w, len(got), 3, "samples of three minutes")
		for i := 1; i < len(got); i++ {
			if got[i].At.Truncate(time.Minute).Sub(got[i-1].At.Truncate(time.Minute)) != time.Minute {
				w.Errorf("samples at %v and %v: want them of minutes that follow", got[i-1].At, got[i].At)
			}
		}
	}},
	{"a sample says what Level says after the sweep: available and used are what was seeded", func(w *world) {
		w.full("p", 20)
		s := w.open()
		w.claim(s, order("p", 4))
		held := w.claim(s, holdOrder("p", 3, aHold))
		w.retire(s, w.claim(s, order("p", 2)))
		w.sampleIs("p", 11, 9)
		w.release(s, held)
		w.sampleIs("p", 14, 6)
		w.seedNew("p", "second", someIDs("q-", 5))
		w.fill("p", "refill", someIDs("r-", 9), 22, "3 added, 6 unneeded")
		w.sampleIs("p", 22, 6)
		w.claim(w.open(), order("p", 22))
		w.sampleIs("p", 0, 28)
		w.forgetting("f", 6)
		w.claim(w.open(), order("f", 2))
		w.claim(w.open(), keyedOrder("f", 1, "k"))
		w.sampleIs("f", 3, 3)
	}},
	{"PoolSamples gives those taken at or after from and before until, the oldest first and at most limit", func(w *world) {
		w.full("p", 1)
		var all []alloc.Sample
		for range 7 {
			w.clock.Advance(61 * time.Second)
			w.sweep("p")
			all = append(all, alloc.Sample{At: w.clock.Now(), Available: 1})
		}
		w.findSamples(w.poolSamples("p"), all)
	}},
	{"a sample is kept as long as said, and not for ever", func(w *world) {
		w.full("p", 1)
		w.sweep("p")
		first := alloc.Sample{At: w.clock.Now(), Available: 1}
		w.clock.Advance(alloc.SampleRetention - time.Second)
		w.sweep("p")
		second := alloc.Sample{At: w.clock.Now(), Available: 1}
		w.samples("p", []alloc.Sample{first, second})
		w.clock.Advance(time.Hour)
		w.sweep("p")
		w.samples("p", []alloc.Sample{second, {At: w.clock.Now(), Available: 1}})
	}},
	{"a pool that is not there, or was never swept, has no samples, and those of others are not its own", func(w *world) {
		for i, name := range listNames {
			w.pool(alloc.PoolName(name), alloc.PoolConfig{})
			if i%2 == 0 {
				w.seedNew(alloc.PoolName(name), "first", someIDs("p-", i+1))
				w.sweep(alloc.PoolName(name))
			}
		}
		w.sequence("a-b", alloc.SequenceConfig{})
		w.ok(w.open().SampleSequence(w.Context(), "a-b", alloc.Sample{At: w.clock.Now(), Available: 77}), "SampleSequence")
		for i, name := range listNames {
			var want []alloc.Sample
			if i%2 == 0 {
				want = []alloc.Sample{{At: w.clock.Now(), Available: alloc.Count(i + 1)}}
			}
			w.samples(alloc.PoolName(name), want)
		}
		w.samples("missing", nil)
	}},
	{"a paused and a draining pool are sampled, a deleted one is not any more", func(w *world) {
		w.full("p", 2)
		var want []alloc.Sample
		for _, state := range []alloc.PoolState{alloc.PoolPaused, alloc.PoolDraining, alloc.PoolActive} {
			w.setState("p", state)
			w.clock.Advance(time.Minute)
			w.sweep("p")
			want = append(want, alloc.Sample{At: w.clock.Now(), Available: 2})
		}
		w.samples("p", want)
		w.setState("p", alloc.PoolDeleted)
		w.clock.Advance(time.Minute)
		w.sweep("p")
		w.clock.Advance(time.Minute)
		since := want[len(want)-1].At.Add(time.Millisecond)
		equal(w, len(w.readSamples("p", since, w.clock.Now(), 10)), 0, "samples since the deletion")
	}},
	{"Sweep counts its calls, of which some write, or does not count", func(w *world) {
		w.full("p", 30)
		w.claim(w.open(), order("p", 3))
		w.clock.Advance(staleStock)
		s := w.open()
		for range 3 {
			r, err := s.Sweep(w.Context(), "p")
			w.ok(err, "Sweep")
			if r.Writes < 0 || r.Writes > r.Calls {
				w.Errorf("a sweep's calls and writes: got %d and %d", r.Calls, r.Writes)
			}
			w.clock.Advance(time.Minute)
		}
	}},
}

// readSamples reads samples of a pool.
func (w *world) readSamples(pool alloc.PoolName, from, until time.Time, limit int) []alloc.Sample {
	w.Helper()
	return w.poolSamples(pool)(from, until, limit)
}

// samplesOf reads the samples of one pool or sequence.
type samplesOf func(from, until time.Time, limit int) []alloc.Sample

func (w *world) poolSamples(pool alloc.PoolName) samplesOf {
	return func(from, until time.Time, limit int) []alloc.Sample {
		w.Helper()
		got, err := w.open().PoolSamples(w.Context(), pool, from, until, limit)
		w.ok(err, "PoolSamples")
		return got
	}
}

// samples stops the test unless all samples that a pool ever had are as wanted.
func (w *world) samples(pool alloc.PoolName, want []alloc.Sample) {
	w.Helper()
	w.sameSamples(w.readSamples(pool, w.clock.Now().Add(-2*alloc.SampleRetention), w.clock.Now().Add(time.Hour), 1000), want)
}

func (w *world) sameSamples(got, want []alloc.Sample) {
	w.Helper()
	if diff := cmp.Diff(want, got, cmp.Comparer(sameTime), cmpopts.EquateEmpty()); diff != "" {
		w.Fatalf("samples (-want +got):\n%s", diff)
	}
}

// findSamples holds reads of every stretch against all samples that there are.
func (w *world) findSamples(read samplesOf, all []alloc.Sample) {
	w.Helper()
	const tick = time.Millisecond
	n := len(all)
	end := all[n-1].At.Add(tick)
	w.sameSamples(read(all[0].At, end, 1000), all)
	w.sameSamples(read(all[0].At, end, n), all)
	for i := range n {
		w.sameSamples(read(all[i].At, end, 1000), all[i:])
		w.sameSamples(read(all[i].At.Add(tick), end, 1000), all[i+1:])
		w.sameSamples(read(all[0].At.Add(-time.Hour), all[i].At, 1000), all[:i])
		w.sameSamples(read(all[0].At, all[i].At.Add(tick), 1000), all[:i+1])
		w.sameSamples(read(all[i].At, all[i].At, 1000), nil)
		w.sameSamples(read(all[i].At, all[i].At.Add(tick), 1000), all[i:i+1])
		w.sameSamples(read(all[0].At.Add(-time.Hour), end.Add(time.Hour), i+1), all[:i+1])
		w.sameSamples(read(all[i].At, end, 2), all[i:min(i+2, n)])
	}
	w.sameSamples(read(end, end.Add(time.Hour), 1000), nil)
	w.sameSamples(read(end, all[0].At, 1000), nil)
}

// sampleIs settles a pool, lets it be swept in a minute in which nothing changes, and stops the test unless that one's sample is as
// wanted, and as Level says.
func (w *world) sampleIs(pool alloc.PoolName, available, used alloc.Count) {
	w.Helper()
	w.settle(pool)
	w.clock.Advance(time.Minute)
	w.sweep(pool)
	now := w.clock.Now()
	w.sameSamples(w.readSamples(pool, now, now.Add(time.Second), 10), []alloc.Sample{{At: now, Available: available, Used: used}})
	level, err := w.elsewhere().Level(w.Context(), pool)
	w.ok(err, "Level")
	equal(w, level.Available, available, "Available of the level")
	equal(w, level.Seeded, available+used, "Seeded of the level")
}

// nextMinute moves the clock to the beginning of the next minute.
func (w *world) nextMinute() {
	now := w.clock.Now()
	w.clock.Advance(now.Truncate(time.Minute).Add(time.Minute).Sub(now))
}
