package dynamotest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// claim begins a claim.
func (s *script) claim(p *process, o alloc.ClaimOrder) *step[alloc.Claim] {
	return begin(s, p, fmt.Sprintf("claim(%d)", o.Count), func(ctx context.Context, store *dynamo.Store) (alloc.Claim, error) {
		return store.Claim(ctx, o)
	})
}

// sweep begins a sweep.
func (s *script) sweep(p *process) *step[alloc.SweepReport] {
	return begin(s, p, "sweep", func(ctx context.Context, store *dynamo.Store) (alloc.SweepReport, error) {
		return store.Sweep(ctx, pool)
	})
}

// settle begins a confirmation, a release or a retirement.
func (s *script) settle(p *process, e alloc.Event, token alloc.Token, ids ...alloc.ID) *step[alloc.Settled] {
	o := alloc.SettleOrder{Pool: pool, Event: e, IDs: ids, Token: token}
	return begin(s, p, string(e), func(ctx context.Context, store *dynamo.Store) (alloc.Settled, error) {
		return store.Settle(ctx, o)
	})
}

// seed begins a seeding.
func (s *script) seed(p *process, job alloc.JobID, ids ...alloc.ID) *step[[]alloc.SeedOutcome] {
	return begin(s, p, "seed", func(ctx context.Context, store *dynamo.Store) ([]alloc.SeedOutcome, error) {
		return store.Seed(ctx, alloc.SeedBatch{Pool: pool, Job: job, IDs: ids})
	})
}

// newPool makes the pool with the IDs, undisturbed.
func (s *script) newPool(ids ...alloc.ID) {
	admin := s.on("admin", 0)
	begin(s, admin, "create", func(ctx context.Context, store *dynamo.Store) (alloc.Pool, error) {
		p, _, err := store.CreatePool(ctx, pool, alloc.PoolConfig{}.WithDefaults())
		return p, err
	}).must()
	if len(ids) > 0 {
		s.seed(admin, "job", ids...).must()
	}
}

// sweeps lets time pass and sweeps until there is nothing left to do.
func (s *script) sweeps() {
	for range 3 {
		time.Sleep(15 * time.Minute)
		for s.sweep(s.on("sweeper", 0)).must().More {
		}
	}
}

// edit changes an item by hand.
func (s *script) edit(k dynamo.Key, change func(dynamo.Item)) {
	it := s.mem.Item(k)
	change(it)
	s.mem.Set(it)
	s.note("by hand: %v", it)
	if kindOf(k) == kindID {
		s.world.ids[idOf(it)] = it
	}
	if kindOf(k) == kindHead {
		s.world.head = it
	}
}

// answered ends the claim, which succeeds, and holds its answer against the books.
func (s *script) answered(st *step[alloc.Claim], who string, n alloc.Count) alloc.Claim {
	c := st.must()
	s.world.answer(who, n, c)
	return c
}

// refused ends the operation, which fails with the code.
func refused[T any](st *step[T], code alloc.Code) {
	if result, err := st.end(); !alloc.Is(err, code) {
		st.s.fatalf("%s got %v, %v; want %s", st.name, result, err, code)
	}
}

// whole sweeps and then claims all that is left: every ID is claimed then, and each by somebody who was answered.
func (s *script) whole() {
	s.sweeps()
	p := s.on("drain", 0)
	for n := 0; ; n++ {
		st := s.claim(p, order(1, ""))
		c, err := st.end()
		if alloc.Is(err, alloc.CodePoolExhausted) {
			break
		}
		if err != nil {
			s.fatalf("draining the pool: %v", err)
		}
		s.world.answer(fmt.Sprintf("drain %d", n), 1, c)
	}
	for id, it := range s.world.ids {
		if stateOf(it) != alloc.StateClaimed {
			s.fatalf("%s is stuck: %v", id, it)
		}
	}
	if n := s.world.unheard(); n > 0 {
		s.fatalf("%d IDs are claimed by nobody: %v", n, s.world.ids)
	}
}

// The places at which the schedules hold an operation.

func write(kind itemKind, ops ...Op) func(Call) bool {
	return func(c Call) bool { return c.Write() && kindOf(c.Key()) == kind && slices.Contains(ops, c.Op) }
}

// toState is an update of one of the ID's items to the state.
func toState(id alloc.ID, state string) func(Call) bool {
	return func(c Call) bool {
		return c.Op == OpUpdate && c.Key() == idKey(id) && c.Update.Set[dynamo.AttrState] == state
	}
}

// recordTo is an update of a key record to one of the states.
func recordTo(states ...string) func(Call) bool {
	return func(c Call) bool {
		to, ok := c.Update.Set[dynamo.AttrState].(string)
		return c.Op == OpUpdate && kindOf(c.Key()) == kindRecord && ok && slices.Contains(states, to)
	}
}

// movesWindow is the update of the head that passes settled chunks.
func movesWindow(c Call) bool {
	_, ok := c.Update.Set[dynamo.AttrLow]
	return kindOf(c.Key()) == kindHead && c.Op == OpUpdate && ok
}

func updatesHead(c Call) bool { return kindOf(c.Key()) == kindHead && c.Op == OpUpdate }

// beaten begins a claim of two on a pool of x and y that wins x and loses y, and so has to give x back. It waits at the
// first call that matches.
func (s *script) beaten(p *process, o alloc.ClaimOrder, match func(Call) bool) (*step[alloc.Claim], *held) {
	st := s.claim(p, o)
	y := st.until(toState("y", dynamo.StateClaimed))
	for _, h := range s.calls() {
		if h.act == st.act && h != y {
			s.decide(h, None)
		}
	}
	s.answered(s.claim(s.on("faster than "+p.name, 0), order(1, "")), "faster than "+p.name, 1)
	s.decide(y, None)
	return st, st.until(match)
}

// returnItem is the return item of one generation of an ID.
func returnItem(id alloc.ID, g int64) dynamo.Key {
	return dynamo.Key{PK: "P#" + string(pool) + "#R", SK: "I#" + string(id) + "#" + fmt.Sprint(g)}
}

// stateIs fails the schedule unless the ID is in the state.
func (s *script) stateIs(id alloc.ID, want alloc.State) {
	if it := s.mem.Item(idKey(id)); stateOf(it) != want {
		s.fatalf("%s is %v, want it %s", id, it, want)
	}
}

// steal claims the ID for somebody else, who is answered it.
func (s *script) steal(id alloc.ID) {
	g := s.mem.Item(idKey(id)).Int(dynamo.AttrGeneration)
	s.arrive(&held{proc: &process{name: "thief"}, call: Call{
		Op: OpUpdate, Keys: []dynamo.Key{idKey(id)},
		Update: dynamo.Update{Set: map[string]any{dynamo.AttrState: dynamo.StateClaimed, dynamo.AttrToken: "thief of " + string(id)}},
		Cond:   dynamo.All(dynamo.Eq(dynamo.AttrState, dynamo.StateFree), dynamo.Eq(dynamo.AttrGeneration, g)),
	}})
	s.world.answered[listing{id, g}] = "thief"
}
