package alloc_test

import (
	"testing"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// A number from warm memory: no call of the Store, one allocation for the answer.
func BenchmarkNext(b *testing.B) {
	s := newService(b, alloctest.NewModel(nil))
	ctx := asAdmin(b.Context())
	if _, _, err := s.CreateSequence(ctx, "orders", alloc.SequenceConfig{Segment: alloc.MaxSegment}); err != nil {
		b.Fatal(err)
	}
	r := alloc.LeaseRequest{Sequence: "orders", Count: 1}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := s.Next(ctx, r); err != nil {
			b.Fatal(err)
		}
	}
}
