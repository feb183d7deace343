package alloctest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
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
	runLinearizable(t, newFixture(t), size(60))
}

func runLinearizable(tb testing.TB, f Fixture, rounds int) {
	w := newWorld(tb, f)
	for round := range rounds {
		l := newLinear(w, round)
		l.run()
		if !l.check() {
			return
		}
	}
}

// linear is one round: a pool, its clients, and the history of what they did.
type linear struct {
	w     *world
	pool  alloc.PoolName
	ids   []alloc.ID
	round int
	ticks atomic.Int64 // the time of the history

	mu      sync.Mutex
	history []porcupine.Operation
	claims  []linearClaimed
}

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
	last.sweep(l.w.Context())
	for i := range l.ids {
		last.inspect(l.w.Context(), i)
	}
	for range len(l.ids) + 1 {
		last.claim(l.w.Context(), linearInput{kind: linearClaim})
	}
}

// check stops the test unless the history is that of some order.
func (l *linear) check() bool {
	const patience = 30 * time.Second
	got := porcupine.CheckOperationsTimeout(linearModel(len(l.ids)), l.seenTokens(), patience)
	if got != porcupine.Ok {
		l.w.Errorf("the history of round %d is %s; want it to be that of some order of its operations:\n%s", l.round, got, l.describe())
	}
	return got == porcupine.Ok
}

// seenTokens is the history, in which each inspection says to which claim the token that it saw was answered.
func (l *linear) seenTokens() []porcupine.Operation {
	answered := map[alloc.Token]int{}
	for _, c := range l.claims {
		answered[c.token] = c.key
		if c.key == 0 {
			answered[c.token] = -1
		}
	}
	for i, op := range l.history {
		if out := op.Output.(linearOutput); op.Input.(linearInput).kind == linearInspect {
			out.key = answered[out.token]
			l.history[i].Output = out
		}
	}
	return l.history
}

// record appends an operation to the history. One that failed and is known to have done nothing leaves no trace.
func (l *linear) record(client int, in linearInput, call int64, out linearOutput, err error) {
	end := l.ticks.Add(1)
	if e := asError(err); err != nil {
		switch {
		case e == nil:
			l.w.Errorf("%s: got the bare error %v, want an *alloc.Error", in.kind, err)
			return
		case e.Unknown:
			out, end = linearOutput{unknown: true}, math.MaxInt64
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

// describe lists the history in the order of the calls.
func (l *linear) describe() string {
	var lines []string
	slices.SortFunc(l.history, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	for _, op := range l.history {
		lines = append(lines, fmt.Sprintf("%4d to %4d, client %d: %+v → %+v", op.Call, op.Return, op.ClientId, op.Input, op.Output))
	}
	return strings.Join(lines, "\n")
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
	in.name = alloc.Token(fmt.Sprint("?", call))
	if in.key > 0 {
		in.name = lostToken(in.key)
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

// sweep sweeps once. If it says that there is more to do, what it did of it is as unknown as if its answer were lost.
func (c *linearClient) sweep(ctx context.Context) {
	from, call := c.w.clock.Now().Unix(), c.ticks.Add(1)
	report, err := c.store.Sweep(ctx, c.pool)
	to := c.w.clock.Now().Unix()
	for id := range c.ids {
		for _, kind := range []linearKind{linearExpire, linearFree} {
			c.record(c.number, linearInput{kind: kind, id: id, from: from, to: to}, call, linearOutput{unknown: report.More}, err)
		}
	}
}
