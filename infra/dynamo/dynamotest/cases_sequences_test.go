package dynamotest

import (
	"context"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// lease begins a lease of n.
func (s *script) lease(p *process, n alloc.Count, key *alloc.Key) *step[alloc.Range] {
	return begin(s, p, "lease", func(ctx context.Context, store *dynamo.Store) (alloc.Range, error) {
		return store.Lease(ctx, alloc.LeaseOrder{Sequence: sequence, Count: n, By: "tester", Key: key})
	})
}

// newSequence makes the sequence of the schedule, undisturbed.
func (s *script) newSequence(c alloc.SequenceConfig) {
	begin(s, s.on("admin", 0), "create", func(ctx context.Context, store *dynamo.Store) (alloc.Sequence, error) {
		q, _, err := store.CreateSequence(ctx, sequence, c.WithDefaults())
		return q, err
	}).must()
}

// setCounter sets the last number leased by hand.
func (s *script) setCounter(last int64) {
	it := s.mem.Item(counterKey)
	it[attrLast] = last
	s.mem.Set(it)
}

// disjoint ends the leases and fails if two of them were answered overlapping ranges. It returns how many were answered.
func (s *script) disjoint(leases ...*step[alloc.Range]) int {
	var got []alloc.Range
	for _, l := range leases {
		r, err := l.end()
		if err != nil {
			continue
		}
		for _, other := range got {
			if r.Start <= other.End && other.Start <= r.End {
				s.fatalf("answered %d to %d and %d to %d", other.Start, other.End, r.Start, r.End)
			}
		}
		got = append(got, r)
	}
	return len(got)
}

// The places of a lease at which the schedules hold it.
func putsRecord(c Call) bool   { return c.Op == OpPut && isLedger(c) }
func provesRecord(c Call) bool { return c.Op == OpUpdate && isLedger(c) }
func walksLedger(c Call) bool  { return isProof(c) }

// caseP02 is P02 with the long lease held at one place of its way, and the first of the short ones at another.
func caseP02(holdLong, holdFirst func(Call) bool) func(*script) {
	return func(s *script) {
		s.newSequence(alloc.SequenceConfig{})
		a, b := s.on("a", 0), s.on("b", 0)
		long := s.lease(a, 20, nil)
		long.until(holdLong)
		s.setCounter(9)
		first, second := s.lease(b, 5, nil), s.lease(b, 5, nil)
		first.reach(holdFirst)
		if s.disjoint(second, first, long) == 0 {
			s.note("all were refused")
		}
		if _, err := s.lease(b, 1, nil).end(); !alloc.Is(err, alloc.CodeSequenceStopped) {
			s.fatalf("after the overlap a lease got %v, want the sequence stopped", err)
		}
	}
}

func TestP02CounterSetBackWhileALeaseIsInFlight(t *testing.T) {
	places := map[string]func(Call) bool{"its record": putsRecord, "its proof": walksLedger, "it is proven": provesRecord}
	for long, holdLong := range places {
		for first, holdFirst := range places {
			t.Run("long held before "+long+", short before "+first, func(t *testing.T) { replay(t, caseP02(holdLong, holdFirst)) })
		}
	}
}

// A keyed lease is answered by any process at any time within the retention, and by a clock five minutes off.
func TestP16AKeyedLeaseIsReplayedUnderWrongClocks(t *testing.T) {
	key := alloc.NewKey("client", "lease", string(sequence), "key", "7")
	replay(t, func(s *script) {
		s.newSequence(alloc.SequenceConfig{})
		first := s.lease(s.on("late", -5*time.Minute), 7, key).must()
		time.Sleep(alloc.KeyRetention - 11*time.Minute)
		again := s.lease(s.on("early", 5*time.Minute), 7, key).must()
		if again.Start != first.Start || again.Token != first.Token || !again.Replayed {
			s.fatalf("answered %+v, then %+v", first, again)
		}
		time.Sleep(22 * time.Minute)
		fresh := s.lease(s.on("late again", -5*time.Minute), 7, key).must()
		if fresh.Start <= first.End || fresh.Replayed {
			s.fatalf("after the retention answered %+v, want a fresh range", fresh)
		}
	})
}
