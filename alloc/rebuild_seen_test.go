package alloc_test

import (
	"context"
	"testing"
	"time"

	"idpool/alloc"
)

// While the ledger is being read there is no plan yet that tells two looks apart: what was reported does.
func TestWhatWasReportedWhileGatheringIsNotTakenBackUnseen(t *testing.T) {
	w := newWreck(t, alloc.SequenceConfig{})
	w.lease(100)
	plan := func(r alloc.RebuildRequest, seen ...alloc.RebuildSeen) (alloc.Rebuild, error) {
		// The time for reading is over before the deadline, at once.
		ctx, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		r.Sequence = orders
		return w.PlanRebuild(ctx, r, seen...)
	}
	first, err := plan(alloc.RebuildRequest{Reported: 5000, HasReported: true})
	if err != nil || first.Step != alloc.RebuildGathering {
		t.Fatalf("%s, %v; want it still gathering", first.Step, err)
	}
	if _, err := plan(alloc.RebuildRequest{Reported: 9000, HasReported: true}); err != nil {
		t.Fatal(err)
	}
	_, err = plan(alloc.RebuildRequest{Reported: 2000, HasReported: true, NoReported: true}, first.Seen())
	wantCode(t, err, alloc.CodePlanChanged)
	now := w.recorded()
	if now.Reported != 9000 {
		t.Errorf("reported is %d by now, want 9000", now.Reported)
	}
	if less, err := plan(alloc.RebuildRequest{Reported: 2000, HasReported: true, NoReported: true}, now.Seen()); err != nil || less.Reported != 2000 {
		t.Errorf("of what was seen: %d, %v", less.Reported, err)
	}
}
