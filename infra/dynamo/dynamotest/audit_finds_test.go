package dynamotest

import (
	"context"
	"fmt"
	"slices"
	"strings"
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

func TestTheAuditFindsEachKindThatIsPlanted(t *testing.T) {
	const size = 100
	release := func(s *auditStage) alloc.ID { // on its way back: the sweep has not run
		c := s.claim(order(1, ""))
		o := alloc.SettleOrder{Pool: pool, Event: alloc.EventRelease, IDs: c.IDs, Token: c.Token}
		if _, err := s.open().Settle(s.Context(), o); err != nil {
			s.Fatal(err)
		}
		return c.IDs[0]
	}
	firstRecord := func(s *auditStage) dynamo.Key {
		for _, it := range s.mem.Items() {
			if it.Str("sk") == "K" {
				return it.Key()
			}
		}
		s.Fatal("there is no key record")
		return dynamo.Key{}
	}
	for _, c := range []struct {
		name   string
		plant  func(s *auditStage) (on string)
		kind   alloc.FindingKind
		remedy alloc.Remedy
		more   []alloc.FindingKind // found with it
	}{
		{"the head is gone", func(s *auditStage) string { s.remove(headItem); return string(pool) }, alloc.FindHead, alloc.RemedyRebuild, nil},
		{"the head's marks contradict each other", func(s *auditStage) string {
			s.set(headItem, dynamo.AttrLow, int64(9999))
			return string(pool)
		}, alloc.FindHead, alloc.RemedyRebuild, nil},
		{"a chunk below the low mark is gone", func(s *auditStage) string {
			s.claim(order(2, ""))
			s.sweep()
			s.remove(chunkItem(0))
			return chunkItem(0).PK
		}, alloc.FindChunk, alloc.RemedyRebuild, nil},
		{
			"a chunk in use is gone", func(s *auditStage) string { s.remove(chunkItem(7)); return chunkItem(7).PK },
			alloc.FindChunk, alloc.RemedyRebuild,
			[]alloc.FindingKind{alloc.FindUnlisted, alloc.FindUnlisted},
		},
		{"a listing of a chunk cannot be read", func(s *auditStage) string {
			s.change(chunkItem(7), func(it dynamo.Item) { it.List(dynamo.AttrListings)[0] = "?" })
			return chunkItem(7).PK
		}, alloc.FindChunk, alloc.RemedyRebuild, []alloc.FindingKind{alloc.FindUnlisted}},
		{
			"a chunk says another sum of those before it", func(s *auditStage) string { s.set(chunkItem(7), dynamo.AttrBefore, int64(3)); return chunkItem(7).PK },
			alloc.FindChunk, alloc.RemedyRebuild, nil,
		},
		{
			"the head has counted one ID too many", func(s *auditStage) string { s.set(headItem, dynamo.AttrSeeded, int64(size+1)); return string(pool) },
			alloc.FindCounts, alloc.RemedyRebuild, nil,
		},
		{
			"the head has counted one listing too few", func(s *auditStage) string { s.set(headItem, dynamo.AttrPublished, int64(size-1)); return string(pool) },
			alloc.FindCounts, alloc.RemedyRebuild, nil,
		},
		{
			"the head has counted one retirement too many", func(s *auditStage) string { s.set(headItem, dynamo.AttrRetired, int64(1)); return string(pool) },
			alloc.FindCounts, alloc.RemedyRebuild, nil,
		},
		{
			"an ID that is listed has no item", func(s *auditStage) string { s.remove(idItem("id-7")); return "id-7" },
			alloc.FindLostID, alloc.RemedyRebuild,
			[]alloc.FindingKind{alloc.FindCounts},
		},
		{
			"an ID is free in a life that nobody has listed", func(s *auditStage) string { s.set(idItem("id-7"), dynamo.AttrGeneration, int64(5)); return "id-7" },
			alloc.FindUnlisted, alloc.RemedyRebuild, nil,
		},
		{"a claimed ID was made free by hand", func(s *auditStage) string {
			c := s.claim(order(2, ""))
			s.sweep() // its chunk is passed
			s.change(idItem(c.IDs[0]), func(it dynamo.Item) {
				it[dynamo.AttrState] = dynamo.StateFree
				for _, attr := range []string{dynamo.AttrToken, dynamo.AttrTaken, dynamo.AttrBy} {
					delete(it, attr)
				}
			})
			return string(c.IDs[0])
		}, alloc.FindUnlisted, alloc.RemedyRebuild, nil},
		{"a claimed ID was made free by hand, and has its owner still", func(s *auditStage) string {
			id := s.claim(order(1, "")).IDs[0]
			s.set(idItem(id), dynamo.AttrState, dynamo.StateFree)
			return string(id)
		}, alloc.FindDamagedID, alloc.RemedyNone, nil},
		{"an ID that no chunk has counted", func(s *auditStage) string {
			it := s.mem.Item(idItem("id-7"))
			it["pk"] = idItem("by-hand").PK
			if err := s.mem.Put(s.Context(), it, dynamo.Absent("pk")); err != nil {
				s.Fatal(err)
			}
			return "by-hand"
		}, alloc.FindUnlisted, alloc.RemedyRebuild, []alloc.FindingKind{alloc.FindCounts}},
		{
			"an ID's state is no state", func(s *auditStage) string { s.set(idItem("id-7"), dynamo.AttrState, "?"); return "id-7" },
			alloc.FindDamagedID, alloc.RemedyNone, nil,
		},
		{"an ID has no generation", func(s *auditStage) string {
			s.change(idItem("id-7"), func(it dynamo.Item) { delete(it, dynamo.AttrGeneration) })
			return "id-7"
		}, alloc.FindDamagedID, alloc.RemedyNone, nil},
		{"a claimed ID says no owner", func(s *auditStage) string {
			id := s.claim(order(1, "")).IDs[0]
			s.change(idItem(id), func(it dynamo.Item) { delete(it, dynamo.AttrToken) })
			return string(id)
		}, alloc.FindDamagedID, alloc.RemedyNone, nil},
		{"a held ID says no end", func(s *auditStage) string {
			id := s.claim(heldOrder(1, time.Hour)).IDs[0]
			s.change(idItem(id), func(it dynamo.Item) { delete(it, dynamo.AttrHoldEnd) })
			return string(id)
		}, alloc.FindDamagedID, alloc.RemedyNone, nil},
		{"a key record is gone", func(s *auditStage) string {
			id := s.claim(order(1, "key")).IDs[0]
			s.remove(firstRecord(s))
			return string(id)
		}, alloc.FindKey, alloc.RemedyNone, nil},
		{"a key record does not name the ID", func(s *auditStage) string {
			id := s.claim(order(1, "key")).IDs[0]
			s.set(firstRecord(s), dynamo.AttrListings, []string{"0 id-99"})
			return string(id)
		}, alloc.FindKey, alloc.RemedyNone, nil},
		{"a key record is another request's", func(s *auditStage) string {
			id := s.claim(order(1, "key")).IDs[0]
			s.set(firstRecord(s), dynamo.AttrToken, "another")
			return string(id)
		}, alloc.FindKey, alloc.RemedyNone, nil},
		{"a key record cannot be read", func(s *auditStage) string {
			id := s.claim(order(1, "key")).IDs[0]
			s.set(firstRecord(s), dynamo.AttrListings, []string{"?"})
			return string(id)
		}, alloc.FindKey, alloc.RemedyNone, nil},
		{"a key record says that nothing is owned", func(s *auditStage) string {
			id := s.claim(order(1, "key")).IDs[0]
			s.set(firstRecord(s), dynamo.AttrState, dynamo.RecordFailed)
			return string(id)
		}, alloc.FindKey, alloc.RemedyNone, nil},
		{"a hold is over, and the schedule stands still", func(s *auditStage) string {
			id := s.claim(heldOrder(1, time.Minute)).IDs[0]
			s.clock.Advance(14 * time.Minute)
			return string(id)
		}, alloc.FindOverdueHold, alloc.RemedySweep, nil},
		{"a hold's return item is gone when its chunk was passed", func(s *auditStage) string {
			id := s.claim(heldOrder(2, time.Hour)).IDs[0]
			s.sweep()
			s.remove(returnOf(id, 0))
			return string(id)
		}, alloc.FindNoReturn, alloc.RemedyRebuild, nil},
		{"the return item of an ID on its way back is gone", func(s *auditStage) string {
			id := release(s)
			s.remove(returnOf(id, 0))
			return string(id)
		}, alloc.FindNoReturn, alloc.RemedyRebuild, nil},
		{"a key was given up, and its return item is gone", func(s *auditStage) string {
			id := s.claim(order(1, "key")).IDs[0]
			s.set(firstRecord(s), dynamo.AttrState, dynamo.RecordVoid)
			return string(id)
		}, alloc.FindNoReturn, alloc.RemedyRebuild, nil},
		{"a claim with a key was never carried to its end", func(s *auditStage) string {
			id := s.claim(order(1, "key")).IDs[0]
			s.change(firstRecord(s), func(it dynamo.Item) { it[dynamo.AttrListings] = append(it.List(dynamo.AttrListings), "0 id-99") })
			s.clock.Advance(alloc.KeyRetention + 2*time.Hour)
			return string(id)
		}, alloc.FindNothingHeard, alloc.RemedyNone, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newAuditStage(t, size, alloc.PoolConfig{})
			if found, _ := s.findings(100); len(found) > 0 {
				t.Fatalf("on a healthy pool: %+v", found)
			}
			on := c.plant(s)
			found, _ := s.findings(100)
			var kinds, wanted []string
			for _, f := range found {
				kinds = append(kinds, string(f.Kind))
				if f.Kind == c.kind && (f.On != on || f.Remedy != c.remedy) {
					t.Errorf("found %+v, want it on %q with the remedy %q", f, on, c.remedy)
				}
			}
			for _, kind := range append(c.more, c.kind) {
				wanted = append(wanted, string(kind))
			}
			slices.Sort(kinds)
			slices.Sort(wanted)
			if !slices.Equal(kinds, wanted) {
				t.Errorf("found %s, want the kinds %s", words(found), strings.Join(wanted, ", "))
			}
		})
	}
}

func words(found []alloc.Finding) string {
	if len(found) == 0 {
		return "nothing"
	}
	var b strings.Builder
	for _, f := range found {
		fmt.Fprintf(&b, "\n\t%s on %s: %s", f.Kind, f.On, f.Detail)
	}
	return b.String()
}

func TestAnAuditOfASampleLooksAtAboutThatPartAndAlwaysAtTheSame(t *testing.T) {
	s := newAuditStage(t, 5000, alloc.PoolConfig{})
	found, first := s.findings(10)
	if len(found) > 0 || first.Free < 350 || first.Free > 650 {
		t.Errorf("a tenth of 5,000 IDs: %d, %s", first.Free, words(found))
	}
	if _, again := s.findings(10); again != first {
		t.Errorf("the same again: %+v, want %+v", again, first)
	}
	_, all := s.findings(100)
	if all.Free != 5000 {
		t.Errorf("all: %+v", all)
	}
}

func TestTheAuditOfAPoolThatWasNeverMadeSaysSo(t *testing.T) {
	s := newAuditStage(t, 1, alloc.PoolConfig{})
	_, err := s.open().AuditPool(t.Context(), "none", alloc.AuditOrder{Job: "j"})
	if !alloc.Is(err, alloc.CodePoolNotFound) {
		t.Errorf("got %v, want %s", err, alloc.CodePoolNotFound)
	}
}

// An audit that is cut off is carried on by another, and a pool whose queue is gone as a whole is told with each of its IDs.
func TestTheAuditTellsEachOfManyFindingsOnce(t *testing.T) {
	const size = 3000
	s := newAuditStage(t, size, alloc.PoolConfig{})
	for n := range size / 20 {
		s.remove(chunkItem(n))
	}
	found, _ := s.findings(100)
	times := map[string]int{}
	for _, f := range found {
		times[string(f.Kind)+" "+f.On]++
	}
	if len(found) != size+size/20 || len(times) != len(found) {
		t.Errorf("%d findings, %d of them different; want %d", len(found), len(times), size+size/20)
	}
}

// A key record that has expired is gone by the clocks of others: an audit by a clock that has stood still finds nothing, as others have left later times.
func TestTheAuditByAClockThatStoodStillFindsNothing(t *testing.T) {
	for what, later := range map[string]func(s *auditStage){
		"another has claimed since": func(s *auditStage) { s.claim(order(1, "")) },
		"another has leased since": func(s *auditStage) {
			c := s.claim(order(1, ""))
			s.change(idItem(c.IDs[0]), func(it dynamo.Item) { it[dynamo.AttrTaken] = int64(0) })
		},
	} {
		s := newAuditStage(t, 100, alloc.PoolConfig{})
		s.claim(order(1, "key"))
		s.clock.Advance(25 * time.Hour)
		s.mem.Expire(s.clock.Now())
		later(s)
		s.clock.Advance(-25 * time.Hour)
		if found, _ := s.findings(100); len(found) > 0 {
			t.Errorf("%s: %s", what, words(found))
		}
	}
}

// A process may stand still for hours between a read and what it makes of it: it judges by the time of the read.
func TestTheAuditOfAProcessThatStoodStillFindsNothing(t *testing.T) {
	s := newAuditStage(t, 100, alloc.PoolConfig{})
	s.claim(heldOrder(3, time.Hour))
	frozen := Through(func(ctx context.Context, c Call) Answer {
		got := c.Do(ctx, s.mem)
		if c.Op == OpScan {
			s.clock.Advance(2 * time.Hour)
			s.sweep()
		}
		return got
	})
	open := func() alloc.Store {
		store, err := dynamo.New(dynamo.Config{Table: frozen, Now: s.clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
	if found, _, err := auditWith(t, open, "frozen", 100, nil); err != nil || len(found) > 0 {
		t.Errorf("%v, %s", err, words(found))
	}
}
