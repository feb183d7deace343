package dynamotest

import (
	"context"
	"testing"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// leaseOn leases and fails the test on an error.
func leaseOn(t *testing.T, s *dynamo.Store, n alloc.Count, key *alloc.Key) alloc.Range {
	t.Helper()
	r, err := s.Lease(t.Context(), alloc.LeaseOrder{Sequence: sequence, Count: n, By: "client", Key: key})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func createSequence(t *testing.T, table dynamo.Table) {
	t.Helper()
	if _, _, err := storeOn(t, table).CreateSequence(t.Context(), sequence, alloc.SequenceConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
}

func TestALeaseSurvivesAFaultAtEveryWrite(t *testing.T) {
	atEveryWrite(t, func(t *testing.T, a *attempt) {
		createSequence(t, a.mem)
		before := leaseOn(t, storeOn(t, a.mem), 10, nil)
		got, _ := again(t, a, func(ctx context.Context, s *dynamo.Store) (alloc.Range, error) {
			return s.Lease(ctx, alloc.LeaseOrder{Sequence: sequence, Count: 5, By: "client"})
		})
		after := leaseOn(t, storeOn(t, a.mem), 10, nil)
		if got.Len() != 5 || before.End >= got.Start || got.End >= after.Start {
			t.Errorf("the ranges are %+v, %+v and %+v", before, got, after)
		}
	})
}

func TestAKeyedLeaseSurvivesAFaultAtEveryWrite(t *testing.T) {
	key := alloc.NewKey("client", "lease", string(sequence), "key", "5")
	atEveryWrite(t, func(t *testing.T, a *attempt) {
		createSequence(t, a.mem)
		before := leaseOn(t, storeOn(t, a.mem), 10, nil)
		got, first := again(t, a, func(ctx context.Context, s *dynamo.Store) (alloc.Range, error) {
			return s.Lease(ctx, alloc.LeaseOrder{Sequence: sequence, Count: 5, By: "client", Key: key})
		})
		after := leaseOn(t, storeOn(t, a.mem), 10, nil)
		if got.Len() != 5 || before.End >= got.Start || got.End >= after.Start {
			t.Errorf("the ranges are %+v, %+v and %+v", before, got, after)
		}
		once := leaseOn(t, storeOn(t, a.mem), 5, key)
		if !once.Replayed || once.Start != got.Start || once.End != got.End || once.Token != got.Token || once.Epoch != got.Epoch {
			t.Errorf("a repeat (after %v) was answered %+v, and before %+v", first, once, got)
		}
	})
}

func TestTheCreationOfASequenceSurvivesAFaultAtEveryWrite(t *testing.T) {
	atEveryWrite(t, func(t *testing.T, a *attempt) {
		config := alloc.SequenceConfig{Start: 100}.WithDefaults()
		q, _ := again(t, a, func(ctx context.Context, s *dynamo.Store) (alloc.Sequence, error) {
			q, _, err := s.CreateSequence(ctx, sequence, config)
			return q, err
		})
		if q.Config != config || q.Next != 100 || q.State != alloc.SequenceActive {
			t.Errorf("created %+v", q)
		}
		if r := leaseOn(t, storeOn(t, a.mem), 1, nil); r.Start != 100 {
			t.Errorf("the first number is %d, want 100", r.Start)
		}
	})
}
