package sql

import (
	"testing"
	"time"

	"idpool/alloc"
)

// What was used of an hour is forgotten long after it, and then nothing more is given of it.
func TestOldHoursAreForgotten(t *testing.T) {
	s, path, now := clocked(t)
	hour := now.Truncate(time.Hour)
	take := func(of time.Time, n, want alloc.Count) {
		t.Helper()
		if got, err := s.TakeQuota(t.Context(), "c", of, n, 10); err != nil || got != want {
			t.Errorf("%d of %s: got %d and %v, want %d", n, of, got, err, want)
		}
	}
	take(hour.Add(-1000*time.Hour), 4, 4) // of a clock that is wrong: nothing was used before
	take(hour, 4, 4)
	take(hour.Add(-1000*time.Hour), 10, 0)
	*now = now.Add(quotaRetention - time.Hour)
	take(hour.Add(quotaRetention), 1, 1)
	take(hour, 10, 6)
	*now = now.Add(2 * time.Hour)
	take(hour.Add(quotaRetention), 1, 1)
	take(hour, 10, 0)
	take(hour.Add(quotaRetention), 10, 8)
	if got := ask[int](t, path, `SELECT count(*) FROM quotas`); got != 1 {
		t.Errorf("got %d hours kept, want 1", got)
	}
}
