package alloc_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// Each source is asked, and the highest decides.
func TestThePlanIsAboveEverySource(t *testing.T) {
	for what, c := range map[string]struct {
		harm   func(w *wreck)
		asks   alloc.RebuildRequest
		source alloc.SourceKind
		last   alloc.Number
	}{
		"the counter": {func(w *wreck) { w.model.SetCounter(orders, 700) }, alloc.RebuildRequest{}, alloc.SourceCounter, 699},
		"the ledger": {func(w *wreck) {
			w.model.SetCounter(orders, 3)
			w.harm(alloctest.Damage{Kind: alloctest.LoseMark})
		}, alloc.RebuildRequest{}, alloc.SourceLedger, 100},
		"the mark": {func(w *wreck) { w.model.DropCounter(orders); w.cut() }, alloc.RebuildRequest{}, alloc.SourceMark, 100},
		"the samples": {func(w *wreck) {
			w.model.DropCounter(orders)
			w.cut()
			w.harm(alloctest.Damage{Kind: alloctest.LoseMark})
		}, alloc.RebuildRequest{}, alloc.SourceSamples, 100},
		"what is reported": {func(w *wreck) { w.model.DropCounter(orders) }, alloc.RebuildRequest{Reported: 4000, HasReported: true}, alloc.SourceReported, 4000},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWreck(t, alloc.SequenceConfig{})
			w.lease(100)
			w.tend() // a mark and a sample
			c.harm(w)
			p := w.plan(c.asks)
			if s := sourceOf(p, c.source); !s.Known || s.Last != c.last {
				t.Errorf("it says %+v, want %d", s, c.last)
			}
			if p.Plan.Floor != c.last+1 || p.Plan.Next != c.last+1001 {
				t.Errorf("the plan is %+v, want it above %d", p.Plan, c.last)
			}
			for _, s := range p.Sources {
				if s.Known && s.Last >= p.Plan.Floor {
					t.Errorf("the floor %d is not above %+v", p.Plan.Floor, s)
				}
			}
			w.apply(p.Plan.ID)
			w.resume(100, alloc.RebuildDone)
			w.lease(1)
		})
	}
}

// Where nothing but the counter is left, there is no plan, and nothing has changed.
func TestTheCounterAloneIsNoEvidence(t *testing.T) {
	for what, harm := range map[string]func(w *wreck){
		"the counter is there": func(*wreck) {},
		"it is lost too":       func(w *wreck) { w.model.DropCounter(orders) },
	} {
		t.Run(what, func(t *testing.T) {
			w := newWreck(t, alloc.SequenceConfig{})
			w.lease(100)
			w.cut()
			harm(w)
			_, before := w.model.Sequence(w.ctx, orders)
			_, err := w.PlanRebuild(w.ctx, alloc.RebuildRequest{Sequence: orders})
			wantCode(t, err, alloc.CodeNoEvidence)
			if _, after := w.model.Sequence(w.ctx, orders); alloc.CodeOf(before) != alloc.CodeOf(after) {
				t.Errorf("the sequence is read with %v, before it was %v", after, before)
			}
			if r, err := w.Rebuild(w.ctx, orders); err != nil || r.Step != alloc.RebuildCancelled {
				t.Errorf("the rebuild is %+v, %v, want it cancelled", r, err)
			}
			p := w.plan(alloc.RebuildRequest{Reported: 100, HasReported: true})
			if p.Plan.Floor != 101 {
				t.Errorf("the plan is %+v, want it above what was reported", p.Plan)
			}
		})
	}
}

// A sequence that never leased anything needs no evidence.
func TestASequenceThatNeverLeasedAnythingNeedsNoEvidence(t *testing.T) {
	for _, config := range []alloc.SequenceConfig{{}, {StartAtZero: true}, {Start: 500}} {
		w := newWreck(t, config)
		p := w.plan(alloc.RebuildRequest{})
		if start := config.WithDefaults().Start; p.Plan.Floor != start || p.Plan.Next != start+1000 {
			t.Errorf("of one that begins at %d: the plan is %+v", start, p.Plan)
		}
		w.apply(p.Plan.ID)
		w.resume(100, alloc.RebuildDone)
		w.lease(1)
	}
	w := newWreck(t, alloc.SequenceConfig{})
	w.model.DropCounter(orders)
	_, err := w.PlanRebuild(w.ctx, alloc.RebuildRequest{Sequence: orders})
	wantCode(t, err, alloc.CodeNoEvidence) // nothing shows that it leased nothing
}

// The highest entry of a ledger, where it cannot be read, is no evidence alone; how far it goes is taken to be as far as a lease may.
func TestAnEntryThatCannotBeReadIsNoEvidence(t *testing.T) {
	w := newWreck(t, alloc.SequenceConfig{MaxLease: 50})
	w.lease(30)
	w.lease(30)
	w.harm(alloctest.Damage{Kind: alloctest.DamageLease, Number: 31})
	w.model.DropCounter(orders)
	_, err := w.PlanRebuild(w.ctx, alloc.RebuildRequest{Sequence: orders})
	wantCode(t, err, alloc.CodeNoEvidence)
	p := w.plan(alloc.RebuildRequest{Reported: 60, HasReported: true})
	if l := p.Ledger; l.Damaged != 1 || l.Blind != 31 || l.Entries != 1 || l.Highest != 30 || p.Plan.Floor != 81 {
		t.Errorf("the ledger has %+v, the plan is %+v, want one that cannot be read, at 31, and the floor 81", l, p.Plan)
	}
	w.apply(p.Plan.ID)
	w.resume(100, alloc.RebuildDone)
	w.lease(1)
}

func TestAConfigurationThatIsLostIsAskedFor(t *testing.T) {
	w := newWreck(t, alloc.SequenceConfig{MaxLease: 500})
	w.lease(100)
	w.watch()
	w.model.DropCounter(orders)
	w.harm(alloctest.Damage{Kind: alloctest.LoseSequenceCopy})
	for _, config := range []alloc.SequenceConfig{{}, {Limit: 99}, {Start: 10, Limit: 5}, {PeriodOf: "invoices"}} {
		_, err := w.PlanRebuild(w.ctx, alloc.RebuildRequest{Sequence: orders, Config: config})
		wantCode(t, err, alloc.CodeInvalidConfig)
	}
	p := w.plan(alloc.RebuildRequest{Config: alloc.SequenceConfig{Limit: 5000, MaxLease: 7}})
	w.apply(p.Plan.ID)
	w.resume(100, alloc.RebuildDone)
	if q, err := w.Sequence(w.ctx, orders); err != nil || q.Config.Limit != 5000 || q.Config.MaxLease != 7 || q.Config.Segment != alloc.DefaultSegment {
		t.Errorf("the sequence is %+v, %v, want it as the request said", q, err)
	}
	w.lease(1)
}

// Where the copy is left, the configuration is that of the copy, whatever the request says; that it counts a period is kept.
func TestALostHeadIsMadeAnewOfItsCopy(t *testing.T) {
	const period = alloc.SequenceName("invoices.2038")
	w := newWreck(t, alloc.SequenceConfig{})
	config := alloc.SequenceConfig{MaxLease: 70, PeriodOf: "invoices"}.WithDefaults()
	if _, _, err := w.model.CreateSequence(w.ctx, period, config); err != nil {
		t.Fatal(err)
	}
	if _, err := w.model.Lease(w.ctx, alloc.LeaseOrder{Sequence: period, Count: 50, By: "c"}); err != nil {
		t.Fatal(err)
	}
	w.model.DropCounter(period)
	p, err := w.PlanRebuild(w.ctx, alloc.RebuildRequest{Sequence: period, Config: alloc.SequenceConfig{MaxLease: 5}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.ApplyRebuild(w.ctx, alloc.RebuildApproval{Sequence: period, Plan: p.Plan.ID}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.ResumeRebuild(w.ctx, period, 100); err != nil {
		t.Fatal(err)
	}
	if q, err := w.Sequence(w.ctx, period); err != nil || q.Config != config || q.Next != 1061 {
		t.Errorf("the sequence is %+v, %v, want the configuration of before", q, err)
	}
}

func TestWhatCannotBeAskedForIsRefused(t *testing.T) {
	w := newWreck(t, alloc.SequenceConfig{Limit: 5000})
	w.lease(100)
	for _, r := range []alloc.RebuildRequest{
		{Margin: -1}, {Margin: alloc.MaxMargin + 1}, {Reported: 5001, HasReported: true}, {Since: w.clock.Now().Add(time.Hour)}, {Why: " x"},
	} {
		r.Sequence = orders
		_, err := w.PlanRebuild(w.ctx, r)
		wantCode(t, err, alloc.CodeInvalidRequest)
	}
	for _, share := range []int{-1, 101} {
		_, err := w.ResumeRebuild(w.ctx, orders, share)
		wantCode(t, err, alloc.CodeInvalidRequest)
	}
	w.wantState(alloc.SequenceActive)
}

// What may have been leased after the point to which a backup was restored is left out: by the highest rate, doubled.
func TestTheWindowOfARestoreIsLeftOut(t *testing.T) {
	w := newWreck(t, alloc.SequenceConfig{MaxLease: 100, Segment: 5})
	for range 61 { // an hour at 6000 an hour
		w.lease(100)
		w.tend()
		w.clock.Advance(time.Minute)
	}
	since := w.clock.Now()
	w.clock.Advance(3 * time.Hour)
	p := w.plan(alloc.RebuildRequest{Since: since, Margin: 10})
	s := sourceOf(p, alloc.SourceWindow)
	if more := s.Last - 6100; !s.Known || more < 36_000 || more > 36_200 {
		t.Errorf("the window is %+v, want about 36,050 above 6100: three hours at 6000, doubled, and ten segments", s)
	}
	if p.Plan.Floor != s.Last+1 {
		t.Errorf("the plan is %+v, want it above the window", p.Plan)
	}

	quiet := newWreck(t, alloc.SequenceConfig{MaxLease: 5000})
	quiet.lease(10)
	p = quiet.plan(alloc.RebuildRequest{Since: quiet.clock.Now(), Margin: 10})
	if s := sourceOf(p, alloc.SourceWindow); s.Last != 5010 {
		t.Errorf("without a rate the window is %+v, want one lease of the greatest size above 10", s)
	}
}

// Up to the last number that there is, nothing wraps, nothing is below a source, and what is left can be leased.
func TestAPlanNeverWraps(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		near := rapid.Custom(func(rt *rapid.T) alloc.Number {
			base := rapid.SampledFrom([]alloc.Number{0, 100, 1_000_000, 1 << 53, alloc.MaxNumber - 3000, alloc.MaxNumber}).Draw(rt, "near")
			return min(base+alloc.Number(rapid.IntRange(0, 3000).Draw(rt, "above")), alloc.MaxNumber)
		})
		limit := max(near.Draw(rt, "limit"), 1)
		start := min(near.Draw(rt, "start"), limit)
		w := newWreckFor(t.Context(), rt, alloc.SequenceConfig{Start: start, StartAtZero: start == 0, Limit: limit, MaxLease: 100})
		left := alloc.Count(min(uint64(limit-start), 99)) + 1
		w.lease(left)
		w.watch()
		if rapid.Bool().Draw(rt, "lost") {
			w.model.DropCounter(orders)
		} else if rapid.Bool().Draw(rt, "set") {
			w.model.SetCounter(orders, min(max(near.Draw(rt, "counter"), start), limit+1))
		}
		asks := alloc.RebuildRequest{Margin: alloc.Count(rapid.SampledFrom([]int64{0, 1, 1000, int64(alloc.MaxMargin)}).Draw(rt, "margin"))}
		if rapid.Bool().Draw(rt, "reported") {
			asks.Reported, asks.HasReported = min(near.Draw(rt, "highest"), limit), true
		}
		if rapid.Bool().Draw(rt, "since") {
			asks.Since = w.clock.Now().Add(-time.Hour)
		}
		p := w.plan(asks)
		for _, s := range p.Sources {
			if s.Known && (s.Last >= p.Plan.Floor || s.Last > limit) {
				rt.Fatalf("the floor %d is not above %+v", p.Plan.Floor, s)
			}
		}
		switch {
		case p.Plan.Next < p.Plan.Floor, p.Plan.Next > limit+1, p.Plan.Burned < 0:
			rt.Fatalf("the plan is %+v, with the limit %d", p.Plan, limit)
		case p.Plan.Next <= limit && p.Plan.Next != p.Plan.Floor+alloc.Number(p.Margin):
			rt.Fatalf("the plan is %+v, want the margin of %d", p.Plan, p.Margin)
		}
		w.approve(alloc.RebuildApproval{Plan: p.Plan.ID, Exhausts: p.Exhausts()})
		w.resume(100, alloc.RebuildDone)
		r, err := w.Lease(w.ctx, alloc.LeaseRequest{Sequence: orders, Count: 1})
		switch {
		case err == nil && r.Start <= limit && r.Start >= p.Plan.Next:
			w.keep(r)
		case !alloc.Is(err, alloc.CodeSequenceExhausted) || p.Plan.Next+10 <= limit:
			rt.Fatalf("the lease after %+v is %+v, %v", p.Plan, r, err)
		}
	})
}
