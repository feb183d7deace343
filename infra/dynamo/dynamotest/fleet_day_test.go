package dynamotest

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"idpool/alloc"
)

// Bounds that a day has to keep.
const (
	// mostAbove is how much too high the level may be at most, beyond what was claimed since it was counted, and mostBelow
	// how much too low, beyond what was leased and came back since: see alloc.Pools. No two days are alike, as calls interleave by
	// chance: of some 50 days 48 stayed below 70, and two came to 102 and 111.
	mostAbove = 160
	mostBelow = 0

	// mostOver is how far a refill may lift a pool above its target, beyond what was leased and came back since the level
	// was counted.
	mostOver = 0

	// mostListings is how many listings there may be for each ID that is there for the taking.
	mostListings = 2.5
)

// day is what every run of the tests plays: 24 hours, or a few with the race detector. IDPOOL_FLEET_DAYS plays so many
// days, each of another seed and with five times the claims.
func day(seed uint64) fleetPlan {
	p := fleetPlan{seed: seed, minutes: 24 * 60, envs: 200, perMinute: 16, low: 2400, target: 3200, twice: 10, again: 50, mostUnits: 1.25}
	if raced {
		p.minutes, p.mostUnits = 3*60, 1.4 // of the night alone: see judgeCost
	}
	return p
}

func TestAFleetLivesThroughADay(t *testing.T) {
	plans := []fleetPlan{day(1)}
	if days, err := strconv.Atoi(os.Getenv("IDPOOL_FLEET_DAYS")); err == nil {
		plans = nil
		for seed := range days {
			p := day(uint64(seed + 1))
			p.minutes, p.perMinute, p.low, p.target = 24*60, 80, 6000, 9000
			plans = append(plans, p)
		}
	}
	for _, p := range plans {
		for _, fault := range playFleet(t, p) {
			t.Error(fault)
		}
	}
}

// playFleet plays a day and returns what was broken.
func playFleet(t *testing.T, p fleetPlan) []string {
	t.Helper()
	var f *fleet
	synctest.Test(t, func(t *testing.T) {
		f = newFleet(t, p)
		f.live()
		f.judgeCost()
		f.report()
		f.drain()
	})
	return f.books.faults
}

// judge holds the day so far against its bounds.
func (f *fleet) judge() {
	b := f.books
	b.judgeLevel()
	for _, x := range []struct {
		what      string
		got, most int
	}{
		{"the level was too high by", b.above, mostAbove},
		{"the level was too low by", b.below, mostBelow},
		{"the target was exceeded by", b.overTarget, mostOver},
	} {
		if x.got > x.most {
			b.fail("%s %d, want at most %d", x.what, x.got, x.most)
		}
	}
	if b.mostPerFree > mostListings {
		b.fail("there were %.2f listings for each free ID, want at most %.2f", b.mostPerFree, mostListings)
	}
}

// judgeCost holds what claims have cost against its bound. It is one for the whole of the time: an hour of the night, when hardly an
// environment uses up what it leases before that is too old, costs more.
func (f *fleet) judgeCost() {
	all := pathCost{}
	f.mu.Lock()
	for kind, c := range f.tally.path {
		all.ids += c.ids
		all.units += c.units - c.beside(kind)
	}
	f.mu.Unlock()
	if got := float64(all.units) / float64(max(1, all.ids)); got > f.mostUnits {
		f.books.fail("an ID cost %.3f write units, want at most %.2f", got, f.mostUnits)
	}
}

// beside is what claims of a kind write that is no part of taking an ID: the record of a key, the return item of a hold.
func (c *pathCost) beside(kind string) (units int) {
	if kind == keyedClaim || kind == heldKeyed {
		units += c.claims
	}
	if kind == heldClaim || kind == heldKeyed {
		units += c.ids
	}
	return units
}

func (f *fleet) report() {
	b, y := f.books, f.tally
	f.t.Logf("seed %d: %d minutes of %d environments", f.seed, f.minutes, f.fleetPlan.envs)
	f.t.Logf("claims %d (with a key %d, held %d, replayed %d), refused %d, sent away %d, outcome unknown %d", y.claims, y.keyed, y.held, y.replayed, y.refused, y.busy, y.unclear)
	f.t.Logf("confirmed %d, released %d, retired %d; environments that died %d", y.confirmed, y.released, y.retired, y.deaths)
	f.t.Logf("runs of the schedule %d (of which something failed in %d), added %d", y.tends, y.failed, y.seeded)
	f.t.Logf("swept %+v, the dearest run %+v", y.swept, y.worst)
	f.t.Logf("the level was looked at %d times: too high by %d (with what was claimed since it was counted %d), too low by %d (with what was leased and came back %d)", b.levels, b.above, b.rawAbove, b.below, b.rawBelow)
	f.t.Logf("above the target by %d; listings for each free ID %.3f; IDs at the end %v", b.overTarget, b.mostPerFree, b.states)
	for _, kind := range slices.Sorted(maps.Keys(y.path)) {
		c := y.path[kind]
		f.t.Logf("%s: %d claims of %d IDs, for each ID %.3f write units beside key and hold", kind, c.claims, c.ids, float64(c.units-c.beside(kind))/float64(max(1, c.ids)))
	}
}

// drain ends the day: what is left is swept until nothing is to be done, then the level is exact, and all that it says can
// be claimed.
func (f *fleet) drain() {
	f.mu.Lock()
	f.calm = true
	f.mu.Unlock()
	e := f.newEnv(nil)
	ctx := alloc.WithCaller(f.t.Context(), schedule)
	for range 30 { // until all holds are over and nobody remembers anything
		time.Sleep(time.Minute)
		if _, err := e.store.Sweep(ctx, pool); err != nil {
			f.books.fail("the last sweeps: %v", err)
			return
		}
	}
	if f.books.broken() {
		return
	}
	f.books.audit()
	l, err := e.store.Level(ctx, pool)
	if err != nil || int(l.Available) < f.books.free || int(l.Available) > f.books.free+mostAbove {
		f.books.fail("the level at the end: %+v and %v, want %d available", l, err, f.books.free)
	}
	for left := f.books.free; left > 0; {
		o := alloc.ClaimOrder{Pool: pool, Count: alloc.Count(min(left, 100)), By: "client"}
		c, err := e.store.Claim(ctx, o)
		if err != nil {
			f.books.fail("%d are left and cannot be claimed: %v", left, err)
			return
		}
		f.books.answered(c, o)
		left -= len(c.IDs)
	}
	if left := f.books.free; left != 0 {
		f.books.fail("%d IDs are free when all were claimed", left)
	}
	f.books.audit()
}
