package alloc_test

import (
	"testing"

	"idpool/alloc"
)

// While a pool is restored or rebuilt, no client adds IDs to it, in whatever way: beside a restore it may be what was handed out after the point. A restore beside
// a rebuild, and the reverse, wait for one another.
func TestWhoeverWritesIntoAPoolThatIsRestoredOrRebuilt(t *testing.T) {
	jobs := map[string]struct {
		code  alloc.Code
		begin func(*testing.T, *disaster) (alloc.Job, error)
	}{
		"a restore": {alloc.CodeRebuildStep, func(t *testing.T, d *disaster) (alloc.Job, error) {
			return d.service(t).Restore(d.ctx, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreTable, Point: d.point})
		}},
		"a rebuild": {alloc.CodePoolRebuilding, func(t *testing.T, d *disaster) (alloc.Job, error) {
			return d.service(t).RebuildPool(d.ctx, alloc.PoolRebuildRequest{Pool: pool, Why: "the table is restored"})
		}},
	}
	for what, writer := range map[string]struct {
		waits bool // it is taken, and goes on behind the other
		write func(*testing.T, *disaster, alloc.JobID) error
	}{
		"a seeding at once": {false, func(t *testing.T, d *disaster, _ alloc.JobID) error {
			_, err := d.service(t).Seed(d.ctx, alloc.SeedRequest{Pool: pool, Entries: []alloc.SeedEntry{{Line: 1, Raw: "new"}}})
			return err
		}},
		"a seeding by a file": {false, func(t *testing.T, d *disaster, _ alloc.JobID) error {
			_, err := d.service(t).OpenSeeding(d.ctx, alloc.SeedJobRequest{Pool: pool})
			return err
		}},
		"a seeding whose file has come before": {false, func(t *testing.T, d *disaster, file alloc.JobID) error {
			_, err := d.service(t).StartJob(d.ctx, file, 1)
			return err
		}},
		"another restore": {true, func(t *testing.T, d *disaster, _ alloc.JobID) error {
			_, err := d.service(t).Restore(d.ctx, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreBurn, Point: d.point, AtMost: new(alloc.Count(1))})
			return err
		}},
		"another rebuild": {true, func(t *testing.T, d *disaster, _ alloc.JobID) error {
			_, err := d.service(t).RebuildPool(d.ctx, alloc.PoolRebuildRequest{Pool: pool, Why: "again"})
			return err
		}},
	} {
		for on, job := range jobs {
			t.Run(what+" beside "+on, func(t *testing.T) {
				d := newDisaster(t)
				file := d.file(t, alloc.SeedFormat{}, "F-0\nF-1\n")
				j, err := job.begin(t, d)
				if err != nil {
					t.Fatal(err)
				}
				before := len(d.ids(t))
				err = writer.write(t, d, file.ID)
				if writer.waits {
					if err != nil {
						t.Fatal(err)
					}
				} else {
					wantCode(t, err, job.code)
				}
				if after := len(d.ids(t)); after != before {
					t.Errorf("the pool has %d IDs, and %d before", after, before)
				}
				d.toTheEnd(t)
				if j, err = d.model.Job(t.Context(), j.ID); err != nil || j.State != alloc.JobDone {
					t.Fatalf("the job is %+v, %v, want it done", j, err)
				}
				if err := writer.write(t, d, file.ID); err != nil {
					t.Errorf("after its end: %v", err)
				}
				d.toTheEnd(t)
				if on == "a restore" {
					d.wantNoneTwice(t)
				}
			})
		}
	}
}
