package dynamotest

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/generator"
	"idpool/infra/dynamo"
)

// fleet is many environments over one table for a day: they claim, are put to sleep, wake up with old stock, die with
// warm stock and are replaced, while the schedule sweeps the pool and fills it. It lives in a synctest bubble, so the day
// takes seconds; every call of the table takes its time, so that operations meet each other in the middle.
type fleet struct {
	fleetPlan
	t     *testing.T
	mem   *Memory
	books *books
	over  atomic.Bool
	doing sync.WaitGroup

	mu       sync.Mutex
	rng      *rand.Rand
	envs     []*env
	storm    int  // per mille of calls that are throttled
	calm     bool // nothing goes wrong any more
	schedule *env
	tally    fleetTally
}

// fleetPlan is what a day is like.
type fleetPlan struct {
	seed        uint64
	minutes     int
	envs        int
	perMinute   float64 // claims, on average over the day
	low, target alloc.Count
	twice       int // per cent of the minutes in which the schedule fires twice at once
	again       int // per mille of the keys that come again though they were answered

	// mostUnits is what a claim may cost on its own path, for each ID, beside the put of its key and of each hold.
	mostUnits float64

	// What is left out of the protocol; nil for nothing.
	mutate         func(dynamo.Table) dynamo.Table // of all
	mutateSchedule func(dynamo.Table) dynamo.Table // of the schedule
	tend           func(alloc.Store) alloc.Store
}

// fleetTally is what a day came to.
type fleetTally struct {
	claims, refused, busy, unclear, keyed, held, replayed int
	confirmed, released, retired                          int
	deaths, tends, failed, seeded                         int
	swept                                                 alloc.SweepReport
	worst                                                 alloc.SweepReport // the one of most calls
	path                                                  map[string]*pathCost
}

// pathCost is what claims of one kind have cost.
type pathCost struct{ claims, ids, units, calls int }

// env is one environment: a process with a clock of its own.
type env struct {
	f       *fleet
	skew    time.Duration
	store   *dynamo.Store
	service *alloc.Service // of the schedule
	dead    atomic.Bool
	asleep  time.Time // until then no request comes to it
}

// schedule is who runs it.
var schedule = alloc.Caller{Client: "schedule", Scopes: alloc.AllScopes()}

// maxSkew is how far the clocks are off at most.
const maxSkew = 5 * time.Second

func newFleet(t *testing.T, p fleetPlan) *fleet {
	mem := NewMemory()
	f := &fleet{fleetPlan: p, t: t, mem: mem, rng: rand.New(rand.NewPCG(p.seed, 0xf1ee7))}
	f.tally.path = map[string]*pathCost{}
	f.books = newBooks(mem)
	f.books.filledTo = p.target
	for range p.envs {
		f.envs = append(f.envs, f.newEnv(f.mutate))
	}
	f.schedule = f.newSchedule()
	return f
}

// roll is a random number from 0 to n−1.
func (f *fleet) roll(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rng.IntN(n)
}

func (f *fleet) chance(perMille int) bool { return f.roll(1000) < perMille }

// between is a random duration.
func (f *fleet) between(from, to time.Duration) time.Duration {
	return from + time.Duration(f.roll(int(to-from)))
}

// newSchedule is the environment of the schedule.
func (f *fleet) newSchedule() *env {
	if f.mutateSchedule != nil {
		return f.newEnv(f.mutateSchedule)
	}
	return f.newEnv(f.mutate)
}

// newEnv starts an environment whose protocol lacks something; nil for nothing.
func (f *fleet) newEnv(mutate func(dynamo.Table) dynamo.Table) *env {
	e := &env{f: f, skew: f.between(-maxSkew, maxSkew)}
	now := func() time.Time { return time.Now().Add(e.skew) }
	table := dynamo.Table(Through(e.call))
	if mutate != nil {
		table = mutate(table)
	}
	store, err := dynamo.New(dynamo.Config{Table: table, Now: now, IntN: f.roll})
	if err != nil {
		f.t.Fatal(err)
	}
	var tended alloc.Store = store
	if f.tend != nil {
		tended = f.tend(store)
	}
	e.store = store
	if e.service, err = alloc.NewService(alloc.Config{Store: tended, Now: now}); err != nil {
		f.t.Fatal(err)
	}
	return e
}

// pathKey is of a context: the kind of claim that a call is made for.
type pathKey struct{}

// call is one call of the environment's table: a way there and a way back, on which it may be refused or lost, or held up
// for so long that its caller has gone.
func (e *env) call(ctx context.Context, c Call) Answer {
	if e.dead.Load() {
		return Answer{Err: lost(c)}
	}
	f := e.f
	var fault Fault
	way := f.between(time.Millisecond, 9*time.Millisecond)
	calm, storm := f.weather()
	switch n := f.roll(100_000); {
	case calm:
	case n < 20+100*storm:
		fault = Throttled
	case n < 99_860:
	case n < 99_900:
		fault = AppliedButFailed
	case n < 99_930:
		fault = LostRequest
	case n < 99_960:
		fault = Refused
	case n < 99_995:
		fault = Repeated
	default:
		way = f.between(time.Second, 20*time.Minute)
	}
	if way < time.Second {
		time.Sleep(way / 2)
		a := f.apply(ctx, c, fault)
		time.Sleep(way / 2)
		if e.dead.Load() {
			return Answer{Err: lost(c)}
		}
		return a
	}
	answer := make(chan Answer, 1)
	f.doing.Go(func() {
		time.Sleep(way)
		answer <- f.apply(context.WithoutCancel(ctx), c, None)
	})
	select {
	case a := <-answer:
		return a
	case <-ctx.Done():
		return Answer{Err: lost(c)}
	}
}

func (f *fleet) weather() (calm bool, storm int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calm, f.storm
}

// apply makes the call with the fault under the eyes of the books, and counts what it costs.
func (f *fleet) apply(ctx context.Context, c Call, fault Fault) Answer {
	a, units := f.books.do(ctx, c, fault)
	if kind, _ := ctx.Value(pathKey{}).(string); kind != "" {
		f.mu.Lock()
		defer f.mu.Unlock()
		p := f.path(kind)
		p.units += units
		p.calls++
	}
	return a
}

func (f *fleet) path(kind string) *pathCost {
	p := f.tally.path[kind]
	if p == nil {
		p = &pathCost{}
		f.tally.path[kind] = p
	}
	return p
}

// count adds to the tally.
func (f *fleet) count(add func(*fleetTally)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	add(&f.tally)
}

// pick routes a request: to environments that were lately busy for the most part, as a load balancer does that wakes up no
// more than it needs. One that sleeps is passed over.
func (f *fleet) pick() *env {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		rank := int(f.rng.ExpFloat64() * float64(len(f.envs)) / 12)
		if rank < len(f.envs) && !time.Now().Before(f.envs[rank].asleep) {
			return f.envs[rank]
		}
	}
}

// fates lets environments die and sleep.
func (f *fleet) fates() {
	for i := range f.envs {
		switch {
		case f.chance(8): // about two hours of life
			f.kill(i)
		case f.chance(4):
			f.sleeps(i, time.Now().Add(f.between(time.Minute, 40*time.Minute)))
		}
	}
	f.mu.Lock()
	f.storm = 0
	f.mu.Unlock()
	if f.chance(10) {
		f.mu.Lock()
		f.storm = 50
		f.mu.Unlock()
	}
	if f.chance(10) {
		f.killSchedule()
	}
}

func (f *fleet) sleeps(i int, until time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.envs[i].asleep = until
}

func (f *fleet) killSchedule() {
	e := f.newSchedule()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.schedule.dead.Store(true)
	f.schedule = e
}

// kill ends an environment and puts another in its place. What it has sent may still arrive.
func (f *fleet) kill(i int) {
	f.envs[i].dead.Store(true)
	e := f.newEnv(f.mutate)
	f.mu.Lock()
	f.envs[i] = e
	f.mu.Unlock()
	f.count(func(t *fleetTally) { t.deaths++ })
}

// rate is how many claims come in a minute of the day: a night, a noon, and now and then a burst.
func (f *fleet) rate(minute int) int {
	mean := f.perMinute * (1 + 0.8*math.Sin(2*math.Pi*float64(minute)/1440))
	if minute%397 == 396 {
		mean *= 6
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return max(0, int(mean+math.Sqrt(mean)*f.rng.NormFloat64()))
}

// live runs the day.
func (f *fleet) live() {
	f.open()
	for minute := range f.minutes {
		end := time.Now().Add(time.Minute)
		var tending sync.WaitGroup
		runs := 1
		if f.chance(10 * f.twice) {
			runs = 2
		}
		for range runs {
			tending.Go(func() { f.tendOnce() })
		}
		f.fates()
		offsets := make([]time.Duration, f.rate(minute))
		for i := range offsets {
			offsets[i] = time.Duration(f.roll(int(time.Minute)))
		}
		slices.Sort(offsets)
		start := time.Now()
		for _, at := range offsets {
			time.Sleep(time.Until(start.Add(at)))
			f.doing.Go(f.client)
		}
		time.Sleep(time.Until(end))
		tending.Wait()
		f.judge()
		if minute%60 == 59 {
			f.books.audit()
		}
		if f.books.broken() {
			break
		}
	}
	f.over.Store(true)
	f.doing.Wait()
}

// open makes the pool and fills it.
func (f *fleet) open() {
	ctx := context.Background()
	store, err := dynamo.New(dynamo.Config{Table: f.books.table(), IntN: f.roll})
	if err != nil {
		f.t.Fatal(err)
	}
	if _, _, err := store.CreatePool(ctx, pool, f.config()); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fleet) config() alloc.PoolConfig {
	return alloc.PoolConfig{
		Generator: generator.Config{Kind: generator.Random, Length: 10}.WithDefaults(),
		Marks:     alloc.Marks{Low: f.low, Target: f.target},
	}.WithDefaults()
}

// tendOnce is one run of the schedule.
func (f *fleet) tendOnce() {
	f.mu.Lock()
	e := f.schedule
	f.mu.Unlock()
	ctx, cancel := context.WithTimeout(alloc.WithCaller(context.Background(), schedule), 50*time.Second)
	defer cancel()
	began := f.books.begins()
	r, err := e.service.Tend(ctx)
	f.books.ends(began)
	if e.dead.Load() {
		return
	}
	f.count(func(t *fleetTally) {
		t.tends++
		if err != nil || len(r.Failed) > 0 {
			t.failed++
		}
	})
	for _, sweep := range r.Swept {
		f.swept(sweep)
	}
	for _, fill := range r.Refills {
		if fill.Dry != "" || alloc.Is(fill.Err, alloc.CodeInternal) {
			f.books.fail("the refill: %+v", fill)
		}
		f.count(func(t *fleetTally) { t.seeded += int(fill.Added) })
	}
}

func (f *fleet) swept(r alloc.SweepReport) {
	f.count(func(t *fleetTally) {
		t.swept.Relisted += r.Relisted
		t.swept.Returned += r.Returned
		t.swept.Voided += r.Voided
		t.swept.Calls += r.Calls
		t.swept.Writes += r.Writes
		if r.Calls > t.worst.Calls {
			t.worst = r
		}
	})
}
