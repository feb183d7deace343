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
	unheard int
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
	unheard := 0
	for id, it := range p.world.ids {
		if stateOf(it) != alloc.StateClaimed {
			p.t.Errorf("%s is stuck: %v", id, it)
		}
		if _, ok := p.world.answered[listing{id, it.Int(dynamo.AttrGeneration)}]; !ok {
			unheard++
		}
	}
	if unheard > p.unheard {
		p.t.Errorf("%d IDs are claimed by nobody, at most %d are explained", unheard, p.unheard)
	}
}

// claimAtEveryWrite carries a claim out under every fault, repeats it on an error, and shows that the pool of n is whole.
func claimAtEveryWrite(t *testing.T, n int, o alloc.ClaimOrder) {
	atEveryWrite(t, func(t *testing.T, a *attempt) {
		p := newPoolCheck(t, a, n)
		got, first := again(t, a, func(ctx context.Context, s *dynamo.Store) (alloc.Claim, error) { return s.Claim(ctx, o) })
		if unknown(first) && o.Key == nil {
			p.unheard = int(o.Count)
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

// replays repeats a keyed claim: the same answer, and nothing more is taken.
func (p *poolCheck) replays(o alloc.ClaimOrder, want alloc.Claim) {
	p.t.Helper()
	got, err := p.claim(o)
	if err != nil || !got.Replayed || joinIDs(got.IDs) != joinIDs(want.IDs) || got.Token != want.Token {
		p.t.Errorf("a repeat got %+v, %v; want %+v", got, err, want)
	}
}

func TestAClaimSurvivesAFaultAtEveryWrite(t *testing.T) { claimAtEveryWrite(t, 4, order(1, "")) }
func TestABatchSurvivesAFaultAtEveryWrite(t *testing.T) { claimAtEveryWrite(t, 7, order(3, "")) }
func TestAKeyedClaimSurvivesAFaultAtEveryWrite(t *testing.T) {
	claimAtEveryWrite(t, 4, order(1, "key"))
}
func TestAKeyedBatchSurvivesAFaultAtEveryWrite(t *testing.T) {
	claimAtEveryWrite(t, 4, order(3, "key"))
}

// A keyed claim of all that is left: the repeat finds an empty pool.
func TestAKeyedClaimOfTheLastIDsSurvivesAFaultAtEveryWrite(t *testing.T) {
	claimAtEveryWrite(t, 3, order(3, "key"))
}

// A batch that the pool cannot fill takes nothing, wherever it is cut off.
func TestABatchGivenUpSurvivesAFaultAtEveryWrite(t *testing.T) {
	for name, key := range map[string]string{"without a key": "", "with a key": "key"} {
		t.Run(name, func(t *testing.T) {
			atEveryWrite(t, func(t *testing.T, a *attempt) {
				p := newPoolCheck(t, a, 2)
				o := order(3, key)
				c, err := storeOn(t, a.faults).Claim(t.Context(), o)
				if err == nil {
					t.Fatalf("three of two were answered: %+v", c)
				}
				if unknown(err) && key == "" {
					p.unheard = int(o.Count)
				}
				p.settle()
				if key == "" {
					p.whole(2)
					return
				}
				if c, err := p.claim(o); !alloc.Is(err, alloc.CodePoolExhausted) {
					t.Errorf("a repeat got %+v, %v; want the pool exhausted", c, err)
				}
				p.settle()
				p.seed("more", 2)
				got, err := p.claim(o)
				if err != nil {
					t.Fatalf("with IDs again: %v", err)
				}
				p.world.answer("client", 3, got)
				p.whole(4)
			})
		})
	}
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

// A sweep of stock that a dead process took with it, of a batch that was given up and of a key's that was.
func TestASweepSurvivesAFaultAtEveryWrite(t *testing.T) {
	atEveryWrite(t, func(t *testing.T, a *attempt) {
		p := newPoolCheck(t, a, 4)
		first, err := p.claim(order(1, ""))
		if err != nil {
			t.Fatal(err)
		}
		p.world.answer("first", 1, first)
		for _, o := range []alloc.ClaimOrder{order(9, ""), order(8, "key")} {
			if c, err := p.claim(o); err == nil {
				t.Fatalf("%d of 3 were answered: %+v", o.Count, c)
			}
		}
		time.Sleep(15 * time.Minute)
		again(t, a, func(ctx context.Context, s *dynamo.Store) (alloc.SweepReport, error) { return s.Sweep(ctx, pool) })
		p.whole(4)
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
