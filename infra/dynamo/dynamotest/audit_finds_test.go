package dynamotest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

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
			s.setBack(c.IDs[:1])
			return string(c.IDs[0])
		}, alloc.FindSetBack, alloc.RemedyNone, nil},
		{"a claimed ID was made free by hand, and a chunk is gone that may have listed it since", func(s *auditStage) string {
			c := s.claim(order(2, ""))
			s.sweep()
			s.setBack(c.IDs[:1])
			s.remove(chunkItem(7))
			return chunkItem(7).PK
		}, alloc.FindChunk, alloc.RemedyRebuild, []alloc.FindingKind{alloc.FindUnlisted, alloc.FindUnlisted, alloc.FindUnlisted}},
		{"a claimed ID was made free by hand, and has a chunk that is gone before its own", func(s *auditStage) string {
			s.claim(order(2, ""))
			c := s.claim(order(2, ""))
			s.sweep()
			s.setBack(c.IDs[:1])
			s.remove(chunkItem(0))
			return string(c.IDs[0])
		}, alloc.FindSetBack, alloc.RemedyNone, []alloc.FindingKind{alloc.FindChunk}},
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
