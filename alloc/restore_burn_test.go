package alloc_test

import (
	"fmt"
	"strings"
	"testing"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// burned counts what is retired and has no owner, or was held, in the pool.
func (d *disaster) states(t testing.TB) map[alloc.State]int {
	t.Helper()
	n := map[alloc.State]int{}
	for _, r := range d.ids(t) {
		n[r.State]++
	}
	return n
}

func TestWhatMayHaveBeenTakenIsRetired(t *testing.T) {
	for _, c := range []struct {
		atMost      alloc.Count
		free, burnt int
	}{{0, 0, 37}, {5, 28, 9}, {33, 0, 37}, {1000, 0, 37}} {
		d := newDisaster(t) // of 40: 4 held, 3 claimed, 33 free
		r := alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreBurn}
		if c.atMost > 0 {
			r.AtMost = &c.atMost
		}
		j, lines := d.restore(t, r)
		got := d.states(t)
		if got[alloc.StateFree] != c.free || got[alloc.StateRetired] != c.burnt || got[alloc.StateClaimed] != 3 || got[alloc.StateHeld] != 0 {
			t.Errorf("at most %d: the pool has %v, want %d free and %d retired", c.atMost, got, c.free, c.burnt)
		}
		if int(j.Tally.Burned) != c.burnt || len(lines) > 0 {
			t.Errorf("at most %d: the job is %+v with %+v", c.atMost, j, lines)
		}
	}
}

// Those that would have been handed out first are retired first.
func TestABurnTakesWhatWasHandedOutNext(t *testing.T) {
	d := newDisaster(t)
	d.restore(t, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreBurn, AtMost: new(alloc.Count(11))})
	for id, r := range d.taken {
		now, err := d.model.Inspect(t.Context(), pool, id)
		if err != nil || now.State == alloc.StateFree && r.Generation == 0 {
			t.Errorf("%s was taken next, and is %+v, %v", id, now, err)
		}
	}
}

// However it is cut off, a restore ends with the same pool, by one job with one record of its end; a burn never takes more than was said.
func TestARestoreEndsWhateverFails(t *testing.T) {
	for _, source := range []alloc.RestoreSource{alloc.RestoreLog, alloc.RestoreTable, alloc.RestoreBurn} {
		t.Run(string(source), func(t *testing.T) {
			everyFault(t, func(t *testing.T, plan func(*alloctest.Faulty)) {
				d := newDisaster(t)
				r := alloc.RestoreRequest{Pool: pool, Source: source, Point: d.point}
				if source == alloc.RestoreBurn {
					r.AtMost = new(alloc.Count(5))
				}
				if source == alloc.RestoreLog {
					r.AtMost = none
				}
				s := d.service(t)
				j, err := s.Restore(d.ctx, r)
				if err != nil {
					t.Fatal(err)
				}
				if source == alloc.RestoreLog {
					if _, _, err := s.ReceivePart(d.ctx, j.ID, 0, []byte(d.log(t, alloc.LogRequest{Pool: pool}))); err != nil {
						t.Fatal(err)
					}
					if _, err := s.StartJob(d.ctx, j.ID, 1); err != nil {
						t.Fatal(err)
					}
				}
				plan(d.store)
				d.toTheEnd(t)
				d.store.SetPlan(nil)
				if j, err = d.model.Job(t.Context(), j.ID); err != nil || j.State != alloc.JobDone || j.Tally.Conflict+j.Tally.Invalid > 0 {
					t.Fatalf("the job is %+v, %v, want it done", j, err)
				}
				wantActions(t, d.model, map[string]int{"pool.done-restore ok": 1})
				if source != alloc.RestoreBurn {
					if j.Tally.Carried+j.Tally.Duplicate != j.Done {
						t.Errorf("the tally is %+v of %d", j.Tally, j.Done)
					}
					d.wantCarried(t)
					return
				}
				if got := d.states(t); got[alloc.StateRetired] != 9 || got[alloc.StateFree] != 28 || j.Tally.Burned != 9 {
					t.Errorf("the pool has %v, want 9 retired; the job is %+v", got, j)
				}
			})
		})
	}
}

// toTheEnd is the course of time, with another process each time that knows the old table.
func (d *disaster) toTheEnd(t testing.TB) {
	t.Helper()
	for range 10 {
		d.clock.Advance(3 * 60 * 1e9)
		s := d.service(t)
		if _, err := s.Tend(d.ctx); err != nil && !alloctest.Injected(err) {
			t.Fatal(err)
		}
		for _, step := range d.post.take() {
			if err := s.Work(d.ctx, step); err != nil && !alloctest.Injected(err) && !alloc.Is(err, alloc.CodeJobEnded) {
				t.Fatal(err)
			}
		}
	}
}

// IDs of which much is known are burned as well: fewer at once.
func TestABurnOfWhatHasLongTexts(t *testing.T) {
	d := newDisaster(t)
	var ids []alloc.ID
	for n := range 200 {
		ids = append(ids, alloc.ID(fmt.Sprintf("%03d%s", n, strings.Repeat("<", 253))))
	}
	if _, _, err := d.model.CreatePool(t.Context(), "long", alloc.PoolConfig{MaxBatch: 200}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	if _, err := d.model.Seed(t.Context(), alloc.SeedBatch{Pool: "long", Job: "long", IDs: ids}); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("<", 255)
	if _, err := d.model.Claim(t.Context(), alloc.ClaimOrder{Pool: "long", Count: 200, Hold: alloc.MaxHold, Owner: long, Metadata: map[string]string{"k": long}}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.model.SetPoolState(t.Context(), "long", 0, alloc.PoolPaused); err != nil {
		t.Fatal(err)
	}
	j, lines := d.restore(t, alloc.RestoreRequest{Pool: "long", Source: alloc.RestoreBurn})
	if j.Tally.Burned != 200 || len(lines) > 0 {
		t.Errorf("the job is %+v with %+v", j, lines)
	}
	for n := range 4 {
		list, err := d.model.Input(t.Context(), j.ID, fmt.Sprintf("own.%d", n))
		if err != nil || len(list) > alloc.MaxPartBytes {
			t.Errorf("list %d has %d bytes, %v, more than a Store takes", n, len(list), err)
		}
	}
	if r, err := d.model.Inspect(t.Context(), "long", ids[199]); err != nil || r.State != alloc.StateRetired || r.Owner != long || r.Metadata["k"] != long {
		t.Errorf("the last one is %+v, %v", r, err)
	}
}
