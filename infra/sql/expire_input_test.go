package sql

import (
	"testing"
	"time"

	"idpool/alloc"
)

// numbers is a table n of as many numbers as the query's last parameter says.
const numbers = `WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < $1 - 1) `

// Pieces of input go in bounded amounts, and with the last of them the job that they belong to.
func TestInputsGoInBoundedAmounts(t *testing.T) {
	s, path, now := clocked(t)
	filled(t, s, "p", 1)
	if err := s.CreateJob(t.Context(), alloc.Job{ID: "j", State: alloc.JobReceiving, Created: *now, Updated: *now}); err != nil {
		t.Fatal(err)
	}
	edit(t, path, `INSERT INTO inputs (job, name, data) `+numbers+`SELECT 'j', n, x'00' FROM numbers`, 2*sweepBlobs+20)
	*now = now.Add(alloc.JobRetention)
	_, err := s.Input(t.Context(), "j", "0")
	wantCode(t, err, alloc.CodeJobNotFound)
	left := func() int {
		return ask[int](t, path, `SELECT (SELECT count(*) FROM inputs) + (SELECT count(*) FROM jobs)`)
	}
	for _, want := range []int{sweepBlobs + 21, 21, 0} {
		report, err := s.Sweep(t.Context(), "p")
		if err != nil || report.More != (want > 0) || left() != want {
			t.Fatalf("got %+v and %v, with %d rows left; want %d", report, err, left(), want)
		}
	}
}

// Samples go in bounded amounts, those of sequences with any pool's sweep; a new one is kept meanwhile.
func TestSamplesGoInBoundedAmounts(t *testing.T) {
	s, path, now := clocked(t)
	filled(t, s, "p", 1)
	old := minuteOf(now.Add(-alloc.SampleRetention))
	const count = 2*sweepRows + 20
	edit(t, path, `INSERT INTO pool_samples (pool, minute, at, available, used) `+numbers+`SELECT 1, $2 - 1 - n, 0, 0, 0 FROM numbers`, count, old)
	edit(t, path, `INSERT INTO sequence_samples (sequence, minute, at, available, used) `+numbers+`SELECT 'q', $2 - 1 - n, 0, 0, 0 FROM numbers`, count, old)
	for _, want := range []int{sweepRows + 20, 20, 0} {
		report, err := s.Sweep(t.Context(), "p")
		if err != nil || report.More != (want > 0) {
			t.Fatalf("got %+v and %v, want more to do for %d rows", report, err, want)
		}
		pools, sequences := ask[int](t, path, `SELECT count(*) FROM pool_samples`), ask[int](t, path, `SELECT count(*) FROM sequence_samples`)
		if pools != want+1 || sequences != want {
			t.Errorf("got %d and %d samples left, want %d and %d", pools, sequences, want+1, want)
		}
	}
	samples, err := s.PoolSamples(t.Context(), "p", time.Time{}, now.Add(time.Hour), 10)
	if want := (alloc.Sample{At: now.UTC(), Available: 1}); err != nil || len(samples) != 1 || samples[0] != want {
		t.Errorf("got %+v and %v, want %+v alone", samples, err, want)
	}
}
