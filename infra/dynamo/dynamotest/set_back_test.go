package dynamotest

import (
	"slices"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// rebuiltAs rebuilds the pool and adds up what the steps have met.
func (s *auditStage) rebuiltAs(job alloc.JobID) (sum alloc.PoolRebuilt) {
	s.Helper()
	o := alloc.PoolRebuildOrder{Pool: pool, Job: job}
	for range 1000 {
		done, err := s.open().RebuildPool(s.Context(), o)
		if err != nil {
			s.Fatal(err)
		}
		sum.Met, sum.Tally = sum.Met+done.Met, plus(sum.Tally, done.Tally)
		sum.Gone, sum.SetBack = append(sum.Gone, done.Gone...), append(sum.SetBack, done.SetBack...)
		if o.Step = done.Next; o.Step == "" {
			return sum
		}
		again, err := s.open().RebuildPool(s.Context(), alloc.PoolRebuildOrder{Pool: pool, Job: job, Step: o.Step})
		if err != nil {
			s.Fatal(err)
		}
		sum.Met, sum.Tally = sum.Met+again.Met, plus(sum.Tally, again.Tally)
		sum.Gone, sum.SetBack = append(sum.Gone, again.Gone...), append(sum.SetBack, again.SetBack...)
		if o.Step = again.Next; o.Step == "" {
			return sum
		}
	}
	s.Fatal("the rebuild does not end")
	return sum
}

// Items of IDs are set back to what they were before they were claimed, as by a restore of a part of the table, when the queue has passed them. The audit
// offers nothing by which they would be handed out, and a rebuild that is made all the same retires them and names them.
func TestWhatIsSetBackIsHandedOutByNoRebuild(t *testing.T) {
	for name, c := range map[string]struct {
		policy alloc.Policy
		before func(s *auditStage)
	}{
		"in a pool as it was made": {"", func(*auditStage) {}},
		"in a pool that was rebuilt since": {"", func(s *auditStage) {
			s.rebuiltAs("before")
			s.clock.Advance(time.Minute)
			s.sweep()
		}},
		"in a pool that forgets": {alloc.PolicyForget, func(*auditStage) {}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAuditStage(t, 100, alloc.PoolConfig{Policy: c.policy})
			items := copied(s.mem)
			taken := s.claim(order(4, ""))
			s.sweep() // their chunks are passed
			c.before(s)
			for _, id := range taken.IDs {
				s.mem.Set(items.Item(idItem(id)))
			}
			found, _ := s.findings(100)
			for _, f := range found {
				if f.Kind != alloc.FindSetBack || f.Remedy != alloc.RemedyNone || !slices.Contains(taken.IDs, alloc.ID(f.On)) {
					t.Errorf("found %+v", f)
				}
			}
			if len(found) != 4 {
				t.Errorf("found %s, want 4 IDs that are set back", words(found))
			}
			s.clock.Advance(time.Minute)
			sum := s.rebuiltAs("rebuild")
			slices.Sort(sum.SetBack)
			if want := slices.Sorted(slices.Values(taken.IDs)); !slices.Equal(sum.SetBack, want) || sum.Tally.Lost != 4 || sum.Tally.Retired != 4 || len(sum.Gone) > 0 {
				t.Errorf("the rebuild said %+v, want %v set back", sum, want)
			}
			s.clock.Advance(time.Minute)
			if again := s.rebuiltAs("again"); again.Tally.Lost != 0 || again.Tally.Retired != 4 {
				t.Errorf("another rebuild said %+v, want four retired and none lost", again)
			}
			s.sweep()
			s.wantNoneOf(taken.IDs, 96)
			if found, _ := s.findings(100); len(found) > 0 {
				t.Errorf("at last the audit finds %s", words(found))
			}
		})
	}
}

// wantNoneOf claims all that can be claimed, so many, none of them one of these.
func (s *auditStage) wantNoneOf(ids []alloc.ID, many int) {
	s.Helper()
	n := 0
	for ; ; n++ {
		got, err := s.open().Claim(s.Context(), order(1, ""))
		if alloc.Is(err, alloc.CodePoolExhausted) {
			break
		}
		if err != nil {
			s.Fatal(err)
		}
		if slices.Contains(ids, got.IDs[0]) {
			s.Errorf("%s is handed out, and was taken", got.IDs[0])
		}
	}
	if n != many {
		s.Errorf("%d IDs could be claimed, want %d", n, many)
	}
}

// What was listed again, as nobody has claimed it out of a memory, is listed below the low mark too: it is as free as before, whether or not something
// else was set back.
func TestARebuildRetiresNothingThatWasListedAgain(t *testing.T) {
	s := newAuditStage(t, 200, alloc.PoolConfig{})
	taken := s.claim(order(1, "")) // and the rest of what was leased with it is forgotten
	s.clock.Advance(time.Hour)
	s.sweep()
	s.clock.Advance(time.Hour)
	s.sweep()
	if low := s.mem.Item(headItem).Int(dynamo.AttrLow); low == 0 {
		t.Fatal("the queue has passed nothing")
	}
	s.setBack(taken.IDs)
	if sum := s.rebuiltAs("rebuild"); !slices.Equal(sum.SetBack, taken.IDs) || sum.Tally.Free != 199 {
		t.Errorf("the rebuild said %+v, want %v set back and 199 free", sum, taken.IDs)
	}
	s.sweep()
	s.wantNoneOf(taken.IDs, 199)
}
