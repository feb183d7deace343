package dynamotest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/infra/dynamo"
)

// auditStage is a pool in memory that is to be audited, and a clock.
type auditStage struct {
	testing.TB
	mem   *Memory
	clock *alloctest.Clock
	point time.Time // of the backup, where one was restored
	audit int
}

func newAuditStage(t testing.TB, n int, c alloc.PoolConfig) *auditStage {
	t.Helper()
	s := &auditStage{TB: t, mem: NewMemory(), clock: alloctest.NewClock()}
	if _, _, err := s.open().CreatePool(t.Context(), pool, c.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	s.seed("setup", ids("id", n)...)
	return s
}

func (s *auditStage) open() *dynamo.Store {
	s.Helper()
	store, err := dynamo.New(dynamo.Config{Table: s.mem, Now: s.clock.Now})
	if err != nil {
		s.Fatal(err)
	}
	return store
}

func (s *auditStage) seed(job alloc.JobID, list ...alloc.ID) {
	s.Helper()
	for part := range slices.Chunk(list, alloc.MaxSeedIDs) {
		if _, err := s.open().Seed(s.Context(), alloc.SeedBatch{Pool: pool, Job: job, IDs: part}); err != nil {
			s.Fatal(err)
		}
	}
}

func (s *auditStage) claim(o alloc.ClaimOrder) alloc.Claim {
	s.Helper()
	c, err := s.open().Claim(s.Context(), o)
	if err != nil {
		s.Fatal(err)
	}
	return c
}

func (s *auditStage) sweep() {
	s.Helper()
	if _, err := s.open().Sweep(s.Context(), pool); err != nil {
		s.Fatal(err)
	}
}

// findings audits the pool, each step by a process of its own and twice, and returns what was found and counted.
func (s *auditStage) findings(sample int) (found []alloc.Finding, tally alloc.Tally) {
	s.Helper()
	s.audit++
	found, tally, err := auditWith(s.TB, func() alloc.Store { return s.open() }, alloc.JobID(fmt.Sprintf("audit%d", s.audit)), sample, nil)
	if err != nil {
		s.Fatal(err)
	}
	return found, tally
}

// auditWith audits the pool. between is called between two steps.
func auditWith(t testing.TB, open func() alloc.Store, job alloc.JobID, sample int, between func()) (found []alloc.Finding, tally alloc.Tally, err error) {
	t.Helper()
	for step, n := "", 0; ; n++ {
		if n > 10_000 {
			t.Fatal("an audit of more than 10,000 steps")
		}
		o := alloc.AuditOrder{Job: job, Step: step, Sample: sample}
		got, err := open().AuditPool(t.Context(), pool, o)
		if err != nil {
			return found, tally, err
		}
		if step != "" {
			again, err := open().AuditPool(t.Context(), pool, o)
			if err != nil || again.Next != got.Next || again.Tally != got.Tally || again.Done != got.Done || !slices.Equal(again.Findings, got.Findings) {
				t.Fatalf("a repeat of step %s: %+v, %v; want %+v", step, again, err, got)
			}
		}
		found, tally = append(found, got.Findings...), plus(tally, got.Tally)
		if step = got.Next; step == "" {
			return found, tally, nil
		}
		if between != nil {
			between()
		}
	}
}

func plus(a, b alloc.Tally) alloc.Tally {
	a.Free, a.Held, a.Claimed, a.Returning, a.Retired, a.Lost = a.Free+b.Free, a.Held+b.Held, a.Claimed+b.Claimed, a.Returning+b.Returning, a.Retired+b.Retired, a.Lost+b.Lost
	return a
}

// change changes an item by hand, past every Store.
func (s *auditStage) change(k dynamo.Key, how func(dynamo.Item)) {
	s.Helper()
	it := s.mem.Item(k)
	if it == nil {
		s.Fatalf("there is no item %v", k)
	}
	how(it)
	if err := s.mem.Put(s.Context(), it, dynamo.Cond{}); err != nil {
		s.Fatal(err)
	}
}

// setBack sets IDs back to what they were before somebody took them.
func (s *auditStage) setBack(ids []alloc.ID) {
	s.Helper()
	for _, id := range ids {
		s.change(idItem(id), asBefore)
	}
}

// asBefore makes the item of an ID that is taken what it was before.
func asBefore(it dynamo.Item) {
	it[dynamo.AttrState] = dynamo.StateFree
	for _, attr := range []string{dynamo.AttrToken, dynamo.AttrTaken, dynamo.AttrBy, dynamo.AttrOwner, dynamo.AttrKey, dynamo.AttrMetadata, dynamo.AttrWritten} {
		delete(it, attr)
	}
}

func (s *auditStage) remove(k dynamo.Key) {
	s.Helper()
	if _, err := s.mem.Delete(s.Context(), k, dynamo.Exists("pk")); err != nil {
		s.Fatal(err)
	}
}

func (s *auditStage) set(k dynamo.Key, attr string, v any) {
	s.Helper()
	s.change(k, func(it dynamo.Item) { it[attr] = v })
}

func idItem(id alloc.ID) dynamo.Key {
	return dynamo.Key{PK: "I#" + string(pool) + "#" + string(id), SK: "I"}
}

func chunkItem(n int) dynamo.Key {
	return dynamo.Key{PK: fmt.Sprintf("P#%s#1#%d", pool, n), SK: "C"}
}

func returnOf(id alloc.ID, g int) dynamo.Key {
	return dynamo.Key{PK: "P#" + string(pool) + "#R", SK: fmt.Sprintf("I#%s#%d", id, g)}
}

var headItem = dynamo.Key{PK: "P#" + string(pool), SK: "H"}

// heldOrder is a claim for a time, of one ID.
func heldOrder(n alloc.Count, d time.Duration) alloc.ClaimOrder {
	o := order(n, "")
	o.Hold = d
	return o
}
