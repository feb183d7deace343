package sql

import (
	"testing"
	"time"

	"idpool/alloc"
)

// rebuildAttempts are all calls that change something for a rebuild, a restore or the trail.
func rebuildAttempts(t *testing.T) []attempt {
	at := time.Unix(1_800_000_000, 0).UTC()
	record := alloc.AuditRecord{ID: "r", At: at, Client: "c", Action: "a", Target: "t", Result: "ok"}
	leased := func(s *Store) {
		if _, err := s.Lease(t.Context(), alloc.LeaseOrder{Sequence: "q", Count: 10}); err != nil {
			t.Fatal(err)
		}
	}
	frozen := func(s *Store) {
		leased(s)
		if _, err := s.Freeze(t.Context(), "q", "r"); err != nil {
			t.Fatal(err)
		}
	}
	restart := alloc.RestartOrder{Sequence: "q", Rebuild: "r", From: 1, To: 2, Next: 100}
	rebuild := alloc.Rebuild{Sequence: "q", ID: "r", Change: "one", Step: alloc.RebuildPlanned, Started: at}
	taken := []alloc.IDRecord{
		{ID: "id-00001", State: alloc.StateClaimed, Token: "t", At: at},
		{ID: "new", State: alloc.StateHeld, Token: "t", At: at, HeldUntil: at.Add(time.Hour)},
	}
	return []attempt{
		{"record", func(s *Store) func() (any, error) {
			return func() (any, error) { return nil, s.Record(t.Context(), record) }
		}},
		{"intention", func(s *Store) func() (any, error) {
			return func() (any, error) { return nil, s.Intend(t.Context(), record) }
		}},
		{"record of an intention", func(s *Store) func() (any, error) {
			if err := s.Intend(t.Context(), record); err != nil {
				t.Fatal(err)
			}
			return func() (any, error) { return nil, s.Record(t.Context(), record) }
		}},
		{"watch", func(s *Store) func() (any, error) {
			leased(s)
			return func() (any, error) { return s.Watch(t.Context(), "q") }
		}},
		{"watch that stops", func(s *Store) func() (any, error) {
			leased(s)
			err := s.writer.do(t.Context(), func(t *tx) error {
				_, err := t.exec(`DELETE FROM counters`)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return func() (any, error) { return s.Watch(t.Context(), "q") }
		}},
		{"freeze", func(s *Store) func() (any, error) {
			leased(s)
			return func() (any, error) { return s.Freeze(t.Context(), "q", "r") }
		}},
		{"restart", func(s *Store) func() (any, error) {
			frozen(s)
			return func() (any, error) { return s.Restart(t.Context(), restart) }
		}},
		{"thaw for some", func(s *Store) func() (any, error) {
			frozen(s)
			return func() (any, error) { return s.Thaw(t.Context(), "q", "r", alloc.SequenceResuming, 10) }
		}},
		{"thaw", func(s *Store) func() (any, error) {
			frozen(s)
			return func() (any, error) { return s.Thaw(t.Context(), "q", "r", alloc.SequenceActive, 0) }
		}},
		{"rebuild", func(s *Store) func() (any, error) {
			return func() (any, error) { return s.ChangeRebuild(t.Context(), 0, rebuild) }
		}},
		{"rebuild that goes on", func(s *Store) func() (any, error) {
			if _, err := s.ChangeRebuild(t.Context(), 0, rebuild); err != nil {
				t.Fatal(err)
			}
			next := rebuild
			next.Change, next.Step = "two", alloc.RebuildApplied
			return func() (any, error) { return s.ChangeRebuild(t.Context(), 1, next) }
		}},
		{"rebuild of a pool", func(s *Store) func() (any, error) {
			claimed(t, s, keyed(3, "k"))
			return func() (any, error) { return s.RebuildPool(t.Context(), alloc.PoolRebuildOrder{Pool: "p", Job: "j"}) }
		}},
		{"carry", func(s *Store) func() (any, error) {
			return func() (any, error) {
				_, err := s.Carry(t.Context(), "p", time.Time{}, taken) // the repeat knows what was carried
				return nil, err
			}
		}},
		{"carry of leases", func(s *Store) func() (any, error) {
			leased(s)
			setSequence(t, s, alloc.SequencePaused)
			leases := []alloc.LeaseRecord{
				{Start: 1, End: 20, Token: "t", At: at, Epoch: 1, Proven: true}, {Start: 30, End: 40, Token: "t", At: at, Epoch: 1},
			}
			return func() (any, error) {
				_, err := s.CarryLeases(t.Context(), "q", leases) // the repeat enters none
				return nil, err
			}
		}},
	}
}
