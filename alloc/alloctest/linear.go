package alloctest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"idpool/alloc"
)

// linearHold is how long the clients of a linearizability check hold, in the time of the test's clock.
const linearHold = time.Minute

// RunLinearizable lets a few clients, each a process of its own, claim, hold, confirm, release, retire, inspect and sweep
// on small pools at the same time, while calls are refused, lost after they were carried out, or cut off; and proves
// that what they were answered is what one after the other could have been answered: each operation took effect at one
// moment between its call and its answer, or, if its outcome is unknown, at one later moment or never.
func RunLinearizable(t *testing.T, newFixture func(t *testing.T) Fixture) {
	runLinearizable(t, newFixture(t), size(30))
}

func runLinearizable(tb testing.TB, f Fixture, rounds int) {
	w := newWorld(tb, f)
	judged := 0
	for round := range rounds {
		l := newLinear(w, round)
		l.run()
		switch l.check() {
		case porcupine.Ok:
			judged++
		case porcupine.Illegal:
			return
		case porcupine.Unknown: // it takes all orders of the operations that were on at once, and these may be too many
			w.Logf("the history of round %d could not be judged in %s", round, linearPatience)
		}
	}
	if 4*judged < 3*rounds {
		w.Errorf("%d of %d histories were judged, want three in four: they have too much at once", judged, rounds)
	}
}

// linearPatience is how long one history is looked at.
const linearPatience = 20 * time.Second

// linear is one round: a pool, its clients, and the history of what they did.
type linear struct {
	w     *world
	pool  alloc.PoolName
	ids   []alloc.ID
	round int
	ticks atomic.Int64 // the time of the history

	mu      sync.Mutex
	history []porcupine.Operation
	sweeps  []span
	claims  []linearClaimed
}

// span is the time of an operation, in the time of the history.
type span struct{ call, end int64 }

// never is when an operation ends of which it is not known whether it will be done: after all others.
const never = math.MaxInt64

// linearClaimed is an ID that a client was told to have.
type linearClaimed struct {
	id    int
	token alloc.Token
	key   int // that the token was answered to; 0 for none
}

func newLinear(w *world, round int) *linear {
	l := &linear{w: w, round: round, pool: alloc.PoolName(fmt.Sprintf("linear-%d", round))}
	l.ids = w.full(l.pool, 2+round%(linearIDs-1))
	return l
}

// run lets the clients do their random operations, and ends with a look at everything.
func (l *linear) run() {
	const operations = 9
	clients := 3 + l.round%3
	stores := l.w.processes(clients)
	l.w.together(clients, func(i int) {
		rng := rand.New(rand.NewPCG(uint64(l.round), uint64(i)))
		c := linearClient{linear: l, rng: rng, store: NewFaulty(stores[i], Sometimes(rng.IntN, 8, bothForms...)), number: i}
		for range operations {
			runtime.Gosched() // so that clients meet on a fast engine too
			c.operate()
		}
	})
	last := linearClient{linear: l, store: NewFaulty(l.w.open(), nil), number: clients}
	l.w.pass(linearHold)
	for range patience {
		if last.sweep(l.w.Context()) {
			break
		}
	}
	for i := range l.ids {
		last.inspect(l.w.Context(), i)
	}
	for range len(l.ids) + 1 {
		last.claim(l.w.Context(), linearInput{kind: linearClaim})
	}
}

// check fails the test where the history is that of no order.
func (l *linear) check() porcupine.CheckResult {
	l.annotate()
	got := porcupine.CheckOperationsTimeout(linearModel(len(l.ids)), l.history, linearPatience)
	if got == porcupine.Illegal {
		l.w.Errorf("the history of round %d is %s; want it to be that of some order of its operations:\n%s", l.round, got, l.describe())
	}
	return got
}

// annotate puts into the history what only its end has shown: of each token that an inspection saw, to which claim it was
// answered, and of each operation, whether a sweep was on.
func (l *linear) annotate() {
	answered := map[alloc.Token]int{}
	for _, c := range l.claims {
		answered[c.token] = c.key
		if c.key == 0 {
			answered[c.token] = -1
		}
	}
	for i, op := range l.history {
		in, out := op.Input.(linearInput), op.Output.(linearOutput)
		if in.kind == linearInspect {
			out.key = answered[out.token]
		}
		in.loose = slices.ContainsFunc(l.sweeps, func(s span) bool { return s.call < op.Return && op.Call < s.end })
		l.history[i].Input, l.history[i].Output = in, out
	}
}

// record appends an operation to the history. One that failed and is known to have done nothing leaves no trace.
func (l *linear) record(client int, in linearInput, call int64, out linearOutput, err error) {
	in.call, in.to = call, l.w.clock.Now().Unix()
	end := l.ticks.Add(1)
	out.end = end
	if e := asError(err); err != nil {
		switch {
		case e == nil:
			l.w.Errorf("%s: got the bare error %v, want an *alloc.Error", in.kind, err)
			return
		case e.Unknown:
			out, end = linearOutput{unknown: true}, never
		case repeatable(err):
			return
		default:
			out.code = e.Code
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.history = append(l.history, porcupine.Operation{ClientId: client, Input: in, Call: call, Output: out, Return: end})
}

// linearClient is one client.
type linearClient struct {
	*linear
	rng    *rand.Rand
	store  *Faulty
	number int
}

// operate does one random operation.
func (c *linearClient) operate() {
	ctx := c.w.Context()
	if c.rng.IntN(10) == 0 {
		cut, cancel := context.WithTimeout(ctx, cutOff(c.rng))
		defer cancel()
		ctx = cut
	}
	switch n := c.rng.IntN(100); {
	case n < 20:
		c.claim(ctx, linearInput{kind: linearClaim})
	case n < 35:
		c.claim(ctx, linearInput{kind: linearClaim, hold: true})
	case n < 50:
		key := 1 + c.rng.IntN(linearKeys)
		c.claim(ctx, linearInput{kind: linearClaim, key: key, hold: key%2 == 0})
	case n < 75:
		c.settle(ctx)
	case n < 85:
		c.inspect(ctx, c.rng.IntN(len(c.ids)))
	case n < 95:
		c.sweep(ctx)
	default:
		c.w.pass(linearHold)
	}
}

func (c *linearClient) claim(ctx context.Context, in linearInput) {
	o := order(c.pool, 1)
	if in.key > 0 {
		o = keyedOrder(c.pool, 1, fmt.Sprint(in.key))
	}
	if in.hold {
		o.Hold = linearHold
	}
	in.from = c.w.clock.Now().Unix()
	call := c.ticks.Add(1)
	in.lost = alloc.Token(fmt.Sprint("?", call))
	if in.key > 0 {
		in.lost = lostToken(in.key)
	}
	got, err := c.store.Claim(ctx, o)
	var out linearOutput
	if err == nil {
		out = linearOutput{id: slices.Index(c.ids, got.IDs[0]), token: got.Token, until: got.HeldUntil.Unix()}
		c.mu.Lock()
		c.claims = append(c.claims, linearClaimed{out.id, out.token, in.key})
		c.mu.Unlock()
	}
	c.record(c.number, in, call, out, err)
}

// settle settles an ID that somebody was told to have, perhaps long ago.
func (c *linearClient) settle(ctx context.Context) {
	c.mu.Lock()
	known := slices.Clone(c.claims)
	c.mu.Unlock()
	if len(known) == 0 {
		return
	}
	claimed := known[len(known)-1-c.rng.IntN(min(len(known), 6))]
	in := linearInput{kind: linearSettle, event: usualEvents[c.rng.IntN(len(usualEvents))], id: claimed.id, token: claimed.token}
	call := c.ticks.Add(1)
	got, err := c.store.Settle(ctx, alloc.SettleOrder{Pool: c.pool, Event: in.event, IDs: []alloc.ID{c.ids[in.id]}, Token: in.token})
	c.record(c.number, in, call, linearOutput{state: got.State}, err)
}

func (c *linearClient) inspect(ctx context.Context, id int) {
	in := linearInput{kind: linearInspect, id: id}
	call := c.ticks.Add(1)
	got, err := c.store.Inspect(ctx, c.pool, c.ids[id])
	if err != nil {
		return // it changes nothing, whatever its outcome
	}
	c.record(c.number, in, call, linearOutput{state: got.State, token: got.Token}, nil)
}

// sweep sweeps once, and reports whether it came to its end. If it has more to do, or its outcome is unknown, it may come
// to any ID at any time.
func (c *linearClient) sweep(ctx context.Context) bool {
	from, call := c.w.clock.Now().Unix(), c.ticks.Add(1)
	report, err := c.store.Sweep(ctx, c.pool)
	done := err == nil && !report.More
	for id := range c.ids {
		if done {
			c.record(c.number, linearInput{kind: linearSweep, id: id, from: from}, call, linearOutput{}, nil)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e := asError(err); {
	case done:
		c.sweeps = append(c.sweeps, span{call, c.ticks.Add(1)})
	case err == nil, e != nil && e.Unknown, e != nil && !Injected(err):
		c.sweeps = append(c.sweeps, span{call, never})
	}
	return done
}
