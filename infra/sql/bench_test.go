package sql

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"idpool/alloc"
)

// fill seeds so many IDs more.
func fill(b *testing.B, s *Store, job string, n int) {
	b.Helper()
	for from := 0; from < n; from += alloc.MaxSeedIDs {
		batch := alloc.SeedBatch{Pool: "p", Job: alloc.JobID(job)}
		for i := from; i < min(n, from+alloc.MaxSeedIDs); i++ {
			batch.IDs = append(batch.IDs, alloc.ID(fmt.Sprintf("%s-%09d", job, i)))
		}
		if _, err := s.Seed(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
}

// claimAll lets so many claimers make b.N claims of one ID.
func claimAll(b *testing.B, s *Store, claimers int, order func(i int64) alloc.ClaimOrder) {
	b.Helper()
	var made atomic.Int64
	var all sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for range claimers {
		all.Go(func() {
			for i := made.Add(1); i <= int64(b.N); i = made.Add(1) {
				if _, err := s.Claim(b.Context(), order(i)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "claims/s")
}

func BenchmarkClaim(b *testing.B) {
	for _, claimers := range []int{1, 8, 32, 64} {
		for name, order := range map[string]func(int64) alloc.ClaimOrder{
			"plain": func(int64) alloc.ClaimOrder { return one("p") },
			"keyed": func(i int64) alloc.ClaimOrder { return keyed(1, fmt.Sprint(i)) },
		} {
			b.Run(fmt.Sprintf("%s/claimers=%d", name, claimers), func(b *testing.B) {
				s, _ := storeOn(b)
				filled(b, s, "p", 0)
				fill(b, s, "a", b.N)
				claimAll(b, s, claimers, order)
			})
		}
	}
}

// The cost of a claim does not depend on how many IDs there are, nor on how many are taken.
func BenchmarkClaimAt(b *testing.B) {
	for _, size := range []int{1_000, 200_000} {
		for _, used := range []int{1, 99} {
			b.Run(fmt.Sprintf("size=%d/used=%d%%", size, used), func(b *testing.B) {
				s, path := storeOn(b)
				filled(b, s, "p", 0)
				fill(b, s, "a", size)
				edit(b, path, `UPDATE ids SET state = 'claimed', token = 'bench' WHERE n <= $1`, size*used/100)
				fill(b, s, "more", b.N)
				claimAll(b, s, 8, func(int64) alloc.ClaimOrder { return one("p") })
			})
		}
	}
}

func BenchmarkLease(b *testing.B) {
	s, _ := storeOn(b)
	if _, _, err := s.CreateSequence(b.Context(), "q", alloc.SequenceConfig{}.WithDefaults()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Lease(b.Context(), alloc.LeaseOrder{Sequence: "q", Count: 1000, By: "bench"}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSeed(b *testing.B) {
	s, _ := storeOn(b)
	filled(b, s, "p", 0)
	n := 0
	for b.Loop() {
		fill(b, s, fmt.Sprint(n), alloc.MaxSeedIDs)
		n++
	}
	b.ReportMetric(float64(n*alloc.MaxSeedIDs)/b.Elapsed().Seconds(), "IDs/s")
}

func BenchmarkLevel(b *testing.B) {
	s, _ := storeOn(b)
	filled(b, s, "p", 1000)
	for b.Loop() {
		if _, err := s.Level(b.Context(), "p"); err != nil {
			b.Fatal(err)
		}
	}
}
