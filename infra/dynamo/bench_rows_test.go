//go:build !goonly

package dynamo_test

import (
	"fmt"
	"time"

	"idpool/alloc"
)

// The greatest pool, and the smaller ones to hold it against.
const (
	largePool  = 200_000
	mediumPool = 20_000
	smallPool  = 1_000
)

// pool makes a pool of n IDs and returns how long its seeding took.
func (w *workbench) pool(name alloc.PoolName, n int) time.Duration {
	_, _, err := w.fast.CreatePool(w.ctx(), name, alloc.PoolConfig{}.WithDefaults())
	w.must(err)
	began := time.Now()
	for from := 0; from < n; from += alloc.MaxSeedIDs {
		b := alloc.SeedBatch{Pool: name, Job: alloc.JobID(fmt.Sprintf("%s-%d", name, from))}
		for i := from; i < min(n, from+alloc.MaxSeedIDs); i++ {
			b.IDs = append(b.IDs, alloc.ID(fmt.Sprintf("CODE-%08d", i)))
		}
		_, err := w.fast.Seed(w.ctx(), b)
		w.must(err)
	}
	return time.Since(began)
}

// name makes a name that is new.
func (w *workbench) name(prefix string) string { return fmt.Sprintf("%s-%d", prefix, w.names.Add(1)) }

// seeding holds a seeding of many IDs against raw conditional puts of as many items, with as many in flight.
func (w *workbench) seeding() {
	const n = alloc.MaxSeedIDs
	seed, raw, of := paired(6,
		func() float64 { return n / w.pool(alloc.PoolName(w.name("seeding")), n).Seconds() },
		func() float64 {
			return w.workers(seedersInFlight, n*time.Second/3000, func() error { return w.raw.putOne(w.ctx()) })
		})
	w.row("seeding ÷ raw puts", "≥ 0.80", "%.2f (%.0f/s, %.0f/s)", of, seed, raw)
}

// seedersInFlight is how many puts a seeding has in flight at once.
const seedersInFlight = 32

// take claims n IDs one by one.
func (w *workbench) take(s alloc.Store, pool alloc.PoolName, n int, key bool) {
	for range n {
		w.must(w.claim(s, pool, key))
	}
}

func (w *workbench) claim(s alloc.Store, pool alloc.PoolName, key bool) error {
	o := alloc.ClaimOrder{Pool: pool, Count: 1, Owner: "order 4711", By: "bench"}
	if key {
		o.Key = alloc.NewKey("bench", "claim", "pool/"+string(pool), w.name("key"), "print")
	}
	_, err := s.Claim(w.ctx(), o)
	return err
}

func (w *workbench) claims() {
	name := alloc.PoolName(w.name("claims"))
	w.pool(name, smallPool*2)
	w.take(w.counted, name, 20, false)
	w.row("claim, on average", "≤ 1.10 write units, ≤ 0.15 read units", "%v", w.used(400, func() { w.take(w.counted, name, 400, false) }))
	trips := make([]float64, 0, 100)
	for range 100 {
		w.meter.Take()
		w.must(w.claim(w.counted, name, false))
		trips = append(trips, float64(w.meter.Take().RoundTrips))
	}
	w.row("claim from warm stock (median)", "1 round trip", "%.0f", median(trips))
	w.row("claim with a key", "≤ 2.10 write units, 2 round trips from warm stock", "%v", w.used(400, func() { w.take(w.counted, name, 400, true) }))
}

// holds measures keyed holds, their replays, and what becomes of them.
func (w *workbench) holds() {
	const n = 200
	name := alloc.PoolName(w.name("holds"))
	w.pool(name, smallPool*2)
	w.take(w.counted, name, 20, false)
	held := w.keyed(name, n, time.Hour)
	cost, claims := w.claimAll(held)
	w.row("hold with a key", "≤ 3.10 write units, 3 round trips from warm stock", "%v", cost)
	w.take(w.counted, name, 1, false) // the stock is warm
	cost, _ = w.claimAll(held)
	w.row("replay of a hold", "≤ 1 write unit, a read for each ID and its return item", "%v", cost)
	plain := w.keyed(name, n, 0)
	w.claimAll(plain)
	w.take(w.counted, name, 1, false)
	cost, _ = w.claimAll(plain)
	w.row("replay of a claim", "≤ 1 write unit, a read per ID", "%v", cost)
	for _, e := range []alloc.Event{alloc.EventConfirm, alloc.EventRelease, alloc.EventRetire} {
		part := claims[:n/4]
		claims = claims[n/4:]
		used := w.used(len(part), func() {
			for _, c := range part {
				_, err := w.counted.Settle(w.ctx(), alloc.SettleOrder{Pool: name, Event: e, IDs: c.IDs, Token: c.Token})
				w.must(err)
			}
		})
		w.row(string(e), settleGoals[e], "%v", used)
	}
}

var settleGoals = map[alloc.Event]string{
	alloc.EventConfirm: "2 write units, 2 round trips", alloc.EventRelease: "2 write units, 3 round trips; a sweep does the rest",
	alloc.EventRetire: "3 write units, 3 round trips, two of them side by side: the tally and the return item",
}

// keyed are n orders of one ID, each with a key of its own.
func (w *workbench) keyed(pool alloc.PoolName, n int, hold time.Duration) []alloc.ClaimOrder {
	orders := make([]alloc.ClaimOrder, n)
	for i := range orders {
		orders[i] = alloc.ClaimOrder{
			Pool: pool, Count: 1, Owner: "order 4711", By: "bench", Hold: hold,
			Key: alloc.NewKey("bench", "claim", "pool/"+string(pool), w.name("key"), "print"),
		}
	}
	return orders
}

// claimAll carries the orders out on the counting Store, and returns what one of them used.
func (w *workbench) claimAll(orders []alloc.ClaimOrder) (perOne, []alloc.Claim) {
	claims := make([]alloc.Claim, len(orders))
	cost := w.used(len(orders), func() {
		for i, o := range orders {
			c, err := w.counted.Claim(w.ctx(), o)
			w.must(err)
			claims[i] = c
		}
	})
	return cost, claims
}

// sizes compares the cost of a claim in pools of different sizes. The greatest pool stays for the throughput.
func (w *workbench) sizes() {
	var pools []alloc.PoolName
	for _, n := range []int{smallPool, mediumPool, largePool} {
		w.large = alloc.PoolName(w.name("size"))
		w.pool(w.large, n)
		pools = append(pools, w.large)
	}
	costs := w.compared(pools, 12, 25)
	for i, n := range []int{smallPool, mediumPool, largePool} {
		w.row(fmt.Sprintf("claim in a pool of %d IDs", n), "", "%v", costs[i])
	}
	w.row("… 200,000 IDs ÷ 1,000", "≤ 1.20", "%s", ratio(costs[2], costs[0]))
}

// shares compares the cost of a claim in pools of one size, of which different shares are used up.
func (w *workbench) shares() {
	const n, atOnce = 10_000, 100
	percents := []int{1, 50, 99}
	var pools []alloc.PoolName
	for _, percent := range percents {
		name := alloc.PoolName(w.name("share"))
		w.pool(name, n)
		for taken := 0; taken < n*percent/100; taken += atOnce {
			_, err := w.counted.Claim(w.ctx(), alloc.ClaimOrder{Pool: name, Count: atOnce, By: "bench"})
			w.must(err)
		}
		pools = append(pools, name)
	}
	costs := w.compared(pools, 8, 10)
	for i, percent := range percents {
		w.row(fmt.Sprintf("claim with %d %% used", percent), "", "%v", costs[i])
	}
	w.row("… 99 % used ÷ 1 % used", "≤ 1.20", "%s", ratio(costs[2], costs[0]))
}

// compared claims from the pools in turns, a round of n from each, and returns what a claim used in each pool: the
// medians of the rounds for the time, so that what the machine does beside it hits all alike, and else the averages.
func (w *workbench) compared(pools []alloc.PoolName, rounds, n int) []perOne {
	costs := make([]perOne, len(pools))
	times := make([][]float64, len(pools))
	for round := range rounds + 1 {
		for i, pool := range pools {
			used := w.used(n, func() { w.take(w.counted, pool, n, false) })
			if round == 0 {
				continue // it fills the stock
			}
			costs[i].writes += used.writes / float64(rounds)
			costs[i].reads += used.reads / float64(rounds)
			costs[i].trips += used.trips / float64(rounds)
			times[i] = append(times[i], float64(used.took))
		}
	}
	for i := range costs {
		costs[i].took = time.Duration(median(times[i]))
	}
	return costs
}

func ratio(a, b perOne) string {
	return fmt.Sprintf("%.2f in write units, %.2f in round trips, %.2f in time",
		a.writes/b.writes, a.trips/b.trips, a.took.Seconds()/b.took.Seconds())
}

// throughput holds claims against raw conditional updates, with as many callers.
func (w *workbench) throughput() {
	const slice = 300 * time.Millisecond
	for _, n := range []int{1, 8, 32} {
		claims, raw, of := paired(14,
			func() float64 {
				return w.workers(n, slice, func() error { return w.claim(w.fast, w.large, false) })
			},
			func() float64 {
				return w.workers(n, slice, func() error { return w.raw.update(w.ctx()) })
			})
		w.row(fmt.Sprintf("claims ÷ raw conditional updates, %d at once", n), "≥ 0.90", "%.2f (%.0f/s, %.0f/s)", of, claims, raw)
	}
}

func (w *workbench) leases() {
	name := alloc.SequenceName(w.name("sequence"))
	_, _, err := w.fast.CreateSequence(w.ctx(), name, alloc.SequenceConfig{}.WithDefaults())
	w.must(err)
	take := func(n alloc.Count) {
		_, err := w.counted.Lease(w.ctx(), alloc.LeaseOrder{Sequence: name, Count: n, By: "bench"})
		w.must(err)
	}
	take(1)
	for _, n := range []alloc.Count{1, 1_000_000} {
		cost := w.used(100, func() {
			for range 100 {
				take(n)
			}
		})
		w.row(fmt.Sprintf("lease of %d numbers", n), "3 write units, 1 read unit, 4 round trips", "%v", cost)
	}
	service, err := alloc.NewService(alloc.Config{Store: w.counted})
	w.must(err)
	ctx := alloc.WithCaller(w.ctx(), alloc.Caller{Client: "bench", Scopes: alloc.AllScopes()})
	next := func() {
		_, _, err := service.Next(ctx, alloc.LeaseRequest{Sequence: name, Count: 1})
		w.must(err)
	}
	next()
	warm := w.used(50, func() {
		for range 50 {
			next()
		}
	})
	w.row("next number from warm memory", "0 round trips", "%.0f round trips, %v", warm.trips, warm.took)
}
