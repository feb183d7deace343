package alloctest

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"

	"idpool/alloc"
)

var ledgerCases = []testCase{
	{"Leases gives what was leased, highest first, proven, and page by page", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		var leased []alloc.Range
		for i := range 12 {
			leased = append(leased, w.lease(w.open(), leaseOrder("s", alloc.Count(i+1))))
		}
		whole := w.ledger("s", 100)
		for _, limit := range []int{1, 5} {
			equal(w, len(w.ledger("s", limit)), len(whole), fmt.Sprintf("entries in pages of %d", limit))
		}
		w.covered(whole, leased)
	}},
	{"a fresh entry of the ledger names who leased, when, and with which token", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{Start: 100})
		r := w.lease(w.open(), leaseOrder("s", 7))
		got := w.ledger("s", 10)
		equal(w, len(got), 1, "entries")
		if !sameTime(got[0].At, r.At) {
			w.Errorf("At: got %v, want %v", got[0].At, r.At)
		}
		got[0].At = r.At
		want := alloc.LeaseRecord{Start: r.Start, End: r.End, Token: r.Token, By: "client", At: r.At, Epoch: 1, Proven: true}
		equal(w, got[0], want, "entry")
	}},
	{"the ledger of a sequence that leased nothing is empty", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		equal(w, len(w.ledger("s", 10)), 0, "entries")
	}},
	{"C51 the ledgers of sequences whose names begin alike do not mix", func(w *world) {
		names := []alloc.SequenceName{"a", "a-b", "a.b", "ab", "a1", "a11", "1", "11"}
		for i, name := range names {
			w.sequence(name, alloc.SequenceConfig{})
			w.lease(w.open(), leaseOrder(name, alloc.Count(i+1)))
		}
		for i, name := range names {
			entries := w.ledger(name, 10)
			equal(w, len(entries), 1, fmt.Sprintf("entries of %q", name))
			equal(w, entries[0].End, alloc.Number(i+1), fmt.Sprintf("end of the entry of %q", name))
		}
	}},
	{"C12 a counter set back by hand stops the sequence before a number comes twice, and it stays stopped", func(w *world) {
		for name, back := range map[alloc.SequenceName]alloc.Number{"to-its-start": 1, "into-a-lease": 7, "to-the-last-number": 30} {
			w.sequence(name, alloc.SequenceConfig{})
			warm := w.open()
			for range 3 {
				w.lease(warm, leaseOrder(name, 10))
			}
			before := w.ledger(name, 100)
			w.fixture.SetCounter(w.TB, name, back)
			w.stopped(name, warm)
			w.setBackAgain(name, warm)
			equal(w, len(w.ledger(name, 100)), len(before), "entries of the ledger afterwards")
		}
	}},
	{"C12 a counter set back is noticed by a lease that begins free and runs into one", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{Start: 100})
		warm := w.open()
		w.lease(warm, leaseOrder("s", 10))
		w.fixture.SetCounter(w.TB, "s", 95)
		w.refuseLease(w.open(), leaseOrder("s", 6), alloc.CodeSequenceStopped, "Lease into an older one")
		w.refuseLease(warm, leaseOrder("s", 1), alloc.CodeSequenceStopped, "Lease of a stopped sequence")
	}},
	{"C12 a counter set back is noticed by a lease that spans an older one", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{Start: 100})
		w.lease(w.open(), leaseOrder("s", 10))
		w.fixture.SetCounter(w.TB, "s", 50)
		w.refuseLease(w.open(), leaseOrder("s", 1000), alloc.CodeSequenceStopped, "Lease around an older one")
	}},
	{"a counter set forward leaves a gap and no duplicate", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		warm := w.open()
		first := w.lease(warm, leaseOrder("s", 10))
		w.fixture.SetCounter(w.TB, "s", 1000)
		second := w.lease(warm, leaseOrder("s", 10))
		third := w.lease(w.open(), leaseOrder("s", 10))
		w.disjoint([]alloc.Range{first, second, third})
		equal(w, second.Start, 1000, "Start after the counter was set forward")
	}},
	{"C13 a sequence whose counter is lost is stopped, is listed so, and never begins again", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		w.sequence("t", alloc.SequenceConfig{})
		config := w.readSequence("s").Config
		warm := w.open()
		leased := []alloc.Range{w.lease(warm, leaseOrder("s", 10)), w.lease(warm, leaseOrder("s", 5))}
		w.fixture.DropCounter(w.TB, "s")
		for name, s := range map[string]alloc.Store{"warm": warm, "cold": w.open()} {
			w.refuseLease(s, leaseOrder("s", 1), alloc.CodeSequenceStopped, "Lease in a "+name+" process")
			w.refuseLease(s, keyedLease("s", 1, "key, "+name), alloc.CodeSequenceStopped, "Lease with a key in a "+name+" process")
			_, err := s.Sequence(w.Context(), "s")
			w.want(err, alloc.CodeSequenceStopped, "Sequence")
			_, created, err := s.CreateSequence(w.Context(), "s", config)
			w.want(err, alloc.CodeSequenceStopped, "CreateSequence where the counter is lost")
			equal(w, created, false, "created")
			_, err = s.SetSequenceState(w.Context(), "s", 0, alloc.SequenceActive)
			w.want(err, alloc.CodeSequenceStopped, "SetSequenceState to active")
			_, err = s.ChangeSequence(w.Context(), "s", 1, alloc.SequenceConfig{MaxLease: 3}.WithDefaults())
			w.want(err, alloc.CodeSequenceStopped, "ChangeSequence")
			page, err := s.ListSequences(w.Context(), "", 10)
			w.ok(err, "ListSequences")
			equal(w, len(page), 2, "sequences listed")
			equal(w, page[0].Name, "s", "name of the first")
			equal(w, page[0].State, alloc.SequenceStopped, "state of the first")
			equal(w, page[1].State, alloc.SequenceActive, "state of the second")
		}
		w.covered(w.ledger("s", 100), leased)
		w.lease(warm, leaseOrder("t", 1))
	}},
	{"C13 a sequence whose counter is lost before its first lease is stopped too", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		w.fixture.DropCounter(w.TB, "s")
		for _, to := range []alloc.SequenceState{alloc.SequenceActive, alloc.SequencePaused, alloc.SequenceDeleted} {
			_, err := w.open().SetSequenceState(w.Context(), "s", 0, to)
			w.want(err, alloc.CodeSequenceStopped, fmt.Sprintf("SetSequenceState to %s", to))
		}
		_, err := w.open().ChangeSequence(w.Context(), "s", 1, alloc.SequenceConfig{MaxLease: 3}.WithDefaults())
		w.want(err, alloc.CodeSequenceStopped, "ChangeSequence")
		w.refuseLease(w.open(), leaseOrder("s", 1), alloc.CodeSequenceStopped, "Lease")
		_, _, err = w.open().CreateSequence(w.Context(), "s", alloc.SequenceConfig{}.WithDefaults())
		w.want(err, alloc.CodeSequenceStopped, "CreateSequence where the counter is lost")
	}},
	{"a stopped sequence can be deleted", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		w.lease(w.open(), leaseOrder("s", 10))
		w.fixture.SetCounter(w.TB, "s", 1)
		w.stopped("s", w.open())
		w.setSequence("s", alloc.SequenceDeleted)
		w.refuseLease(w.open(), leaseOrder("s", 1), alloc.CodeSequenceDeleted, "Lease of a deleted sequence")
	}},
	{"P02 a counter set back under many callers leases no number twice", func(w *world) {
		const callers, rounds = 8, 8
		w.sequence("s", alloc.SequenceConfig{})
		stores := w.processes(callers)
		var got ranges
		var leased atomic.Int64
		w.together(callers, func(i int) {
			for range rounds {
				r, err := w.leasePatiently(stores[i], leaseOrder("s", alloc.Count(i+1)))
				switch {
				case err == nil:
					got.add(r)
				case !alloc.Is(err, alloc.CodeSequenceStopped):
					w.Errorf("Lease beside a counter set back: got %v, want a range or sequence_stopped", err)
				}
				if leased.Add(1) == callers*rounds/2 {
					w.fixture.SetCounter(w.TB, "s", 5)
				}
			}
		})
		w.disjoint(got.all)
		w.stopped("s", stores[0])
		w.covered(w.ledger("s", 100), got.all)
	}},
}

// stopped stops the test unless the sequence refuses leases as stopped, in the process given and in a new one.
func (w *world) stopped(name alloc.SequenceName, warm alloc.Store) {
	w.Helper()
	for _, s := range []alloc.Store{warm, w.open(), warm} {
		w.refuseLease(s, leaseOrder(name, 1), alloc.CodeSequenceStopped, "Lease of "+string(name))
	}
	equal(w, w.readSequence(name).State, alloc.SequenceStopped, "state of "+string(name))
}

// setBackAgain tries what an operator would to get the sequence going again without a rebuild: none of it works.
func (w *world) setBackAgain(name alloc.SequenceName, warm alloc.Store) {
	w.Helper()
	for _, to := range []alloc.SequenceState{alloc.SequenceActive, alloc.SequencePaused} {
		_, err := w.open().SetSequenceState(w.Context(), name, 0, to)
		w.want(err, alloc.CodeSequenceStopped, fmt.Sprintf("SetSequenceState to %s", to))
	}
	w.fixture.SetCounter(w.TB, name, 1_000_000)
	w.clock.Advance(stateDelay)
	w.stopped(name, warm)
}

// ledger reads the whole ledger in pages, and checks its order.
func (w *world) ledger(name alloc.SequenceName, limit int) []alloc.LeaseRecord {
	w.Helper()
	top := true
	entries := pages(w, "Leases", limit, func(below alloc.Number) ([]alloc.LeaseRecord, error) {
		if top {
			below, top = alloc.MaxNumber+1, false
		}
		return w.open().Leases(w.Context(), name, below, limit)
	}, func(e alloc.LeaseRecord) alloc.Number { return e.Start })
	for i, e := range entries {
		if !e.Proven || e.Start > e.End {
			w.Fatalf("entry of the ledger: got %+v, want it proven, with its start not above its end", e)
		}
		if i > 0 && e.End >= entries[i-1].Start {
			w.Fatalf("entries of the ledger: got %+v after %+v, want them disjoint and falling", e, entries[i-1])
		}
	}
	return entries
}

// covered stops the test unless each range that was answered lies in the ledger, whose neighbouring entries may have
// been merged.
func (w *world) covered(ledger []alloc.LeaseRecord, answered []alloc.Range) {
	w.Helper()
	rising := slices.SortedFunc(slices.Values(ledger), func(a, b alloc.LeaseRecord) int { return cmp.Compare(a.Start, b.Start) })
	for _, r := range answered {
		next := r.Start
		for _, e := range rising {
			if e.Start <= next && next <= e.End {
				next = e.End + 1
			}
		}
		if next <= r.End {
			w.Fatalf("the range %d to %d: the ledger lacks %d", r.Start, r.End, next)
		}
	}
}
