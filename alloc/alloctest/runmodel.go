package alloctest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"idpool/alloc"
)

// RunModel runs random sequences of operations, one at a time, on a Store under test and on the Model, and compares what
// they answer: codes, counts, states, outcomes and, as sets, the IDs (their order is an engine's own affair, so the Model
// follows it). Time is a clock that the sequences move; processes are replaced by cold ones in between.
//
// All sequences of one run share a fixture, each with pools and sequences of its own.
func RunModel(t *testing.T, newFixture func(t *testing.T) Fixture) { runModel(t, newFixture(t)) }

func runModel(tb testing.TB, fixture Fixture) {
	clock, run := NewClock(), 0
	rapid.Check(tb, func(rt *rapid.T) {
		run++
		m := newMachine(checkTB{TB: tb, T: rt}, fixture, clock, run)
		rt.Repeat(map[string]func(*rapid.T){
			"claim":           m.claim,
			"claim again":     m.claim,
			"claim with key":  m.claimWithKey,
			"repeat a claim":  m.repeatClaim,
			"seed":            m.seed,
			"inspect":         m.inspect,
			"settle":          m.settleAndFill,
			"settle some":     m.settleSome,
			"settle more":     m.settleSome,
			"settle late":     m.settleLate,
			"kept key":        m.keptKey,
			"take quota":      m.takeQuota,
			"wait":            m.wait,
			"restart":         m.restart,
			"change pool":     m.changePool,
			"set pool state":  m.setPoolState,
			"lease":           m.lease,
			"lease with key":  m.leaseWithKey,
			"repeat a lease":  m.leaseWithKey,
			"read sequence":   m.readSequence,
			"change sequence": m.changeSequence,
			"set sequence":    m.setSequenceState,
			"break counter":   m.breakCounter,
			"watch":           m.watch,
			"rebuild":         m.rebuild,
			"rebuild pool":    m.rebuildPool,
		})
		m.finish()
	})
}

// machine is one random sequence of operations.
type machine struct {
	w        *world
	model    *Model
	stores   []alloc.Store // the processes at present
	pools    []alloc.PoolName
	sequence alloc.SequenceName
	run      int
	made     int // sequences and jobs made until now, to name the next
	leased   map[alloc.SequenceName][]alloc.Range
	claims   []claimedTwice

	keyedOrders []alloc.ClaimOrder
	tokens      []alloc.Token // of the attempts on kept keys
	refills     []alloc.SeedBatch
}

func newMachine(tb checkTB, f Fixture, clock *Clock, run int) *machine {
	w := newWorld(tb, f)
	w.clock = clock
	m := &machine{
		w:      w,
		model:  NewModel(clock.Now),
		run:    run,
		leased: map[alloc.SequenceName][]alloc.Range{},
		tokens: []alloc.Token{alloc.NewToken(), alloc.NewToken(), alloc.NewToken()},
	}
	m.stores = m.w.processes(2)
	for i, config := range []alloc.PoolConfig{{}, {Policy: alloc.PolicyForget}, {OnRelease: alloc.ReleaseRetires}} {
		name := alloc.PoolName(fmt.Sprintf("%s-%d", []string{"keep", "forget", "retire"}[i], run))
		config.MaxBatch = 5
		m.w.pool(name, config)
		_, _, err := m.model.CreatePool(m.ctx(), name, config.WithDefaults())
		m.w.ok(err, "CreatePool of the model")
		m.pools = append(m.pools, name)
		m.seedIDs(name, "first", someIDs("id-", 6))
	}
	m.newSequence()
	return m
}

func (m *machine) ctx() context.Context { return m.w.Context() }

// process draws one of the processes at present.
func (m *machine) process(t *rapid.T) alloc.Store {
	return m.stores[rapid.IntRange(0, len(m.stores)-1).Draw(t, "process")]
}

func (m *machine) pool(t *rapid.T) alloc.PoolName { return rapid.SampledFrom(m.pools).Draw(t, "pool") }

// same stops the check unless the Store refused what the model refuses, with the same code and figures.
func (m *machine) same(what string, got, want error) {
	m.w.Helper()
	if alloc.CodeOf(got) != alloc.CodeOf(want) {
		m.w.Fatalf("%s: got %v, the model has %v", what, got, want)
	}
	g, w := asError(got), asError(want)
	switch {
	case got == nil:
	case g == nil:
		m.w.Fatalf("%s: got the bare error %v, want an *alloc.Error", what, got)
	case g.Current != w.Current || g.Remaining != w.Remaining || g.Unknown:
		m.w.Fatalf("%s: got %+v, the model has %+v", what, g, w)
	}
}

// restart replaces a process by one with nothing in memory.
func (m *machine) restart(t *rapid.T) {
	m.stores[rapid.IntRange(0, len(m.stores)-1).Draw(t, "process")] = m.w.open()
}

// wait moves the clock: a little, beyond the delay of changes, beyond the life of stock, or beyond that of keys.
func (m *machine) wait(t *rapid.T) {
	m.advance(rapid.SampledFrom([]time.Duration{
		time.Second, stateDelay, staleStock, time.Hour, 11 * time.Hour, beforeEnd, expiry,
	}).Draw(t, "time"))
}

// advance moves the clock. Of the very second of a key's expiry nothing is promised, so it is left out; and a pool that
// forgets may forget what the key took at once or by the next sweep, and a hold may come back at once or by the next
// sweep, so that one follows.
func (m *machine) advance(d time.Duration) {
	before := m.w.clock.Now()
	m.w.clock.Advance(d)
	for slices.ContainsFunc(m.expiries(), m.w.clock.Now().Equal) {
		m.w.clock.Advance(time.Second)
	}
	passed := func(end time.Time) bool { return end.After(before) && end.Before(m.w.clock.Now()) }
	if d >= time.Hour || slices.ContainsFunc(m.expiries(), passed) {
		m.sweep()
	}
}

// expiries are the times at which keys expire or have expired, holds end and IDs are forgotten.
func (m *machine) expiries() (ends []time.Time) {
	for _, k := range m.model.data.claims {
		ends = append(ends, k.born.Add(alloc.KeyRetention))
	}
	for _, k := range m.model.data.leases {
		ends = append(ends, k.born.Add(alloc.KeyRetention))
	}
	for _, k := range m.model.data.kept {
		ends = append(ends, k.born.Add(alloc.KeyRetention))
	}
	for _, p := range m.model.data.pools {
		for _, r := range p.ids {
			switch {
			case r.State == alloc.StateHeld:
				ends = append(ends, r.HeldUntil)
			case r.State == alloc.StateClaimed && p.Config.Policy == alloc.PolicyForget:
				ends = append(ends, r.forget)
			}
		}
	}
	return ends
}

func (m *machine) sweep() {
	for _, pool := range m.pools {
		m.w.sweep(pool)
		_, err := m.model.Sweep(m.ctx(), pool)
		m.w.ok(err, "Sweep of the model")
	}
}

// checkTB lets the helpers of the suite fail the present check of rapid instead of the whole test, and ends with the
// check what they opened for it.
type checkTB struct {
	testing.TB
	T *rapid.T
}

func (c checkTB) Helper()                           { c.T.Helper() }
func (c checkTB) Cleanup(f func())                  { c.T.Cleanup(f) }
func (c checkTB) Context() context.Context          { return c.T.Context() }
func (c checkTB) Failed() bool                      { return c.T.Failed() }
func (c checkTB) Fail()                             { c.T.Fail() }
func (c checkTB) FailNow()                          { c.T.FailNow() }
func (c checkTB) Log(args ...any)                   { c.T.Log(args...) }
func (c checkTB) Logf(format string, args ...any)   { c.T.Logf(format, args...) }
func (c checkTB) Error(args ...any)                 { c.T.Error(args...) }
func (c checkTB) Errorf(format string, args ...any) { c.T.Errorf(format, args...) }
func (c checkTB) Fatal(args ...any)                 { c.T.Fatal(args...) }
func (c checkTB) Fatalf(format string, args ...any) { c.T.Fatalf(format, args...) }
