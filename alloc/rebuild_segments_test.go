package alloc_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// C11: a process that holds numbers of before a rebuild gives out none that the rebuilt sequence gives to others, and none of them at all once it
// has heard of the rebuild, within 30 seconds.
func TestMemoryFromBeforeARebuildClashesWithNothing(t *testing.T) {
	for what, harm := range map[string]func(w *wreck){
		"lost":    func(w *wreck) { w.model.DropCounter(orders) },
		"behind":  func(w *wreck) { w.model.SetCounter(orders, 5) },
		"healthy": func(*wreck) {},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWreck(t, alloc.SequenceConfig{Segment: 500})
				seen := map[alloc.Number]bool{}
				take := func(s *alloc.Service) alloc.Number {
					t.Helper()
					numbers, _, err := s.Next(w.ctx, alloc.LeaseRequest{Sequence: orders, Count: 1})
					if err != nil {
						t.Fatal(err)
					}
					if seen[numbers[0]] {
						t.Fatalf("%d was given twice", numbers[0])
					}
					seen[numbers[0]] = true
					return numbers[0]
				}
				sleeper := w.another()
				take(sleeper)
				take(w.Service)
				w.watch()
				harm(w)
				w.rebuild()
				for range 100 {
					if n := take(w.Service); n <= 1000 {
						t.Fatalf("the process that rebuilt gives %d of before", n)
					}
					if n := take(sleeper); n > 500 {
						t.Fatalf("the sleeper gives %d, want what it has in memory: it has not heard yet", n)
					}
				}
				w.clock.Advance(31 * time.Second)
				if n := take(sleeper); n <= 1000 {
					t.Errorf("after 30 seconds the sleeper gives %d of before", n)
				}
			})
		})
	}
}

// A frozen sequence gives nothing out of memory either, once it is known to be frozen, and the callers hear to come again.
func TestNextOfASequenceThatIsBeingRebuilt(t *testing.T) {
	w := newWreck(t, alloc.SequenceConfig{Segment: 10})
	next := func(s *alloc.Service, by alloc.ClientID) (alloc.Number, error) {
		numbers, _, err := s.Next(w.of(by), alloc.LeaseRequest{Sequence: orders, Count: 1})
		if err != nil {
			return 0, err
		}
		return numbers[0], nil
	}
	if _, err := next(w.Service, "c"); err != nil {
		t.Fatal(err)
	}
	p := w.plan(alloc.RebuildRequest{})
	_, err := next(w.Service, "c")
	if e := wantCode(t, err, alloc.CodeSequenceRebuilding); e.RetryAfter == 0 {
		t.Error("it does not say when to come again")
	}
	w.apply(p.Plan.ID)
	w.resume(50, alloc.RebuildResuming)

	// The same callers all the time, in every process, with a call of the Store and without one.
	served, other := map[alloc.ClientID]bool{}, w.another()
	for _, s := range []*alloc.Service{w.Service, other, w.Service} {
		n := 0
		for i := range 100 {
			by := alloc.ClientID(fmt.Sprintf("client-%d", i))
			got, err := next(s, by)
			if err != nil {
				wantCode(t, err, alloc.CodeSequenceResuming)
			} else if n++; got <= 1000 {
				t.Fatalf("%s got %d, of before", by, got)
			}
			if was, known := served[by]; known && was != (err == nil) {
				t.Fatalf("%s: %v, and before it was served: %t", by, err, was)
			}
			served[by] = err == nil
		}
		if n < 30 || n > 70 {
			t.Errorf("%d of 100 are served, want about 50", n)
		}
	}
	w.resume(100, alloc.RebuildDone)
	for by := range served {
		if _, err := next(w.Service, by); err != nil {
			t.Fatalf("%s: %v, want everybody served by the process that resumed it", by, err)
		}
	}
}

// Where a lease meets a sequence that was rebuilt meanwhile, the one for whom it was made is refused, and the others in line are served as it serves
// them.
func TestALineThatMeetsARebuiltSequence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := alloctest.NewModel(nil)
		l := &lane{Store: model, takes: 10 * time.Millisecond}
		s := newService(t, l)
		if _, _, err := model.CreateSequence(t.Context(), orders, alloc.SequenceConfig{Segment: 1}.WithDefaults()); err != nil {
			t.Fatal(err)
		}
		next := func(by alloc.ClientID) error {
			_, _, err := s.Next(as(t.Context(), by, alloc.AllScopes()...), alloc.LeaseRequest{Sequence: orders, Count: 1})
			return err
		}
		if err := next("warm"); err != nil {
			t.Fatal(err)
		}
		resumeByHand(t.Context(), t, model, 50)
		in, out := alloc.ClientID(""), alloc.ClientID("")
		for i := 0; in == "" || out == ""; i++ {
			by := alloc.ClientID(fmt.Sprintf("client-%d", i))
			_, err := model.Lease(t.Context(), alloc.LeaseOrder{Sequence: orders, Count: 1, By: by})
			switch {
			case err == nil:
				in = by
			case alloc.Is(err, alloc.CodeSequenceResuming):
				out = by
			default:
				t.Fatal(err)
			}
		}
		answers := make(chan error, 2)
		go func() { answers <- next(out) }()
		time.Sleep(time.Millisecond)
		go func() { answers <- next(in) }()
		wantCode(t, <-answers, alloc.CodeSequenceResuming)
		if err := <-answers; err != nil {
			t.Errorf("who is served gets %v", err)
		}
	})
}

// resumeByHand makes the sequence serve a share of its callers.
func resumeByHand(ctx context.Context, t testing.TB, m *alloctest.Model, share int) {
	t.Helper()
	const id = alloc.JobID("0123456789ABCDEFGHIJKLMNOT")
	if _, err := m.Freeze(ctx, orders, id); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Restart(ctx, alloc.RestartOrder{Sequence: orders, Rebuild: id, From: 1, To: 2, Next: 1000}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Thaw(ctx, orders, id, alloc.SequenceResuming, share); err != nil {
		t.Fatal(err)
	}
}
