package alloc_test

import (
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/alloc/generator"
)

// The counter of a period that began after the point is closed by every restore: also one that knows all IDs of its own pool knows nothing of the
// numbers that others have leased of it, another pool with the same generator or a client.
func TestTheNumbersOfAPeriodThatBeganAfterThePointAreNotLeasedAgain(t *testing.T) {
	const serials alloc.SequenceName = "serials"
	g := generator.Config{Kind: generator.Sequence, Sequence: string(serials), Format: "S-{yyyy}{mm}{dd}-{n}"}
	d := &disaster{mill: newMill(t, alloc.PoolConfig{MaxBatch: 50, Marks: alloc.Marks{Low: 5, Target: 10}, Generator: g}), taken: map[alloc.ID]alloc.IDRecord{}}
	if _, _, err := d.model.CreateSequence(t.Context(), serials, alloc.SequenceConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	d.tend(t)
	d.takeFree(t, 10)
	d.point = d.clock.Now()
	restore := d.model.Snapshot()
	d.clock.Advance(24 * time.Hour)
	d.tend(t)
	d.takeFree(t, 10)
	period := serials + alloc.SequenceName(d.clock.Now().Format(".2006-01-02"))
	client, err := d.model.Lease(t.Context(), alloc.LeaseOrder{Sequence: period, Count: 1000, By: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	d.old = alloctest.NewModel(d.clock.Now)
	copyPool(t, d.model, d.old, alloc.PoolConfig{})
	restore()

	d.setState(t, alloc.PoolPaused)
	if _, err := d.model.SetSequenceState(t.Context(), serials, 0, alloc.SequencePaused); err != nil {
		t.Fatal(err)
	}
	d.restore(t, alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreTable})
	if _, err := d.model.SetSequenceState(t.Context(), serials, 0, alloc.SequenceActive); err != nil { // restored and rebuilt as in step 3
		t.Fatal(err)
	}
	d.setState(t, alloc.PoolActive)
	for range 5 {
		d.clock.Advance(time.Minute)
		d.tend(t)
	}
	leases, _, err := d.model.WalkLedger(t.Context(), period, "", 1000)
	if alloc.Is(err, alloc.CodeSequenceNotFound) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range leases {
		if l.Start <= client.End {
			t.Errorf("%s: %d to %d are leased, of which a client was answered %d to %d", period, l.Start, l.End, client.Start, client.End)
		}
	}
}
