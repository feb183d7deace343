package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

func anyCall(dynamotest.Call) bool { return true }

// Calls of a warm lease: counter, record, walk, mark; with a key one read before and one write after.
const (
	plainCalls = 4
	keyedCalls = 6
)

func TestEveryCallOfALeaseMayFailAndNoNumberIsAnsweredTwice(t *testing.T) {
	faults := []dynamotest.Fault{dynamotest.Refused, dynamotest.LostRequest, dynamotest.AppliedButFailed, dynamotest.Throttled}
	for _, fault := range faults {
		for n := range plainCalls {
			t.Run(fmt.Sprintf("%s at call %d", fault, n), func(t *testing.T) {
				table := dynamotest.NewFaults(dynamotest.NewMemory(), nil)
				s := process(t, table)
				sequence(t, s, alloc.SequenceConfig{})
				answered := []alloc.Range{lease(t, s, order(3))}
				table.Plan(dynamotest.Nth(n, anyCall, fault))
				_, err := s.Lease(t.Context(), order(3))
				e, ok := errors.AsType[*alloc.Error](err)
				if !ok || !errors.Is(err, dynamotest.ErrFault) {
					t.Fatalf("got %v, want the fault", err)
				}
				took := n > 0 || fault == dynamotest.AppliedButFailed || fault == dynamotest.LostRequest
				if e.Unknown != took {
					t.Errorf("unknown is %v, want %v: %v", e.Unknown, took, err)
				}
				answered = append(answered, lease(t, s, order(3)), lease(t, process(t, table), order(3)))
				disjoint(t, answered)
			})
		}
	}
}

func TestK13AKeyedLeaseWhoseAnswerIsLostAnywhereGivesOneRange(t *testing.T) {
	for n := range keyedCalls {
		t.Run(fmt.Sprintf("call %d", n), func(t *testing.T) {
			table := dynamotest.NewFaults(dynamotest.NewMemory(), nil)
			s := process(t, table)
			sequence(t, s, alloc.SequenceConfig{})
			lease(t, s, order(1))
			table.Plan(dynamotest.Nth(n, anyCall, dynamotest.AppliedButFailed))
			_, err := s.Lease(t.Context(), keyed(3, "k"))
			refused(t, err, alloc.CodeUnavailable)
			table.Plan(nil)
			first, second := lease(t, process(t, table), keyed(3, "k")), lease(t, s, keyed(3, "k"))
			if wasBound := n == keyedCalls-1; first.Replayed != wasBound {
				t.Errorf("replayed is %v, want %v", first.Replayed, wasBound)
			}
			first.Replayed = true
			if diff := cmp.Diff(first, second); diff != "" {
				t.Errorf("-first repeat +second:\n%s", diff)
			}
		})
	}
}

func TestK14AndA26AWriteThatTheSDKRepeatsIsKnownByItsTokenAndBurnsNothing(t *testing.T) {
	for n := range keyedCalls {
		t.Run(fmt.Sprintf("call %d", n), func(t *testing.T) {
			table := dynamotest.NewFaults(dynamotest.NewMemory(), nil)
			s := process(t, table)
			sequence(t, s, alloc.SequenceConfig{Limit: 7})
			lease(t, s, order(1))
			for _, start := range []alloc.Number{2, 5} { // the second takes all that is left
				table.Plan(dynamotest.Nth(n, anyCall, dynamotest.Repeated))
				r := lease(t, s, keyed(3, fmt.Sprint(start)))
				if r.Start != start || r.Len() != 3 || r.Replayed {
					t.Errorf("got %+v, want %d–%d", r, start, start+2)
				}
			}
		})
	}
}

func TestARepeatedIncrementAfterAnotherLeaseBurnsARangeAtMost(t *testing.T) {
	mem := dynamotest.NewMemory()
	other := process(t, mem)
	sequence(t, other, alloc.SequenceConfig{})
	var between alloc.Range
	table := dynamotest.Through(func(ctx context.Context, c dynamotest.Call) dynamotest.Answer {
		if c.Op == dynamotest.OpUpdate && c.Key().SK == "H" {
			c.Do(ctx, mem) // applied, its answer lost
			between = lease(t, other, order(3))
		}
		return c.Do(ctx, mem)
	})
	got := lease(t, process(t, table), order(3))
	if between.Start != 4 || got.Start != 7 {
		t.Errorf("got %d after %d, want 7 after 4", got.Start, between.Start)
	}
}

func TestAReadThatIsNotStrongProvesNothing(t *testing.T) {
	mem := dynamotest.NewMemory()
	stale := dynamotest.Through(func(ctx context.Context, c dynamotest.Call) dynamotest.Answer {
		if c.Op == dynamotest.OpQuery {
			return dynamotest.Answer{}
		}
		return c.Do(ctx, mem)
	})
	sequence(t, process(t, mem), alloc.SequenceConfig{})
	_, err := process(t, stale).Lease(t.Context(), order(1))
	refused(t, err, alloc.CodeUnavailable)
}

func TestALedgerRecordThatWasEditedIsNoProof(t *testing.T) {
	mem := dynamotest.NewMemory()
	s := process(t, mem)
	sequence(t, s, alloc.SequenceConfig{})
	r := lease(t, s, order(5))
	key := dynamo.Key{PK: "S#s#L", SK: fmt.Sprintf("%020d", r.Start)}
	if _, err := mem.Update(t.Context(), key, dynamo.Update{Remove: []string{"end"}}, dynamo.Exists("pk")); err != nil {
		t.Fatal(err)
	}
	_, err := s.Lease(t.Context(), order(1))
	refused(t, err, alloc.CodeSequenceStopped)
}

func TestAProofWalksPastAnyNumberOfLeasesThatWereCutOff(t *testing.T) {
	table := dynamotest.NewFaults(dynamotest.NewMemory(), nil)
	s := process(t, table)
	sequence(t, s, alloc.SequenceConfig{})
	lease(t, s, order(5))
	for range 100 {
		table.Plan(dynamotest.Nth(3, anyCall, dynamotest.LostRequest)) // the mark: the record stays unproven
		_, err := s.Lease(t.Context(), order(5))
		refused(t, err, alloc.CodeUnavailable)
	}
	table.Plan(nil)
	if r := lease(t, s, order(5)); r.Start != 506 {
		t.Errorf("got %d, want 506", r.Start)
	}
}

func TestLeasesThatWereCutOffHideNoProvenRange(t *testing.T) {
	for _, n := range []int{1, 7, 8, 9, 40} { // up to several pages of the walk
		table := dynamotest.NewFaults(dynamotest.NewMemory(), nil)
		s := process(t, table)
		sequence(t, s, alloc.SequenceConfig{})
		lease(t, s, order(1000))
		setCounter(t, table, 500)
		for range n {
			table.Plan(dynamotest.Nth(3, anyCall, dynamotest.LostRequest)) // the walk: the record stays
			_, err := process(t, table).Lease(t.Context(), order(5))
			refused(t, err, alloc.CodeUnavailable)
		}
		table.Plan(nil)
		_, err := process(t, table).Lease(t.Context(), order(5))
		refused(t, err, alloc.CodeSequenceStopped)
	}
}

func TestC44AndK10NCallersWithOneKeyGetOneRange(t *testing.T) {
	onTables(t, func(t *testing.T, table dynamo.Table) {
		sequence(t, process(t, table), alloc.SequenceConfig{})
		got := make([]alloc.Range, callers)
		errs := make([]error, callers)
		together(callers, func(i int) { got[i], errs[i] = process(t, table).Lease(t.Context(), keyed(3, "k")) })
		var first []alloc.Range
		for i, r := range got {
			refused(t, errs[i], "")
			if !r.Replayed {
				first = append(first, r)
			}
		}
		if len(first) != 1 {
			t.Fatalf("%d answers are said to be the first, want 1", len(first))
		}
		for _, r := range got {
			r.Replayed = false
			if diff := cmp.Diff(first[0], r); diff != "" {
				t.Errorf("-first +got:\n%s", diff)
			}
		}
		// The ledger knows of that one range alone: the others were marked unused.
		list, err := process(t, table).Leases(t.Context(), "s", alloc.MaxNumber+1, 100)
		refused(t, err, "")
		if diff := cmp.Diff([]alloc.LeaseRecord{record(first[0])}, list); diff != "" {
			t.Errorf("the ledger: -want +got:\n%s", diff)
		}
	})
}

func TestK08AndK24AReplayIsTheSameFromAnyProcessAndWhateverBecameOfTheSequence(t *testing.T) {
	for name, then := range map[string]func(t *testing.T, s *dynamo.Store, table dynamo.Table){
		"paused": func(t *testing.T, s *dynamo.Store, _ dynamo.Table) {
			_, err := s.SetSequenceState(t.Context(), "s", 0, alloc.SequencePaused)
			refused(t, err, "")
		},
		"exhausted": func(t *testing.T, s *dynamo.Store, _ dynamo.Table) { lease(t, s, order(5)) },
		"stopped": func(t *testing.T, s *dynamo.Store, table dynamo.Table) {
			setCounter(t, table, 1)
			_, err := s.Lease(t.Context(), order(1))
			refused(t, err, alloc.CodeSequenceStopped)
		},
	} {
		t.Run(name, func(t *testing.T) {
			onTables(t, func(t *testing.T, table dynamo.Table) {
				s := process(t, table)
				sequence(t, s, alloc.SequenceConfig{Limit: 10})
				first := lease(t, s, keyed(5, "k"))
				then(t, s, table)
				first.Replayed = true
				for _, s := range []*dynamo.Store{s, process(t, table)} {
					if diff := cmp.Diff(first, lease(t, s, keyed(5, "k"))); diff != "" {
						t.Errorf("-first +replay:\n%s", diff)
					}
					_, err := s.Lease(t.Context(), keyed(4, "k"))
					refused(t, err, alloc.CodeKeyMismatch)
				}
			})
		})
	}
}

// turns runs two leases, each on a process of its own, one call of the table at a time in the order given: 'a' or 'b'.
// What is left of one when its turns are over runs to its end.
func turns(t *testing.T, table dynamo.Table, schedule string, orders map[byte]alloc.LeaseOrder) []alloc.Range {
	t.Helper()
	var mu sync.Mutex
	var answered []alloc.Range
	permits := map[byte]chan struct{}{}
	waits := map[byte]chan struct{}{} // a value: it waits for its next turn; closed: it has ended
	for who, o := range orders {
		permit, wait := make(chan struct{}), make(chan struct{})
		permits[who], waits[who] = permit, wait
		s := process(t, dynamotest.Through(func(ctx context.Context, c dynamotest.Call) dynamotest.Answer {
			wait <- struct{}{}
			<-permit
			return c.Do(ctx, table)
		}))
		go func() {
			defer close(wait)
			r, err := s.Lease(context.WithoutCancel(t.Context()), o)
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				answered = append(answered, r)
			} else if alloc.CodeOf(err) != alloc.CodeSequenceStopped {
				t.Errorf("schedule %s: %c: %v", schedule, who, err)
			}
		}()
	}
	for i := range len(schedule) {
		if _, more := <-waits[schedule[i]]; more {
			permits[schedule[i]] <- struct{}{}
		}
	}
	for who, wait := range waits {
		for range wait {
			permits[who] <- struct{}{}
		}
	}
	return answered
}

func TestP02OfTwoOverlappingRangesAtMostOneIsAnsweredInEveryOrder(t *testing.T) {
	const each = 7 // a cold lease: head, counter, record, walk, mark; or after the walk: stop, removal
	var play func(schedule string, a, b int)
	play = func(schedule string, a, b int) {
		if a > 0 {
			play(schedule+"a", a-1, b)
		}
		if b > 0 {
			play(schedule+"b", a, b-1)
		}
		if a > 0 || b > 0 {
			return
		}
		mem := dynamotest.NewMemory()
		sequence(t, process(t, mem), alloc.SequenceConfig{})
		setCounter(t, mem, 10)
		lease(t, process(t, mem), order(5)) // 10–14 is a proven one that may hide what is below
		setCounter(t, mem, 1)
		reset := dynamotest.Through(func(ctx context.Context, c dynamotest.Call) dynamotest.Answer {
			got := c.Do(ctx, mem)
			if c.Op == dynamotest.OpUpdate && c.Update.Add != nil {
				setCounter(t, mem, 5) // right after each increment
			}
			return got
		})
		disjoint(t, turns(t, reset, schedule, map[byte]alloc.LeaseOrder{'a': order(20), 'b': order(4)}))
		if t.Failed() {
			t.Fatalf("schedule %s", schedule)
		}
	}
	play("", each, each)
}

func TestP02ACounterSetBackWhileALeaseIsInFlight(t *testing.T) {
	for n := range plainCalls + 1 { // before which call of the lease of 1–20 the rest happens
		t.Run(fmt.Sprintf("before call %d", n), func(t *testing.T) {
			mem := dynamotest.NewMemory()
			sequence(t, process(t, mem), alloc.SequenceConfig{})
			var answered []alloc.Range
			made := 0
			rest := func() {
				setCounter(t, mem, 10)
				for range 2 { // 10–14 and 15–19
					if r, err := process(t, mem).Lease(t.Context(), order(5)); err == nil {
						answered = append(answered, r)
					}
				}
			}
			slow := dynamotest.Through(func(ctx context.Context, c dynamotest.Call) dynamotest.Answer {
				if made++; made == n+2 { // the head is read before
					rest()
				}
				return c.Do(ctx, mem)
			})
			if r, err := process(t, slow).Lease(t.Context(), order(20)); err == nil {
				answered = append(answered, r)
			}
			if n == plainCalls {
				rest()
			}
			disjoint(t, answered)
			if len(answered) == 0 {
				t.Errorf("nobody got anything")
			}
		})
	}
}
