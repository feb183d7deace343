package alloc_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// newForgetful is a disaster of a pool that forgets: of what was claimed after the backup the old table has nothing but what is held, and what a
// key still has. What was taken is in taken.
func newForgetful(t testing.TB) *disaster {
	t.Helper()
	var ids []alloc.ID
	for i := range 40 {
		ids = append(ids, alloc.ID(fmt.Sprintf("A-%02d", i)))
	}
	d := &disaster{mill: newMill(t, alloc.PoolConfig{Policy: alloc.PolicyForget}, ids...), taken: map[alloc.ID]alloc.IDRecord{}}
	take := func(c alloc.Claim) alloc.Claim {
		for _, id := range c.IDs {
			d.taken[id] = alloc.IDRecord{ID: id, State: c.State, Token: c.Token}
		}
		return c
	}
	keyed := func(key string, n alloc.Count) alloc.Claim {
		d.setState(t, alloc.PoolActive)
		c, err := d.model.Claim(t.Context(), alloc.ClaimOrder{Pool: pool, Count: n, By: "shop", Key: alloc.NewKey("shop", "claim", string(pool), key, "f")})
		if err != nil {
			t.Fatal(err)
		}
		return take(c)
	}
	before := take(d.claim(t, 6, alloc.MaxHold))
	released := keyed("released since", 2)
	d.clock.Advance(time.Hour)
	d.point = d.clock.Now()
	restore := d.model.Snapshot()
	d.clock.Advance(time.Minute)
	d.settle(t, alloc.EventConfirm, before, 0, 1)
	d.settle(t, alloc.EventRelease, before, 2)
	d.settle(t, alloc.EventRelease, released, 0, 1)
	d.sweep(t)
	take(d.claim(t, 32, 0)) // all of it, what has come back too, and forgotten at once
	d.clock.Advance(alloc.KeyRetention)
	d.sweep(t) // what was confirmed is forgotten
	d.setState(t, alloc.PoolActive)
	if _, err := d.model.Seed(t.Context(), alloc.SeedBatch{Pool: pool, Job: "after", IDs: []alloc.ID{"B-0", "B-1", "B-2"}}); err != nil {
		t.Fatal(err)
	}
	keyed("the last", 1)
	d.old = alloctest.NewModel(d.clock.Now)
	copyPool(t, d.model, d.old, alloc.PoolConfig{Policy: alloc.PolicyForget})
	restore()
	d.setState(t, alloc.PoolPaused)
	return d
}

// Nothing that was claimed of a pool that forgets is given again, whatever fails in its restore, and what was not is still to be had.
func TestARestoreOfAPoolThatForgets(t *testing.T) {
	everyFault(t, func(t *testing.T, plan func(*alloctest.Faulty)) {
		d := newForgetful(t)
		j, err := d.service(t).Restore(d.ctx, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreTable, Point: d.point})
		if err != nil {
			t.Fatal(err)
		}
		plan(d.store)
		d.toTheEnd(t)
		d.store.SetPlan(nil)
		if j, err = d.model.Job(t.Context(), j.ID); err != nil || j.State != alloc.JobDone || j.Tally.Conflict+j.Tally.Invalid > 0 || j.Tally.Burned == 0 {
			t.Fatalf("the job is %+v, %v, want it done", j, err)
		}
		free := d.states(t)[alloc.StateFree]
		d.wantNoneTwice(t)
		if free != 2 { // 40, of which all but two were claimed
			t.Errorf("%d are free, want 2: %v", free, d.states(t))
		}
		d.clock.Advance(2 * alloc.MaxHold)
		for id, r := range d.taken { // holds of before the backup end, of which some were confirmed and forgotten
			if r.State == alloc.StateHeld {
				if now, err := d.model.Inspect(t.Context(), pool, id); err == nil && now.State == alloc.StateHeld {
					delete(d.taken, id) // it was held to the end
				}
			}
		}
		d.wantNoneTwice(t)
	})
}

func TestAPoolThatForgetsHasNoLog(t *testing.T) {
	d := newForgetful(t)
	s := d.service(t)
	for what, ask := range map[string]func() error{
		"a log": func() error { _, err := s.LogTaken(d.ctx, alloc.LogRequest{Pool: pool}); return err },
		"a restore by one": func() error {
			_, err := s.Restore(d.ctx, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreLog, AtMost: none, Point: d.point})
			return err
		},
	} {
		if e := wantCode(t, ask(), alloc.CodeInvalidRequest); !strings.Contains(e.Message, "forgets") || !strings.Contains(e.Message, string(alloc.RestoreTable)) {
			t.Errorf("%s: %q", what, e.Message)
		}
	}
}

// A pool is restored while it is paused: a restore of another is refused, and a job that is on fails when somebody resumes it.
func TestARestoreNeedsAPausedPool(t *testing.T) {
	for _, source := range []alloc.RestoreSource{alloc.RestoreLog, alloc.RestoreTable, alloc.RestoreBurn} {
		for _, state := range []alloc.PoolState{alloc.PoolActive, alloc.PoolDraining} {
			d := newDisaster(t)
			s, r := d.service(t), alloc.RestoreRequest{Pool: pool, Source: source, Point: d.point}
			if source == alloc.RestoreLog {
				r.AtMost = none
			}
			d.setState(t, state)
			_, err := s.Restore(d.ctx, r)
			if e := wantCode(t, err, alloc.CodeRebuildStep); !strings.Contains(e.Message, "pause it") {
				t.Errorf("%s of a pool that is %s: %q", source, state, e.Message)
			}
			d.setState(t, alloc.PoolPaused)
			j, err := s.Restore(d.ctx, r)
			if err != nil {
				t.Fatal(err)
			}
			if source == alloc.RestoreLog {
				if _, _, err := s.ReceivePart(d.ctx, j.ID, 0, []byte(d.log(t, alloc.LogRequest{Pool: pool}))); err != nil {
					t.Fatal(err)
				}
				d.setState(t, state)
				_, err := s.StartJob(d.ctx, j.ID, 1)
				wantCode(t, err, alloc.CodeRebuildStep)
				d.setState(t, alloc.PoolPaused)
				if j, err = s.StartJob(d.ctx, j.ID, 1); err != nil {
					t.Fatal(err)
				}
			}
			before := d.ids(t)
			d.setState(t, state)
			err = s.Work(d.ctx, alloc.Step{Job: j.ID, Version: j.Version})
			wantCode(t, err, alloc.CodeRebuildStep)
			if j, err = s.Job(d.ctx, j.ID); err != nil || j.State != alloc.JobFailed || !strings.Contains(j.Failure, "pause it") {
				t.Errorf("%s of a pool that is %s: the job is %+v, %v, want it failed", source, state, j, err)
			}
			if after := d.ids(t); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("%s of a pool that is %s has changed it", source, state)
			}
		}
	}
}

// What somebody has taken since the restore, by a process that has not heard of the pause, and is forgotten in the old table, is told, and stays his.
func TestWhatIsForgottenAndTakenAgainIsTold(t *testing.T) {
	d := newForgetful(t)
	mine := d.claim(t, 4, time.Hour)
	j, lines := d.restore(t, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreTable})
	told := map[alloc.ID]bool{}
	for _, l := range lines {
		told[l.ID] = l.Outcome == alloc.CarryClash
	}
	for _, id := range mine.IDs {
		r, err := d.model.Inspect(t.Context(), pool, id)
		if _, was := d.taken[id]; !was || !told[id] || err != nil || r.State != alloc.StateClaimed || r.Token != mine.Token { // his hold is confirmed, so that it does not end for a third
			t.Errorf("%s was taken %t, told %t, and is %+v, %v; the job is %+v", id, was, told[id], r, err, j)
		}
	}
}
