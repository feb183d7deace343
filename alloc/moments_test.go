package alloc_test

import (
	"strings"
	"testing"
	"time"

	"idpool/alloc"
)

// A time that cannot be meant is refused wherever one is given: no Store is to make another of it.
func TestTimesThatCannotBeMeant(t *testing.T) {
	d := newDisaster(t)
	from := func(at, until time.Time) error {
		_, err := d.PoolSamples(d.ctx, pool, at, until, 1)
		return err
	}
	given := map[string]func(at time.Time) error{
		"log of a pool": func(at time.Time) error {
			_, err := d.LogTaken(d.ctx, alloc.LogRequest{Pool: pool, Since: at})
			return err
		},
		"log of a sequence": func(at time.Time) error {
			_, err := d.LogTaken(d.ctx, alloc.LogRequest{Sequence: sequence, Since: at})
			return err
		},
		"restore": func(at time.Time) error {
			_, err := d.Restore(d.ctx, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreBurn, Point: at})
			return err
		},
		"rebuild": func(at time.Time) error {
			_, err := d.PlanRebuild(d.ctx, alloc.RebuildRequest{Sequence: sequence, Since: at})
			return err
		},
		"samples from": func(at time.Time) error { return from(at, d.clock.Now()) },
	}
	for what, give := range given {
		for _, at := range []time.Time{time.Date(1, 5, 1, 0, 0, 0, 0, time.UTC), time.Date(1999, 12, 31, 23, 59, 59, 0, time.UTC), d.clock.Now().Add(time.Second), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)} {
			wantCode(t, give(at), alloc.CodeInvalidRequest)
		}
		if err := give(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)); err != nil && strings.Contains(err.Error(), "year 2000") {
			t.Errorf("%s: %v", what, err)
		}
	}
	wantCode(t, from(d.clock.Now(), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)), alloc.CodeInvalidRequest)
}

// The trail says truly how much a burning was asked to burn.
func TestTheTrailSaysWhatIsBurned(t *testing.T) {
	d := newDisaster(t)
	for atMost, want := range map[alloc.Count]string{0: ", all free IDs", 1: ", at most 1 free ID", 7: ", at most 7 free IDs"} {
		r := alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreBurn}
		if atMost > 0 {
			r.AtMost = &atMost
		}
		d.restore(t, r)
		if got := d.trail(t, "pool.restore")[0].Detail; !strings.HasSuffix(got, want) {
			t.Errorf("at most %d: the trail says %q, want %q", atMost, got, want)
		}
		d.clock.Advance(time.Second)
	}
}
