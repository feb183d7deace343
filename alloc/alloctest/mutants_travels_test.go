package alloctest

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"idpool/alloc"
)

// travelMutant leaves out a rule of a restore.
type travelMutant struct {
	name   string
	store  func(m *Model) alloc.Store // of every process; nil for the Model itself
	change func(t *traveller)         // changes the history itself; nil for none
}

var travelMutants = []travelMutant{
	{name: "nothing is carried", store: func(m *Model) alloc.Store { return lazy{m} }},
	{name: "what somebody has taken since the restore goes to whom the record names, and nobody is told", store: func(m *Model) alloc.Store { return untold{m} }},
	{name: "what somebody has taken since the restore goes to whom the record names", store: func(m *Model) alloc.Store { return trampling{m} }},
	{name: "a record of an earlier life is passed over", store: func(m *Model) alloc.Store { return passingOver{m} }},
	{name: "the stock of a pool that forgets is not looked up", store: func(m *Model) alloc.Store { return blindOld{m} }},
	{name: "a log since a time leaves out all that was claimed before", change: func(t *traveller) {
		open := t.fixture.Open
		t.fixture.Open = func(tb testing.TB, now func() time.Time) alloc.Store { return marginless{open(tb, now), t} }
	}},
	{name: "a restore does not see what the refill has on its way", change: func(t *traveller) {
		t.plan.source, t.plan.burned, t.plan.refill = alloc.RestoreBurn, true, true
		open := t.fixture.Open
		t.fixture.Open = func(tb testing.TB, now func() time.Time) alloc.Store { return refillless{open(tb, now), t} }
	}},
	{name: "no lease is entered into a ledger", store: func(m *Model) alloc.Store { return ledgerless{m} }},
	{name: "nobody is told of numbers in two hands", store: func(m *Model) alloc.Store { return silentLedger{m} }},
	{name: "a rebuild of a pool frees what is claimed", store: rebuilding(func(p *modelPool) {
		for _, r := range p.ids {
			if r.State == alloc.StateClaimed {
				r.State = alloc.StateFree
			}
		}
	})},
}

// TestEveryMutantIsCaughtInATimeTravel shows that the histories can fail, within the number that is played.
func TestEveryMutantIsCaughtInATimeTravel(t *testing.T) {
	for _, mu := range travelMutants {
		t.Run(mu.name, func(t *testing.T) {
			for seed := uint64(1); seed <= modelTravels; seed++ {
				var failures []string
				synctest.Test(t, func(t *testing.T) {
					failures = verdict(t, func(tb testing.TB) {
						history := newTraveller(tb, mu.fixture(NewModel(nil)), seed)
						if mu.change != nil {
							mu.change(history)
						}
						history.play()
					})
				})
				if len(failures) > 0 {
					t.Logf("history %d: %s", seed, failures[0])
					return
				}
			}
			t.Errorf("%d histories passed, want one to fail", modelTravels)
		})
	}
}

func (mu travelMutant) fixture(m *Model) Fixture {
	f := m.Fixture()
	if mu.store != nil {
		f.Open = func(_ testing.TB, now func() time.Time) alloc.Store { return mu.store(m.Open(now)) }
	}
	f.Clone = func(testing.TB) Fixture { return mu.fixture(m.Clone()) }
	return f
}

// untold tramples and says that all is well.
type untold struct{ *Model }

func (s untold) Carry(ctx context.Context, pool alloc.PoolName, point time.Time, taken []alloc.IDRecord) ([]alloc.CarryOutcome, error) {
	outcomes, err := trampling(s).Carry(ctx, pool, point, taken)
	for i, o := range outcomes {
		if o == alloc.CarryClash {
			outcomes[i] = alloc.CarryDone
		}
	}
	return outcomes, err
}

// passingOver carries nothing of an earlier generation than the pool has.
type passingOver struct{ *Model }

func (s passingOver) Carry(ctx context.Context, pool alloc.PoolName, point time.Time, taken []alloc.IDRecord) (outcomes []alloc.CarryOutcome, err error) {
	for _, r := range taken {
		has, err := s.Inspect(ctx, pool, r.ID)
		if err == nil && has.Generation > r.Generation {
			outcomes = append(outcomes, alloc.CarryBehind)
			continue
		}
		one, err := s.Model.Carry(ctx, pool, point, []alloc.IDRecord{r})
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, one...)
	}
	return outcomes, nil
}

// blindOld finds every ID that it is asked for, free.
type blindOld struct{ *Model }

func (s blindOld) LookUp(_ context.Context, pool alloc.PoolName, ids []alloc.ID) (found []alloc.IDRecord, err error) {
	for _, id := range ids {
		found = append(found, alloc.IDRecord{Pool: pool, ID: id, State: alloc.StateFree})
	}
	return found, nil
}

// marginless lets a log miss what was claimed before the time that it is since.
type marginless struct {
	alloc.Store
	t *traveller
}

func (s marginless) WalkIDs(ctx context.Context, pool alloc.PoolName, state alloc.State, mark string, limit int) ([]alloc.IDRecord, string, error) {
	page, next, err := s.Store.WalkIDs(ctx, pool, state, mark, limit)
	if s.t.era == old && s.t.plan.source == alloc.RestoreLog && s.t.plan.since {
		page = slices.DeleteFunc(page, func(r alloc.IDRecord) bool { return r.State == alloc.StateClaimed && !r.At.After(s.t.point) })
	}
	return page, next, err
}

// refillless has no record of a refill until the procedure is over.
type refillless struct {
	alloc.Store
	t *traveller
}

func (s refillless) Refill(ctx context.Context, pool alloc.PoolName) (alloc.Refill, error) {
	if s.t.era == astray {
		return alloc.Refill{Pool: pool}, nil
	}
	return s.Store.Refill(ctx, pool)
}
