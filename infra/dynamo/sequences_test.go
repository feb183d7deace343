package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

func TestC21FiveHundredCallersOfASegmentOfTenGetDifferentNumbersAndNoError(t *testing.T) {
	onTables(t, func(t *testing.T, table dynamo.Table) {
		sequence(t, process(t, table), alloc.SequenceConfig{Segment: 10})
		ctx := alloc.WithCaller(t.Context(), alloc.Caller{Client: "tester", Scopes: alloc.AllScopes()})
		var services []*alloc.Service
		for range 3 {
			s, err := alloc.NewService(alloc.Config{Store: process(t, table)})
			if err != nil {
				t.Fatal(err)
			}
			services = append(services, s)
		}
		const n = 500
		got := make([][]alloc.Number, n)
		errs := make([]error, n)
		together(n, func(i int) {
			got[i], _, errs[i] = services[i%len(services)].Next(ctx, alloc.LeaseRequest{Sequence: "s", Count: 1})
		})
		seen := map[alloc.Number]bool{}
		for i, numbers := range got {
			refused(t, errs[i], "")
			if len(numbers) != 1 || seen[numbers[0]] {
				t.Fatalf("got %v, after %d others", numbers, len(seen))
			}
			seen[numbers[0]] = true
		}
	})
}

func TestC53ASequenceIsDeletedWhileALeaseIsInFlight(t *testing.T) {
	for n := range plainCalls {
		t.Run(fmt.Sprintf("before call %d", n), func(t *testing.T) {
			mem := dynamotest.NewMemory()
			other := process(t, mem)
			sequence(t, other, alloc.SequenceConfig{})
			var made int
			s := process(t, dynamotest.Through(func(ctx context.Context, c dynamotest.Call) dynamotest.Answer {
				if made++; made == n+2 { // the head is read before
					for _, to := range []alloc.SequenceState{alloc.SequencePaused, alloc.SequenceDeleted} {
						_, err := other.SetSequenceState(t.Context(), "s", 0, to)
						refused(t, err, "")
					}
				}
				return c.Do(ctx, mem)
			}))
			r, err := s.Lease(t.Context(), order(5))
			switch n {
			case 0:
				refused(t, err, alloc.CodeSequenceDeleted)
			default: // its numbers were taken before: it ends well
				refused(t, err, "")
				if r.Start != 1 || r.End != 5 {
					t.Errorf("got %d–%d, want 1–5", r.Start, r.End)
				}
			}
			_, err = s.Lease(t.Context(), order(5))
			refused(t, err, alloc.CodeSequenceDeleted)
			_, _, err = s.CreateSequence(t.Context(), "s", alloc.SequenceConfig{}.WithDefaults())
			refused(t, err, alloc.CodeSequenceDeleted)
			// Nor can it be made again where its tombstone is lost.
			_, err = mem.Delete(t.Context(), dynamo.Key{PK: "S#s", SK: "H"}, dynamo.Exists("pk"))
			refused(t, err, "")
			_, _, err = s.CreateSequence(t.Context(), "s", alloc.SequenceConfig{}.WithDefaults())
			refused(t, err, alloc.CodeSequenceDeleted)
		})
	}
}

func TestTheListPagesByNameAndShowsWhatIsThere(t *testing.T) {
	onTables(t, func(t *testing.T, table dynamo.Table) {
		s := process(t, table)
		var want []string
		for i := range 7 {
			name := alloc.SequenceName(fmt.Sprintf("s.%d", i))
			_, _, err := s.CreateSequence(t.Context(), name, alloc.SequenceConfig{}.WithDefaults())
			refused(t, err, "")
			want = append(want, string(name)+" active")
		}
		_, err := s.SetSequenceState(t.Context(), "s.3", 0, alloc.SequencePaused)
		refused(t, err, "")
		_, err = s.SetSequenceState(t.Context(), "s.3", 0, alloc.SequenceDeleted)
		refused(t, err, "")
		want[3] = "s.3 deleted"
		// One that is still being made is not there yet, and does not cut a page short.
		cut := dynamotest.NewFaults(table, dynamotest.Nth(1, anyCall, dynamotest.Refused))
		_, _, err = process(t, cut).CreateSequence(t.Context(), "s.1-half", alloc.SequenceConfig{}.WithDefaults())
		refused(t, err, alloc.CodeUnavailable)
		_, err = s.Sequence(t.Context(), "s.1-half")
		refused(t, err, alloc.CodeSequenceNotFound)
		for _, limit := range []int{1, 2, 3, 7, 100} {
			var got []string
			for after := alloc.SequenceName(""); ; {
				page, err := s.ListSequences(t.Context(), after, limit)
				refused(t, err, "")
				for _, q := range page {
					got, after = append(got, string(q.Name)+" "+string(q.State)), q.Name
				}
				if len(page) < limit {
					break
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("in pages of %d: -want +got:\n%s", limit, diff)
			}
		}
	})
}

func TestChangesOfConfigurationAtOnceAreMadeOneAfterTheOther(t *testing.T) {
	onTables(t, func(t *testing.T, table dynamo.Table) {
		sequence(t, process(t, table), alloc.SequenceConfig{})
		errs := make([]error, callers)
		together(callers, func(i int) {
			c := alloc.SequenceConfig{MaxLease: alloc.Count(1000 + i)}.WithDefaults()
			_, errs[i] = process(t, table).ChangeSequence(t.Context(), "s", 1, c)
		})
		changed := 0
		for _, err := range errs {
			if err == nil {
				changed++
				continue
			}
			e, ok := errors.AsType[*alloc.Error](err)
			if !ok || e.Code != alloc.CodeVersionMismatch || e.Current != 2 {
				t.Errorf("got %v, want a mismatch with version 2", err)
			}
		}
		if changed != 1 {
			t.Errorf("%d of %d changes of version 1 were made, want 1", changed, callers)
		}
	})
}

func TestALimitIsNeverLoweredBelowWhatIsLeasedMeanwhile(t *testing.T) {
	mem := dynamotest.NewMemory()
	other := process(t, mem)
	sequence(t, other, alloc.SequenceConfig{})
	s := process(t, dynamotest.Through(func(ctx context.Context, c dynamotest.Call) dynamotest.Answer {
		if c.Op == dynamotest.OpUpdate {
			lease(t, other, order(100)) // between the look at the position and the change
		}
		return c.Do(ctx, mem)
	}))
	_, err := s.ChangeSequence(t.Context(), "s", 1, alloc.SequenceConfig{Limit: 50}.WithDefaults())
	refused(t, err, alloc.CodeInvalidConfig)
}
