package alloc_test

import (
	"testing"

	"idpool/alloc"
)

// What a plan has left out stands in no ledger, and may have been handed out before a restore: a counter that is set back into it is
// noticed by the very next lease.
func TestWhatAPlanHasLeftOutIsNotGivenOutByACounterThatIsSetBackIntoIt(t *testing.T) {
	for share, step := range map[int]alloc.RebuildStep{1: alloc.RebuildResuming, 100: alloc.RebuildDone} {
		w := newWreck(t, alloc.SequenceConfig{})
		w.lease(10)
		r := w.plan(alloc.RebuildRequest{Why: "restored", Margin: 1000})
		w.apply(r.Plan.ID)
		w.resume(share, step)
		w.model.SetCounter(orders, r.Plan.Floor+500)
		w.wantRefused(alloc.CodeSequenceStopped, alloc.CodeSequenceResuming)
		if _, err := w.model.Watch(w.ctx, orders); err != nil {
			t.Fatal(err)
		}
		w.wantState(alloc.SequenceStopped)
	}
}
