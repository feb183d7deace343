package alloc_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/alloc/generator"
)

// C38: the schedule fires many times at once, and people seed by hand meanwhile: the pool ends at its target, not at double.
func TestC38ManyRunsAtOnceEndAtTheTarget(t *testing.T) {
	for _, g := range []generator.Config{random, plain} {
		t.Run(string(g.Kind), func(t *testing.T) {
			const target = 1300
			p := newPlant(t, filled(1000, target, g))
			var group sync.WaitGroup
			for i := range 16 {
				group.Go(func() {
					if i%4 == 0 { // by hand, and far fewer than are missing
						p.seedByHand(alloc.JobID(fmt.Sprint("job ", i)), numbered(fmt.Sprintf("hand-%d-%%02d", i), 0, 20)...)
					}
					if _, err := p.another(p.model).Tend(p.ctx); err != nil {
						t.Errorf("a run beside others: %v", err)
					}
				})
			}
			group.Wait()
			if got := p.available(); got < target || got > target+80 {
				t.Errorf("%d IDs are available, want %d, and what was seeded by hand after that", got, target)
			}
			p.claim(p.available())
			for range 8 {
				group.Go(func() {
					if _, err := p.another(p.model).Tend(p.ctx); err != nil {
						t.Errorf("a run beside others: %v", err)
					}
				})
			}
			group.Wait()
			p.wantAvailable(target, "after many runs at once from nothing")
		})
	}
}

// calls are those that the Service's run makes, in their order.
func (p *plant) calls(run func()) (methods []string) {
	before := len(p.store.Calls())
	run()
	for _, c := range p.store.Calls()[before:] {
		methods = append(methods, c.Method)
	}
	return methods
}

// C38: a whole second run, or a seeding by hand, comes in at each call of a run, before and after it.
func TestC38ASecondRunInEveryPlaceOfTheFirst(t *testing.T) {
	const target = 520 // two batches
	for _, g := range []generator.Config{uuids, plain} {
		first := newPlant(t, filled(500, target, g))
		methods := first.calls(func() { first.run() })
		there := alloc.Count(0) // before the call
		for i, method := range methods {
			p := newPlant(t, filled(500, target, g))
			hand := p.interrupt(i, func() { p.seedByHand("by hand", numbered("hand-%d", 0, 100)...) })
			p.run()
			want := max(target, there+100) // by hand all is added, whatever there is
			p.wantAvailable(want, fmt.Sprintf("%s: seeded by hand before call %d, %s", g.Kind, i, method))
			hand()
			if method == "Seed" {
				there = min(target, there+alloc.MaxRefillIDs)
			}

			p = newPlant(t, filled(500, target, g))
			other := p.another(p.model)
			second := p.interrupt(i, func() {
				if _, err := other.Tend(p.ctx); err != nil {
					t.Errorf("the second run: %v", err)
				}
			})
			p.run()
			second()
			p.wantAvailable(target, fmt.Sprintf("%s: a second run before call %d, %s", g.Kind, i, method))
			p.claim(target)
			p.run()
			if g == plain {
				p.wantNumbers(2 * target)
			}
		}
	}
}

// interrupt does something before the call of the number from now on. What it returns fails the test unless it was done.
func (p *plant) interrupt(number int, do func()) (done func()) {
	begin, was := len(p.store.Calls()), false
	p.store.SetPlan(func(c alloctest.Call) alloctest.Fault {
		if c.Number == begin+number {
			was = true
			do()
		}
		return alloctest.Pass
	})
	return func() {
		p.t.Helper()
		if p.store.SetPlan(nil); !was {
			p.t.Fatalf("there was no call %d", number)
		}
	}
}

// wantNumbers fails the test unless the IDs of the format without a period are the first numbers, and no more were leased.
func (p *plant) wantNumbers(n int) {
	p.t.Helper()
	got := slices.Sorted(slices.Values(slices.Concat(p.ids(""), p.refill().IDs)))
	if got = slices.Compact(got); !slices.Equal(got, numbered("inv-%06d", 1, n)) {
		p.t.Fatalf("got %d IDs, %v … %v, want the first %d numbers", len(got), got[0], got[len(got)-1], n)
	}
	if q, err := p.model.Sequence(p.ctx, "invoices"); err != nil || q.Next != alloc.Number(n+1) {
		p.t.Fatalf("the next number is %d, %v, want %d", q.Next, err, n+1)
	}
}

// Each call of a run fails once, in each way; or the process is gone with it. The runs after it end at the target, and no
// number is lost.
func TestARefillAfterAFaultAtEachCall(t *testing.T) {
	for g, target := range map[generator.Config]alloc.Count{uuids: 20, plain: alloc.MaxRefillIDs + 1} { // one batch, and two
		first := newPlant(t, filled(10, target, g))
		methods := first.calls(func() { first.run() })
		for i, method := range methods {
			for _, f := range []alloctest.Fault{alloctest.Refused, alloctest.RefusedUnknown, alloctest.AppliedButFailed, alloctest.Throttled} {
				for _, gone := range []bool{false, true} {
					if gone && (f == alloctest.Throttled || f == alloctest.RefusedUnknown) {
						continue // the process that could tell it from Refused is gone
					}
					when := fmt.Sprintf("%s: fault %d at call %d, %s, the process gone: %t", g.Kind, f, i, method, gone)
					p := newPlant(t, filled(10, target, g))
					begin := len(p.store.Calls())
					p.store.SetPlan(func(c alloctest.Call) alloctest.Fault {
						switch {
						case c.Number == begin+i:
							return f
						case gone && c.Number > begin+i:
							return alloctest.Refused
						}
						return alloctest.Pass
					})
					r, err := p.Tend(p.ctx)
					if told := err != nil || len(r.Failed) > 0 || len(r.Refills) != 1 || r.Refills[0].Err != nil; !told && method != "ChangeRefill" {
						t.Errorf("%s: the run tells of nothing: %+v", when, r)
					}
					p.store.SetPlan(nil)
					p.run()
					p.wantAvailable(target, when)
					p.claim(target)
					p.run()
					p.wantAvailable(target, when+", then from nothing")
					if g == plain {
						p.wantNumbers(int(2 * target))
					}
				}
			}
		}
	}
}

// Two runs find at once that the generator is dry: one of them says so, and the trail has it once. When it makes IDs again, that
// is over; the next time it is said again.
func TestADryGeneratorIsSaidOnce(t *testing.T) {
	p := newPlant(t, filled(5, 10, plain))
	said := 0
	tend := func(store alloc.Store) {
		r, err := p.another(store).Tend(p.ctx)
		if err != nil || len(r.Refills) != 1 || r.Refills[0].Err != nil {
			t.Errorf("a run: %+v, %v", r.Refills, err)
		}
		if r.Refills[0].DryNow {
			said++
		}
	}
	for time := 1; time <= 3; time++ {
		must(t, p.model.SetSequenceState, alloc.SequenceName("invoices"), alloc.SequencePaused)
		var runs []*puppet
		for range 4 { // call by call in turn
			runs = append(runs, pull(p.model, tend))
		}
		for len(runs) > 0 {
			runs = slices.DeleteFunc(runs, func(r *puppet) bool {
				_, over := r.next()
				if !over {
					r.fate <- passes
				}
				return over
			})
		}
		r := p.run()
		rec, err := p.PoolRefill(p.ctx, pool)
		if err != nil || rec.Dry == "" || rec.Dry != r.Refills[0].Dry || r.Refills[0].DryNow || !r.Pools[0].Dry || !rec.DrySince.Equal(p.clock.Now()) {
			t.Errorf("the record is %+v, %v, the run tells of %+v and %+v", rec, err, r.Refills, r.Pools)
		}
		if noted := p.noted("pool.refill-dry"); said != time || noted != time {
			t.Errorf("it was said %d times and noted %d times, want %d", said, noted, time)
		}
		must(t, p.model.SetSequenceState, alloc.SequenceName("invoices"), alloc.SequenceActive)
		if r := p.run(); r.Refills[0].Dry != "" || r.Pools[0].Dry {
			t.Errorf("when it makes IDs again, the run tells of %+v", r.Refills)
		}
		p.wantAvailable(10, "when the sequence was resumed")
		p.claim(10)
	}
}

// noted is how often the trail has the action.
func (p *plant) noted(action string) (n int) {
	p.t.Helper()
	records, err := p.model.Records(p.ctx, "", 1000)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, r := range records {
		if r.Action == action {
			n++
		}
	}
	return n
}

// The generator is made wider while a batch is on its way, at whatever call: each number is in the pool, in one of the forms.
func TestAGeneratorThatIsMadeWiderLosesNoNumber(t *testing.T) {
	wide := plain
	wide.Format = "inv-{n:7}"
	first := newPlant(t, filled(10, 20, plain))
	methods := first.calls(func() { first.run() })
	for i, method := range methods {
		for _, f := range []alloctest.Fault{alloctest.Pass, alloctest.Refused, alloctest.AppliedButFailed} {
			p := newPlant(t, filled(10, 20, plain))
			begin := len(p.store.Calls())
			p.store.SetPlan(func(c alloctest.Call) alloctest.Fault {
				if c.Number == begin+i {
					if _, err := p.model.ChangePool(p.ctx, pool, 1, filled(10, 20, wide)); err != nil {
						t.Fatal(err)
					}
				}
				if c.Number >= begin+i && f != alloctest.Pass {
					return f
				}
				return alloctest.Pass
			})
			if _, err := p.Tend(p.ctx); err != nil && f == alloctest.Pass {
				t.Fatal(err)
			}
			p.store.SetPlan(nil)
			p.run()
			p.run()
			p.wantAvailable(20, "with the wider one")
			p.claim(11)
			p.run()
			q, err := p.model.Sequence(p.ctx, "invoices")
			if err != nil {
				t.Fatal(err)
			}
			if got := len(p.ids("")) + len(p.refill().IDs); got != int(q.Next-1) {
				t.Errorf("before call %d, %s, fault %d: %d numbers were taken, %d are in the pool or wait", i, method, f, q.Next-1, got)
			}
		}
	}
}

// A run sleeps before its lease; the year turns, another run goes on, and an hour later the first one wakes.
func TestARunThatSleepsOverTheYearLosesNoNumber(t *testing.T) {
	p := newPlant(t, filled(10, 20, yearly))
	p.clock.Advance(time.Date(2037, time.December, 31, 23, 59, 0, 0, time.UTC).Sub(p.clock.Now()))
	var asleep sync.Once
	p.store.SetPlan(func(c alloctest.Call) alloctest.Fault {
		if c.Method == "Lease" {
			asleep.Do(func() {
				p.clock.Advance(time.Hour)
				if _, err := p.another(p.model).Tend(p.ctx); err != nil {
					t.Fatal(err)
				}
			})
		}
		return alloctest.Pass
	})
	p.run()
	p.run()
	old, new := p.sequence("invoices.2037"), p.sequence("invoices.2038")
	want := slices.Concat(numbered("inv-2037-%06d", 1, int(old.Next-1)), numbered("inv-2038-%06d", 1, int(new.Next-1)))
	if got := slices.Sorted(slices.Values(p.ids(""))); len(got) != 20 || !slices.Equal(got, want) {
		t.Errorf("the pool has %v, want %v", got, want)
	}
}

// The change by which a generator is dry is made, and its answer is lost for good: that run tells of it, and no later one.
func TestThatAGeneratorIsDryIsToldThoughTheAnswerIsLost(t *testing.T) {
	p := newPlant(t, filled(10, 20, plain))
	must(t, p.model.SetSequenceState, alloc.SequenceName("invoices"), alloc.SequencePaused)
	changes := 0
	p.store.SetPlan(func(c alloctest.Call) alloctest.Fault {
		if c.Method == "ChangeRefill" {
			if changes++; changes >= 2 { // the first one orders
				return alloctest.AppliedButFailed
			}
		}
		return alloctest.Pass
	})
	told := 0
	for range 3 {
		r, err := p.Tend(p.ctx)
		if err != nil {
			t.Fatal(err)
		}
		if r.Refills[0].DryNow {
			told++
		}
		p.store.SetPlan(nil)
	}
	records, err := p.model.Records(p.ctx, "", 100)
	written := 0
	for _, r := range records {
		if r.Action == "pool.refill-dry" {
			written++
		}
	}
	if told != 1 || written != 1 || err != nil {
		t.Errorf("told by %d runs, in %d records, %v; want one each", told, written, err)
	}
}

// Of a space that is nearly used up the last IDs are found, and what is said at the end has the arithmetic.
func TestTheLastIDsOfASpaceAreFound(t *testing.T) {
	p := newPlant(t, filled(10, 20, digits(3)))
	p.seedByHand("by hand", numbered("%03d", 0, 994)...)
	p.claim(994)
	for range 100 { // each has one of two chances or more to find the last one
		if p.run(); p.available() == 6 {
			break
		}
	}
	p.wantAvailable(6, "after many runs")
	if dry := p.run().Refills[0].Dry; !strings.Contains(dry, "there can be 1000 in all; it goes on trying") {
		t.Errorf("it says %q", dry)
	}
}
