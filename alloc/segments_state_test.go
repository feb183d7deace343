package alloc_test

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"idpool/alloc"
)

func TestNextHoldsWithAPauseWithin30Seconds(t *testing.T) {
	for _, to := range []alloc.SequenceState{alloc.SequencePaused, alloc.SequenceDeleted} {
		synctest.Test(t, func(t *testing.T) {
			s, l := newLane(t, alloc.SequenceConfig{})
			wantNext(t, s, 1)
			pause(t, l, to)
			time.Sleep(29 * time.Second)
			wantNext(t, s, 2)
			time.Sleep(time.Second)
			_, err := next(t.Context(), s, 1)
			if to == alloc.SequenceDeleted {
				wantCode(t, err, alloc.CodeSequenceDeleted)
				return
			}
			wantCode(t, err, alloc.CodeSequencePaused)
			pause(t, l, alloc.SequenceActive)
			wantNext(t, s, 101) // at once, and not from the stock of before the pause
		})
	}
}

// In the process that pauses or deletes, nothing is handed out afterwards, not for a moment.
func TestNextHoldsWithThisProcessesOwnPauseAtOnce(t *testing.T) {
	for to, want := range map[alloc.SequenceState]alloc.Code{
		alloc.SequencePaused: alloc.CodeSequencePaused, alloc.SequenceDeleted: alloc.CodeSequenceDeleted,
	} {
		synctest.Test(t, func(t *testing.T) {
			s, l := newLane(t, alloc.SequenceConfig{Segment: 10})
			wantNext(t, s, 1)
			set := func(to alloc.SequenceState) {
				must(t, func(ctx context.Context, n alloc.SequenceName, v alloc.Version, to alloc.SequenceState) (alloc.Sequence, error) {
					return s.SetSequenceState(asAdmin(ctx), n, v, to)
				}, "orders", to)
			}
			set(to)
			_, err := next(t.Context(), s, 1)
			wantCode(t, err, want)
			if to == alloc.SequencePaused {
				set(alloc.SequenceActive)
				wantNext(t, s, 11)
				set(alloc.SequenceActive) // changes nothing, and costs no numbers
				wantNext(t, s, 12)
				wantLeases(t, l, 10, 10)
			}
		})
	}
}

// A reading that is on its way while this process pauses shows the sequence as it was, and does not count.
func TestNextReadsAgainAfterAPauseInTheMiddleOfAReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newLane(t, alloc.SequenceConfig{Segment: 10})
		first := true
		l.shown = func(q alloc.Sequence) (alloc.Sequence, error) {
			if first {
				first = false
				if _, err := s.SetSequenceState(asAdmin(t.Context()), "orders", 0, alloc.SequencePaused); err != nil {
					t.Error(err)
				}
			}
			return q, nil
		}
		_, err := next(t.Context(), s, 1)
		wantCode(t, err, alloc.CodeSequencePaused)
		if l.reads != 3 { // one of them is the pause's own, for its record
			t.Errorf("the sequence was read %d times, want 3", l.reads)
		}
	})
}

// This process's own change holds at once, and what was leased before stays good.
func TestNextTakesUpThisProcessesOwnChangeAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newLane(t, alloc.SequenceConfig{Segment: 10})
		wantNext(t, s, 1)
		if _, err := s.ChangeSequence(asAdmin(t.Context()), "orders", 1, alloc.SequenceConfig{Segment: 10, MaxLease: 2}); err != nil {
			t.Fatal(err)
		}
		_, err := next(t.Context(), s, 3)
		wantCode(t, err, alloc.CodeInvalidCount)
		wantNext(t, s, 2, 3)
		wantLeases(t, l, 10)
	})
}

// A pause that the Store notices first counts as well.
func TestNextHoldsWithAPauseThatALeaseMeets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newLane(t, alloc.SequenceConfig{Segment: 3})
		wantNext(t, s, 1)
		pause(t, l, alloc.SequencePaused)
		_, err := next(t.Context(), s, 3)
		wantCode(t, err, alloc.CodeSequencePaused)
		_, err = next(t.Context(), s, 1)
		wantCode(t, err, alloc.CodeSequencePaused)
		pause(t, l, alloc.SequenceActive)
		wantNext(t, s, 4)
	})
}

// The 30 seconds count from before the read, however long it took.
func TestNextCountsFromBeforeTheRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newLane(t, alloc.SequenceConfig{})
		l.takes = 4 * time.Second
		wantNext(t, s, 1) // read at 0, ready at 8
		time.Sleep(21 * time.Second)
		wantNext(t, s, 2)
		time.Sleep(time.Second)
		wantNext(t, s, 3)
		if l.reads != 2 {
			t.Errorf("the sequence was read %d times, want 2: at the start and after 30 seconds", l.reads)
		}
	})
}

func TestNextDropsStockAfterTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newLane(t, alloc.SequenceConfig{Segment: 10})
		wantNext(t, s, 1)
		time.Sleep(9 * time.Minute)
		wantNext(t, s, 2)
		time.Sleep(time.Minute)
		wantNext(t, s, 11)
		wantLeases(t, l, 10, 10)
	})
}

// A frozen process wakes with an answer that has become old.
func TestNextDropsARangeThatArrivesTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newLane(t, alloc.SequenceConfig{Segment: 10})
		l.answer = func(ctx context.Context, n int, o alloc.LeaseOrder) (alloc.Range, error) {
			if n == 1 {
				time.Sleep(time.Hour)
			}
			return l.Store.Lease(context.WithoutCancel(ctx), o)
		}
		wantNext(t, s, 11)
	})
}

// C26: a change of the segment holds within 30 seconds, and what was leased before stays good.
func TestNextTakesUpAChangedSegment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newLane(t, alloc.SequenceConfig{Segment: 4})
		wantNext(t, s, 1)
		config := alloc.SequenceConfig{Segment: 50}.WithDefaults()
		if _, err := l.ChangeSequence(t.Context(), "orders", 1, config); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		wantNext(t, s, 2, 3, 4)
		wantNext(t, s, 5)
		wantLeases(t, l, 4, 50)
	})
}

// C11: what was leased before a rebuild is not handed out once the rebuild is known.
func TestNextDropsStockOfBeforeARebuild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newLane(t, alloc.SequenceConfig{Segment: 10})
		wantNext(t, s, 1)
		l.shown = func(q alloc.Sequence) (alloc.Sequence, error) { q.Epoch = 2; return q, nil }
		time.Sleep(30 * time.Second)
		wantNext(t, s, 11)
	})
}

// Without a reading of the state nothing is handed out, but nothing is thrown away either.
func TestNextWhenTheStateCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newLane(t, alloc.SequenceConfig{Segment: 10})
		wantNext(t, s, 1)
		time.Sleep(30 * time.Second)
		l.shown = func(alloc.Sequence) (alloc.Sequence, error) {
			return alloc.Sequence{}, alloc.Errorf(alloc.CodeUnavailable, "no answer")
		}
		_, err := next(t.Context(), s, 1)
		wantCode(t, err, alloc.CodeUnavailable)
		l.shown = nil
		wantNext(t, s, 2)
	})
}

func TestNextAndMaxLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newLane(t, alloc.SequenceConfig{Segment: 100, MaxLease: 8})
		wantNext(t, s, 1)
		wantLeases(t, l, 8)
		_, err := next(t.Context(), s, 9)
		wantCode(t, err, alloc.CodeInvalidCount)
		wantNext(t, s, 2, 3, 4, 5, 6, 7, 8, 9)

		// Lowered since the last reading: the Store refuses what the old one allowed.
		config := alloc.SequenceConfig{Segment: 100, MaxLease: 2}.WithDefaults()
		if _, err := l.ChangeSequence(t.Context(), "orders", 1, config); err != nil {
			t.Fatal(err)
		}
		wantNext(t, s, 10, 11, 12, 13, 14, 15, 16) // from the stock
		wantNext(t, s, 17)
		_, err = next(t.Context(), s, 3)
		wantCode(t, err, alloc.CodeInvalidCount)
		wantNext(t, s, 18)
		wantLeases(t, l, 8, 8, 8, 1, 2)

		// Lowered while the stock is larger: a count that no lease may have is refused all the same.
		config.MaxLease = 5
		if _, err := s.ChangeSequence(asAdmin(t.Context()), "orders", 2, config); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		wantNext(t, s, 19, 20)
		config.MaxLease = 2
		if _, err := s.ChangeSequence(asAdmin(t.Context()), "orders", 3, config); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		wantNext(t, s, 21)
		_, err = next(t.Context(), s, 3)
		wantCode(t, err, alloc.CodeInvalidCount)
		wantNext(t, s, 22, 23)
	})
}

// A caller that leaves takes nobody else's numbers along, not even the one for whom the call was begun.
func TestNextWhenACallerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newLane(t, alloc.SequenceConfig{Segment: 2})
		l.takes = time.Second
		var wg sync.WaitGroup
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond) // in the middle of the lease
			defer cancel()
			_, err := next(ctx, s, 1)
			wantErr(t, err, alloc.CodeUnavailable)
			if e, ok := err.(*alloc.Error); !ok || e.Unknown || e.RetryAfter == 0 { //nolint:errorlint // as in wantCode
				t.Errorf("got %+v, want it known that nothing was taken, and a hint", err)
			}
		})
		synctest.Wait()
		wg.Go(func() { wantNext(t, s, 1) })
		wg.Wait()
		wantNext(t, s, 2)
		wantLeases(t, l, 2)

		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := next(ended, s, 1)
		wantCode(t, err, alloc.CodeUnavailable)
		wantLeases(t, l, 2)
	})
}

// A caller that leaves at the very moment of its answer gets it, or nothing was taken for it: no number is lost.
func TestNextWhenACallerLeavesAtItsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newLane(t, alloc.SequenceConfig{Segment: 1})
		l.takes = 0
		var leave context.CancelFunc
		l.answer = func(ctx context.Context, _ int, o alloc.LeaseOrder) (alloc.Range, error) {
			leave()
			return l.Store.Lease(ctx, o)
		}
		var got []alloc.Number
		for range 1000 {
			var ctx context.Context
			ctx, leave = context.WithCancel(t.Context())
			numbers, _ := next(ctx, s, 1)
			leave()
			got = append(got, numbers...)
			synctest.Wait()
		}
		l.answer = nil
		wantNext(t, s, alloc.Number(len(got))+1)
		if !slices.IsSorted(got) {
			t.Errorf("got %v, which do not rise", got)
		}
	})
}

// C17: a Store that hangs is waited for a bounded time, and the next caller asks again.
func TestNextWhenTheStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newLane(t, alloc.SequenceConfig{})
		l.answer = func(ctx context.Context, n int, o alloc.LeaseOrder) (alloc.Range, error) {
			if n == 1 {
				<-ctx.Done()
				e := alloc.Errorf(alloc.CodeUnavailable, "no answer").Because(ctx.Err())
				e.Unknown = true
				return alloc.Range{}, e
			}
			return l.Store.Lease(ctx, o)
		}
		var wg sync.WaitGroup
		begin := time.Now()
		wg.Go(func() {
			_, err := next(t.Context(), s, 1)
			wantErr(t, err, alloc.CodeUnavailable)
			if d := time.Since(begin); d > 6*time.Second {
				t.Errorf("it took %v, want at most 6 s", d)
			}
		})
		time.Sleep(2 * time.Second)
		wg.Go(func() { // came while the call hung: its failure is not this caller's
			if got, err := next(t.Context(), s, 1); err != nil || got[0] != 1 {
				t.Errorf("got %v, %v; want 1", got, err)
			}
		})
		wg.Wait()
	})
}

func TestNextWhenTheStorePanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := newLane(t, alloc.SequenceConfig{})
		l.answer = func(context.Context, int, alloc.LeaseOrder) (alloc.Range, error) { panic("a fault") }
		_, err := next(t.Context(), s, 1)
		wantCode(t, err, alloc.CodeInternal)
		l.answer = nil
		wantNext(t, s, 1)
	})
}

// A Store that does not keep its contract is not believed.
func TestNextWhenTheRangeIsWrong(t *testing.T) {
	for _, r := range []alloc.Range{
		{Start: 1, End: 99}, {Start: 1, End: 101}, {Start: 5, End: 4}, {}, {Start: alloc.MaxNumber - 98, End: alloc.MaxNumber + 1}, {Start: math.MaxUint64 - 95, End: 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, l := newLane(t, alloc.SequenceConfig{})
			l.answer = func(context.Context, int, alloc.LeaseOrder) (alloc.Range, error) { return r, nil }
			_, err := next(t.Context(), s, 1)
			wantCode(t, err, alloc.CodeInternal)
		})
	}
}

func TestNextForgetsNamesThatAreNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newLane(t, alloc.SequenceConfig{})
		wantNext(t, s, 1)
		for _, name := range []alloc.SequenceName{"a", "b", "c"} {
			_, _, err := s.Next(asAdmin(t.Context()), alloc.LeaseRequest{Sequence: name, Count: 1})
			wantCode(t, err, alloc.CodeSequenceNotFound)
		}
		synctest.Wait()
		if got := s.Lines(); got != 1 {
			t.Errorf("%d sequences are remembered, want the one that exists", got)
		}
	})
}
