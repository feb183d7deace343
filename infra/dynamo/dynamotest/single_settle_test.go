package dynamotest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// holdOrder is an order for a hold that outlives every pause of a client.
func holdOrder(n alloc.Count, key string) alloc.ClaimOrder {
	o := order(n, key)
	o.Hold = 30 * time.Minute
	return o
}

// settleOf is the order for IDs of a claim.
func settleOf(c alloc.Claim, e alloc.Event, ids ...alloc.ID) alloc.SettleOrder {
	return alloc.SettleOrder{Pool: pool, Event: e, IDs: ids, Token: c.Token}
}

// settles carries the order out undisturbed.
func (p *poolCheck) settles(o alloc.SettleOrder) {
	p.t.Helper()
	if _, err := storeOn(p.t, p.a.table).Settle(p.t.Context(), o); err != nil {
		p.t.Fatalf("%s of %v: %v", o.Event, o.IDs, err)
	}
}

// level holds the level after sweeps against the items. What a retirement that was cut off has not counted may stand
// among the claimed.
func (p *poolCheck) level() {
	p.t.Helper()
	l, err := storeOn(p.t, p.a.table).Level(p.t.Context(), pool)
	counts := map[alloc.State]alloc.Count{}
	for _, it := range p.world.ids {
		counts[stateOf(it)]++
	}
	gone := counts[alloc.StateClaimed] + counts[alloc.StateRetired]
	if err != nil || l.Available != counts[alloc.StateFree] || l.Held != counts[alloc.StateHeld] || l.Claimed+l.Retired != gone ||
		l.Retired > counts[alloc.StateRetired] {
		p.t.Errorf("the level is %+v, %v; the items are %v", l, err, counts)
	}
}

// noReturns shows that no return item is left.
func (p *poolCheck) noReturns() {
	p.t.Helper()
	for _, it := range p.a.mem.Items() {
		if kindOf(it.Key()) == kindReturn {
			p.t.Errorf("a return item is left: %v", it)
		}
	}
}

// A hold, with or without a key, is answered once and comes back, wherever it is cut off; and confirmed it stays.
func TestHoldsSurviveAFaultAtEveryWrite(t *testing.T) {
	for name, row := range map[string]struct {
		ids    int
		o      alloc.ClaimOrder
		stolen bool
	}{
		"one ID":                                 {4, holdOrder(1, ""), false},
		"a batch, while another takes one of it": {8, holdOrder(3, ""), true},
		"one ID with a key":                      {4, holdOrder(1, "key"), false},
		"one ID with a key, another takes one":   {4, holdOrder(1, "key"), true},
		"a batch with a key":                     {8, holdOrder(3, "key"), false},
		"a batch with a key, another takes one":  {8, holdOrder(3, "key"), true},
		"a batch with a key and the last":        {4, holdOrder(3, "key"), true},
	} {
		for _, confirmed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, confirmed %v", name, confirmed), func(t *testing.T) {
				atEveryWrite(t, func(t *testing.T, a *attempt) {
					p := newPoolCheck(t, a, row.ids)
					if row.stolen {
						a.meanwhile = p.thief
					}
					began := time.Now()
					got, _ := again(t, a, func(ctx context.Context, s *dynamo.Store) (alloc.Claim, error) { return s.Claim(ctx, row.o) })
					p.world.answer("client", row.o.Count, got)
					late := got.Replayed && got.At.Sub(began) >= time.Second // its first request was the first attempt
					if got.State != alloc.StateHeld || !got.HeldUntil.Equal(got.At.Add(row.o.Hold)) || late {
						t.Errorf("answered %+v, at first asked for at %s", got, began)
					}
					if row.o.Key != nil {
						p.replays(row.o, got)
					}
					if confirmed {
						p.settles(settleOf(got, alloc.EventConfirm, got.IDs...))
					}
					p.settle()
					switch _, err := p.claim(row.o); {
					case row.o.Key != nil && confirmed:
						p.replays(row.o, got)
					case row.o.Key != nil && !alloc.Is(err, alloc.CodeKeyEnded):
						t.Errorf("the key of holds that are over: %v, want it ended", err)
					case row.o.Key == nil && err == nil:
						p.settle() // a hold that came of asking
					}
					p.noReturns()
					p.whole(row.ids)
				})
			})
		}
	}
}

// Confirmations, releases and retirements of a keyed batch of three holds, of which the last stays as it is.
func TestSettlingSurvivesAFaultAtEveryWrite(t *testing.T) {
	for _, e := range []alloc.Event{alloc.EventConfirm, alloc.EventRelease, alloc.EventRetire} {
		for _, n := range []int{1, 2} {
			for _, policy := range []alloc.Policy{alloc.PolicyKeep, alloc.PolicyForget} {
				t.Run(fmt.Sprintf("%s of %d, %s", e, n, policy), func(t *testing.T) {
					atEveryWrite(t, func(t *testing.T, a *attempt) { settleAtEveryWrite(t, a, e, n, policy) })
				})
			}
		}
	}
}

func settleAtEveryWrite(t *testing.T, a *attempt, e alloc.Event, n int, policy alloc.Policy) {
	p := watchPool(t, a)
	if _, _, err := storeOn(t, a.table).CreatePool(t.Context(), pool, alloc.PoolConfig{Policy: policy}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	p.seed("setup", 6)
	held := holdOrder(3, "key")
	c, err := p.claim(held)
	if err != nil {
		t.Fatal(err)
	}
	p.world.answer("client", 3, c)
	o := settleOf(c, e, c.IDs[:n]...)
	want := alloc.StateHeld.On(e).To
	got, _ := again(t, a, func(ctx context.Context, s *dynamo.Store) (alloc.Settled, error) { return s.Settle(ctx, o) })
	if got.State != want || len(got.IDs) != n {
		t.Errorf("answered %+v, want %d %s", got, n, want)
	}
	for _, id := range o.IDs {
		if is := stateOf(p.world.ids[id]); is != want {
			t.Errorf("%s is %s, want %s", id, is, want)
		}
	}
	p.settles(o)
	p.settle()
	p.settles(o)
	p.noReturns()
	for _, id := range o.IDs {
		after := want
		if e == alloc.EventRelease {
			after = alloc.StateFree
		}
		if is := stateOf(p.world.ids[id]); is != after {
			t.Errorf("%s is %s in the end, want %s", id, is, after)
		}
	}
	p.keyTells(held, c, e, n)
	if policy == alloc.PolicyKeep {
		p.level()
	}
	p.drained(6, e, n)
}

// keyTells repeats the claim: IDs that were confirmed are as they were, those that came back or were retired are told,
// and where that is all of them the key has ended.
func (p *poolCheck) keyTells(o alloc.ClaimOrder, first alloc.Claim, e alloc.Event, n int) {
	p.t.Helper()
	got, err := p.claim(o)
	if e == alloc.EventRelease {
		if !alloc.Is(err, alloc.CodeKeyEnded) {
			p.t.Errorf("the key of IDs that all came back got %+v, %v", got, err)
		}
		return
	}
	ended := 3 - n // the holds that were left are over
	if e == alloc.EventRetire {
		ended = 3
	}
	switch {
	case ended == 3 && !alloc.Is(err, alloc.CodeKeyEnded):
		p.t.Errorf("the key of IDs that are all gone got %+v, %v", got, err)
	case ended < 3 && (err != nil || !got.Replayed || joinIDs(got.IDs) != joinIDs(first.IDs) || len(got.Ended) != ended):
		p.t.Errorf("a repeat got %+v, %v; want %+v with %d ended", got, err, first, ended)
	}
}

// drained claims all that is left: every ID is somebody's then, or retired.
func (p *poolCheck) drained(seeded int, e alloc.Event, n int) {
	p.t.Helper()
	p.settle()
	left := seeded
	if e != alloc.EventRelease {
		left -= n
	}
	if free := len(p.world.free()); free != left {
		p.t.Errorf("%d IDs can be claimed, want %d", free, left)
	}
	for range left {
		c, err := p.claim(order(1, ""))
		if err != nil {
			p.t.Fatal(err)
		}
		p.world.answer("drain "+string(c.Token), 1, c)
	}
	if c, err := p.claim(order(1, "")); !alloc.Is(err, alloc.CodePoolExhausted) {
		p.t.Errorf("got %+v, %v of an empty pool", c, err)
	}
	if n := p.world.unheard(); n > 0 {
		p.t.Errorf("%d IDs are claimed by nobody", n)
	}
}

// dies carries something out in a process that dies at the first call that matches, which is not made.
func dies(t *testing.T, a *attempt, match func(Call) bool, f func(*dynamo.Store) error) {
	t.Helper()
	dead := false
	table := NewFaults(a.table, func(c Call) Fault {
		if dead = dead || match(c); dead {
			return LostRequest
		}
		return None
	})
	if err := f(storeOn(t, table)); err == nil || !dead {
		t.Fatalf("got %v, dead %v; want it cut off", err, dead)
	}
}

// A sweep finds holds that are over, one with its return item and one without, one that was confirmed, releases that
// were cut off after each of their writes, and a retirement.
func TestASweepOfHoldsAndReleasesSurvivesAFaultAtEveryWrite(t *testing.T) {
	atEveryWrite(t, func(t *testing.T, a *attempt) {
		p := newPoolCheck(t, a, 8)
		hold := func(key string) alloc.Claim {
			c, err := p.claim(holdOrder(1, key))
			if err != nil {
				t.Fatal(err)
			}
			p.world.answer(key, 1, c)
			return c
		}
		settled := func(key string, e alloc.Event) {
			c := hold(key)
			p.settles(settleOf(c, e, c.IDs...))
		}
		hold("over")
		dies(t, a, write(kindReturn, OpPut), func(s *dynamo.Store) error {
			_, err := s.Claim(t.Context(), holdOrder(1, "without its return item"))
			return err
		})
		announced := hold("announced")
		dies(t, a, idTo(dynamo.StateReturning), func(s *dynamo.Store) error {
			_, err := s.Settle(t.Context(), settleOf(announced, alloc.EventRelease, announced.IDs...))
			return err
		})
		settled("confirmed", alloc.EventConfirm)
		settled("released", alloc.EventRelease)
		settled("retired", alloc.EventRetire)
		time.Sleep(time.Hour)
		again(t, a, func(ctx context.Context, s *dynamo.Store) (alloc.SweepReport, error) { return s.Sweep(ctx, pool) })
		p.settle()
		p.noReturns()
		p.level()
		if free := len(p.world.free()); free != 6 {
			t.Errorf("%d IDs can be claimed, want 6", free)
		}
		for _, key := range []string{"over", "without its return item", "announced", "released", "retired"} {
			if c, err := p.claim(holdOrder(1, key)); !alloc.Is(err, alloc.CodeKeyEnded) {
				t.Errorf("%s: the key got %+v, %v; want it ended", key, c, err)
			}
		}
	})
}
