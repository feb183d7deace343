package alloc_test

import (
	"strings"
	"testing"

	"idpool/alloc"
)

// recorded is the rebuild as it is.
func (w *wreck) recorded() alloc.Rebuild {
	w.t.Helper()
	r, err := w.Rebuild(w.ctx, orders)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// What somebody has seen in use stays so until it is taken back: a request that knows nothing of it does not bring the numbers below it back.
func TestWhatWasReportedGoesDownOnlyWhereThatIsSaid(t *testing.T) {
	w := newWreck(t, alloc.SequenceConfig{})
	w.lease(100)
	refused := func(r alloc.RebuildRequest) {
		t.Helper()
		before := w.recorded()
		r.Sequence, r.HasReported = orders, true
		_, err := w.PlanRebuild(w.of("ben"), r)
		if e := wantCode(t, err, alloc.CodePlanChanged); !strings.Contains(e.Message, "5000") || !strings.Contains(e.Message, "null") {
			t.Errorf("the refusal does not say what to do: %s", e.Message)
		}
		if now := w.recorded(); now.Version != before.Version {
			t.Errorf("a request that was refused has changed the rebuild to %+v", now)
		}
	}
	first := w.plan(alloc.RebuildRequest{Reported: 5000, HasReported: true})
	refused(alloc.RebuildRequest{Reported: 2000})
	refused(alloc.RebuildRequest{Reported: 4999, Margin: 7})
	for _, r := range []alloc.RebuildRequest{{}, {Reported: 5000, HasReported: true}} {
		if same := w.plan(r); same.Plan != first.Plan {
			t.Errorf("%+v plans %+v, want %+v", r, same.Plan, first.Plan)
		}
	}
	w.apply(first.Plan.ID)
	refused(alloc.RebuildRequest{Reported: 2000, Replaces: first.Plan.ID})
	more := w.plan(alloc.RebuildRequest{Reported: 9000, HasReported: true, Replaces: first.Plan.ID})
	if more.Plan.Floor != 9001 {
		t.Errorf("a higher number plans %+v", more.Plan)
	}
	if less := w.plan(alloc.RebuildRequest{NoReported: true, Reported: 8000, HasReported: true}); less.Reported != 8000 || less.Plan.Floor != 8001 {
		t.Errorf("a number in the place of the one before plans %+v of %+v", less.Plan, less)
	}
	if _, err := w.CancelRebuild(w.ctx, orders); err != nil {
		t.Fatal(err)
	}
	if fresh := w.plan(alloc.RebuildRequest{Reported: 7000, HasReported: true}); fresh.Reported != 7000 || fresh.Plan.Floor < first.Plan.Next {
		t.Errorf("of another rebuild it plans %+v of %+v", fresh.Plan, fresh)
	}
}

// A plan that was asked for of one look at the rebuild is made as long as that look is right; the same request again is the same.
func TestAPlanIsOfTheRebuildThatWasSeen(t *testing.T) {
	w := newWreck(t, alloc.SequenceConfig{})
	w.lease(100)
	plan := func(r alloc.RebuildRequest, seen alloc.RebuildSeen) (alloc.Rebuild, error) {
		r.Sequence = orders
		return w.PlanRebuild(w.ctx, r, seen)
	}
	must := func(r alloc.Rebuild, err error) alloc.Rebuild {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	var none alloc.RebuildSeen
	mine := alloc.RebuildRequest{Reported: 5000, HasReported: true}
	first := must(plan(mine, none))
	if again := must(plan(mine, none)); again.Version != first.Version {
		t.Errorf("the same request again makes %+v of %+v", again, first)
	}
	for _, r := range []alloc.RebuildRequest{{Margin: 7}, {Reported: 2000, HasReported: true}, {Reported: 6000, HasReported: true}} {
		_, err := plan(r, none)
		wantCode(t, err, alloc.CodePlanChanged)
	}
	second := must(plan(alloc.RebuildRequest{Margin: 7}, first.Seen()))
	_, err := plan(alloc.RebuildRequest{Margin: 8}, first.Seen())
	wantCode(t, err, alloc.CodePlanChanged)
	w.apply(second.Plan.ID)
	w.resume(100, alloc.RebuildDone)
	_, err = plan(alloc.RebuildRequest{Margin: 9}, none)
	wantCode(t, err, alloc.CodePlanChanged)
	w.wantState(alloc.SequenceActive)
	third := must(plan(alloc.RebuildRequest{Margin: 9}, second.Seen()))
	_, err = plan(alloc.RebuildRequest{Margin: 10}, second.Seen())
	wantCode(t, err, alloc.CodePlanChanged)
	if now := w.recorded(); now.ID != third.ID || now.Margin != 9 {
		t.Errorf("the rebuild is %+v", now)
	}
}
