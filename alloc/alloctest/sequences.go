package alloctest

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
)

var sequenceCases = []testCase{
	{"CreateSequence makes an active sequence at version 1 and epoch 1, and Sequence reads it back", func(w *world) {
		config := alloc.SequenceConfig{Description: "invoices, ä", Start: 1000, Limit: 9999, MaxLease: 50, Segment: 7, RequireKey: true, PeriodOf: "base"}.WithDefaults()
		made, created, err := w.open().CreateSequence(w.Context(), "s", config)
		w.ok(err, "CreateSequence")
		equal(w, created, true, "created")
		want := alloc.Sequence{
			Name: "s", Config: config, State: alloc.SequenceActive, Version: 1, Epoch: 1, Next: 1000, Created: w.clock.Now(),
		}
		sameSequence(w, made, want)
		sameSequence(w, w.readSequence("s"), want)
	}},
	{"CreateSequence with an equal configuration is a repeat that changes nothing", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		w.lease(w.open(), leaseOrder("s", 5))
		w.setSequence("s", alloc.SequencePaused)
		before := w.readSequence("s")
		again, created, err := w.open().CreateSequence(w.Context(), "s", before.Config)
		w.ok(err, "CreateSequence again")
		equal(w, created, false, "created")
		sameSequence(w, again, before)
		sameSequence(w, w.readSequence("s"), before)
	}},
	{"CreateSequence with another configuration is sequence_exists and changes nothing", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		before := w.readSequence("s")
		for _, other := range []alloc.SequenceConfig{{Start: 5}, {Limit: 10}, {MaxLease: 3}, {Segment: 3}, {StartAtZero: true}, {RequireKey: true}, {PeriodOf: "base"}} {
			_, created, err := w.open().CreateSequence(w.Context(), "s", other.WithDefaults())
			w.want(err, alloc.CodeSequenceExists, fmt.Sprintf("CreateSequence with %+v", other))
			equal(w, created, false, "created")
		}
		sameSequence(w, w.readSequence("s"), before)
	}},
	{"C04 many callers make a sequence and lease from it at once: one makes it, and no number comes twice", func(w *world) {
		n := w.callers()
		var firsts atomic.Int64
		var got ranges
		stores := w.processes(n)
		w.together(n, func(i int) {
			_, created, err := stores[i].CreateSequence(w.Context(), "s", alloc.SequenceConfig{}.WithDefaults())
			if err != nil {
				w.Errorf("CreateSequence of an equal sequence: got %v, want no error", err)
			}
			if created {
				firsts.Add(1)
			}
			r, err := w.leasePatiently(stores[i], leaseOrder("s", 3))
			if err != nil {
				w.Errorf("Lease beside others: got %v, want a range", err)
				return
			}
			got.add(r)
		})
		equal(w, firsts.Load(), 1, "callers who created the sequence")
		equal(w, len(got.all), n, "ranges")
		w.disjoint(got.all)
	}},
	{"C05 of many callers who create one sequence with different configurations, one wins and its configuration stays", func(w *world) {
		n := w.callers()
		var firsts, winner atomic.Int64
		stores := w.processes(n)
		w.together(n, func(i int) {
			config := alloc.SequenceConfig{Start: alloc.Number(i + 1)}.WithDefaults()
			_, created, err := stores[i].CreateSequence(w.Context(), "s", config)
			switch {
			case created && err == nil:
				firsts.Add(1)
				winner.Store(int64(config.Start))
			case !alloc.Is(err, alloc.CodeSequenceExists):
				w.Errorf("CreateSequence beside another: got created %v and %v, want sequence_exists", created, err)
			}
		})
		equal(w, firsts.Load(), 1, "callers who created the sequence")
		equal(w, w.readSequence("s").Next, alloc.Number(winner.Load()), "first number")
	}},
	{"a sequence that was never created is sequence_not_found in every method", func(w *world) {
		s, ctx := w.open(), w.Context()
		w.refuseLease(s, leaseOrder("s", 1), alloc.CodeSequenceNotFound, "Lease")
		w.refuseLease(s, keyedLease("s", 1, "k"), alloc.CodeSequenceNotFound, "Lease with a key")
		_, err := s.Sequence(ctx, "s")
		w.want(err, alloc.CodeSequenceNotFound, "Sequence")
		_, err = s.ChangeSequence(ctx, "s", 1, alloc.SequenceConfig{}.WithDefaults())
		w.want(err, alloc.CodeSequenceNotFound, "ChangeSequence")
		_, err = s.SetSequenceState(ctx, "s", 0, alloc.SequencePaused)
		w.want(err, alloc.CodeSequenceNotFound, "SetSequenceState")
		_, err = s.Leases(ctx, "s", alloc.MaxNumber+1, 10)
		w.want(err, alloc.CodeSequenceNotFound, "Leases")
	}},
	{"a sequence may be made paused, which is no part of its configuration, and one that is there stays in its state", func(w *world) {
		config := alloc.SequenceConfig{PeriodOf: "base", BornPaused: true}.WithDefaults()
		for i := range 2 {
			q, created, err := w.open().CreateSequence(w.Context(), "s", config)
			w.ok(err, "CreateSequence")
			equal(w, created, i == 0, "whether it was made")
			equal(w, q.State, alloc.SequencePaused, "state")
			equal(w, q.Config.BornPaused, false, "BornPaused of what is kept")
		}
		_, err := w.open().Lease(w.Context(), alloc.LeaseOrder{Sequence: "s", Count: 1, By: "shop"})
		w.want(err, alloc.CodeSequencePaused, "Lease of one that was made paused")
		_, err = w.open().SetSequenceState(w.Context(), "s", 0, alloc.SequenceActive)
		w.ok(err, "SetSequenceState")
		q, _, err := w.open().CreateSequence(w.Context(), "s", config)
		w.ok(err, "CreateSequence of one that is there")
		equal(w, q.State, alloc.SequenceActive, "state")
		kept := alloc.SequenceConfig{PeriodOf: "base"}.WithDefaults()
		equal(w, q.Config, kept, "configuration")
	}},
	{"a sequence is found at once by a process that missed it a moment ago", func(w *world) {
		s := w.open()
		w.refuseLease(s, leaseOrder("s", 1), alloc.CodeSequenceNotFound, "Lease")
		w.sequence("s", alloc.SequenceConfig{})
		w.lease(s, leaseOrder("s", 1))
	}},
	{"ChangeSequence replaces the configuration, raises the version and leaves the position", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{Limit: 1000})
		w.lease(w.open(), leaseOrder("s", 10))
		want := w.readSequence("s")
		want.Config.Limit, want.Config.MaxLease, want.Config.Description, want.Version = 2000, 77, "changed", 2
		want.Config.RequireKey = true
		for range 2 { // the second is a repeat of the change made last
			got, err := w.open().ChangeSequence(w.Context(), "s", 1, want.Config)
			w.ok(err, "ChangeSequence")
			sameSequence(w, got, want)
			sameSequence(w, w.readSequence("s"), want)
		}
	}},
	{"SetSequenceState from another version than the sequence's is version_mismatch and changes nothing", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		_, err := w.open().ChangeSequence(w.Context(), "s", 1, alloc.SequenceConfig{MaxLease: 5}.WithDefaults())
		w.ok(err, "ChangeSequence")
		want := w.readSequence("s")
		for _, from := range []alloc.Version{1, 3, 1 << 40} {
			_, err := w.open().SetSequenceState(w.Context(), "s", from, alloc.SequencePaused)
			equal(w, w.wantError(err, alloc.CodeVersionMismatch, "SetSequenceState").Current, 2, "Current")
			sameSequence(w, w.readSequence("s"), want)
		}
		for _, to := range []alloc.SequenceState{alloc.SequencePaused, alloc.SequencePaused, alloc.SequenceDeleted} {
			want.State = to
			got, err := w.open().SetSequenceState(w.Context(), "s", 2, to)
			w.ok(err, "SetSequenceState from the sequence's version")
			sameSequence(w, got, want)
		}
		_, err = w.open().SetSequenceState(w.Context(), "s", 1, alloc.SequenceActive)
		w.want(err, alloc.CodeSequenceDeleted, "SetSequenceState of a deleted sequence, from another version")
	}},
	{"ChangeSequence from another version is version_mismatch with the present one, and changes nothing", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		_, err := w.open().ChangeSequence(w.Context(), "s", 1, alloc.SequenceConfig{MaxLease: 5}.WithDefaults())
		w.ok(err, "ChangeSequence")
		before := w.readSequence("s")
		for _, from := range []alloc.Version{1, 3, 100} {
			_, err := w.open().ChangeSequence(w.Context(), "s", from, alloc.SequenceConfig{MaxLease: 6}.WithDefaults())
			e := w.wantError(err, alloc.CodeVersionMismatch, fmt.Sprintf("ChangeSequence from version %d", from))
			equal(w, e.Current, 2, "Current")
		}
		sameSequence(w, w.readSequence("s"), before)
	}},
	{"C25 ChangeSequence refuses what is fixed and what cannot work, and changes nothing", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{Start: 10, Limit: 1000})
		w.lease(w.open(), leaseOrder("s", 90)) // 10 to 99
		before := w.readSequence("s")
		for what, change := range map[string]func(*alloc.SequenceConfig){
			"another start":             func(c *alloc.SequenceConfig) { c.Start = 11 },
			"a limit below the leases":  func(c *alloc.SequenceConfig) { c.Limit = 98 },
			"a limit above all numbers": func(c *alloc.SequenceConfig) { c.Limit = alloc.MaxNumber + 1 },
			"a lease of none":           func(c *alloc.SequenceConfig) { c.MaxLease = 0 },
			"a lease below none":        func(c *alloc.SequenceConfig) { c.MaxLease = -1 },
			"a segment of none":         func(c *alloc.SequenceConfig) { c.Segment = 0 },
			"a lease above its limit":   func(c *alloc.SequenceConfig) { c.MaxLease = alloc.MaxLeaseLimit + 1 },
		} {
			config := before.Config
			change(&config)
			_, err := w.open().ChangeSequence(w.Context(), "s", 1, config)
			w.want(err, alloc.CodeInvalidConfig, "ChangeSequence to "+what)
		}
		sameSequence(w, w.readSequence("s"), before)
	}},
	{"a limit is lowered to what is leased and then raised, and holds in every process within 30 seconds", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{Limit: 1000})
		warm := w.open()
		w.lease(warm, leaseOrder("s", 99))
		config := w.readSequence("s").Config
		config.Limit = 99
		_, err := w.open().ChangeSequence(w.Context(), "s", 1, config)
		w.ok(err, "ChangeSequence to the last number leased")
		w.clock.Advance(stateDelay)
		e := w.refusedLease(warm, leaseOrder("s", 1), alloc.CodeSequenceExhausted, "Lease of an exhausted sequence")
		equal(w, e.Remaining, 0, "Remaining")
		config.Limit = 109
		_, err = w.open().ChangeSequence(w.Context(), "s", 2, config)
		w.ok(err, "ChangeSequence to a higher limit")
		w.clock.Advance(stateDelay)
		w.lease(warm, leaseOrder("s", 10))
		w.refuseLease(w.open(), leaseOrder("s", 1), alloc.CodeSequenceExhausted, "Lease of an exhausted sequence")
	}},
	{"a paused sequence refuses leases in every process within 30 seconds, and goes on where it was", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		warm := w.open()
		first := w.lease(warm, leaseOrder("s", 10))
		w.setSequence("s", alloc.SequencePaused)
		w.setSequence("s", alloc.SequencePaused)
		for name, s := range map[string]alloc.Store{"warm": warm, "cold": w.open()} {
			w.refuseLease(s, leaseOrder("s", 1), alloc.CodeSequencePaused, "Lease in a "+name+" process")
			w.refuseLease(s, keyedLease("s", 1, "key, "+name), alloc.CodeSequencePaused, "Lease with a key in a "+name+" process")
		}
		w.setSequence("s", alloc.SequenceActive)
		equal(w, w.readSequence("s").Version, 1, "version")
		if next := w.lease(warm, leaseOrder("s", 1)); next.Start <= first.End {
			w.Fatalf("first number after the pause: got %d, want one above %d", next.Start, first.End)
		}
	}},
	{"only a sequence that is paused is deleted", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		want := w.readSequence("s")
		for _, from := range []alloc.Version{0, 1} {
			_, err := w.open().SetSequenceState(w.Context(), "s", from, alloc.SequenceDeleted)
			w.want(err, alloc.CodeSequenceActive, "SetSequenceState of an active sequence to deleted")
			sameSequence(w, w.readSequence("s"), want)
		}
		w.setSequence("s", alloc.SequencePaused)
		_, err := w.open().SetSequenceState(w.Context(), "s", 1, alloc.SequenceDeleted)
		w.ok(err, "SetSequenceState of a paused sequence to deleted")
	}},
	{"C53 a deleted sequence is told apart, refuses everything, and its name is never used again", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{})
		warm := w.open()
		w.lease(warm, leaseOrder("s", 10))
		before := w.readSequence("s")
		w.setSequence("s", alloc.SequenceDeleted)
		for name, s := range map[string]alloc.Store{"warm": warm, "cold": w.open()} {
			w.refuseLease(s, leaseOrder("s", 1), alloc.CodeSequenceDeleted, "Lease in a "+name+" process")
			w.refuseLease(s, keyedLease("s", 1, "key, "+name), alloc.CodeSequenceDeleted, "Lease with a key in a "+name+" process")
			_, _, err := s.CreateSequence(w.Context(), "s", before.Config)
			w.want(err, alloc.CodeSequenceDeleted, "CreateSequence with the configuration it had")
			_, _, err = s.CreateSequence(w.Context(), "s", alloc.SequenceConfig{Start: 77}.WithDefaults())
			w.want(err, alloc.CodeSequenceDeleted, "CreateSequence with another configuration")
			_, err = s.ChangeSequence(w.Context(), "s", 1, alloc.SequenceConfig{MaxLease: 3}.WithDefaults())
			w.want(err, alloc.CodeSequenceDeleted, "ChangeSequence")
			for _, to := range []alloc.SequenceState{alloc.SequenceActive, alloc.SequencePaused, alloc.SequenceDeleted} {
				_, err = s.SetSequenceState(w.Context(), "s", 0, to)
				w.want(err, alloc.CodeSequenceDeleted, fmt.Sprintf("SetSequenceState to %s", to))
			}
		}
		equal(w, w.readSequence("s").State, alloc.SequenceDeleted, "state of the deleted sequence")
	}},
	{"C53 leases in flight end cleanly when their sequence is deleted", func(w *world) {
		n := w.callers()
		w.sequence("s", alloc.SequenceConfig{})
		stores := w.processes(n)
		var got ranges
		w.together(n+1, func(i int) {
			if i == n {
				for _, to := range []alloc.SequenceState{alloc.SequencePaused, alloc.SequenceDeleted} {
					if _, err := w.open().SetSequenceState(w.Context(), "s", 0, to); err != nil {
						w.Errorf("SetSequenceState beside leases: got %v, want no error", err)
					}
				}
				return
			}
			r, err := w.leasePatiently(stores[i], leaseOrder("s", 2))
			switch {
			case err == nil:
				got.add(r)
			case !alloc.Is(err, alloc.CodeSequenceDeleted) && !alloc.Is(err, alloc.CodeSequencePaused):
				w.Errorf("Lease beside the deletion: got %v, want a range, sequence_paused or sequence_deleted", err)
			}
		})
		w.disjoint(got.all)
		w.clock.Advance(stateDelay)
		for _, s := range stores {
			w.refuseLease(s, leaseOrder("s", 1), alloc.CodeSequenceDeleted, "Lease after the deletion")
		}
	}},
	{"ListSequences gives every sequence in the order of the names' bytes, page by page", func(w *world) {
		shuffled(len(listNames), func(i int) {
			w.sequence(alloc.SequenceName(listNames[i]), alloc.SequenceConfig{Start: alloc.Number(i + 1)})
		})
		w.setSequence("a.b", alloc.SequenceDeleted)
		for _, limit := range []int{1, 3, len(listNames), 100} {
			var got []string
			for _, q := range pages(w, "ListSequences", limit, func(after alloc.SequenceName) ([]alloc.Sequence, error) {
				return w.open().ListSequences(w.Context(), after, limit)
			}, func(q alloc.Sequence) alloc.SequenceName { return q.Name }) {
				got = append(got, string(q.Name))
				sameSequence(w, q, w.readSequence(q.Name))
			}
			if diff := cmp.Diff(listNames, got); diff != "" {
				w.Fatalf("sequences in pages of %d (-want +got):\n%s", limit, diff)
			}
		}
	}},
	{"C09 leases follow one another, from whatever process, each as long as asked for", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{MaxLease: alloc.MaxLeaseLimit})
		warm, next := w.open(), alloc.Number(1)
		for _, n := range []alloc.Count{1, 2000, 27, 1_000_000, alloc.MaxLeaseLimit, 1} {
			for _, s := range []alloc.Store{warm, w.open()} {
				r := w.lease(s, leaseOrder("s", n))
				equal(w, r.Start, next, "Start")
				equal(w, r.Epoch, 1, "Epoch")
				next = r.End + 1
				equal(w, w.readSequence("s").Next, next, "Next")
			}
		}
	}},
	{"a sequence may start at 0, and at its limit", func(w *world) {
		w.sequence("zero", alloc.SequenceConfig{StartAtZero: true})
		equal(w, w.lease(w.open(), leaseOrder("zero", 3)).End, 2, "End of the first three numbers from 0")
		equal(w, w.lease(w.open(), leaseOrder("zero", 1)).Start, 3, "the next number")
		w.sequence("one", alloc.SequenceConfig{Start: 5, Limit: 5})
		equal(w, w.lease(w.open(), leaseOrder("one", 1)).Start, 5, "the only number")
		w.refuseLease(w.open(), leaseOrder("one", 1), alloc.CodeSequenceExhausted, "Lease after the only number")
	}},
	{"C22 a count outside the sequence's limit is refused and takes nothing", func(w *world) {
		w.sequence("s", alloc.SequenceConfig{MaxLease: 10})
		warm := w.open()
		w.lease(warm, leaseOrder("s", 10))
		before := w.readSequence("s")
		for _, n := range []alloc.Count{0, -1, 11, alloc.MaxLeaseLimit, math.MaxInt64, math.MinInt64} {
			w.refuseLease(warm, leaseOrder("s", n), alloc.CodeInvalidCount, fmt.Sprintf("Lease of %d in a warm process", n))
			w.refuseLease(w.open(), keyedLease("s", n, fmt.Sprint(n)), alloc.CodeInvalidCount, fmt.Sprintf("Lease of %d with a key", n))
		}
		sameSequence(w, w.readSequence("s"), before)
	}},
	{"C28 C29 a lease that crosses the end is refused with what remains, the rest can be leased, and nothing wraps", func(w *world) {
		for name, limit := range map[alloc.SequenceName]alloc.Number{
			"below-2-31": math.MaxInt32, "above-2-32": math.MaxUint32 + 3, "below-2-53": 1<<53 - 1, "above-2-53": 1<<53 + 1, "below-2-63": alloc.MaxNumber,
		} {
			w.sequence(name, alloc.SequenceConfig{Start: limit - 9, Limit: limit})
			warm := w.open()
			r := w.lease(warm, leaseOrder(name, 3))
			equal(w, r.Start, limit-9, "Start")
			equal(w, r.End, limit-7, "End")
			for _, s := range []alloc.Store{warm, w.open()} {
				for _, n := range []alloc.Count{8, 1_000_000} {
					e := w.refusedLease(s, leaseOrder(name, n), alloc.CodeSequenceExhausted, "Lease across the end of "+string(name))
					equal(w, e.Remaining, 7, "Remaining")
				}
			}
			equal(w, w.lease(w.open(), leaseOrder(name, 7)).End, limit, "End of the last lease")
			q := w.readSequence(name)
			equal(w, q.Next, limit+1, "Next of an exhausted sequence")
			equal(w, q.Remaining(), 0, "numbers remaining")
			for _, s := range []alloc.Store{warm, w.open()} {
				e := w.refusedLease(s, leaseOrder(name, 1), alloc.CodeSequenceExhausted, "Lease of the exhausted "+string(name))
				equal(w, e.Remaining, 0, "Remaining")
			}
			entries, err := w.open().Leases(w.Context(), name, alloc.MaxNumber+1, 10)
			w.ok(err, "Leases")
			equal(w, entries[0].End, limit, "End of the highest entry")
		}
	}},
}

func sameSequence(w *world, got, want alloc.Sequence) {
	w.Helper()
	if diff := cmp.Diff(want, got, cmp.Comparer(sameTime)); diff != "" {
		w.Fatalf("sequence (-want +got):\n%s", diff)
	}
}
