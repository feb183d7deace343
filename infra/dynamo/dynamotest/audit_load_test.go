package dynamotest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/infra/dynamo"
)

// auditLoadSize is how many IDs the pool has. Under the race detector, which is ten times slower, there are fewer.
func auditLoadSize() int {
	if raced {
		return 10_000
	}
	return 100_000
}

// auditLoad is a pool in use, whose clock moves on by hours while it is audited: some clients confirm, release and retire what they have, others let
// their holds expire, or die with stock in memory, and the schedule runs. Each step of an audit lets so many operations go on beside it, and these
// move the clock: so the work is the same on a fast machine and a slow one.
type auditLoad struct {
	testing.TB
	table  dynamo.Table
	clock  *alloctest.Clock
	expire func(time.Time) // removes what has expired; nil where nothing does
	turns  chan struct{}   // operations that clients may begin
	due    chan struct{}   // runs of the schedule
	ops    atomic.Int64
	done   [loadKinds]atomic.Int64
}

// What goes on beside the audits.
const (
	loadClaim = iota
	loadKeyed
	loadHold
	loadConfirm
	loadRelease
	loadRetire
	loadSeed
	loadSweep
	loadBack // IDs that came back
	loadKinds
)

var loadNames = [loadKinds]string{"claims", "claims with a key", "holds", "confirmations", "releases", "retirements", "seedings", "sweeps", "IDs that came back"}

const (
	loadMoves = 5 * time.Hour   // by which the clock moves on, at least
	loadWait  = 8 * time.Minute // from one run of the schedule to the next
	loadEvery = 40              // operations from one run of the schedule to the next
	loadTurns = 200             // operations beside one step of an audit, at most
)

func (l *auditLoad) open() *dynamo.Store {
	store, err := dynamo.New(dynamo.Config{Table: l.table, Now: l.clock.Now})
	if err != nil {
		panic(err) // it is the same configuration each time
	}
	return store
}

// newAuditLoad makes the pool with its IDs.
func newAuditLoad(t *testing.T, table dynamo.Table, size int, c alloc.PoolConfig) *auditLoad {
	t.Helper()
	l := &auditLoad{TB: t, table: table, clock: alloctest.NewClock(), turns: make(chan struct{}, loadTurns), due: make(chan struct{})}
	if _, _, err := l.open().CreatePool(t.Context(), pool, c.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	s := l.open()
	for n := range (size + alloc.MaxSeedIDs - 1) / alloc.MaxSeedIDs {
		list := make([]alloc.ID, min(alloc.MaxSeedIDs, size-n*alloc.MaxSeedIDs))
		for i := range list {
			list[i] = alloc.ID(fmt.Sprintf("id-%06d", n*alloc.MaxSeedIDs+i))
		}
		if _, err := s.Seed(t.Context(), alloc.SeedBatch{Pool: pool, Job: "setup", IDs: list}); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// run audits the pool again and again until the clock has moved on by hours, and all has happened beside it.
func (l *auditLoad) run(t *testing.T) {
	var clients, schedule sync.WaitGroup
	for n := range 3 {
		clients.Go(func() { l.client(n) })
	}
	schedule.Go(l.schedule)
	begun, audits := l.clock.Now(), 0
	for ; !t.Failed() && (l.clock.Now().Sub(begun) < loadMoves || l.quiet() != ""); audits++ {
		l.goOn()
		found, _, err := auditWith(t, func() alloc.Store { return l.open() }, alloc.JobID(fmt.Sprint("under-load-", audits)), 100, l.goOn)
		if err != nil || len(found) > 0 {
			t.Errorf("under load: %v, %s", err, words(found))
		}
	}
	close(l.turns)
	clients.Wait()
	close(l.due)
	schedule.Wait()
	t.Logf("%d audits in %s of the clock, beside", audits, l.clock.Now().Sub(begun))
	for i, name := range loadNames {
		t.Logf("%d %s", l.done[i].Load(), name)
	}
	if found, _, err := auditWith(t, func() alloc.Store { return l.open() }, "after-it", 100, nil); err != nil || len(found) > 0 {
		t.Errorf("after it: %v, %s", err, words(found))
	}
}

// goOn lets operations begin.
func (l *auditLoad) goOn() {
	for range loadTurns {
		select {
		case l.turns <- struct{}{}:
		default: // the clients are busy
			return
		}
	}
}

// quiet is what has not happened often enough yet.
func (l *auditLoad) quiet() string {
	for i, name := range loadNames {
		if l.done[i].Load() < 20 {
			return name
		}
	}
	return ""
}

// schedule runs when it is due.
func (l *auditLoad) schedule() {
	for range l.due {
		l.clock.Advance(loadWait)
		l.sweep()
		if l.expire != nil {
			l.expire(l.clock.Now())
		}
	}
}

func (l *auditLoad) sweep() {
	for {
		r, err := l.open().Sweep(context.WithoutCancel(l.Context()), pool)
		if !l.fine(err) {
			return
		}
		l.done[loadSweep].Add(1)
		l.done[loadBack].Add(int64(r.Returned))
		if !r.More {
			return
		}
	}
}

func (l *auditLoad) fine(err error) bool {
	switch alloc.CodeOf(err) {
	case "", alloc.CodeBusy, alloc.CodePoolExhausted, alloc.CodeNotOwner, alloc.CodeIDNotFound, alloc.CodeIDRetired, alloc.CodeUnavailable:
		return true
	}
	l.Errorf("beside the audit: %v", err)
	return false
}

// client is one process after the other.
func (l *auditLoad) client(n int) {
	rng := rand.New(rand.NewPCG(uint64(n), 7)) //nolint:gosec // a schedule, no secret
	store, ctx := l.open(), context.WithoutCancel(l.Context())
	var have []alloc.Claim
	for range l.turns {
		i := l.ops.Add(1)
		if i%loadEvery == 0 {
			l.due <- struct{}{}
		}
		what := rng.IntN(100)
		switch {
		case what < 40:
			o, kind := l.order(rng, fmt.Sprint(n, "-", i))
			c, err := store.Claim(ctx, o)
			if !l.fine(err) || err != nil {
				continue
			}
			l.done[kind].Add(1)
			if kind != loadHold || rng.IntN(2) == 0 { // others let it expire
				have = append(have, c)
			}
		case what < 85 && len(have) > 0:
			k := rng.IntN(len(have))
			c := have[k]
			have[k] = have[len(have)-1]
			have = have[:len(have)-1]
			event, kind := alloc.EventRelease, loadRelease
			switch rng.IntN(6) {
			case 0:
				event, kind = alloc.EventRetire, loadRetire
			case 1, 2:
				event, kind = alloc.EventConfirm, loadConfirm
			}
			_, err := store.Settle(ctx, alloc.SettleOrder{Pool: pool, Event: event, IDs: c.IDs, Token: c.Token})
			if l.fine(err) && err == nil {
				l.done[kind].Add(1)
			}
		case what < 90: // new ones, and some that were added before
			b := alloc.SeedBatch{Pool: pool, Job: alloc.JobID(fmt.Sprint("job-", n, "-", i)), IDs: ids(fmt.Sprint("more-", rng.IntN(50)), 20)}
			if _, err := store.Seed(ctx, b); l.fine(err) {
				l.done[loadSeed].Add(1)
			}
		case what < 92:
			store = l.open() // the one before has died with what it had in memory
		}
	}
}

// order is a claim, and of what kind.
func (l *auditLoad) order(rng *rand.Rand, key string) (o alloc.ClaimOrder, kind int) {
	count := alloc.Count(1 + rng.IntN(3))
	hold := time.Duration(1+rng.IntN(40)) * time.Minute
	switch rng.IntN(4) {
	case 0:
		return order(count, ""), loadClaim
	case 1:
		return order(count, key), loadKeyed
	case 2:
		o = order(count, key)
		o.Hold = hold
		return o, loadHold
	}
	return heldOrder(count, hold), loadHold
}

// A pool of 100,000 IDs is audited in use, for hours of its clock: there is nothing to be found, and nothing is counted that is not there.
func TestTheAuditFindsNothingOnAHealthyPoolUnderLoad(t *testing.T) {
	for _, policy := range []alloc.Policy{alloc.PolicyKeep, alloc.PolicyForget} {
		t.Run(string(policy), func(t *testing.T) {
			size := auditLoadSize()
			if policy == alloc.PolicyForget {
				size /= 10
			}
			mem := NewMemory()
			l := newAuditLoad(t, mem, size, alloc.PoolConfig{Policy: policy})
			l.expire = func(now time.Time) { mem.Expire(now) }
			l.run(t)
		})
	}
}
