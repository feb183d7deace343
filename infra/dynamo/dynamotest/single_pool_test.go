package dynamotest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// poolCheck is the bookkeeping of one test of single writes on a pool: what clients were answered, and how many IDs a
// keyless claim with an unknown outcome may have left behind.
type poolCheck struct {
	t       *testing.T
	a       *attempt
	world   *poolWorld
	unheard alloc.Count
}

// newPoolCheck makes the pool with n IDs, undisturbed.
func newPoolCheck(t *testing.T, a *attempt, n int) *poolCheck {
	t.Helper()
	p := watchPool(t, a)
	if _, _, err := storeOn(t, a.table).CreatePool(t.Context(), pool, alloc.PoolConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	if n > 0 {
		p.seed("setup", n)
	}
	return p
}

// watchPool watches a pool that is still to be made.
func watchPool(t *testing.T, a *attempt) *poolCheck {
	t.Helper()
	p := &poolCheck{t: t, a: a, world: newPoolWorld(a.mem)}
	p.world.fail = func(format string, args ...any) {
		t.Helper()
		t.Errorf(format, args...)
	}
	a.watch(p.world.table())
	return p
}

// ids are n IDs with a common beginning.
func ids(name string, n int) []alloc.ID {
	list := make([]alloc.ID, n)
	for i := range list {
		list[i] = alloc.ID(fmt.Sprintf("%s-%d", name, i))
	}
	return list
}

func (p *poolCheck) seed(job string, n int) {
	p.t.Helper()
	b := alloc.SeedBatch{Pool: pool, Job: alloc.JobID(job), IDs: ids(job, n)}
	if _, err := storeOn(p.t, p.a.table).Seed(p.t.Context(), b); err != nil {
		p.t.Fatal(err)
	}
}

// order is a claim of n; key "" for none.
func order(n alloc.Count, key string) alloc.ClaimOrder {
	o := alloc.ClaimOrder{Pool: pool, Count: n, By: "client"}
	if key != "" {
		o.Key = alloc.NewKey("client", "claim", string(pool), key, fmt.Sprint(n))
	}
	return o
}

// claim carries the order out undisturbed in a process of its own.
func (p *poolCheck) claim(o alloc.ClaimOrder) (alloc.Claim, error) {
	return storeOn(p.t, p.a.table).Claim(p.t.Context(), o)
}

// settle lets time pass and sweeps until nothing is left to do.
func (p *poolCheck) settle() {
	p.t.Helper()
	for range 4 {
		time.Sleep(15 * time.Minute)
		for more := true; more; {
			r, err := storeOn(p.t, p.a.table).Sweep(p.t.Context(), pool)
			if err != nil {
				p.t.Fatalf("a quiet sweep: %v", err)
			}
			more = r.More
		}
	}
}

// whole shows that nothing is stuck and nothing lost: after sweeps, every ID of the seeded ones is claimed by somebody
// who knows it, or can be claimed.
func (p *poolCheck) whole(seeded int) {
	p.t.Helper()
	p.settle()
	free := len(p.world.free())
	for got := 0; ; got++ {
		c, err := p.claim(order(1, ""))
		if alloc.Is(err, alloc.CodePoolExhausted) {
			if got != free {
				p.t.Errorf("%d IDs were free, %d could be claimed", free, got)
			}
			break
		}
		if err != nil {
			p.t.Fatal(err)
		}
		p.world.answer(fmt.Sprintf("drain %d", got), 1, c)
	}
	if len(p.world.ids) != seeded {
		p.t.Errorf("the pool has %d IDs, %d were seeded", len(p.world.ids), seeded)
	}
	for id, it := range p.world.ids {
		if stateOf(it) != alloc.StateClaimed {
			p.t.Errorf("%s is stuck: %v", id, it)
		}
	}
	if n := p.world.unheard(); n > p.unheard {
		p.t.Errorf("%d IDs are claimed by nobody, at most %d are explained", n, p.unheard)
	}
}

// thief claims one ID, which it is answered.
func (p *poolCheck) thief() {
	p.t.Helper()
	c, err := p.claim(order(1, ""))
	if err != nil {
		p.t.Fatal(err)
	}
	p.world.answer("thief "+string(c.Token), 1, c)
}

// replays repeats a keyed claim: the same answer, and nothing more is taken.
func (p *poolCheck) replays(o alloc.ClaimOrder, want alloc.Claim) {
	p.t.Helper()
	got, err := p.claim(o)
	if err != nil || !got.Replayed || joinIDs(got.IDs) != joinIDs(want.IDs) || got.Token != want.Token {
		p.t.Errorf("a repeat got %+v, %v; want %+v", got, err, want)
	}
}

// cutOff carries the order out, loses an ID to a thief, and dies at the first call that matches, which is not made.
func (p *poolCheck) cutOff(o alloc.ClaimOrder, match func(Call) bool) {
	p.t.Helper()
	dead, stolen := false, false
	table := NewFaults(p.a.table, func(c Call) Fault {
		if !stolen && idTo(dynamo.StateClaimed)(c) {
			stolen = true
			p.thief()
		}
		if dead = dead || match(c); dead {
			return LostRequest
		}
		return None
	})
	if c, err := storeOn(p.t, table).Claim(p.t.Context(), o); err == nil {
		p.t.Fatalf("answered %+v", c)
	}
	if !dead {
		p.t.Fatal("the claim did not come to the place at which it is cut off")
	}
}

// claimAtEveryWrite carries a claim out under every fault, repeats it on an error, and shows that the pool of n is whole.
func claimAtEveryWrite(t *testing.T, n int, o alloc.ClaimOrder, stolen bool) {
	atEveryWrite(t, func(t *testing.T, a *attempt) {
		p := newPoolCheck(t, a, n)
		if stolen {
			a.meanwhile = p.thief
		}
		got, first := again(t, a, func(ctx context.Context, s *dynamo.Store) (alloc.Claim, error) { return s.Claim(ctx, o) })
		if unknown(first) && o.Key == nil {
			p.unheard = o.Count
		}
		p.world.answer("client", o.Count, got)
		if o.Key != nil {
			p.replays(o, got)
			p.settle()
			p.replays(o, got)
		}
		p.whole(n)
	})
}

func TestClaimsSurviveAFaultAtEveryWrite(t *testing.T) {
	for name, row := range map[string]struct {
		ids    int
		o      alloc.ClaimOrder
		stolen bool
	}{
		"one ID":                                     {4, order(1, ""), false},
		"one ID, while another takes one":            {4, order(1, ""), true},
		"a batch":                                    {8, order(3, ""), false},
		"a batch, while another takes one of it":     {8, order(3, ""), true},
		"one ID with a key":                          {4, order(1, "key"), false},
		"one ID with a key, another takes one":       {4, order(1, "key"), true},
		"a batch with a key":                         {8, order(3, "key"), false},
		"a batch with a key, another takes one":      {8, order(3, "key"), true},
		"a batch with a key that empties the pool":   {3, order(3, "key"), false},
		"a batch with a key and the last, contended": {4, order(3, "key"), true},
	} {
		t.Run(name, func(t *testing.T) { claimAtEveryWrite(t, row.ids, row.o, row.stolen) })
	}
}

// A batch that turns out not to be had, one ID of it having been taken by another, gives back what it took, wherever it
// is cut off. Its key claims as soon as there are IDs again.
func TestABatchGivenUpSurvivesAFaultAtEveryWrite(t *testing.T) {
	for name, key := range map[string]string{"without a key": "", "with a key": "key"} {
		t.Run(name, func(t *testing.T) {
			atEveryWrite(t, func(t *testing.T, a *attempt) {
				p := newPoolCheck(t, a, 3)
				a.meanwhile = p.thief
				o := order(3, key)
				c, err := storeOn(t, a.faults).Claim(t.Context(), o)
				if err == nil {
					t.Fatalf("three of two were answered: %+v", c)
				}
				if unknown(err) && key == "" {
					p.unheard = o.Count
				}
				p.settle()
				if key == "" {
					p.whole(3)
					return
				}
				if a.meanwhile != nil { // the fault came before the first claim
					p.thief()
					a.meanwhile = nil
				}
				p.untilExhausted(o)
				p.seed("more", 2)
				got, err := p.claim(o)
				if err != nil {
					t.Fatalf("with IDs again: %v", err)
				}
				p.world.answer("client", 3, got)
				p.whole(5)
			})
		})
	}
}

// untilAnswered repeats a keyed claim that can be had.
func (p *poolCheck) untilAnswered(who string, o alloc.ClaimOrder) {
	p.t.Helper()
	c, err := p.claim(o)
	if err != nil {
		p.t.Fatal(err)
	}
	p.world.answer(who, o.Count, c)
}

// untilExhausted repeats a keyed claim that cannot be had: it may be busy until a sweep has settled what came before.
func (p *poolCheck) untilExhausted(o alloc.ClaimOrder) {
	p.t.Helper()
	var err error
	for range 3 {
		var c alloc.Claim
		if c, err = p.claim(o); err == nil {
			p.t.Fatalf("answered %+v of too few", c)
		}
		p.settle()
		if alloc.Is(err, alloc.CodePoolExhausted) {
			return
		}
	}
	p.t.Fatalf("the last repeat got %v, want the pool exhausted", err)
}

func TestSeedingSurvivesAFaultAtEveryWrite(t *testing.T) {
	atEveryWrite(t, func(t *testing.T, a *attempt) {
		p := newPoolCheck(t, a, 2)
		b := alloc.SeedBatch{Pool: pool, Job: "job", IDs: append(ids("setup", 1), ids("new", 5)...)}
		outcomes, _ := again(t, a, func(ctx context.Context, s *dynamo.Store) ([]alloc.SeedOutcome, error) { return s.Seed(ctx, b) })
		for i, o := range outcomes {
			want := alloc.SeedAdded
			if i == 0 {
				want = alloc.SeedDuplicate
			}
			if o != want {
				t.Errorf("%s is %s, want %s", b.IDs[i], o, want)
			}
		}
		if free := len(p.world.free()); free != 7 {
			t.Errorf("%d IDs can be claimed, want 7", free)
		}
		p.whole(7)
	})
}

// A sweep finds the stock of a dead process, a batch that was cut off while it was given back, a keyed one that is void
// and one that was about to be.
func TestASweepSurvivesAFaultAtEveryWrite(t *testing.T) {
	atEveryWrite(t, func(t *testing.T, a *attempt) {
		p := newPoolCheck(t, a, 3)
		p.cutOff(order(3, ""), idTo(dynamo.StateReturning))
		p.seed("second", 3)
		p.cutOff(order(3, "void"), idTo(dynamo.StateReturning))
		p.seed("third", 3)
		p.cutOff(order(3, "live"), recordTo(dynamo.RecordVoid))
		p.seed("fourth", 3)
		p.cutOff(order(3, ""), idTo(dynamo.StateClaimed))
		time.Sleep(15 * time.Minute)
		again(t, a, func(ctx context.Context, s *dynamo.Store) (alloc.SweepReport, error) { return s.Sweep(ctx, pool) })
		p.settle()
		p.untilAnswered("live", order(3, "live"))
		p.whole(12)
	})
}

func TestTheCreationOfAPoolSurvivesAFaultAtEveryWrite(t *testing.T) {
	atEveryWrite(t, func(t *testing.T, a *attempt) {
		p := watchPool(t, a)
		config := alloc.PoolConfig{MaxBatch: 7}.WithDefaults()
		q, _ := again(t, a, func(ctx context.Context, s *dynamo.Store) (alloc.Pool, error) {
			q, _, err := s.CreatePool(ctx, pool, config)
			return q, err
		})
		if q.Config != config || q.State != alloc.PoolActive || q.Version != 1 {
			t.Errorf("created %+v", q)
		}
		p.seed("setup", 3)
		p.whole(3)
	})
}
