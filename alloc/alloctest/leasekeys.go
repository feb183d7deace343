package alloctest

import (
	"fmt"
	"slices"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"idpool/alloc"
)

var leaseKeyCases = []testCase{
	{"K24 a repeat gives the same range, epoch and token as replayed, from any process, throughout the retention", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		warm, o := w.open(), keyedLease("s", 10, "k")
		first := w.lease(warm, o)
		equal(w, first.Replayed, false, "Replayed of the first answer")
		w.lease(w.open(), leaseOrder("s", 5))
		for _, d := range []time.Duration{0, time.Minute, beforeEnd - time.Minute} {
			w.clock.Advance(d)
			w.replayLease(warm, o, first)
			w.replayLease(w.open(), o, first)
		}
	}},
	{"K24 a repeat is answered when the sequence is paused, exhausted, stopped or without its counter since", func(w *world) {
		for _, name := range []alloc.SequenceName{"paused", "exhausted", "stopped", "lost"} {
			w.sequence(name, alloc.SequenceConfig{Limit: 20})
			warm, o := w.open(), keyedLease(name, 10, "k")
			first := w.lease(warm, o)
			switch name {
			case "paused":
				w.setSequence(name, alloc.SequencePaused)
			case "exhausted":
				w.lease(w.open(), leaseOrder(name, 10))
			case "stopped":
				w.fixture.SetCounter(w.TB, name, 1)
				w.stopped(name, warm)
			case "lost":
				w.fixture.DropCounter(w.TB, name)
			}
			w.replayLease(warm, o, first)
			w.replayLease(w.open(), o, first)
		}
	}},
	{"K08 the same key with another request is key_mismatch and changes nothing", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		warm, o := w.open(), keyedLease("s", 10, "k")
		first := w.lease(warm, o)
		before := w.readSequence("s")
		more := otherLease(o)
		more.Count = 11
		for _, s := range []alloc.Store{warm, w.open()} {
			w.refuseLease(s, otherLease(o), alloc.CodeKeyMismatch, "Lease with the same key and another request")
			w.refuseLease(s, more, alloc.CodeKeyMismatch, "Lease with the same key of another count")
			w.replayLease(s, o, first)
		}
		sameSequence(w, w.readSequence("s"), before)
	}},
	{"K18 K19 no refusal is stored: the same key leases when the reason is gone", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{Limit: 10})
		o := keyedLease("s", 11, "k")
		w.refuseLease(w.open(), o, alloc.CodeSequenceExhausted, "Lease of more than there is")
		_, err := w.open().ChangeSequence(w.Context(), "s", 1, alloc.SequenceConfig{Limit: 20}.WithDefaults())
		w.ok(err, "ChangeSequence")
		w.setSequence("s", alloc.SequencePaused)
		w.refuseLease(w.open(), o, alloc.CodeSequencePaused, "Lease of a paused sequence")
		w.setSequence("s", alloc.SequenceActive)
		w.replayLease(w.open(), o, w.lease(w.open(), o))
	}},
	{"K04 where a key is required, a lease without one is refused, but for a segment", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{RequireKey: true})
		before := w.readSequence("s")
		w.refuseLease(w.open(), leaseOrder("s", 1), alloc.CodeKeyRequired, "Lease without a key")
		sameSequence(w, w.readSequence("s"), before)
		o := keyedLease("s", 3, "k")
		w.replayLease(w.open(), o, w.lease(w.open(), o))
		segment := leaseOrder("s", 3)
		segment.Segment = true
		w.lease(w.open(), segment)
	}},
	{"a lease with a refusal of Service's is refused with it and takes nothing, and a repeat is answered all the same", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		o := keyedLease("s", 3, "k")
		first := w.lease(w.open(), o)
		before := w.readSequence("s")
		quota := alloc.Errorf(alloc.CodeQuotaExceeded, "the quota is used up").After(time.Hour)
		o.Refusal = quota
		w.replayLease(w.open(), o, first)
		for _, o := range []alloc.LeaseOrder{leaseOrder("s", 1), keyedLease("s", 1, "new")} {
			o.Refusal = quota
			_, err := w.open().Lease(w.Context(), o)
			equal(w, w.wantError(err, alloc.CodeQuotaExceeded, "Lease").RetryAfter, time.Hour, "RetryAfter")
		}
		sameSequence(w, w.readSequence("s"), before)
		w.lease(w.open(), keyedLease("s", 1, "new")) // nothing was kept of the refusal
	}},
	{"K20 a key leases anew a second after its retention has ended, in a warm process and a cold one", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		warm, o := w.open(), keyedLease("s", 10, "k")
		leased := []alloc.Range{w.lease(warm, o)}
		for _, s := range []alloc.Store{warm, w.open()} {
			w.clock.Advance(expiry)
			r := w.lease(s, o)
			equal(w, r.Replayed, false, "Replayed after the retention")
			w.replayLease(w.open(), o, r)
			leased = append(leased, r)
		}
		w.clock.Advance(expiry)
		changed := otherLease(o)
		leased = append(leased, w.lease(w.open(), changed))
		w.replayLease(warm, changed, leased[3])
		w.disjoint(leased)
	}},
	{"K11 keys of one sequence do not mix, nor does one key on several sequences", func(w *world) {
		var leased []alloc.Range
		for _, name := range []alloc.SequenceName{"s", "t"} {
			w.sequence(name, alloc.SequenceConfig{})
			var mine []alloc.Range
			for _, key := range []string{"k", "K", "k ", "1", "01"} {
				o := keyedLease(name, 3, key)
				r := w.lease(w.open(), o)
				w.replayLease(w.open(), o, r)
				mine = append(mine, r)
			}
			w.disjoint(mine)
			leased = append(leased, mine...)
		}
		tokens := map[alloc.Token]bool{}
		for _, r := range leased {
			tokens[r.Token] = true
		}
		equal(w, len(tokens), len(leased), "different tokens")
	}},
	{"K10 of many callers with one key at once, all get one range", func(w *world) {
		n := w.callers()
		w.sequence("s", alloc.SequenceConfig{})
		one := w.oneRange(keyedLease("s", 10, "k"), n)
		after := w.lease(w.open(), leaseOrder("s", 10))
		w.disjoint([]alloc.Range{one, after})
	}},
	{"K20 an expired key is leased anew by many callers at once, and all get one range", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		o := keyedLease("s", 10, "k")
		old := w.lease(w.open(), o)
		w.clock.Advance(expiry)
		w.disjoint([]alloc.Range{old, w.oneRange(o, 12)})
	}},
	{"K11 of many callers with a key each at once, each gets a range of its own", func(w *world) {
		n := w.callers()
		w.sequence("s", alloc.SequenceConfig{})
		stores := w.processes(n)
		var got ranges
		w.together(n, func(i int) {
			o := keyedLease("s", 2, fmt.Sprint(i))
			r, err := w.leasePatiently(stores[i], o)
			if err != nil {
				w.Errorf("Lease with a key beside others: got %v, want a range", err)
				return
			}
			got.add(r)
			again, err := w.leasePatiently(stores[(i+1)%n], o)
			if err != nil || again.Start != r.Start || again.End != r.End || !again.Replayed {
				w.Errorf("the repeat elsewhere: got %+v and %v, want %+v replayed", again, err, r)
			}
		})
		equal(w, len(got.all), n, "ranges")
		w.disjoint(got.all)
	}},
	{"a range that lost the race for its key is not leased again", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{Limit: 1000})
		var got []alloc.Range
		for i := range 4 {
			got = append(got, w.oneRange(keyedLease("s", 5, fmt.Sprint(i)), 6))
		}
		for {
			r, err := w.open().Lease(w.Context(), leaseOrder("s", 100))
			if err != nil {
				w.want(err, alloc.CodeSequenceExhausted, "Lease until the end")
				break
			}
			got = append(got, r)
		}
		w.disjoint(got)
	}},
}

// replayLease repeats a lease and stops the test unless it is answered as before, with Replayed set.
func (w *world) replayLease(s alloc.Store, o alloc.LeaseOrder, first alloc.Range) {
	w.Helper()
	got := w.lease(s, o)
	want := first
	want.Replayed = true
	if diff := gocmp.Diff(want, got, gocmp.Comparer(sameTime)); diff != "" {
		w.Fatalf("answer to a repeat (-first +repeat):\n%s", diff)
	}
}

// oneRange lets n cold processes lease with one key at once, and returns the range that all of them got.
func (w *world) oneRange(o alloc.LeaseOrder, n int) alloc.Range {
	w.Helper()
	stores := w.processes(n)
	var got ranges
	w.together(n, func(i int) {
		r, err := w.leasePatiently(stores[i], o)
		if err != nil {
			w.Errorf("Lease with one key beside others: got %v, want the one range", err)
			return
		}
		got.add(r)
	})
	if len(got.all) != n {
		w.Fatalf("ranges: got %d, want %d", len(got.all), n)
	}
	firsts := 0
	for _, r := range got.all {
		if !r.Replayed {
			firsts++
		}
	}
	if firsts > 1 {
		w.Errorf("answers that say they are the first: got %d, want at most 1", firsts)
	}
	one := slices.IndexFunc(got.all, func(r alloc.Range) bool {
		return r.Start != got.all[0].Start || r.End != got.all[0].End || r.Token != got.all[0].Token || r.Epoch != got.all[0].Epoch
	})
	if one >= 0 {
		w.Fatalf("two answers to one key: got %+v and %+v", got.all[0], got.all[one])
	}
	return got.all[0]
}
