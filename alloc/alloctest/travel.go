package alloctest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"idpool/alloc"
)

var (
	travelSeed = flag.Uint64("travel.seed", 0, "play the one time travel of this seed")
	travelFrom = flag.Uint64("travel.from", 1, "the first seed of the time travels to play")
	travelRuns = flag.Int("travel.runs", 0, "how many time travels to play (default: a number that takes seconds)")
)

// RunTimeTravels plays random histories in which an engine is set back to a backup: traffic, the backup, more traffic of which the
// backup knows nothing, the restore, clients that go on although they should not, the procedure of a restore by processes that die in the
// middle of it and whose clocks are wrong, and in the end every ID that is left is claimed. Processes die at random calls in the
// traffic too, so that the backup has work that is half done.
//
// Whatever was done: no ID that a client has by what it was told, and no number, is given to another after the procedure. What is in two
// hands before it is told by it. Owners stay owners, nothing is lost that was free all the time, the counts are right, and audits find
// nothing.
func RunTimeTravels(t *testing.T, c TimeTravels, newFixture func(t *testing.T) Fixture) {
	from, runs := *travelFrom, c.Runs
	if *travelRuns > 0 {
		runs = *travelRuns
	}
	if *travelSeed > 0 {
		from, runs = *travelSeed, 1
	}
	for seed := from; seed < from+uint64(runs); seed++ {
		play := func(t *testing.T) { travel(t, newFixture(t), seed) }
		if c.Bubble {
			inBubble := play
			play = func(t *testing.T) { synctest.Test(t, inBubble) }
		}
		t.Run(fmt.Sprint(seed), play)
	}
}

// TimeTravels says how RunTimeTravels is to play.
type TimeTravels struct {
	Runs   int  // where no flag says another number
	Bubble bool // nothing of the engine leaves the process, so that what waits need not: testing/synctest
}

// era is when something was.
type era int

// The eras.
const (
	before  era = iota // of the backup
	old                // after the backup, in what is lost
	astray             // after the restore, before the procedure and beside it
	resumed            // after the procedure
)

func (e era) String() string { return [...]string{"before", "old", "astray", "resumed"}[e] }

// traveller is one history.
type traveller struct {
	testing.TB
	rng     *rand.Rand
	fixture Fixture
	clock   *Clock
	era     era
	plan    travelPlan
	trace   []string
	made    int // things made until now, to name the next

	crew    []*process
	book    travelBook
	point   time.Time
	old     Fixture                                        // as it was at last
	then    map[alloc.PoolName]map[alloc.ID]alloc.IDRecord // what the backup has
	last    map[alloc.PoolName]map[alloc.ID]alloc.IDRecord // what the old world had at last
	logs    map[string][]string                            // of a pool or a sequence, oldest first
	clashes map[string][]alloc.CarryLine
	batches []alloc.SeedBatch // that were seeded
	keyed   []keyedTravel
}

// travelPlan is the character of a history.
type travelPlan struct {
	source alloc.RestoreSource
	since  bool // logs leave out what the backup surely has
	twice  bool // the old table is carried twice
	dirty  int  // what goes on after the restore: 0 nothing, 1 what a pause does not keep from, 2 claims and leases too
	deaths int  // per cent of the acts that may be the last of their process
	burned bool // nobody knows what was taken
	refill bool // the backup is made in the middle of a refill
}

// travel plays the history of the seed.
func travel(tb testing.TB, f Fixture, seed uint64) { newTraveller(tb, f, seed).play() }

func newTraveller(tb testing.TB, f Fixture, seed uint64) *traveller {
	t := &traveller{
		TB: tb, rng: rand.New(rand.NewPCG(seed, 0x7a4e1)), fixture: f, clock: NewClock(), book: newTravelBook(),
		logs: map[string][]string{}, clashes: map[string][]alloc.CarryLine{},
	}
	t.plan = travelPlan{
		source: []alloc.RestoreSource{alloc.RestoreTable, alloc.RestoreLog, alloc.RestoreBurn}[t.pick(45, 45, 10)],
		since:  t.chance(50), twice: t.chance(30), dirty: t.pick(30, 30, 40), deaths: []int{0, 10, 30}[t.rng.IntN(3)], refill: t.chance(10),
	}
	t.plan.burned = t.plan.source == alloc.RestoreBurn
	return t
}

// play plays it.
func (t *traveller) play() {
	defer func() {
		if t.Failed() {
			for _, line := range t.trace {
				t.Log(line)
			}
		}
	}()
	t.note("%+v", t.plan)
	t.found()
	t.traffic(20 + t.rng.IntN(30))
	if t.plan.refill {
		t.midRefill()
	}
	t.point = t.clock.Now()
	restore := t.fixture.Snapshot(t.TB)
	t.era = old
	if t.plan.refill {
		t.endRefill()
	}
	for range 1 + t.rng.IntN(2) {
		t.traffic(5 + t.rng.IntN(25))
		t.clock.Advance(slack) // a log that was begun before the point by somebody's clock is none
		t.writeLogs()
	}
	t.old = t.fixture.Clone(t.TB)
	t.last = t.whole(t.old)
	restore(t.TB)
	t.clock.Advance(10 * time.Minute)
	t.then = t.whole(t.fixture)
	t.era = astray
	t.note("restored")
	if t.plan.dirty == 1 {
		t.pause()
	}
	if t.plan.dirty > 0 {
		t.traffic(5 + t.rng.IntN(15))
	}
	t.procedure()
	t.era = resumed
	t.judge()
}

func (t *traveller) chance(perCent int) bool { return t.rng.IntN(100) < perCent }

// pick draws one of the weights.
func (t *traveller) pick(weights ...int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	n := t.rng.IntN(sum)
	for i, w := range weights {
		if n -= w; n < 0 {
			return i
		}
	}
	return 0
}

func (t *traveller) note(format string, args ...any) {
	t.trace = append(t.trace, fmt.Sprintf("%s %s: ", t.clock.Now().Format("02T15:04:05"), t.era)+fmt.Sprintf(format, args...))
}

func (t *traveller) next() int { t.made++; return t.made }

// whole is all IDs of an engine.
func (t *traveller) whole(f Fixture) map[alloc.PoolName]map[alloc.ID]alloc.IDRecord {
	t.Helper()
	all := map[alloc.PoolName]map[alloc.ID]alloc.IDRecord{}
	s := f.Open(t, t.clock.Now)
	for _, pool := range travelPools {
		all[pool.name] = map[alloc.ID]alloc.IDRecord{}
		for mark := ""; ; {
			page, next, err := s.WalkIDs(t.Context(), pool.name, "", mark, 500)
			if err != nil {
				t.Fatalf("WalkIDs: %v", err)
			}
			for _, r := range page {
				all[pool.name][r.ID] = r
			}
			if mark = next; mark == "" {
				break
			}
		}
	}
	return all
}
