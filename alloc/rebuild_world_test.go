package alloc_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

const orders = alloc.SequenceName("orders")

// wreck is a Service over a model with the sequence "orders", which comes to harm, and all that was leased of it.
type wreck struct {
	*alloc.Service
	t      failer
	ctx    context.Context
	clock  *alloctest.Clock
	model  *alloctest.Model
	store  *alloctest.Faulty // between the Service and the model
	leased []alloc.Range

	fault func(alloctest.Call) alloctest.Fault // of everyCut
}

func newWreck(t testing.TB, config alloc.SequenceConfig) *wreck {
	t.Helper()
	return newWreckFor(t.Context(), t, config)
}

func newWreckFor(ctx context.Context, t failer, config alloc.SequenceConfig) *wreck {
	t.Helper()
	w := &wreck{t: t, ctx: asAdmin(ctx), clock: alloctest.NewClock()}
	w.model = alloctest.NewModel(w.clock.Now)
	w.store = alloctest.NewFaulty(w.model, nil)
	w.Service = w.another()
	if _, _, err := w.CreateSequence(w.ctx, orders, config); err != nil {
		t.Fatal(err)
	}
	return w
}

// another is a Service of another process.
func (w *wreck) another() *alloc.Service {
	w.t.Helper()
	s, err := alloc.NewService(alloc.Config{Store: w.store, Now: w.clock.Now})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// of is the context of an operator by the name.
func (w *wreck) of(name alloc.ClientID) context.Context { return as(w.ctx, name, alloc.AllScopes()...) }

// lease takes numbers, and fails the test where one of them was leased before.
func (w *wreck) lease(n alloc.Count) alloc.Range {
	w.t.Helper()
	r, err := w.Lease(w.ctx, alloc.LeaseRequest{Sequence: orders, Count: n})
	if err != nil {
		w.t.Fatal(err)
	}
	w.keep(r)
	return r
}

func (w *wreck) keep(r alloc.Range) {
	w.t.Helper()
	for _, before := range w.leased {
		if r.Start <= before.End && before.Start <= r.End {
			w.t.Fatalf("%d to %d was leased although %d to %d was", r.Start, r.End, before.Start, before.End)
		}
	}
	w.leased = append(w.leased, r)
}

// wantRefused fails the test unless a lease is refused with one of the codes.
func (w *wreck) wantRefused(codes ...alloc.Code) {
	w.t.Helper()
	if r, err := w.Lease(w.ctx, alloc.LeaseRequest{Sequence: orders, Count: 1}); !slices.Contains(codes, alloc.CodeOf(err)) {
		w.t.Fatalf("a lease gives %+v, %v, want %s", r, err, codes)
	}
}

func (w *wreck) wantState(want alloc.SequenceState) {
	w.t.Helper()
	e, err := w.model.Evidence(w.ctx, orders)
	if err != nil || e.Sequence.State != want {
		w.t.Fatalf("the sequence is %+v, %v, want it %s", e.Sequence, err, want)
	}
}

func (w *wreck) watch() {
	w.t.Helper()
	if _, err := w.model.Watch(w.ctx, orders); err != nil {
		w.t.Fatal(err)
	}
}

// tend is a run of the schedule.
func (w *wreck) tend() alloc.TendReport {
	w.t.Helper()
	r, err := w.Tend(alloc.AsSchedule(w.ctx))
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *wreck) harm(d alloctest.Damage) {
	w.t.Helper()
	d.Sequence = orders
	w.model.Damage(w.t.(testing.TB), d)
}

// cut loses the whole ledger.
func (w *wreck) cut() { w.harm(alloctest.Damage{Kind: alloctest.CutLedger}) }

func (w *wreck) plan(r alloc.RebuildRequest) alloc.Rebuild {
	w.t.Helper()
	r.Sequence = orders
	p, err := w.PlanRebuild(w.ctx, r)
	if err != nil || p.Step != alloc.RebuildPlanned {
		w.t.Fatalf("planned: %+v, %v", p, err)
	}
	return p
}

func (w *wreck) apply(plan string) alloc.Rebuild {
	w.t.Helper()
	return w.approve(alloc.RebuildApproval{Plan: plan})
}

func (w *wreck) approve(a alloc.RebuildApproval) alloc.Rebuild {
	w.t.Helper()
	a.Sequence = orders
	r, err := w.ApplyRebuild(w.ctx, a)
	if err != nil || r.Step != alloc.RebuildVerified {
		w.t.Fatalf("applied: %+v, %v", r, err)
	}
	return r
}

func (w *wreck) resume(share int, want alloc.RebuildStep) alloc.Rebuild {
	w.t.Helper()
	r, err := w.ResumeRebuild(w.ctx, orders, share)
	if err != nil || r.Step != want {
		w.t.Fatalf("resumed: %+v, %v, want it %s", r, err, want)
	}
	return r
}

// rebuild goes the whole way.
func (w *wreck) rebuild() alloc.Rebuild {
	w.t.Helper()
	w.apply(w.plan(alloc.RebuildRequest{}).Plan.ID)
	return w.resume(100, alloc.RebuildDone)
}

// sourceOf is what the source says in a plan.
func sourceOf(r alloc.Rebuild, kind alloc.SourceKind) alloc.Source {
	i := slices.IndexFunc(r.Sources, func(s alloc.Source) bool { return s.Kind == kind })
	if i < 0 {
		return alloc.Source{}
	}
	s := r.Sources[i]
	s.Note, s.At = "", time.Time{}
	return s
}

// actions is the steps of the trail, the oldest first.
func (w *wreck) actions() (actions []string) {
	w.t.Helper()
	records, err := w.model.Records(w.ctx, "", 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range slices.Backward(records) {
		actions = append(actions, string(r.Client)+" "+r.Action+" "+r.Result)
	}
	return actions
}
