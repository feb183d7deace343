package alloc_test

import (
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/alloc/generator"
)

var (
	madeUp     = generator.Config{Kind: generator.UUIDv7}
	ofSequence = generator.Config{Kind: generator.Sequence, Sequence: string(sequence), Format: "S-{n}"}
)

// newFilledDisaster is a disaster of a pool that a generator fills. The backup was made when a batch of IDs was on the record of the refill and not in
// the pool: they were seeded, and taken, after the point.
func newFilledDisaster(t testing.TB, policy alloc.Policy, g generator.Config) *disaster {
	t.Helper()
	d := &disaster{mill: newMill(t, alloc.PoolConfig{
		Policy: policy, MaxBatch: 50, Generator: g, Marks: alloc.Marks{Low: 5, Target: 10},
	}), taken: map[alloc.ID]alloc.IDRecord{}}
	if _, _, err := d.model.CreateSequence(t.Context(), sequence, alloc.SequenceConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	// The process of the schedule dies between the record of the IDs and their seeding.
	d.store.SetPlan(func(c alloctest.Call) alloctest.Fault {
		if c.Method == "Seed" {
			return alloctest.Refused
		}
		return alloctest.Pass
	})
	if _, err := d.another(t).Tend(d.ctx); err != nil && !alloctest.Injected(err) {
		t.Fatal(err)
	}
	d.store.SetPlan(nil)
	d.clock.Advance(time.Hour)
	d.point = d.clock.Now()
	restore := d.model.Snapshot()
	d.clock.Advance(time.Hour)
	d.tend(t)
	d.takeFree(t, 10)
	d.old = alloctest.NewModel(d.clock.Now)
	copyPool(t, d.model, d.old, alloc.PoolConfig{Policy: policy})
	restore()
	d.setState(t, alloc.PoolPaused)
	return d
}

// tend is a run of the schedule.
func (d *disaster) tend(t testing.TB) {
	t.Helper()
	if _, err := d.service(t).Tend(d.ctx); err != nil {
		t.Fatal(err)
	}
}

// takeFree claims IDs of the old world.
func (d *disaster) takeFree(t testing.TB, n alloc.Count) {
	t.Helper()
	c, err := d.model.Claim(t.Context(), alloc.ClaimOrder{Pool: pool, Count: n, By: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range c.IDs {
		d.taken[id] = alloc.IDRecord{ID: id, State: c.State, Token: c.Token}
	}
}

// refilled fills the pool after its restore, and fails the test if an ID comes out that was taken, or none does.
func (d *disaster) refilled(t testing.TB) {
	t.Helper()
	d.setState(t, alloc.PoolActive)
	d.clock.Advance(time.Minute)
	d.tend(t)
	if free := d.states(t)[alloc.StateFree]; free < 10 {
		t.Errorf("%d IDs are free after a refill, want 10", free)
	}
	d.wantNoneTwice(t)
}

// blindRestores are those that know nothing of what was seeded after the point.
var blindRestores = map[string]struct {
	policy  alloc.Policy
	request alloc.RestoreRequest
}{
	"a burn":               {alloc.PolicyKeep, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreBurn}},
	"a burn of some":       {alloc.PolicyKeep, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreBurn, AtMost: new(alloc.Count(2))}},
	"a burn, forgetting":   {alloc.PolicyForget, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreBurn}},
	"a table, forgetting":  {alloc.PolicyForget, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreTable}},
	"a log, and some more": {alloc.PolicyKeep, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreLog, AtMost: new(alloc.Count(2))}},
}

// logOf is the parts that a restore takes: a log that was begun before any of what the test takes, where it is one by a log.
func (d *disaster) logOf(t testing.TB, r alloc.RestoreRequest) []string {
	t.Helper()
	if r.Source != alloc.RestoreLog {
		return nil
	}
	d.old = alloctest.NewModel(d.clock.Now)
	if _, _, err := d.old.CreatePool(t.Context(), pool, alloc.PoolConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	return []string{d.log(t, alloc.LogRequest{Pool: pool})}
}

// What the backup has on the record of a refill, and was seeded and taken after the point, is never seeded again.
func TestARefillSeedsNothingThatTheBackupHadOnItsWay(t *testing.T) {
	for what, c := range blindRestores {
		for _, g := range []generator.Config{madeUp, ofSequence} {
			t.Run(what+" "+string(g.Kind), func(t *testing.T) {
				d := newFilledDisaster(t, c.policy, g)
				if g == ofSequence {
					d.lease(t, 1000) // which the sequence is restored above
				}
				d.restore(t, c.request, d.logOf(t, c.request)...)
				d.refilled(t)
			})
		}
	}
	t.Run("a table of a pool that keeps", func(t *testing.T) {
		d := newFilledDisaster(t, alloc.PolicyKeep, madeUp)
		d.restore(t, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreTable})
		d.refilled(t)
	})
}

// However a restore is cut off, what was on the record is retired once, and the record is empty.
func TestARestoreEmptiesTheRefillWhateverFails(t *testing.T) {
	everyFault(t, func(t *testing.T, plan func(*alloctest.Faulty)) {
		d := newFilledDisaster(t, alloc.PolicyForget, madeUp)
		if err := d.changeConfig(t, generator.Config{}); err != nil { // nothing but the restore changes the record
			t.Fatal(err)
		}
		j, err := d.service(t).Restore(d.ctx, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreTable, Point: d.point})
		if err != nil {
			t.Fatal(err)
		}
		plan(d.store)
		d.toTheEnd(t)
		d.store.SetPlan(nil)
		if j, err = d.model.Job(t.Context(), j.ID); err != nil || j.State != alloc.JobDone || j.Tally.Burned != 10 || j.Done != 10 {
			t.Fatalf("the job is %+v, %v, want it done with 10 burned", j, err)
		}
		if r, err := d.model.Refill(t.Context(), pool); err != nil || len(r.IDs) > 0 || r.Filling {
			t.Errorf("the record of the refill is %+v, %v", r, err)
		}
		if got := d.states(t); got[alloc.StateRetired] != 10 {
			t.Errorf("the pool has %v, want 10 retired", got)
		}
		if err := d.changeConfig(t, madeUp); err != nil {
			t.Fatal(err)
		}
		d.refilled(t)
	})
}

// changeConfig gives the pool another generator.
func (d *disaster) changeConfig(t testing.TB, g generator.Config) error {
	t.Helper()
	p, err := d.model.Pool(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	p.Config.Generator = g
	_, err = d.model.ChangePool(t.Context(), pool, p.Version, p.Config)
	return err
}

// A run of the schedule that has read the record before the restore, and goes on after it, adds nothing of it; nor does one that changes the record while
// the restore is at it.
func TestARefillThatIsUnderWayBesideARestoreAddsNothingThatWasTaken(t *testing.T) {
	restore := func(d *disaster) { d.restore(t, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreBurn}) }
	tend := func(d *disaster) { d.tend(t) }
	for _, method := range []string{"Refill", "Seed", "ChangeRefill", "LookUp", "Carry", "PutInput"} {
		for nth := range 3 {
			for _, order := range [][2]func(*disaster){{restore, tend}, {tend, restore}} {
				d := newFilledDisaster(t, alloc.PolicyKeep, madeUp)
				beside := *d
				office := *d.office
				office.store = alloctest.NewFaulty(d.model, nil)
				beside.mill = &mill{office: &office}
				n := 0
				d.store.SetPlan(func(c alloctest.Call) alloctest.Fault {
					if c.Method != method {
						return alloctest.Pass
					}
					if n++; n == nth+1 {
						order[1](&beside)
					}
					return alloctest.Pass
				})
				order[0](d)
				d.store.SetPlan(nil)
				if n <= nth { // it does not call it so often
					order[1](d)
				}
				d.refilled(t)
			}
		}
	}
}
