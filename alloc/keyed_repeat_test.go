package alloc_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// K18: a refusal is not kept, and its key is free for a repaired request.
func TestKeyedKeepsNoRefusal(t *testing.T) {
	s, _, _ := newWorld(t, nil)
	j := &task{err: alloc.Errorf(alloc.CodeInvalidConfig, "no")}
	_, _, err := s.Keyed(asAdmin(t.Context()), keyedRequest, j.work)
	wantCode(t, err, alloc.CodeInvalidConfig)
	if _, replayed := ask(t, s, keyedBy(func(r *alloc.KeyedRequest) { r.Print = "repaired" }), j); replayed {
		t.Error("the repaired request is answered as a repeat")
	}
}

// K19: what passes by itself, or may have been done, leaves the key with its request: its repeat has the same intent.
func TestKeyedGoesOnAfterAFailure(t *testing.T) {
	unknown := alloc.Errorf(alloc.CodeInvalidConfig, "halfway")
	unknown.Unknown = true
	for _, failure := range []*alloc.Error{
		alloc.Errorf(alloc.CodeThrottled, "slow down"), alloc.Errorf(alloc.CodeUnavailable, "gone"), alloc.Errorf(alloc.CodeInternal, "broken"),
		alloc.Errorf(alloc.CodeBusy, "crowd"), unknown,
	} {
		s, _, _ := newWorld(t, nil)
		j := &task{err: failure}
		_, _, err := s.Keyed(asAdmin(t.Context()), keyedRequest, j.work)
		if e := wantCode(t, err, failure.Code); e.Unknown != failure.Unknown {
			t.Errorf("got %+v, want the failure as it is", e)
		}
		_, _, err = s.Keyed(asAdmin(t.Context()), keyedBy(func(r *alloc.KeyedRequest) { r.Print = "q" }), j.work)
		wantCode(t, err, alloc.CodeKeyMismatch)
		if _, replayed := ask(t, s, keyedRequest, j); replayed {
			// It is the first answer, but the request was there before.
			wantAttempts(t, j, 2)
		} else {
			t.Errorf("%s: the repeat is answered as if it were the first", failure.Code)
		}
	}
}

// The process is gone in the middle of the work: whoever comes does it, as the same request.
func TestKeyedIsCarriedOutByWhoeverComes(t *testing.T) {
	s, _, m := newWorld(t, nil)
	j := &task{during: func(context.Context) { panic("killed") }}
	func() {
		defer func() { _ = recover() }()
		s.Keyed(asAdmin(t.Context()), keyedRequest, j.work)
	}()
	got, replayed := ask(t, newService(t, m.Open(nil)), keyedRequest, j)
	if wantAttempts(t, j, 2); !replayed || got != string(j.intents[0]) {
		t.Errorf("got %q, replayed %t; want the answer to the first intent %v", got, replayed, j.intents)
	}
}

// The answer that is kept first is everybody's.
func TestKeyedGivesWhatStands(t *testing.T) {
	s, _, m := newWorld(t, nil)
	n := 0
	j := &task{answer: func(alloc.Token) string { n++; return fmt.Sprint("answer ", n) }}
	j.during = func(context.Context) {
		if got, replayed := ask(t, newService(t, m.Open(nil)), keyedRequest, j); got != "answer 1" || !replayed {
			t.Errorf("the twin: got %q, replayed %t; want answer 1, of a request that was there", got, replayed)
		}
	}
	if got, replayed := ask(t, s, keyedRequest, j); got != "answer 1" || !replayed {
		t.Errorf("got %q, replayed %t; want what the twin kept", got, replayed)
	}
	wantAttempts(t, j, 2)
}

// A twin did it first, and the work is refused the second time: the twin's answer stands.
func TestKeyedRefusedBesideATwinThatWasNot(t *testing.T) {
	s, _, m := newWorld(t, nil)
	j := &task{err: alloc.Errorf(alloc.CodeVersionMismatch, "changed since")}
	twin := &task{}
	j.during = func(context.Context) {
		ask(t, newService(t, m.Open(nil)), keyedRequest, twin)
		j.err = alloc.Errorf(alloc.CodeVersionMismatch, "changed since") // as often as it is tried
	}
	if got, replayed := ask(t, s, keyedRequest, j); got != string(j.intents[0]) || !replayed {
		t.Errorf("got %q, replayed %t; want the twin's answer", got, replayed)
	}
	wantAttempts(t, j, 1)
}

// K13 and K19 at each step of the record: one answer, one intent that took effect, and an honest error on the way.
func TestKeyedThroughFaults(t *testing.T) {
	both := []alloctest.Fault{alloctest.Refused, alloctest.RefusedUnknown, alloctest.AppliedButFailed, alloctest.Throttled}
	for _, method := range []string{"OpenKey", "CloseKey"} {
		for _, fault := range both {
			t.Run(fmt.Sprint(method, " ", fault), func(t *testing.T) {
				s, _, _ := newWorld(t, alloctest.Script(method, fault, fault))
				j := &task{}
				for i := range 2 {
					_, _, err := s.Keyed(asAdmin(t.Context()), keyedRequest, j.work)
					if i > 0 && fault == alloctest.AppliedButFailed && method == "CloseKey" && err == nil {
						break // the answer was kept
					}
					if e, ok := err.(*alloc.Error); !ok || method == "CloseKey" && !e.Unknown { //nolint:errorlint // as in wantCode
						t.Fatalf("got %v, want an error, of an unknown outcome once the work was done", err)
					}
				}
				first, _ := ask(t, s, keyedRequest, j)
				if again, replayed := ask(t, s, keyedRequest, j); again != first || !replayed {
					t.Errorf("got %q, replayed %t; want %q replayed", again, replayed, first)
				}
				if len(slices.Compact(slices.Sorted(slices.Values(j.intents)))) != 1 {
					t.Errorf("the work was done with the intents %v, want one", j.intents)
				}
			})
		}
	}
}

// K18: what becomes of the drop is not known, and then neither is whether the refusal is the last word: the key stays.
func TestKeyedRefusedWithAFaultInTheDrop(t *testing.T) {
	for _, fault := range []alloctest.Fault{alloctest.Refused, alloctest.RefusedUnknown, alloctest.AppliedButFailed, alloctest.Throttled} {
		t.Run(fmt.Sprint(fault), func(t *testing.T) {
			s, _, _ := newWorld(t, alloctest.Script("DropKey", fault))
			refusal := alloc.Errorf(alloc.CodeInvalidConfig, "no")
			j := &task{err: refusal}
			_, _, err := s.Keyed(asAdmin(t.Context()), keyedRequest, j.work)
			if e := wantCode(t, err, alloc.CodeUnavailable); !e.Unknown || e.RetryAfter == 0 {
				t.Errorf("got %+v, want it open what was done, and a hint", e)
			}
			j.err = refusal
			_, _, err = s.Keyed(asAdmin(t.Context()), keyedRequest, j.work)
			dropped := fault == alloctest.AppliedButFailed
			if e := wantCode(t, err, alloc.CodeInvalidConfig); e.Unknown == dropped {
				t.Errorf("got %+v; the record is gone: %t", e, dropped)
			}
			_, _, err = s.Keyed(asAdmin(t.Context()), keyedBy(func(r *alloc.KeyedRequest) { r.Print = "repaired" }), j.work)
			if dropped && err != nil || !dropped && !alloc.Is(err, alloc.CodeKeyMismatch) {
				t.Errorf("the repaired request: %v; the record is gone: %t", err, dropped)
			}
			if _, replayed := ask(t, s, keyedBy(func(r *alloc.KeyedRequest) { r.Key = "another" }), j); replayed {
				t.Error("another key is answered as a repeat")
			}
		})
	}
}

// The caller leaves when the work is done: its answer is kept all the same.
func TestKeyedKeepsTheAnswerThoughItsCallerLeft(t *testing.T) {
	s, _, _ := newWorld(t, nil)
	ctx, cancel := context.WithCancel(asAdmin(t.Context()))
	j := &task{during: func(context.Context) { cancel() }}
	if _, _, err := s.Keyed(ctx, keyedRequest, j.work); err != nil {
		t.Fatal(err)
	}
	if _, replayed := ask(t, s, keyedRequest, j); !replayed {
		t.Error("the repeat is not replayed")
	}
	wantAttempts(t, j, 1)
}

func TestKeyedKeepsAnEmptyAnswer(t *testing.T) {
	s, _, _ := newWorld(t, nil)
	attempts := 0
	nothing := func(context.Context, alloc.Attempt) ([]byte, error) { attempts++; return nil, nil }
	for i := range 3 {
		if _, replayed, err := s.Keyed(asAdmin(t.Context()), keyedRequest, nothing); err != nil || replayed != (i > 0) {
			t.Errorf("got replayed %t, %v", replayed, err)
		}
	}
	if attempts != 1 {
		t.Errorf("the work was done %d times, want once", attempts)
	}
}

func TestKeyedSaysWhenAnAnswerIsTooLong(t *testing.T) {
	s, _, _ := newWorld(t, nil)
	_, _, err := s.Keyed(asAdmin(t.Context()), keyedRequest, func(context.Context, alloc.Attempt) ([]byte, error) {
		return make([]byte, alloc.MaxAnswerBytes+1), nil
	})
	if !wantCode(t, err, alloc.CodeInternal).Unknown {
		t.Error("the work was done, and the error does not say that it may have been")
	}
}

// K10: 64 at once are one request, with one intent and one answer.
func TestKeyedTogether(t *testing.T) {
	s, _, m := newWorld(t, nil)
	other := newService(t, m.Open(nil))
	j := &task{}
	var mu sync.Mutex
	answers := map[string]int{}
	firsts := 0
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			process := s
			if i%2 == 1 {
				process = other
			}
			a, replayed, err := process.Keyed(asAdmin(t.Context()), keyedRequest, j.work)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			if !replayed {
				firsts++
			}
			answers[string(a)]++
		})
	}
	wg.Wait()
	if len(answers) != 1 || firsts > 1 {
		t.Errorf("the answers are %v, %d of them first; want one answer, and one first at most", answers, firsts)
	}
}
