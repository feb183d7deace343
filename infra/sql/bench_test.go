package sql

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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

// callAll lets so many callers make b.N calls.
func callAll(b *testing.B, callers int, call func(i int64) error) {
	b.Helper()
	var made atomic.Int64
	var all sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for range callers {
		all.Go(func() {
			for i := made.Add(1); i <= int64(b.N); i = made.Add(1) {
				if err := call(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

// claimAll lets so many claimers make b.N claims of one ID.
func claimAll(b *testing.B, s *Store, claimers int, order func(i int64) alloc.ClaimOrder) {
	b.Helper()
	callAll(b, claimers, func(i int64) error { return second(s.Claim(b.Context(), order(i))) })
}

func BenchmarkClaim(b *testing.B) {
	for _, claimers := range []int{1, 8, 32, 64} {
		for name, order := range map[string]func(int64) alloc.ClaimOrder{
			"plain": func(int64) alloc.ClaimOrder { return one("p") },
			"keyed": func(i int64) alloc.ClaimOrder { return keyed(1, fmt.Sprint(i)) },
			"hold":  func(i int64) alloc.ClaimOrder { return keyedHold(fmt.Sprint(i), time.Hour) },
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

// What a hold becomes, or a repeat of its claim, one ID a call.
func BenchmarkHeld(b *testing.B) {
	for name, call := range map[string]func(s *Store, i int64, c alloc.Claim) error{
		"confirm": func(s *Store, _ int64, c alloc.Claim) error { return settleOne(b, s, alloc.EventConfirm, c) },
		"release": func(s *Store, _ int64, c alloc.Claim) error { return settleOne(b, s, alloc.EventRelease, c) },
		"replay": func(s *Store, i int64, _ alloc.Claim) error {
			return second(s.Claim(b.Context(), keyedHold(fmt.Sprint(i), time.Hour)))
		},
	} {
		for _, callers := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("%s/callers=%d", name, callers), func(b *testing.B) {
				s, _ := storeOn(b)
				filled(b, s, "p", 0)
				fill(b, s, "a", b.N)
				held := make([]alloc.Claim, b.N+1)
				callAll(b, 64, func(i int64) (err error) {
					held[i], err = s.Claim(b.Context(), keyedHold(fmt.Sprint(i), time.Hour))
					return err
				})
				b.ResetTimer()
				b.StartTimer()
				callAll(b, callers, func(i int64) error { return call(s, i, held[i]) })
			})
		}
	}
}

func settleOne(b *testing.B, s *Store, e alloc.Event, c alloc.Claim) error {
	return second(s.Settle(b.Context(), alloc.SettleOrder{Pool: c.Pool, Event: e, IDs: c.IDs, Token: c.Token}))
}

// A sweep of as many due holds as it takes at once.
func BenchmarkSweep(b *testing.B) {
	now := time.Unix(1_800_000_000, 0)
	s := openAt(b, Config{Path: newFile(b), Now: func() time.Time { return now }})
	filled(b, s, "p", sweepRows)
	for b.Loop() {
		b.StopTimer()
		claimed(b, s, held("p", sweepRows, time.Minute))
		now = now.Add(time.Minute)
		b.StartTimer()
		if report, err := s.Sweep(b.Context(), "p"); err != nil || report.Returned != sweepRows {
			b.Fatalf("got %+v and %v, want %d returned", report, err, sweepRows)
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
