package dynamo_test

import (
	"testing"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// TestASequenceOfWhichLeasesAreLeftIsNoNewOne loses the counter and the catalogue's item of a sequence that has leased numbers.
func TestASequenceOfWhichLeasesAreLeftIsNoNewOne(t *testing.T) {
	b := newBench(t)
	s := b.open()
	config := alloc.SequenceConfig{Start: 1}.WithDefaults()
	if _, _, err := s.CreateSequence(t.Context(), "s", config); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Lease(t.Context(), alloc.LeaseOrder{Sequence: "s", Count: 10, By: "client"}); err != nil {
		t.Fatal(err)
	}
	for _, key := range []dynamo.Key{{PK: "S#s", SK: "H"}, {PK: "N#seq", SK: "s"}} {
		if b.mem.Item(key) == nil {
			t.Fatalf("there is no item %v", key)
		}
		b.mem.Drop(key)
	}
	_, err := b.open().Sequence(t.Context(), "s")
	refused(t, err, alloc.CodeSequenceStopped)
	for range 2 {
		_, _, err = b.open().CreateSequence(t.Context(), "s", config)
		refused(t, err, alloc.CodeSequenceStopped)
	}
	_, err = b.open().Lease(t.Context(), alloc.LeaseOrder{Sequence: "s", Count: 10, By: "client"})
	refused(t, err, alloc.CodeSequenceStopped)
}
