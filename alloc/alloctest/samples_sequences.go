package alloctest

import (
	"fmt"
	"sync/atomic"
	"time"

	"idpool/alloc"
)

// sequenceSampleCases are about the samples of sequences, which whoever calls SampleSequence keeps.
var sequenceSampleCases = []testCase{
	{"SampleSequence keeps a sample as it was given", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		var want []alloc.Sample
		for _, sample := range []alloc.Sample{
			{Available: 1<<63 - 1}, {Available: 0, Used: 1<<63 - 1}, {}, {Available: 1<<53 + 1, Used: 1<<53 + 3},
		} {
			w.clock.Advance(time.Minute + 123*time.Millisecond)
			sample.At = w.clock.Now()
			w.sample("s", sample)
			want = append(want, sample)
		}
		w.sequenceSamples("s", want)
	}},
	{"of several samples of a sequence in a minute the first stays", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		w.nextMinute()
		var want []alloc.Sample
		for minute := range 3 {
			for i, pause := range []time.Duration{time.Millisecond, 0, 29 * time.Second, 30*time.Second + 998*time.Millisecond} {
				w.clock.Advance(pause)
				sample := alloc.Sample{At: w.clock.Now(), Available: alloc.Count(100*minute + i), Used: alloc.Count(i)}
				w.sample("s", sample)
				if i == 0 {
					want = append(want, sample)
				}
			}
			w.nextMinute()
		}
		w.sequenceSamples("s", want)
	}},
	{"of many samples of a sequence at once one stays", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		n := w.callers() / 5
		stores := w.processes(n)
		w.nextMinute()
		now := w.clock.Now()
		var kept atomic.Int64
		w.together(n, func(i int) {
			sample := alloc.Sample{At: now.Add(time.Duration(i) * time.Second), Available: alloc.Count(i), Used: alloc.Count(2 * i)}
			if err := stores[i].SampleSequence(w.Context(), "s", sample); err != nil {
				w.Errorf("SampleSequence beside others: got %v, want no error", err)
				return
			}
			kept.Add(1)
		})
		equal(w, kept.Load(), int64(n), "calls that succeeded")
		got := w.sequenceSamplesOf("s")(now, now.Add(time.Minute), 100)
		equal(w, len(got), 1, "samples of the minute")
		i := got[0].Available
		w.sameSamples(got, []alloc.Sample{{At: now.Add(time.Duration(i) * time.Second), Available: i, Used: 2 * i}})
	}},
	{"SequenceSamples gives those taken at or after from and before until, the oldest first and at most limit", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		var all []alloc.Sample
		for i := range 7 {
			w.clock.Advance(61 * time.Second)
			all = append(all, alloc.Sample{At: w.clock.Now(), Available: alloc.Count(1000 - i), Used: alloc.Count(i)})
		}
		shuffled(len(all), func(i int) { w.sample("s", all[i]) }) // in whatever order they come
		w.findSamples(w.sequenceSamplesOf("s"), all)
	}},
	{"a sequence's sample is kept as long as said, and not for ever", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		first := alloc.Sample{At: w.clock.Now(), Available: 9}
		w.sample("s", first)
		w.clock.Advance(alloc.SampleRetention - time.Second)
		second := alloc.Sample{At: w.clock.Now(), Available: 8}
		w.sample("s", second)
		w.sequenceSamples("s", []alloc.Sample{first, second})
		w.clock.Advance(time.Hour)
		third := alloc.Sample{At: w.clock.Now(), Available: 7}
		w.sample("s", third)
		w.sequenceSamples("s", []alloc.Sample{second, third})
	}},
	{"a sequence that is not there, or was never sampled, has no samples, and those of others are not its own", func(w *world) {
		w.full("a-b", 3)
		w.sweep("a-b")
		for i, name := range listNames {
			w.sequence(alloc.SequenceName(name), alloc.SequenceConfig{})
			if i%2 == 0 {
				w.sample(alloc.SequenceName(name), alloc.Sample{At: w.clock.Now(), Available: alloc.Count(i + 50)})
			}
		}
		for i, name := range listNames {
			var want []alloc.Sample
			if i%2 == 0 {
				want = []alloc.Sample{{At: w.clock.Now(), Available: alloc.Count(i + 50)}}
			}
			w.sequenceSamples(alloc.SequenceName(name), want)
		}
		w.sequenceSamples("missing", nil)
		w.samples("a-b", []alloc.Sample{{At: w.clock.Now(), Available: 3}})
	}},
	{"a sample of a sequence changes nothing about it", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		r := w.lease(w.open(), leaseOrder("s", 5))
		before := w.readSequence("s")
		w.sample("s", alloc.Sample{At: w.clock.Now(), Available: 3, Used: 7})
		sameSequence(w, w.readSequence("s"), before)
		w.covered(w.ledger("s", 100), []alloc.Range{r})
		equal(w, w.lease(w.open(), leaseOrder("s", 1)).Start, r.End+1, "the next number")
	}},
	{"a sample of a sequence whose answer is lost, or that is refused, is repeated and stands once", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		var want []alloc.Sample
		for i, faults := range faultSeries() {
			w.clock.Advance(time.Minute)
			sample := alloc.Sample{At: w.clock.Now(), Available: alloc.Count(i)}
			f := NewFaulty(w.open(), Script("SampleSequence", faults...))
			w.untilDone("SampleSequence", func() error { return f.SampleSequence(w.Context(), "s", sample) })
			want = append(want, sample)
			w.sequenceSamples("s", want)
		}
	}},
}

// sample keeps a sample of a sequence, from a cold process and again.
func (w *world) sample(name alloc.SequenceName, s alloc.Sample) {
	w.Helper()
	for range 2 {
		w.ok(w.open().SampleSequence(w.Context(), name, s), fmt.Sprintf("SampleSequence of %q", name))
	}
}

func (w *world) sequenceSamplesOf(name alloc.SequenceName) samplesOf {
	return func(from, until time.Time, limit int) []alloc.Sample {
		w.Helper()
		got, err := w.open().SequenceSamples(w.Context(), name, from, until, limit)
		w.ok(err, "SequenceSamples")
		return got
	}
}

// sequenceSamples stops the test unless all samples that a sequence ever had are as wanted.
func (w *world) sequenceSamples(name alloc.SequenceName, want []alloc.Sample) {
	w.Helper()
	w.sameSamples(w.sequenceSamplesOf(name)(w.clock.Now().Add(-2*alloc.SampleRetention), w.clock.Now().Add(time.Hour), 1000), want)
}
