package dynamotest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// chaos is a stage under the hand of chance: at every step a seeded source decides who goes on and what happens to it.
// Processes crash and are replaced, freeze for hours and go on with what they have in memory, and have clocks that are
// wrong by up to five minutes, or by a freeze that their clock slept through. Calls are lost, answers are lost, writes
// are repeated, and arrive hours after their caller was told that they failed, or a second time.
type chaos struct {
	*stage
	t      *testing.T
	rng    *rand.Rand
	config dynamo.Config // of every process, but for table and clock

	weights  []weight        // of what happens to a call
	wild     int             // per mille of steps with an event beside the calls
	sticky   int             // per cent of steps on which the act of the last one goes on
	jumps    time.Duration   // how much time may be jumped over
	leaps    []time.Duration // of the jumps, beside the usual ones
	expire   func()          // removes what has expired
	standing bool            // a clock stood still during a freeze
	broken   []string        // violations that the world saw
	came     map[string]bool // what the schedule came to

	late    []*held
	last    *act
	living  []*process
	made    int           // processes made
	jumped  time.Duration // so far
	running map[*act]func()
}

// fate is what happens to a call.
type fate int

const (
	fateNone fate = iota
	fateFault
	fateLate  // a write: told lost, arrives later or never
	fateTwice // a write: goes through, and arrives once more later
)

type weight struct {
	fate  fate
	fault Fault
	n     int
}

// maxActs is how many operations are under way at once, maxSteps how long a schedule may go on with chaos, and maxCalm
// how many calls a single operation may take without.
const (
	maxActs  = 5
	maxSteps = 6000
	maxCalm  = 3000
)

// newChaos draws the character of the run: from calm to stormy.
func newChaos(t *testing.T, seed uint64, mem *Memory, table dynamo.Table, mutate func(dynamo.Table) dynamo.Table) *chaos {
	c := &chaos{
		stage: newStage(mem, table), t: t,
		rng:     rand.New(rand.NewPCG(seed, 0x1d9001)),
		running: map[*act]func(){},
		came:    map[string]bool{},
		expire:  func() { mem.Expire(time.Now()) },
	}
	c.mutate = mutate
	c.config.IntN = locked(rand.New(rand.NewPCG(seed, 0x5704e)))
	storm := []int{0, 1, 4, 10}[c.rng.IntN(4)]
	c.weights = weights(storm)
	c.wild = []int{0, 10, 40}[c.rng.IntN(3)]
	c.sticky = []int{0, 50, 90}[c.rng.IntN(3)]
	c.jumps = 10 * time.Hour
	for range 2 + c.rng.IntN(3) {
		c.spawn()
	}
	return c
}

// weights are those of a storm of so many per cent.
func weights(storm int) []weight {
	return []weight{
		{fateNone, None, 100},
		{fateFault, Refused, storm / 2},
		{fateFault, LostRequest, storm},
		{fateFault, AppliedButFailed, 2 * storm},
		{fateFault, Throttled, storm / 2},
		{fateFault, Repeated, 2 * storm},
		{fateLate, None, storm},
		{fateTwice, None, storm},
	}
}

// locked is a source of random numbers for several goroutines.
func locked(rng *rand.Rand) func(int) int {
	var mu sync.Mutex
	return func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return rng.IntN(n)
	}
}

func (c *chaos) chance(perCent int) bool { return c.rng.IntN(100) < perCent }

func (c *chaos) fail(format string, args ...any) {
	c.broken = append(c.broken, fmt.Sprintf(format, args...))
	c.note("VIOLATION: "+format, args...)
}

func (c *chaos) saw(what string) { c.came[what] = true }

// spawn starts a process with a clock that is wrong by up to five minutes.
func (c *chaos) spawn() *process {
	c.made++
	skew := time.Duration(c.rng.Int64N(int64(10*time.Minute))) - 5*time.Minute
	p := c.process(c.t, fmt.Sprintf("p%d", c.made), skew, c.config)
	c.living = append(c.living, p)
	return p
}

// begin starts an operation; then is called by the driver when it has ended in a process that lives.
func (c *chaos) begin(p *process, a *act, then func()) {
	c.note("%s %s begins", p.name, a.name)
	c.running[a] = then
}

// do begins an operation; then sees its result if the process lives to tell.
func do[T any](c *chaos, p *process, name string, f func(context.Context, *dynamo.Store) (T, error), then func(a *act, result T, err error)) *act {
	var result T
	var err error
	a := c.start(p, name, func(ctx context.Context, store *dynamo.Store) { result, err = f(ctx, store) })
	c.begin(p, a, func() {
		c.note("%s %s ends: %v, %v", p.name, name, result, err)
		if alloc.Is(err, alloc.CodeInternal) {
			c.fail("%s: %v", name, err)
		}
		then(a, result, err)
	})
	return a
}

// storm runs operations in any order and with any fault until next has no more and all have ended.
func (c *chaos) storm(next func() bool) {
	more := true
	for step := 0; step < maxSteps && len(c.broken) == 0; step++ {
		calls := c.ready()
		c.reap()
		if !more && len(c.running) == 0 {
			break
		}
		if c.rng.IntN(1000) < c.wild {
			c.event()
			continue
		}
		if more && len(c.running) < maxActs && (len(calls) == 0 || c.chance(15)) {
			more = next()
			continue
		}
		if len(calls) == 0 {
			c.thaw()
			c.pass(time.Duration(1+c.rng.IntN(100)) * time.Millisecond)
			continue
		}
		c.fateOf(c.pick(calls))
	}
}

// ready returns the calls of the processes that are not frozen.
func (c *chaos) ready() []*held {
	return slices.DeleteFunc(c.calls(), func(h *held) bool { return h.proc.frozen })
}

// reap hands ended operations to their observer, in the order in which they began.
func (c *chaos) reap() {
	var ended []*act
	for a := range c.running {
		if a.over() {
			ended = append(ended, a)
		}
	}
	slices.SortFunc(ended, func(a, b *act) int { return a.n - b.n })
	for _, a := range ended {
		then := c.running[a]
		delete(c.running, a)
		then()
	}
}

func (c *chaos) pick(calls []*held) *held {
	if c.last != nil && c.chance(c.sticky) {
		for _, h := range calls {
			if h.act == c.last {
				return h
			}
		}
	}
	h := calls[c.rng.IntN(len(calls))]
	c.last = h.act
	return h
}

func (c *chaos) fateOf(h *held) {
	total := 0
	for _, w := range c.weights {
		total += w.n
	}
	n := c.rng.IntN(total)
	for _, w := range c.weights {
		if n -= w.n; n >= 0 {
			continue
		}
		switch {
		case w.fate == fateLate && h.call.Write():
			c.late = append(c.late, h)
			c.later(h)
		case w.fate == fateTwice && h.call.Write():
			c.late = append(c.late, h)
			c.decide(h, None)
		case w.fault == Repeated && !h.call.Write():
			c.decide(h, None)
		default:
			c.decide(h, w.fault)
		}
		return
	}
}

// event is what happens beside the calls.
func (c *chaos) event() {
	p := c.living[c.rng.IntN(len(c.living))]
	switch c.rng.IntN(7) {
	case 6:
		c.expire()
	case 0:
		c.crash(p)
	case 1:
		c.note("%s freezes", p.name)
		p.frozen = true
	case 2, 3:
		c.jump()
	default:
		c.lateArrival()
	}
}

// crash ends a process and puts another, with nothing in memory, in its place. Writes that it had sent may still arrive.
func (c *chaos) crash(p *process) {
	for _, h := range c.calls() {
		if h.proc == p && h.call.Write() && c.chance(50) {
			c.late = append(c.late, h)
		}
	}
	c.kill(p)
	c.living = slices.DeleteFunc(c.living, func(l *process) bool { return l == p })
	c.spawn()
}

// jump lets seconds to hours pass; frozen processes may wake up with a clock that stood still meanwhile.
func (c *chaos) jump() {
	leaps := append([]time.Duration{time.Second, time.Minute, 3 * time.Minute, 11 * time.Minute, time.Hour, 3 * time.Hour}, c.leaps...)
	d := leaps[c.rng.IntN(len(leaps))]
	if d = min(d, c.jumps-c.jumped); d <= 0 {
		return
	}
	c.jumped += d
	for _, p := range c.living {
		if p.frozen && c.chance(30) {
			c.mu.Lock()
			p.skew -= d
			c.mu.Unlock()
			c.standing = true
		}
	}
	c.note("%s pass", d)
	c.pass(d)
	if c.chance(70) {
		c.thaw()
	}
}

func (c *chaos) thaw() {
	for _, p := range c.living {
		p.frozen = false
	}
}

// pass lets time go by: timers of the processes fire on the way.
func (c *chaos) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// lateArrival applies one write whose caller has long gone.
func (c *chaos) lateArrival() {
	if len(c.late) == 0 {
		return
	}
	i := c.rng.IntN(len(c.late))
	h := c.late[i]
	c.late = slices.Delete(c.late, i, i+1)
	if a := c.arrive(h); a.Err == nil {
		c.saw("a late write that was applied")
	}
}

// calm ends the faults: everybody wakes up, everything under way ends. Late writes may still arrive.
func (c *chaos) calm() {
	c.thaw()
	c.weights = []weight{{fateNone, None, 1}}
	c.wild = 0
	c.storm(func() bool { return false })
}

// flush lets some of the late writes arrive; the rest is lost for good.
func (c *chaos) flush() {
	for len(c.late) > 0 {
		if c.chance(50) {
			c.lateArrival()
		} else {
			c.late = c.late[1:]
		}
	}
}

// quietly carries one operation through without a fault and reports whether it came to an end.
func (c *chaos) quietly(a *act) bool {
	for range maxCalm {
		calls := c.calls()
		if a.over() {
			return true
		}
		if len(calls) == 0 {
			c.pass(10 * time.Millisecond)
			continue
		}
		c.decide(calls[0], None)
	}
	c.fail("%s does not end", a.name)
	return false
}

// report is what a failure prints.
func (c *chaos) report() string {
	return strings.Join(c.broken, "\n") + "\nschedule:\n" + strings.Join(c.trace, "\n")
}
