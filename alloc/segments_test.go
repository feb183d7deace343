package alloc_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// lane is a Store on the way to another. It takes time for a call, notes what was leased, and lets a test answer instead.
type lane struct {
	alloc.Store
	takes time.Duration

	mu     sync.Mutex
	busy   int
	both   bool          // two calls for the sequence were in flight at once
	leases []alloc.Count // what was asked for
	reads  int
	answer func(ctx context.Context, n int, o alloc.LeaseOrder) (alloc.Range, error) // n counts the leases from 1; nil asks the Store
	shown  func(q alloc.Sequence) (alloc.Sequence, error)                            // nil shows it as it is
}

func (l *lane) enter() {
	l.mu.Lock()
	l.busy++
	l.both = l.both || l.busy > 1
	l.mu.Unlock()
	time.Sleep(l.takes) // in a bubble: the time of the call, and a chance for all others to come
}

func (l *lane) leave() {
	l.mu.Lock()
	l.busy--
	l.mu.Unlock()
}

func (l *lane) Lease(ctx context.Context, o alloc.LeaseOrder) (alloc.Range, error) {
	l.enter()
	defer l.leave()
	l.mu.Lock()
	l.leases = append(l.leases, o.Count)
	n, answer := len(l.leases), l.answer
	l.mu.Unlock()
	if answer != nil {
		return answer(ctx, n, o)
	}
	return l.Store.Lease(ctx, o)
}

func (l *lane) Sequence(ctx context.Context, name alloc.SequenceName) (alloc.Sequence, error) {
	l.enter()
	defer l.leave()
	l.mu.Lock()
	l.reads++
	l.mu.Unlock()
	q, err := l.Store.Sequence(ctx, name)
	if l.shown != nil && err == nil {
		return l.shown(q)
	}
	return q, err
}

// newLane makes a Service whose sequence "orders" has the configuration; each call of its Store takes 10 ms.
func newLane(t testing.TB, config alloc.SequenceConfig) (*alloc.Service, *lane) {
	t.Helper()
	l := &lane{Store: alloctest.NewModel(nil), takes: 10 * time.Millisecond}
	s := newService(t, l)
	if _, _, err := s.CreateSequence(asAdmin(t.Context()), "orders", config); err != nil {
		t.Fatal(err)
	}
	return s, l
}

func next(ctx context.Context, s *alloc.Service, n alloc.Count) ([]alloc.Number, error) {
	numbers, _, err := s.Next(asAdmin(ctx), alloc.LeaseRequest{Sequence: "orders", Count: n})
	return numbers, err
}

// wantNext takes as many numbers as are wanted and compares them.
func wantNext(t testing.TB, s *alloc.Service, want ...alloc.Number) {
	t.Helper()
	got, err := next(t.Context(), s, alloc.Count(len(want)))
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

func wantLeases(t testing.TB, l *lane, want ...alloc.Count) {
	t.Helper()
	if diff := cmp.Diff(want, l.leases); diff != "" {
		t.Errorf("numbers asked of the Store (-want +got):\n%s", diff)
	}
}

func pause(t testing.TB, l *lane, to alloc.SequenceState) {
	t.Helper()
	must(t, l.SetSequenceState, alloc.SequenceName("orders"), to)
}

// C21: step 10, 500 callers at once.
func TestNextServesManyCallersFromASmallSegment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newLane(t, alloc.SequenceConfig{Segment: 10})
		var mu sync.Mutex
		var all []alloc.Number
		var wg sync.WaitGroup
		for range 500 {
			wg.Go(func() {
				got, err := next(t.Context(), s, 1)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				all = append(all, got...)
			})
		}
		wg.Wait()
		slices.Sort(all)
		if len(all) != 500 || all[0] != 1 || all[499] != 500 || len(slices.Compact(all)) != 500 {
			t.Errorf("got %v, want 1 to 500", all)
		}
		if l.both {
			t.Error("two calls of the Store were in flight at once")
		}
		if len(l.leases) > 3 || l.reads != 1 {
			t.Errorf("500 numbers took %d leases and %d reads, want at most 3 and 1", len(l.leases), l.reads)
		}
	})
}

func TestNextFromWarmMemoryCallsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newLane(t, alloc.SequenceConfig{Start: 7, Segment: 50})
		for i := range alloc.Number(50) {
			wantNext(t, s, 7+i)
		}
		wantLeases(t, l, 50)
		wantNext(t, s, 57)
		wantLeases(t, l, 50, 50)
		if l.reads != 1 {
			t.Errorf("the sequence was read %d times, want once", l.reads)
		}
	})
}

func TestNextJoinsTheRestOfASegmentWithANewOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newLane(t, alloc.SequenceConfig{Segment: 5})
		wantNext(t, s, 1, 2, 3)
		if _, err := l.Store.Lease(t.Context(), alloc.LeaseOrder{Sequence: "orders", Count: 10, By: "other"}); err != nil {
			t.Fatal(err)
		}
		wantNext(t, s, 4, 5, 16, 17)
		wantNext(t, s, 18, 19, 20, 21, 22, 23, 24)
		wantLeases(t, l, 5, 5, 5)
	})
}

// C18: a lease that failed once is no reason for the next to fail, and costs no number.
func TestNextAfterAFailedLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newLane(t, alloc.SequenceConfig{Segment: 4})
		wantNext(t, s, 1, 2)
		l.answer = func(context.Context, int, alloc.LeaseOrder) (alloc.Range, error) {
			return alloc.Range{}, alloc.Errorf(alloc.CodeThrottled, "too many requests").After(time.Second)
		}
		_, err := next(t.Context(), s, 3)
		if e := wantCode(t, err, alloc.CodeThrottled); e.RetryAfter != time.Second {
			t.Errorf("the Store's hint is lost: %+v", e)
		}
		wantNext(t, s, 3) // the rest of the segment went back
		l.answer = nil
		wantNext(t, s, 4, 5)
		wantLeases(t, l, 4, 4, 4)
	})
}

func TestNextServesFromTheRestBesideAFailedLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newLane(t, alloc.SequenceConfig{Segment: 4})
		wantNext(t, s, 1, 2)
		l.answer = func(context.Context, int, alloc.LeaseOrder) (alloc.Range, error) {
			return alloc.Range{}, alloc.Errorf(alloc.CodeUnavailable, "no answer")
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := next(t.Context(), s, 3)
			wantErr(t, err, alloc.CodeUnavailable)
		})
		synctest.Wait()
		wg.Go(func() {
			got, err := next(t.Context(), s, 2)
			if err != nil || !slices.Equal(got, []alloc.Number{3, 4}) {
				t.Errorf("behind the failed lease: got %v, %v; want 3 and 4", got, err)
			}
		})
		wg.Wait()
	})
}

// One call is the answer to all who stood in line when it began: what it leaves is shared among them in their order.
func TestNextSharesTheRestBesideAFailedLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newLane(t, alloc.SequenceConfig{Segment: 4})
		wantNext(t, s, 1)
		l.answer = func(context.Context, int, alloc.LeaseOrder) (alloc.Range, error) {
			return alloc.Range{}, alloc.Errorf(alloc.CodeUnavailable, "no answer")
		}
		time.Sleep(30 * time.Second) // so that all three come while the state is read
		var wg sync.WaitGroup
		for i, n := range []alloc.Count{4, 2, 2} {
			wg.Go(func() {
				got, err := next(t.Context(), s, n)
				if i == 1 && (err != nil || !slices.Equal(got, []alloc.Number{2, 3})) || i != 1 && !alloc.Is(err, alloc.CodeUnavailable) {
					t.Errorf("number %d in line: got %v, %v; want 2 and 3 for the second, and the failure for the others", i, got, err)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		wantLeases(t, l, 4, 5)
		l.answer = nil
		wantNext(t, s, 4)
	})
}

// Who comes later gets higher numbers, also if it asks for less than the stock has.
func TestNextServesInTheOrderOfTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newLane(t, alloc.SequenceConfig{Segment: 4})
		wantNext(t, s, 1, 2)
		var wg sync.WaitGroup
		wg.Go(func() { wantNext(t, s, 3, 4, 5) })
		synctest.Wait()
		wg.Go(func() { wantNext(t, s, 6) })
		wg.Wait()
	})
}

// wantErr is wantCode for other goroutines than the test's.
func wantErr(t testing.TB, err error, code alloc.Code) {
	t.Helper()
	if !alloc.Is(err, code) {
		t.Errorf("got error %v, want %s", err, code)
	}
}

// C28: the last numbers are handed out, then it is said how many are left.
func TestNextAtTheLimit(t *testing.T) {
	for _, start := range []alloc.Number{1, 1<<31 - 12, 1<<53 - 12, alloc.MaxNumber - 12} {
		synctest.Test(t, func(t *testing.T) {
			s, l := newLane(t, alloc.SequenceConfig{Start: start, Limit: start + 12, Segment: 5})
			wantNext(t, s, start, start+1, start+2, start+3)
			wantNext(t, s, start+4, start+5, start+6)
			_, err := next(t.Context(), s, 7)
			if e := wantCode(t, err, alloc.CodeSequenceExhausted); e.Remaining != 6 {
				t.Errorf("%d are left, want 6", e.Remaining)
			}
			wantNext(t, s, start+7, start+8, start+9, start+10)
			wantNext(t, s, start+11, start+12)
			for range 2 {
				_, err = next(t.Context(), s, 1)
				if e := wantCode(t, err, alloc.CodeSequenceExhausted); e.Remaining != 0 {
					t.Errorf("%d are left, want none", e.Remaining)
				}
			}
			wantLeases(t, l, 5, 5, 5, 3, 5, 5)
		})
	}
}

// At the limit the line is served in order as far as it goes; one call tells all others that nothing is left.
func TestNextSharesWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newLane(t, alloc.SequenceConfig{Limit: 7, Segment: 2})
		var wg sync.WaitGroup
		var mu sync.Mutex
		served, refused := 0, 0
		for range 20 {
			wg.Go(func() {
				got, err := next(t.Context(), s, 2)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					served += len(got)
					return
				}
				wantErr(t, err, alloc.CodeSequenceExhausted)
				refused++
			})
		}
		wg.Wait()
		if served != 6 || refused != 17 {
			t.Errorf("served %d numbers and refused %d callers, want 6 and 17", served, refused)
		}
		if len(l.leases) > 4 {
			t.Errorf("it took %v to find out, want at most 4 leases", l.leases)
		}
		wantNext(t, s, 7)
	})
}

// Somebody else takes some of what is left between the refusal and the second attempt.
func TestNextWhenOthersAreFasterAtTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newLane(t, alloc.SequenceConfig{Limit: 9, Segment: 20})
		l.answer = func(ctx context.Context, n int, o alloc.LeaseOrder) (alloc.Range, error) {
			if n == 2 || n == 3 {
				if _, err := l.Store.Lease(ctx, alloc.LeaseOrder{Sequence: "orders", Count: 2, By: "other"}); err != nil {
					t.Error(err)
				}
			}
			return l.Store.Lease(ctx, o)
		}
		wantNext(t, s, 5, 6)
		wantLeases(t, l, 20, 9, 7, 5)
	})
}
