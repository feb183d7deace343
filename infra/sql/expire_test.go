package sql

import (
	"fmt"
	"testing"
	"time"

	"idpool/alloc"
)

// Where there is no pool nobody sweeps, and records of keys must not pile up all the same.
func TestExpiredKeysGoWithNewOnes(t *testing.T) {
	const n, hour = 10, time.Hour
	for table, put := range map[string]func(s *Store, key string) error{
		"lease_keys": func(s *Store, key string) error {
			return second(s.Lease(t.Context(), alloc.LeaseOrder{Sequence: "q", Count: 1, Key: alloc.NewKey("c", "lease", "sequence/q", key)}))
		},
		"kept_keys": func(s *Store, key string) error {
			return second(s.OpenKey(t.Context(), *alloc.NewKey("c", "next", "sequence/q", key), alloc.NewToken(), []byte("1")))
		},
	} {
		t.Run(table, func(t *testing.T) {
			s, path, now := clocked(t)
			if _, _, err := s.CreateSequence(t.Context(), "q", alloc.SequenceConfig{}.WithDefaults()); err != nil {
				t.Fatal(err)
			}
			begin := *now
			for i := range n {
				if err := put(s, fmt.Sprint(i)); err != nil {
					t.Fatal(err)
				}
				*now = now.Add(hour)
			}
			there := func() int { return ask[int](t, path, `SELECT count(*) FROM `+table) }
			expired := func() int {
				return ask[int](t, path, `SELECT count(*) FROM `+table+` WHERE expires <= $1`, instant(*now))
			}
			if got := there(); got != n {
				t.Fatalf("within the retention: got %d records, want %d", got, n)
			}
			*now = begin.Add(alloc.KeyRetention + 6*hour) // those of 0 to 6 h have expired
			for i, want := range []int{7 - expireBeside, 0, 0} {
				if err := put(s, fmt.Sprint("new ", i)); err != nil {
					t.Fatal(err)
				}
				if got := expired(); got != want {
					t.Errorf("after %d new ones: got %d expired, want %d", i+1, got, want)
				}
			}
			if got, want := there(), n-7+3; got != want {
				t.Errorf("got %d records, want %d: what counts stays", got, want)
			}
		})
	}
}
