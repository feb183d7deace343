package dynamo_test

import (
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

// callers is N of the cases.
const callers = 50

// together runs f for 0 to n-1 at the same time.
func together(n int, f func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() { <-start; f(i) })
	}
	close(start)
	wg.Wait()
}

func TestC01NCallersGetNDifferentNumbers(t *testing.T) {
	onTables(t, func(t *testing.T, table dynamo.Table) {
		stores := []*dynamo.Store{process(t, table), process(t, table), process(t, table)}
		sequence(t, stores[0], alloc.SequenceConfig{})
		got := make([]alloc.Range, callers)
		errs := make([]error, callers)
		together(callers, func(i int) { got[i], errs[i] = stores[i%len(stores)].Lease(t.Context(), order(1)) })
		for _, err := range errs {
			refused(t, err, "")
		}
		disjoint(t, got)
		for _, r := range got {
			if r.Len() != 1 || r.End > callers {
				t.Errorf("got %d–%d, want one of 1 to %d", r.Start, r.End, callers)
			}
		}
	})
}

func TestC04TheFirstUseOfASequenceByNCallersAtOnceMakesOneSequence(t *testing.T) {
	onTables(t, func(t *testing.T, table dynamo.Table) {
		got := make([]alloc.Range, callers)
		errs := make([]error, callers)
		created := make([]bool, callers)
		together(callers, func(i int) {
			s := process(t, table)
			if _, created[i], errs[i] = s.CreateSequence(t.Context(), "s", alloc.SequenceConfig{}.WithDefaults()); errs[i] == nil {
				got[i], errs[i] = s.Lease(t.Context(), order(3))
			}
		})
		made := 0
		for i, err := range errs {
			refused(t, err, "")
			if created[i] {
				made++
			}
		}
		if made != 1 {
			t.Errorf("%d callers were told that they made it, want 1", made)
		}
		disjoint(t, got)
	})
}

func TestC05OfNCreatorsWithDifferentConfigurationsOneWins(t *testing.T) {
	onTables(t, func(t *testing.T, table dynamo.Table) {
		made := make([]alloc.Sequence, callers)
		errs := make([]error, callers)
		together(callers, func(i int) {
			c := alloc.SequenceConfig{Limit: alloc.Number(1000 + i)}.WithDefaults()
			made[i], _, errs[i] = process(t, table).CreateSequence(t.Context(), "s", c)
		})
		var winner *alloc.Sequence
		for i, err := range errs {
			switch {
			case err == nil && winner == nil:
				winner = &made[i]
			case err == nil:
				t.Errorf("two creators won")
			default:
				refused(t, err, alloc.CodeSequenceExists)
			}
		}
		got, err := process(t, table).Sequence(t.Context(), "s")
		refused(t, err, "")
		if diff := cmp.Diff(*winner, got); diff != "" {
			t.Errorf("-winner's +kept:\n%s", diff)
		}
	})
}

func TestC09AfterARestartTheNextRangeIsAboveAllLeasesAndTheLedgerShowsThem(t *testing.T) {
	onTables(t, func(t *testing.T, table dynamo.Table) {
		before := process(t, table)
		sequence(t, before, alloc.SequenceConfig{})
		first := lease(t, before, order(2000))
		second := lease(t, process(t, table), order(10))
		if first.End != 2000 || second.Start != 2001 {
			t.Errorf("got %d–%d, then %d–%d; want 1–2000, then from 2001", first.Start, first.End, second.Start, second.End)
		}
		got, err := before.Leases(t.Context(), "s", alloc.MaxNumber+1, 10)
		refused(t, err, "")
		want := []alloc.LeaseRecord{record(second), record(first)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the ledger: -want +got:\n%s", diff)
		}
		below, err := before.Leases(t.Context(), "s", second.Start, 10)
		refused(t, err, "")
		if diff := cmp.Diff(want[1:], below); diff != "" {
			t.Errorf("the ledger below %d: -want +got:\n%s", second.Start, diff)
		}
	})
}

func record(r alloc.Range) alloc.LeaseRecord {
	return alloc.LeaseRecord{Start: r.Start, End: r.End, Token: r.Token, By: "tester", At: r.At, Epoch: r.Epoch, Proven: true}
}

func TestC12ACounterSetBackByHandStopsTheSequenceBeforeItsFirstDuplicate(t *testing.T) {
	// The ranges leased before are 11–20 and 21–30.
	for name, next := range map[string]int64{
		"to the start of a range":     21,
		"into a range":                25,
		"to the last number":          30,
		"to the very beginning":       11,
		"below the first number":      5,
		"far below, across the start": -3,
	} {
		t.Run(name, func(t *testing.T) {
			onTables(t, func(t *testing.T, table dynamo.Table) {
				s := process(t, table)
				sequence(t, s, alloc.SequenceConfig{Start: 11})
				lease(t, s, order(10))
				lease(t, s, order(10))
				setCounter(t, table, next)
				for _, s := range []*dynamo.Store{s, process(t, table)} {
					_, err := s.Lease(t.Context(), order(10))
					refused(t, err, alloc.CodeSequenceStopped)
				}
				// It stays so, also where the next range would be a free one.
				setCounter(t, table, 1000)
				_, err := s.Lease(t.Context(), order(1))
				refused(t, err, alloc.CodeSequenceStopped)
				_, err = s.SetSequenceState(t.Context(), "s", 0, alloc.SequenceActive)
				refused(t, err, alloc.CodeSequenceStopped)
				q, err := s.Sequence(t.Context(), "s")
				refused(t, err, "")
				if q.State != alloc.SequenceStopped {
					t.Errorf("its state is %s, want stopped", q.State)
				}
			})
		})
	}
}

func TestC12ARangeThatSwallowsAnOlderOneIsSeen(t *testing.T) {
	onTables(t, func(t *testing.T, table dynamo.Table) {
		s := process(t, table)
		sequence(t, s, alloc.SequenceConfig{})
		setCounter(t, table, 500)
		lease(t, s, order(5)) // 500–504
		setCounter(t, table, 1)
		cold := process(t, table)  // the other one knows that the counter was higher
		lease(t, cold, order(100)) // 1–100: free
		_, err := cold.Lease(t.Context(), order(1000))
		refused(t, err, alloc.CodeSequenceStopped)
	})
}

func TestC13ALostCounterIsAnErrorAndNoNewBeginning(t *testing.T) {
	onTables(t, func(t *testing.T, table dynamo.Table) {
		warm := process(t, table)
		sequence(t, warm, alloc.SequenceConfig{})
		lease(t, warm, order(10))
		if _, err := table.Delete(t.Context(), dynamo.Key{PK: "S#s", SK: "H"}, dynamo.Exists("pk")); err != nil {
			t.Fatal(err)
		}
		for name, s := range map[string]*dynamo.Store{"warm": warm, "cold": process(t, table)} {
			_, err := s.Lease(t.Context(), order(1))
			refused(t, err, alloc.CodeSequenceStopped)
			_, _, err = s.CreateSequence(t.Context(), "s", alloc.SequenceConfig{}.WithDefaults())
			refused(t, err, alloc.CodeSequenceStopped)
			_, err = s.Sequence(t.Context(), "s")
			refused(t, err, alloc.CodeSequenceStopped)
			_, err = s.ChangeSequence(t.Context(), "s", 1, alloc.SequenceConfig{}.WithDefaults())
			refused(t, err, alloc.CodeSequenceStopped)
			list, err := s.ListSequences(t.Context(), "", 10)
			refused(t, err, "")
			if len(list) != 1 || list[0].State != alloc.SequenceStopped {
				t.Errorf("%s: listed as %+v, want stopped", name, list)
			}
		}
	})
}

func TestC13ADamagedCounterIsAsBadAsALostOne(t *testing.T) {
	onTables(t, func(t *testing.T, table dynamo.Table) {
		sequence(t, process(t, table), alloc.SequenceConfig{})
		_, err := table.Update(t.Context(), dynamo.Key{PK: "S#s", SK: "H"}, dynamo.Update{Remove: []string{"last"}}, dynamo.Exists("pk"))
		refused(t, err, "")
		_, err = process(t, table).Lease(t.Context(), order(1))
		refused(t, err, alloc.CodeSequenceStopped)
	})
}

func TestACreationThatWasCutOffGoesOn(t *testing.T) {
	onTables(t, func(t *testing.T, table dynamo.Table) {
		for n := range 5 { // of the entry, the looks at the ledger and the high-water mark, the head, the mark of the catalogue
			name := alloc.SequenceName(string(rune('a' + n)))
			cut := dynamotest.NewFaults(table, nil)
			cut.Plan(dynamotest.Nth(n, func(dynamotest.Call) bool { return true }, dynamotest.AppliedButFailed))
			_, _, err := process(t, cut).CreateSequence(t.Context(), name, alloc.SequenceConfig{}.WithDefaults())
			refused(t, err, alloc.CodeUnavailable)
			_, _, err = process(t, table).CreateSequence(t.Context(), name, alloc.SequenceConfig{}.WithDefaults())
			refused(t, err, "")
			r, err := process(t, table).Lease(t.Context(), alloc.LeaseOrder{Sequence: name, Count: 1})
			refused(t, err, "")
			if r.Start != 1 {
				t.Errorf("cut off at call %d: begins at %d, want 1", n, r.Start)
			}
		}
	})
}

func TestACreationCutOffAfterItsHeadDoesNotBeginAnewWhenThatIsLost(t *testing.T) {
	onTables(t, func(t *testing.T, table dynamo.Table) {
		cut := dynamotest.NewFaults(table, nil)
		cut.Plan(dynamotest.Nth(4, func(dynamotest.Call) bool { return true }, dynamotest.Refused)) // the mark of the catalogue
		_, _, err := process(t, cut).CreateSequence(t.Context(), "s", alloc.SequenceConfig{}.WithDefaults())
		refused(t, err, alloc.CodeUnavailable)
		lease(t, process(t, table), order(10))
		_, err = table.Delete(t.Context(), dynamo.Key{PK: "S#s", SK: "H"}, dynamo.Exists("pk"))
		refused(t, err, "")
		_, _, err = process(t, table).CreateSequence(t.Context(), "s", alloc.SequenceConfig{}.WithDefaults())
		refused(t, err, alloc.CodeSequenceStopped)
	})
}

func TestC22ACountOutsideTheRangeIsRefused(t *testing.T) {
	onTables(t, func(t *testing.T, table dynamo.Table) {
		s := process(t, table)
		sequence(t, s, alloc.SequenceConfig{MaxLease: 1000})
		lease(t, s, order(1000))
		for _, n := range []alloc.Count{0, -1, 1001, 1_000_000_000, math.MinInt64, math.MaxInt64} {
			_, err := s.Lease(t.Context(), order(n))
			refused(t, err, alloc.CodeInvalidCount)
		}
		if next := lease(t, s, order(1)); next.Start != 1001 {
			t.Errorf("the refusals took numbers: next is %d, want 1001", next.Start)
		}
	})
}

func TestC25AConfigurationThatCannotWorkIsRefused(t *testing.T) {
	for _, c := range []alloc.SequenceConfig{
		{MaxLease: -1}, {Segment: -1}, {Start: 10, Limit: 9}, {Limit: alloc.MaxNumber + 1}, {MaxLease: alloc.MaxLeaseLimit + 1},
	} {
		refused(t, c.WithDefaults().Check(), alloc.CodeInvalidConfig)
	}
}

func TestC28ALeaseAtTheEndOfTheNumbersNeverWraps(t *testing.T) {
	for name, limit := range map[string]alloc.Number{
		"2^31-1": math.MaxInt32, "2^53-1": 1<<53 - 1, "2^63-1": math.MaxInt64,
	} {
		t.Run(name, func(t *testing.T) {
			onTables(t, func(t *testing.T, table dynamo.Table) {
				s := process(t, table)
				sequence(t, s, alloc.SequenceConfig{Start: limit - 9, Limit: limit})
				if r := lease(t, s, order(7)); r.End != limit-3 {
					t.Fatalf("got %d–%d, want up to %d", r.Start, r.End, limit-3)
				}
				_, err := s.Lease(t.Context(), order(4))
				refused(t, err, alloc.CodeSequenceExhausted)
				if e, _ := errors.AsType[*alloc.Error](err); e.Remaining != 3 || e.Unknown {
					t.Errorf("remaining %d, unknown %v; want 3, false", e.Remaining, e.Unknown)
				}
				if r := lease(t, s, order(3)); r.Start != limit-2 || r.End != limit {
					t.Fatalf("the last numbers are %d–%d, want %d–%d", r.Start, r.End, limit-2, limit)
				}
				for range 2 {
					_, err = s.Lease(t.Context(), order(1))
					refused(t, err, alloc.CodeSequenceExhausted)
				}
				q, err := process(t, table).Sequence(t.Context(), "s")
				refused(t, err, "")
				if q.Next != limit+1 || q.Remaining() != 0 {
					t.Errorf("next %d, remaining %d; want %d, 0", q.Next, q.Remaining(), limit+1)
				}
			})
		})
	}
}

func TestASequenceMayBeginAtZeroAndHoldOneNumber(t *testing.T) {
	onTables(t, func(t *testing.T, table dynamo.Table) {
		s := process(t, table)
		if _, _, err := s.CreateSequence(t.Context(), "s", alloc.SequenceConfig{StartAtZero: true, Limit: 1, MaxLease: 2, Segment: 1}); err != nil {
			t.Fatal(err)
		}
		if r := lease(t, s, order(2)); r.Start != 0 || r.End != 1 {
			t.Errorf("got %d–%d, want 0–1", r.Start, r.End)
		}
		_, err := s.Lease(t.Context(), order(1))
		refused(t, err, alloc.CodeSequenceExhausted)
	})
}

func TestAPauseAndARaisedLimitHoldAtOnceInEveryProcess(t *testing.T) {
	onTables(t, func(t *testing.T, table dynamo.Table) {
		warm, other := process(t, table), process(t, table)
		sequence(t, warm, alloc.SequenceConfig{Limit: 10})
		lease(t, warm, order(10))
		_, err := other.ChangeSequence(t.Context(), "s", 1, alloc.SequenceConfig{Limit: 20}.WithDefaults())
		refused(t, err, "")
		if r := lease(t, warm, order(5)); r.Start != 11 {
			t.Errorf("got %d, want 11", r.Start)
		}
		_, err = other.SetSequenceState(t.Context(), "s", 0, alloc.SequencePaused)
		refused(t, err, "")
		_, err = warm.Lease(t.Context(), order(1))
		refused(t, err, alloc.CodeSequencePaused)
		_, err = other.SetSequenceState(t.Context(), "s", 0, alloc.SequenceActive)
		refused(t, err, "")
		lease(t, warm, order(1))
		for _, to := range []alloc.SequenceState{alloc.SequencePaused, alloc.SequenceDeleted} {
			_, err = other.SetSequenceState(t.Context(), "s", 0, to)
			refused(t, err, "")
		}
		_, err = warm.Lease(t.Context(), order(1))
		refused(t, err, alloc.CodeSequenceDeleted)
	})
}

func TestK20AnExpiredKeyIsAnAbsentOne(t *testing.T) {
	onTables(t, func(t *testing.T, table dynamo.Table) {
		born := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		at := func(d time.Duration) *dynamo.Store {
			return processAt(t, table, func() time.Time { return born.Add(d) })
		}
		sequence(t, at(0), alloc.SequenceConfig{})
		first := lease(t, at(0), keyed(5, "k"))
		replay := lease(t, at(alloc.KeyRetention-time.Second), keyed(5, "k"))
		first.Replayed = true
		if diff := cmp.Diff(first, replay); diff != "" {
			t.Errorf("a second before expiry: -first +replay:\n%s", diff)
		}
		for _, d := range []time.Duration{0, time.Second} {
			again := lease(t, at(alloc.KeyRetention+d), keyed(5, "k"))
			if d == 0 && (again.Replayed || again.Start != 6) {
				t.Errorf("at expiry: got %+v, want a new range", again)
			}
		}
	})
}
