package alloc_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/alloc/generator"
)

func TestWhichPoolsAreFilled(t *testing.T) {
	for _, c := range []struct {
		state alloc.PoolState
		want  alloc.Count
	}{{alloc.PoolActive, 20}, {alloc.PoolPaused, 20}, {alloc.PoolDraining, 0}, {alloc.PoolDeleted, 0}} {
		p := newPlant(t, filled(10, 20, uuids))
		must(t, p.model.SetPoolState, pool, c.state)
		r := p.run()
		p.wantAvailable(c.want, string(c.state))
		if told := len(r.Refills) == 1; told != (c.want > 0) {
			t.Errorf("%s: the run tells of the refills %+v", c.state, r.Refills)
		}
		if stands := len(r.Pools) == 1 && r.Pools[0].State == c.state; stands != (c.state != alloc.PoolDeleted) {
			t.Errorf("%s: the run tells of the pools %+v", c.state, r.Pools)
		}

		// It comes into the state in the middle of a run that has listed it before.
		for i := range 12 {
			p := newPlant(t, filled(10, 20, uuids))
			begin := len(p.store.Calls())
			p.store.SetPlan(func(call alloctest.Call) alloctest.Fault {
				if call.Number == begin+i {
					must(t, p.model.SetPoolState, pool, c.state)
				}
				return alloctest.Pass
			})
			p.run()
			if got := p.available(); got != c.want && got != 20 {
				t.Errorf("%s before call %d: %d IDs are available", c.state, i, got)
			}
		}
	}
}

// rebuilt is a Store in which a rebuild of the pool is on.
type rebuilt struct{ alloc.Store }

func (s rebuilt) Seed(context.Context, alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
	return nil, alloc.Errorf(alloc.CodePoolRebuilding, "a rebuild is on")
}

func TestAPoolThatIsRebuiltIsLeftToTheNextRun(t *testing.T) {
	p := newPlant(t, filled(10, 20, plain))
	r, err := p.another(rebuilt{p.model}).Tend(p.ctx)
	if err != nil || len(r.Refills) != 1 || r.Refills[0].Err != nil || r.Refills[0].Added != 0 {
		t.Errorf("the run tells of %+v, %v", r.Refills, err)
	}
	p.run()
	p.wantAvailable(20, "after the rebuild")
	p.wantNumbers(20)
}

func TestOneBadPoolDoesNotStopTheOthers(t *testing.T) {
	p := newPlant(t, filled(10, 20, uuids))
	for _, name := range []alloc.PoolName{"a", "z"} {
		if _, _, err := p.CreatePool(p.ctx, name, filled(10, 600, uuids)); err != nil {
			t.Fatal(err)
		}
	}
	broken := alloc.Errorf(alloc.CodePoolDamaged, "its head is lost")
	r, err := p.another(&oneBroken{p.model, pool, broken}).Tend(p.ctx)
	if err != nil || len(r.Refills) != 3 || len(r.Pools) != 3 {
		t.Fatalf("the run tells of %+v, %v", r, err)
	}
	for i, name := range []alloc.PoolName{"a", pool, "z"} {
		f, want := r.Refills[i], alloc.Count(600)
		if name == pool {
			want = 0
		}
		if f.Pool != name || f.Added != want || alloc.Is(f.Err, alloc.CodePoolDamaged) != (name == pool) || r.Pools[i].Level.Available != want {
			t.Errorf("%s: %+v, at %d", name, f, r.Pools[i].Level.Available)
		}
	}
}

type oneBroken struct {
	alloc.Store
	pool alloc.PoolName
	err  error
}

func (s *oneBroken) Seed(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
	if b.Pool == s.pool {
		return nil, s.err
	}
	return s.Store.Seed(ctx, b)
}

// What the sequence says when it gives no numbers, and that its IDs are in the pool once it does again.
func TestASequenceThatGivesNoNumbers(t *testing.T) {
	state := func(to alloc.SequenceState) func(*plant) {
		return func(p *plant) { must(t, p.model.SetSequenceState, alloc.SequenceName("invoices"), to) }
	}
	limit := func(n alloc.Number) func(*plant) {
		return func(p *plant) {
			q, err := p.model.Sequence(p.ctx, "invoices")
			if err == nil {
				q.Config.Limit = n
				_, err = p.model.ChangeSequence(p.ctx, "invoices", q.Version, q.Config)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		what   string
		do     func(*plant)
		says   string
		undo   func(*plant)
		before alloc.Count // how many were added all the same
	}{
		{"paused", state(alloc.SequencePaused), "is paused", state(alloc.SequenceActive), 0},
		{"exhausted", limit(7), "numbers left", limit(1000), 7},
		{"deleted", state(alloc.SequenceDeleted), "was deleted", nil, 0},
		{"stopped", func(p *plant) { p.model.DropCounter("invoices") }, "is stopped", nil, 0},
	} {
		p := newPlant(t, filled(10, 20, plain))
		c.do(p)
		r := p.run()
		p.wantAvailable(c.before, c.what)
		if f := r.Refills[0]; !strings.Contains(f.Dry, c.says) || !f.DryNow {
			t.Errorf("%s: the run tells of %+v", c.what, f)
		}
		if c.undo == nil {
			continue
		}
		c.undo(p)
		r = p.run()
		p.wantAvailable(20, "no longer "+c.what)
		if r.Refills[0].Dry != "" {
			t.Errorf("no longer %s: the run tells of %+v", c.what, r.Refills)
		}
		p.wantNumbers(20)
	}
}

// A format without room for more takes no numbers away, so that none is missing when it is given more.
func TestAFormatThatOverflows(t *testing.T) {
	narrow := plain
	narrow.Format = "inv-{n:2}"
	p := newPlant(t, filled(10, 90, narrow))
	p.run()
	p.claim(85)
	for range 3 {
		p.run()
	}
	p.wantAvailable(99-85, "with numbers of two digits")
	if rec := p.refill(); !strings.Contains(rec.Dry, "do not fit") {
		t.Errorf("the record is %+v", rec)
	}
	wide := plain
	wide.Format = "inv-{n:3}"
	p.change(filled(10, 90, wide))
	p.run()
	p.wantAvailable(90, "with numbers of three digits")
	made := slices.Sorted(slices.Values(p.ids("")))
	if want := slices.Sorted(slices.Values(slices.Concat(numbered("inv-%02d", 1, 99), numbered("inv-%03d", 100, 76)))); !slices.Equal(made, want) {
		t.Errorf("the pool has %v, want 1 to 175 without a gap", made)
	}
}

// The year turns at each call of a run that makes 40 IDs, with the process gone there or not. Of the old year are those that
// were leased in it, or one that keeps others from being leased late. Neither year has a gap, and no number of either is lost.
func TestTheYearTurnsInARefill(t *testing.T) {
	first := newPlant(t, filled(20, 40, yearly))
	methods := first.calls(func() { first.run() })
	for i, method := range methods {
		for _, f := range []alloctest.Fault{alloctest.Pass, alloctest.Refused, alloctest.AppliedButFailed} {
			when := fmt.Sprintf("before call %d, %s, fault %d", i, method, f)
			p := newPlant(t, filled(20, 40, yearly))
			p.clock.Advance(time.Date(2037, time.December, 31, 23, 59, 59, 0, time.UTC).Sub(p.clock.Now()))
			begin := len(p.store.Calls())
			p.store.SetPlan(func(c alloctest.Call) alloctest.Fault {
				if c.Number == begin+i {
					p.clock.Advance(2 * time.Second)
				}
				if c.Number >= begin+i && f != alloctest.Pass {
					return f
				}
				return alloctest.Pass
			})
			if _, err := p.Tend(p.ctx); err != nil && f == alloctest.Pass {
				t.Fatalf("%s: %v", when, err)
			}
			p.store.SetPlan(nil)
			p.run()
			p.wantAvailable(40, when)
			p.claim(40)
			p.run()
			p.wantAvailable(40, when+", then from nothing")
			made := slices.Sorted(slices.Values(p.ids("")))
			old := 0
			for _, id := range made {
				if strings.HasPrefix(string(id), "inv-2037") {
					old++
				}
			}
			if want := slices.Concat(numbered("inv-2037-%06d", 1, old), numbered("inv-2038-%06d", 1, 80-old)); old > 1 && old != 40 || !slices.Equal(made, want) {
				t.Errorf("%s: the pool has %v", when, made)
			}
			for year, n := range map[string]int{"2037": old, "2038": 80 - old} {
				q, err := p.model.Sequence(p.ctx, alloc.SequenceName("invoices."+year))
				if err == nil && q.Next != alloc.Number(n+1) {
					t.Errorf("%s: %d numbers of %s were leased, want %d", when, q.Next-1, year, n)
				}
			}
		}
	}
}

// A batch of another generator is dropped, wherever the change comes; one of the same is carried on when the generator comes back.
func TestTheGeneratorChangesInARefill(t *testing.T) {
	first := newPlant(t, filled(20, 40, random))
	methods := first.calls(func() { first.run() })
	for i, method := range methods {
		for _, to := range []generator.Config{uuids, {}} {
			when := fmt.Sprintf("to %q before call %d, %s", to.Kind, i, method)
			p := newPlant(t, filled(20, 40, random))
			done := p.interrupt(i, func() {
				if _, err := p.model.ChangePool(p.ctx, pool, 1, filled(20, 40, to)); err != nil {
					t.Fatal(err)
				}
			})
			p.run()
			done()
			p.run()
			if got := p.available(); got != 40 && (got != 0 || to == uuids) {
				t.Errorf("%s: %d IDs are available", when, got)
			}
			if rec, err := p.PoolRefill(p.ctx, pool); err != nil || rec.Filling || rec.Waiting > 0 {
				t.Errorf("%s: the record is %+v, %v", when, rec, err)
			}
			p.claim(p.available())
			p.change(filled(20, 40, random))
			p.run()
			p.wantAvailable(40, when+", and back")
		}
	}
}

// A target that is lowered while a batch is on its way holds for that batch.
func TestTheTargetChangesInARefill(t *testing.T) {
	for _, target := range []alloc.Count{25, 90} {
		p := newPlant(t, filled(20, 40, plain))
		p.store.SetPlan(alloctest.Script("Seed", alloctest.Refused))
		if r, err := p.Tend(p.ctx); err != nil || r.Refills[0].Err == nil || len(p.refill().IDs) != 40 {
			t.Fatalf("the run tells of %+v, %v", r.Refills, err)
		}
		p.change(filled(20, target, plain))
		p.run()
		p.wantAvailable(target, "with another target")
		p.claim(target)
		p.run()
		p.wantAvailable(target, "with another target, from nothing")
		p.wantNumbers(int(max(2*target, 40)))
	}
}

// A run whose time is over in the middle is no failure, and the next one goes on.
func TestTheTimeOfARefillIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := alloctest.NewModel(nil)
		s := newService(t, &slowSeeds{m, 2 * time.Second})
		ctx := asAdmin(t.Context())
		for _, name := range []alloc.PoolName{"a", "b"} {
			if _, _, err := s.CreatePool(ctx, name, filled(10, 5000, uuids)); err != nil {
				t.Fatal(err)
			}
		}
		for run := range 20 {
			short, cancel := context.WithTimeout(ctx, 10*time.Second)
			r, err := s.Tend(short)
			cancel()
			if err != nil || len(r.Failed) > 0 || slices.ContainsFunc(r.Refills, func(f alloc.RefillReport) bool { return f.Err != nil }) {
				t.Fatalf("run %d: %+v, %v", run, r, err)
			}
			if run == 0 && (r.Refills[0].Added == 0 || r.Refills[1].Added == 0 || r.Refills[0].Added+r.Refills[1].Added > 2500) {
				t.Errorf("in the first run: %+v, want the time shared", r.Refills)
			}
		}
		for _, name := range []alloc.PoolName{"a", "b"} {
			if l, err := m.Level(ctx, name); err != nil || l.Available != 5000 {
				t.Errorf("%s: %d IDs are available, %v, want 5000", name, l.Available, err)
			}
		}
	})
}

// slowSeeds is a Store that takes its time to seed.
type slowSeeds struct {
	alloc.Store
	takes time.Duration
}

func (s *slowSeeds) Seed(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
	select {
	case <-time.After(s.takes):
	case <-ctx.Done():
		return nil, alloc.Errorf(alloc.CodeUnavailable, "the time is over").Because(ctx.Err())
	}
	return s.Store.Seed(ctx, b)
}
