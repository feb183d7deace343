package alloctest

import (
	"context"
	"math/rand/v2"
	"time"

	"idpool/alloc"
)

var contextCases = []testCase{
	{"a call whose context has ended is unavailable, does nothing, and names it by type", func(w *world) {
		w.full("p", 5)
		w.sequence("s", alloc.SequenceConfig{})
		before := w.readSequence("s")
		warm := w.open()
		w.claim(warm, order("p", 1))
		ended, cancel := context.WithCancel(w.Context())
		cancel()
		for _, s := range []alloc.Store{warm, w.open()} {
			for what, call := range callsOf(s) {
				err := call(ended)
				if e := asError(err); e == nil || e.Code != alloc.CodeUnavailable {
					w.Errorf("%s with an ended context: got %v, want an *alloc.Error with unavailable", what, err)
				}
			}
		}
		equal(w, w.free("p"), 4, "free IDs")
		sameSequence(w, w.readSequence("s"), before)
		_, err := w.open().Pool(w.Context(), "new")
		w.want(err, alloc.CodePoolNotFound, "Pool whose creation came too late")
		w.noKey(w.open(), someKey("late"))
		_, err = w.open().Credential(w.Context(), "late22222222")
		w.want(err, alloc.CodeCredentialNotFound, "Credential whose creation came too late")
		w.takes("late22222222", time.Unix(0, 0), 10, 10, 10, "taking of a quota of which nothing was taken too late")
		_, err = w.open().Job(w.Context(), lateJob.ID)
		w.want(err, alloc.CodeJobNotFound, "Job whose creation came too late")
		r, err := w.open().Refill(w.Context(), "p")
		w.ok(err, "Refill")
		equal(w, r.Version, 0, "version of a record whose change came too late")
		samples, err := w.open().SequenceSamples(w.Context(), "s", time.Unix(0, 0), time.Unix(1<<32, 0), 10)
		w.ok(err, "SequenceSamples")
		equal(w, len(samples), 0, "samples that came too late")
	}},
	{"a call returns soon after its context's end", func(w *world) {
		w.full("p", 50)
		for i := range 20 {
			ctx, cancel := context.WithTimeout(w.Context(), time.Duration(i)*200*time.Microsecond)
			end, _ := ctx.Deadline()
			o := order("p", 2)
			c, err := w.open().Claim(ctx, o)
			cancel()
			if late := time.Since(end); late > 10*time.Second {
				w.Errorf("Claim: returned %s after its context's end", late)
			}
			if w.bookClaim(o, c, err) != nil && !repeatable(err) {
				w.Errorf("Claim cut off: got %v, want IDs or an error that allows a repeat", err)
			}
		}
	}},
	{"C46 claims cut off at random by their context leave nothing taken that is not reported as unknown", func(w *world) {
		n := w.callers()
		w.full("p", 4*n)
		stores := w.processes(n)
		w.together(n, func(i int) {
			rng := rand.New(rand.NewPCG(uint64(i), 3))
			for range 3 {
				ctx, cancel := context.WithTimeout(w.Context(), cutOff(rng))
				o := order("p", 1)
				c, err := stores[i].Claim(ctx, o)
				cancel()
				if w.bookClaim(o, c, err) != nil && !repeatable(err) { // the books count what is unknown
					w.Errorf("Claim cut off: got %v, want an ID or an error that allows a repeat", err)
				}
			}
		})
	}},
	{"C46 a claim with a key cut off at random is finished by a repeat, with one answer", func(w *world) {
		n := w.callers() / 2
		w.full("p", 2*n)
		w.together(n, func(i int) {
			rng := rand.New(rand.NewPCG(uint64(i), 4))
			o := keyedOrder("p", 2, string(rune('A'+i)))
			for range 3 {
				ctx, cancel := context.WithTimeout(w.Context(), cutOff(rng))
				c, err := w.open().Claim(ctx, o)
				cancel()
				if w.bookClaim(o, c, err) != nil && !repeatable(err) && !alloc.Is(err, alloc.CodePoolExhausted) {
					w.Errorf("Claim cut off: got %v, want IDs or an error that allows a repeat", err)
				}
			}
		})
		for i := range n {
			w.settle("p") // what was given up comes back; what a dead process took into memory too
			o := keyedOrder("p", 2, string(rune('A'+i)))
			c, err := w.patiently(w.open(), o)
			w.ok(err, "the repeat")
			first := c
			w.replay(w.open(), o, first)
		}
		w.refuse(w.open(), order("p", 1), alloc.CodePoolExhausted, "Claim of an empty pool")
	}},
	{"leases cut off at random by their context leave gaps, never a number twice", func(w *world) {
		n := w.callers()
		w.sequence("s", alloc.SequenceConfig{})
		stores := w.processes(n)
		var got ranges
		w.together(n, func(i int) {
			rng := rand.New(rand.NewPCG(uint64(i), 5))
			for range 3 {
				ctx, cancel := context.WithTimeout(w.Context(), cutOff(rng))
				r, err := stores[i].Lease(ctx, leaseOrder("s", 3))
				cancel()
				switch {
				case err == nil:
					got.add(r)
				case asError(err) == nil || !repeatable(err):
					w.Errorf("Lease cut off: got %v, want a range or an error that allows a repeat", err)
				}
			}
		})
		got.add(w.lease(w.open(), leaseOrder("s", 3)))
		w.disjoint(got.all)
		w.covered(w.ledger("s", 100), got.all)
	}},
}

// cutOff draws a time after which a call is cut off: none to 16 ms, short ones as often as long ones, so that engines of
// every speed are met before, during and after their work.
func cutOff(rng *rand.Rand) time.Duration {
	return time.Duration(1<<rng.IntN(15)-1) * time.Microsecond
}
