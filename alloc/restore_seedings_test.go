package alloc_test

import (
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// newSeedingDisaster is a disaster of a pool into which a file was being seeded when the backup was made: its IDs were seeded, and taken, after the point.
func newSeedingDisaster(t testing.TB, policy alloc.Policy) (*disaster, alloc.JobID) {
	t.Helper()
	d := &disaster{mill: newMill(t, alloc.PoolConfig{Policy: policy, MaxBatch: 50}, "A-0"), taken: map[alloc.ID]alloc.IDRecord{}}
	j := d.file(t, alloc.SeedFormat{}, "B-0\nB-1\nB-2\n")
	d.start(t, j)
	d.clock.Advance(time.Minute)
	d.point = d.clock.Now()
	restore := d.model.Snapshot()
	d.clock.Advance(time.Minute)
	for steps := d.post.take(); len(steps) > 0; steps = d.post.take() {
		for _, step := range steps {
			if err := d.Work(d.ctx, step); err != nil {
				t.Fatal(err)
			}
		}
	}
	d.takeFree(t, 4)
	d.old = alloctest.NewModel(d.clock.Now)
	copyPool(t, d.model, d.old, alloc.PoolConfig{Policy: policy})
	restore()
	d.setState(t, alloc.PoolPaused)
	return d, j.ID
}

// A seeding that the backup has as not ended would go on by itself: a restore that does not know what of it was taken cancels it, whatever fails.
func TestASeedingThatTheBackupHasAsNotEndedIsCancelled(t *testing.T) {
	for what, c := range blindRestores {
		t.Run(what, func(t *testing.T) {
			d, id := newSeedingDisaster(t, c.policy)
			d.restore(t, c.request, d.logOf(t, c.request)...)
			d.setState(t, alloc.PoolActive)
			d.toTheEnd(t)
			wantActions(t, d.model, map[string]int{"pool.cancel-seed ok": 1})
			if j, err := d.model.Job(t.Context(), id); err != nil || j.State != alloc.JobCancelled {
				t.Errorf("the seeding is %+v, %v, want it cancelled", j, err)
			}
			d.wantNoneTwice(t)
		})
	}
	t.Run("whatever fails", func(t *testing.T) {
		everyFault(t, func(t *testing.T, plan func(*alloctest.Faulty)) {
			d, id := newSeedingDisaster(t, alloc.PolicyKeep)
			j, err := d.service(t).Restore(d.ctx, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreBurn, Point: d.point})
			if err != nil {
				t.Fatal(err)
			}
			for d.post.take() != nil { // words of the seeding, and of the restore: the schedule sends the latter again
			}
			d.clock.Advance(3 * time.Minute)
			plan(d.store)
			err = d.service(t).Work(d.ctx, alloc.Step{Job: j.ID, Version: j.Version})
			if err != nil && !alloctest.Injected(err) {
				t.Fatal(err)
			}
			d.store.SetPlan(nil)
			for range 5 {
				if j, err = d.model.Job(t.Context(), j.ID); err == nil && !j.State.Ended() {
					err = d.service(t).Work(d.ctx, alloc.Step{Job: j.ID, Version: j.Version})
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if j, err = d.model.Job(t.Context(), j.ID); err != nil || j.State != alloc.JobDone {
				t.Fatalf("the job is %+v, %v, want it done", j, err)
			}
			if j, err := d.model.Job(t.Context(), id); err != nil || j.State != alloc.JobCancelled {
				t.Errorf("the seeding is %+v, %v, want it cancelled", j, err)
			}
			d.setState(t, alloc.PoolActive)
			d.toTheEnd(t)
			d.wantNoneTwice(t)
		})
	})
}

// A restore that knows what was taken leaves a seeding to go on; a new one is refused while a restore is under way.
func TestASeedingBesideARestore(t *testing.T) {
	d, id := newSeedingDisaster(t, alloc.PolicyKeep)
	j, err := d.service(t).Restore(d.ctx, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreTable, Point: d.point})
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.service(t).OpenSeeding(d.ctx, alloc.SeedJobRequest{Pool: pool})
	wantCode(t, err, alloc.CodeRebuildStep)
	d.toTheEnd(t)
	for _, id := range []alloc.JobID{id, j.ID} {
		if j, err := d.model.Job(t.Context(), id); err != nil || j.State != alloc.JobDone {
			t.Errorf("the job is %+v, %v, want it done", j, err)
		}
	}
	d.wantNoneTwice(t)
	if _, err = d.service(t).OpenSeeding(d.ctx, alloc.SeedJobRequest{Pool: pool}); err != nil {
		t.Error(err)
	}
}
