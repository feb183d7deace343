package dynamotest

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// A day that no broken rule can spoil proves nothing: so each of these must be caught, within a few hours of a smaller
// fleet.
var fleetMutants = []struct {
	name  string
	plan  func(*fleetPlan)
	tries uint64 // seeds
}{
	{
		name: "a claim tests neither the state nor whether there is an owner", tries: 1,
		plan: func(p *fleetPlan) {
			p.mutate = mutant{call: untested(takesID, dynamo.AttrState, dynamo.AttrToken)}.table
		},
	},
	{
		name: "a claim does not test the generation, so old stock is not told from new", tries: 10,
		plan: func(p *fleetPlan) {
			p.mutate = mutant{call: untested(idTo(dynamo.StateClaimed, dynamo.StateHeld), dynamo.AttrGeneration)}.table
		},
	},
	{
		name: "a sweep publishes again without a test whether the listing is settled", tries: 1,
		plan: func(p *fleetPlan) { p.mutateSchedule = mutant{answer: allFree}.table },
	},
	{
		name: "a sweep moves the low mark apart from the tail", tries: 3,
		plan: func(p *fleetPlan) { p.mutateSchedule = apart },
	},
	{
		name: "an ID is freed before it is listed", tries: 1,
		plan: func(p *fleetPlan) { p.mutate = freedFirst },
	},
	{
		name: "a refill reads the level before the record, and adds without a bound", tries: 10,
		plan: func(p *fleetPlan) { p.tend = func(s alloc.Store) alloc.Store { return &hastyRefill{Store: s} } },
	},
}

func TestMutantsOfTheFleetAreCaught(t *testing.T) {
	for _, m := range fleetMutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			for seed := range m.tries {
				p := smallFleet(seed + 1)
				m.plan(&p)
				if faults := playQuietly(t, p); len(faults) > 0 {
					t.Logf("caught by seed %d: %s", p.seed, faults[0])
					return
				}
			}
			t.Errorf("%d days find no fault in it", m.tries)
		})
	}
}

// smallFleet is a fleet of a few hours in which the schedule always fires twice and keys come again often.
func smallFleet(seed uint64) fleetPlan {
	return fleetPlan{seed: seed, minutes: 4 * 60, envs: 40, perMinute: 25, low: 600, target: 1000, twice: 100, again: 400, mostUnits: 1.5}
}

func TestASmallFleetOfWhichNothingIsLeftOutBreaksNothing(t *testing.T) {
	p := smallFleet(1)
	if raced {
		p.minutes = 60
	}
	for _, fault := range playQuietly(t, p) {
		t.Error(fault)
	}
}

// playQuietly plays a day up to the first thing that is broken.
func playQuietly(t *testing.T, p fleetPlan) []string {
	var f *fleet
	synctest.Test(t, func(t *testing.T) {
		f = newFleet(t, p)
		f.live()
		f.judgeCost()
	})
	return f.books.faults
}

// allFree shows every ID that is claimed as free, to who reads many.
func allFree(c Call, a Answer) Answer {
	if c.Op != OpGetMany {
		return a
	}
	for i, it := range a.Items {
		if it != nil && kindOf(c.Keys[i]) == kindID && stateOf(it) == alloc.StateClaimed {
			it[dynamo.AttrState] = dynamo.StateFree
			for _, attr := range []string{
				dynamo.AttrToken, dynamo.AttrTaken, dynamo.AttrBy, dynamo.AttrKey, dynamo.AttrOwner, dynamo.AttrMetadata, dynamo.AttrHoldEnd, dynamo.AttrExpires, dynamo.AttrCarried,
			} {
				delete(it, attr) // of an owner it would be damaged, and passed by
			}
		}
	}
	return a
}

// hastyRefill is a Store by which a refill learns of the level from before it has read the record, and whose batches of a
// refill are added whatever the level is by then.
type hastyRefill struct {
	alloc.Store
	mu    sync.Mutex
	level *alloc.Level
}

func (h *hastyRefill) Refill(ctx context.Context, name alloc.PoolName) (alloc.Refill, error) {
	l, err := h.Store.Level(ctx, name)
	if err != nil {
		return alloc.Refill{}, err
	}
	r, err := h.Store.Refill(ctx, name)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.level = &l
	return r, err
}

func (h *hastyRefill) Level(ctx context.Context, name alloc.PoolName) (alloc.Level, error) {
	h.mu.Lock()
	old := h.level
	h.level = nil
	h.mu.Unlock()
	if old != nil {
		return *old, nil
	}
	return h.Store.Level(ctx, name)
}

func (h *hastyRefill) Seed(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
	b.UpTo = 0
	return h.Store.Seed(ctx, b)
}
