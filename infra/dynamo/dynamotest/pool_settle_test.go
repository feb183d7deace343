package dynamotest

import (
	"context"
	"fmt"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// settle shows that nothing is stuck: after sweeps and time each key has an answer or can have none, every ID that is
// not claimed can be, and nothing was lost or doubled.
func (r *poolRun) settle() {
	p := r.spawn()
	r.rebuiltAtLast()
	r.activate()
	r.walks()
	for _, b := range r.jobs {
		r.quietly(r.seeds(p, b))
	}
	r.pass(time.Minute)
	r.sweeps()
	r.quietSweeps()
	for _, k := range r.keys {
		r.retry(k)
	}
	if r.holds {
		r.pass(longestHold + wrong)
	}
	r.sweeps()
	r.reap()
	r.quietSweeps()
	r.checkLevel()
	r.owned()
	r.walks()
	r.drain()
	r.census()
}

// sweeps lets enough time pass and sweeps until nothing is left to do. On the way late writes may arrive.
func (r *poolRun) sweeps() {
	for range 4 {
		r.pass(15 * time.Minute)
		if r.chance(20) {
			r.lateArrival()
			r.activate()
		}
		r.sweepAll()
	}
}

// activate ends a pause, which may have come late.
func (r *poolRun) activate() { r.quietly(r.setState(r.spawn(), alloc.PoolActive)) }

// quietSweeps are sweeps after which nothing arrives any more.
func (r *poolRun) quietSweeps() {
	r.flush()
	r.activate()
	for range 2 {
		r.pass(15 * time.Minute)
		r.sweepAll()
	}
}

// sweepAll sweeps until a sweep has left nothing for the next.
func (r *poolRun) sweepAll() {
	for more := true; more && len(r.broken) == 0; {
		a := do(r.chaos, r.spawn(), "sweep", func(ctx context.Context, s *dynamo.Store) (alloc.SweepReport, error) {
			return s.Sweep(ctx, pool)
		}, func(_ *act, rep alloc.SweepReport, err error) {
			if err != nil {
				r.fail("a quiet sweep: %v", err)
			}
			more = rep.More
		})
		r.quietly(a)
		r.reap()
	}
}

// retry repeats a keyed claim until it is answered or the pool has too few: it must not stay busy.
func (r *poolRun) retry(k *poolKey) {
	var last error
	for range 3 {
		p := r.spawn()
		settled := false
		o := alloc.ClaimOrder{Pool: pool, Count: k.n, By: "client", Hold: k.hold, Key: k.key}
		a := do(r.chaos, p, k.name+" at last", func(ctx context.Context, s *dynamo.Store) (alloc.Claim, error) {
			return s.Claim(ctx, o)
		}, func(_ *act, c alloc.Claim, err error) {
			last = err
			switch {
			case err == nil:
				r.keyed(k, c)
				settled = true
			case alloc.Is(err, alloc.CodePoolExhausted):
				if k.first != nil && !r.long {
					r.fail("%s was answered %v, and at last %v", k.name, *k.first, err)
				}
				if free := len(r.w.free()); free >= int(k.n) {
					r.fail("%s asks for %d: %v, while %d are free", k.name, k.n, err, free)
				}
				settled = true
			case alloc.Is(err, alloc.CodeKeyEnded):
				r.keyMayEnd(o)
				settled = true
			case alloc.Is(err, alloc.CodeKeyMismatch):
				if k.first != nil && !r.long {
					r.fail("%s was answered %v, and at last %v", k.name, *k.first, err)
				}
				k.other() // which came first, and was never answered
			}
		})
		r.quietly(a)
		r.reap()
		if settled || len(r.broken) > 0 {
			return
		}
		r.sweeps()
	}
	r.fail("%s stays without an answer: %v", k.name, last)
}

// checkLevel holds the level after quiet sweeps against the items.
func (r *poolRun) checkLevel() {
	a := do(r.chaos, r.spawn(), "level at last", func(ctx context.Context, s *dynamo.Store) (alloc.Level, error) {
		return s.Level(ctx, pool)
	}, func(_ *act, l alloc.Level, err error) {
		counts := map[alloc.State]alloc.Count{}
		for _, it := range r.w.ids {
			counts[stateOf(it)]++
		}
		seeded := alloc.Count(0)
		for _, n := range r.w.seeded {
			seeded += alloc.Count(n)
		}
		gone, none := l.Claimed, l.Forgotten
		if r.policy == alloc.PolicyForget {
			gone, none = none, gone
		}
		free, returning := counts[alloc.StateFree], counts[alloc.StateReturning]
		over := l.Available - free
		if err != nil || over < 0 || over > r.w.listedForNothing() || l.Returning != returning || none != 0 || l.Held != counts[alloc.StateHeld] ||
			gone != l.Seeded-l.Available-returning-l.Held-l.Retired || l.Retired > counts[alloc.StateRetired] {
			r.fail("the level is %+v, %v; the items are %v", l, err, counts)
		}
		// An ID that is claimed, forgotten and seeded again by another while its batch is cut off before it was counted
		// is the other's when the batch goes on.
		if want := seeded + r.beyond(); l.Seeded > want || l.Seeded < want && len(r.w.again)+len(r.w.expired) == 0 && !r.uncounted() {
			r.fail("the level is %+v; %d were seeded", l, want)
		}
	})
	r.quietly(a)
	r.reap()
}

// drain claims one by one until the pool is empty: exactly what was free.
func (r *poolRun) drain() {
	free := len(r.w.free())
	p := r.spawn()
	for got := 0; len(r.broken) == 0; got++ {
		r.claim++
		who := fmt.Sprintf("drain%d", r.claim)
		over := false
		a := do(r.chaos, p, who, func(ctx context.Context, s *dynamo.Store) (alloc.Claim, error) {
			return s.Claim(ctx, alloc.ClaimOrder{Pool: pool, Count: 1, By: "client"})
		}, func(_ *act, c alloc.Claim, err error) {
			switch {
			case err == nil:
				r.w.answer(who, 1, c)
			case alloc.Is(err, alloc.CodePoolExhausted):
				over = true
				if got != free {
					r.fail("%d IDs were free, and %d could be claimed", free, got)
				}
			default:
				r.fail("%s: %v", who, err)
			}
		})
		r.quietly(a)
		r.reap()
		if over {
			return
		}
	}
}

// census: every ID ever seeded is taken by now, and each by somebody who is known: a request that was answered, or a
// claim whose outcome is unknown.
func (r *poolRun) census() {
	if len(r.broken) > 0 {
		return
	}
	for id, it := range r.w.ids {
		if is := stateOf(it); is == alloc.StateHeld || !taken(is) && is != alloc.StateRetired {
			r.fail("%s is stuck: %v", id, it)
		}
	}
	for id := range r.w.promised {
		if r.w.ids[id] == nil && r.policy == alloc.PolicyKeep {
			r.fail("%s was acknowledged and is not there", id)
		}
	}
	if n := r.w.unheard(); n > r.w.unheardOf {
		r.fail("%d IDs are claimed by nobody, of which at most %d are explained by unknown outcomes", n, r.w.unheardOf)
	}
}
