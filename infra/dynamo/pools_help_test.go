package dynamo_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

// bench is a table in memory with a pool "p", whose calls are recorded and may go wrong, and a clock.
type bench struct {
	testing.TB
	mem   *dynamotest.Memory
	table *dynamotest.Faults
	clock *alloctest.Clock
}

func newBench(t testing.TB) *bench {
	mem := dynamotest.NewMemory()
	return &bench{TB: t, mem: mem, table: dynamotest.NewFaults(mem, nil), clock: alloctest.NewClock()}
}

// filled is a bench whose pool has n IDs.
func filled(t testing.TB, n int, c alloc.PoolConfig) *bench {
	t.Helper()
	b := newBench(t)
	b.pool(c)
	b.seed(b.open(), "setup", someIDs(n))
	b.table.Seen()
	return b
}

// open starts a process.
func (b *bench) open() *dynamo.Store {
	b.Helper()
	return processAt(b.TB, b.table, b.clock.Now)
}

func (b *bench) pool(c alloc.PoolConfig) {
	b.Helper()
	if _, _, err := b.open().CreatePool(b.Context(), "p", c.WithDefaults()); err != nil {
		b.Fatal(err)
	}
}

func someIDs(n int) []alloc.ID {
	ids := make([]alloc.ID, n)
	for i := range ids {
		ids[i] = alloc.ID(fmt.Sprintf("id-%06d", i))
	}
	return ids
}

// seed adds IDs, all of which are new or the job's own.
func (b *bench) seed(s *dynamo.Store, job alloc.JobID, ids []alloc.ID) {
	b.Helper()
	for part := range slices.Chunk(ids, alloc.MaxSeedIDs) {
		outcomes, err := s.Seed(b.Context(), alloc.SeedBatch{Pool: "p", Job: job, IDs: part})
		if err != nil {
			b.Fatalf("Seed: %v", err)
		}
		for i, o := range outcomes {
			if o != alloc.SeedAdded {
				b.Fatalf("Seed of %q: got %s, want added", part[i], o)
			}
		}
	}
}

func want(n alloc.Count) alloc.ClaimOrder {
	return alloc.ClaimOrder{Pool: "p", Count: n, Owner: "somebody", By: "client"}
}

func wantKeyed(n alloc.Count, key string) alloc.ClaimOrder {
	o := want(n)
	o.Key = alloc.NewKey("client", "claim", "pool/p", key, fmt.Sprint(n))
	return o
}

func (b *bench) claim(s *dynamo.Store, o alloc.ClaimOrder) alloc.Claim {
	b.Helper()
	c, err := s.Claim(b.Context(), o)
	if err != nil {
		b.Fatalf("Claim: %v", err)
	}
	return c
}

func (b *bench) refuse(s *dynamo.Store, o alloc.ClaimOrder, code alloc.Code) {
	b.Helper()
	_, err := s.Claim(b.Context(), o)
	refused(b.TB, err, code)
}

// sweep sweeps in a new process until nothing is left to do, and adds up what was done.
func (b *bench) sweep() (sum alloc.SweepReport) {
	b.Helper()
	s := b.open()
	for range 100 {
		r, err := s.Sweep(b.Context(), "p")
		if err != nil {
			b.Fatalf("Sweep: %v", err)
		}
		sum.Passed, sum.Relisted = sum.Passed+r.Passed, sum.Relisted+r.Relisted
		sum.Returned, sum.Voided = sum.Returned+r.Returned, sum.Voided+r.Voided
		if !r.More {
			return sum
		}
	}
	b.Fatal("Sweep still has work after 100 runs")
	return sum
}

// level demands what Level says, but for its time, and that the data says the same.
func (b *bench) level(want alloc.Level) {
	b.Helper()
	got, err := b.open().Level(b.Context(), "p")
	if err != nil {
		b.Fatalf("Level: %v", err)
	}
	got.CountedAt = want.CountedAt
	if got != want {
		b.Errorf("level: got %+v, want %+v", got, want)
	}
	if free := census(b.TB, b.mem.Items(), "p")[alloc.StateFree]; free != want.Available {
		b.Errorf("free IDs in the data: got %d, want %d", free, want.Available)
	}
}

// drain claims one ID at a time until the pool is exhausted.
func (b *bench) drain(s *dynamo.Store) (ids []alloc.ID) {
	b.Helper()
	for {
		c, err := s.Claim(b.Context(), want(1))
		if err != nil {
			refused(b.TB, err, alloc.CodePoolExhausted)
			return ids
		}
		ids = append(ids, c.IDs...)
	}
}

// head is the pool's head as it is stored.
func (b *bench) head() dynamo.Item {
	return b.mem.Item(dynamo.Key{PK: "P#p", SK: "H"})
}

// edit changes an item by hand.
func (b *bench) edit(k dynamo.Key, change func(dynamo.Item)) {
	b.Helper()
	it := b.mem.Item(k)
	if it == nil {
		b.Fatalf("there is no item %v", k)
	}
	change(it)
	b.mem.Set(it)
}

func idItem(id alloc.ID) dynamo.Key { return dynamo.Key{PK: "I#p#" + string(id), SK: "I"} }

// distinct demands that no ID stands twice.
func distinct(t testing.TB, ids []alloc.ID) {
	t.Helper()
	seen := map[alloc.ID]bool{}
	for _, id := range ids {
		if seen[id] {
			t.Errorf("%q was handed out twice", id)
		}
		seen[id] = true
	}
}

// ops names the calls in short.
func ops(calls []dynamotest.Call) []string {
	var names []string
	for _, c := range calls {
		names = append(names, fmt.Sprintf("%s %s", c.Op, c.Key().SK))
	}
	return names
}

func asError(t testing.TB, err error) *alloc.Error {
	t.Helper()
	e, ok := errors.AsType[*alloc.Error](err)
	if !ok {
		t.Fatalf("got the bare error %v, want an *alloc.Error", err)
	}
	return e
}
