package alloc_test

import (
	"fmt"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// crowd is a pool of so many IDs, a fifth of them claimed, that is paused, with an old table of the same.
func crowd(t testing.TB, policy alloc.Policy, n int) *disaster {
	t.Helper()
	var ids []alloc.ID
	for i := range n {
		ids = append(ids, alloc.ID(fmt.Sprintf("C-%05d", i)))
	}
	d := &disaster{mill: newMill(t, alloc.PoolConfig{Policy: policy, MaxBatch: 1000}, ids...), taken: map[alloc.ID]alloc.IDRecord{}}
	d.point = d.clock.Now()
	d.clock.Advance(time.Hour)
	d.old = alloctest.NewModel(d.clock.Now)
	if _, _, err := d.old.CreatePool(t.Context(), pool, alloc.PoolConfig{Policy: policy, MaxBatch: 1000}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	if _, err := d.old.Seed(t.Context(), alloc.SeedBatch{Pool: pool, Job: "j", IDs: ids}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.old.Claim(t.Context(), alloc.ClaimOrder{Pool: pool, Count: alloc.Count(n / 5), By: "shop"}); err != nil {
		t.Fatal(err)
	}
	d.sweep(t)
	d.setState(t, alloc.PoolPaused)
	return d
}

// A restore says with each step how far it is, and does in a step as much as its time allows: of a pool that forgets too, where most of the IDs at which it looks
// stay as they are.
func TestARestoreSaysHowFarItIs(t *testing.T) {
	for _, c := range []struct {
		policy alloc.Policy
		source alloc.RestoreSource
		atMost *alloc.Count
		want   alloc.Count // looks
	}{
		{alloc.PolicyForget, alloc.RestoreTable, nil, 1800},
		{alloc.PolicyForget, alloc.RestoreBurn, nil, 1000},
		{alloc.PolicyKeep, alloc.RestoreTable, nil, 1000},
		{alloc.PolicyKeep, alloc.RestoreBurn, new(alloc.Count(300)), 300},
	} {
		t.Run(fmt.Sprintf("%s %s", c.policy, c.source), func(t *testing.T) {
			d := crowd(t, c.policy, 1000)
			j, err := d.service(t).Restore(d.ctx, alloc.RestoreRequest{Pool: pool, Source: c.source, Point: d.point, AtMost: c.atMost})
			if err != nil {
				t.Fatal(err)
			}
			steps, share := 0, 0.0
			d.store.SetPlan(func(call alloctest.Call) alloctest.Fault {
				if call.Method == "ChangeJob" {
					steps++
				}
				if call.Method == "Carry" {
					d.clock.Advance(time.Second)
				}
				return alloctest.Pass
			})
			for range 100 {
				if j.State.Ended() {
					break
				}
				if err := d.service(t).Work(d.ctx, alloc.Step{Job: j.ID, Version: j.Version}); err != nil {
					t.Fatal(err)
				}
				if j, err = d.model.Job(t.Context(), j.ID); err != nil {
					t.Fatal(err)
				}
				p := j.Progress()
				if p.Total == 0 || p.Done > p.Total || float64(p.Done)/float64(p.Total) < share || p.Estimated == j.State.Ended() {
					t.Errorf("the progress is %+v after %.2f", p, share)
				}
				share = float64(p.Done) / float64(p.Total)
			}
			if p := j.Progress(); j.State != alloc.JobDone || p.Done != c.want || p.Total != p.Done {
				t.Errorf("the job is %s with %+v, want it done with %d", j.State, p, c.want)
			}
			if steps == 0 || steps > 5 {
				t.Errorf("it took %d steps", steps)
			}
		})
	}
}
