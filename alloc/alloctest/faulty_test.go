package alloctest

import (
	"context"
	"errors"
	"testing"

	"idpool/alloc"
)

// faultyPool is a Faulty Store around a Model with a pool of 10 IDs.
func faultyPool(t *testing.T, plan Plan) (*Faulty, *Model) {
	t.Helper()
	m := NewModel(nil)
	if _, _, err := m.CreatePool(t.Context(), "p", alloc.PoolConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Seed(t.Context(), alloc.SeedBatch{Pool: "p", Job: "j", IDs: someIDs("p-", 10)}); err != nil {
		t.Fatal(err)
	}
	return NewFaulty(m, plan), m
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name    string
		fault   Fault
		code    alloc.Code
		unknown bool
		applied alloc.Count
	}{
		{"nothing goes wrong", Pass, "", false, 1},
		{"refused", Refused, alloc.CodeUnavailable, false, 0},
		{"refused, but the caller cannot know", RefusedUnknown, alloc.CodeUnavailable, true, 0},
		{"applied but reported as failed", AppliedButFailed, alloc.CodeUnavailable, true, 1},
		{"throttled", Throttled, alloc.CodeThrottled, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, m := faultyPool(t, Script("Claim", c.fault))
			_, err := f.Claim(t.Context(), order("p", 1))
			if alloc.CodeOf(err) != c.code {
				t.Fatalf("Claim: got %v, want %q", err, c.code)
			}
			if e := asError(err); e != nil {
				if e.Unknown != c.unknown || !Injected(err) {
					t.Errorf("Claim: got %+v, want an injected fault with Unknown %v", e, c.unknown)
				}
				if hint := e.RetryAfter == ThrottleHint; hint != (c.fault == Throttled) {
					t.Errorf("RetryAfter: got %v", e.RetryAfter)
				}
			}
			if got := m.Census("p")[alloc.StateClaimed]; got != c.applied {
				t.Errorf("claimed IDs: got %d, want %d", got, c.applied)
			}
			if _, err := f.Claim(t.Context(), order("p", 1)); err != nil {
				t.Errorf("Claim after the script: got %v, want no error", err)
			}
			calls := f.Calls()
			if len(calls) != 2 || calls[0].Fault != c.fault || calls[1] != (Call{Method: "Claim", Number: 1, Nth: 1}) {
				t.Errorf("Calls: got %+v", calls)
			}
		})
	}
}

func TestDelayedCallGoesOnWhenReleased(t *testing.T) {
	f, m := faultyPool(t, Script("Claim", Delayed))
	done := make(chan error)
	go func() {
		_, err := f.Claim(context.WithoutCancel(t.Context()), order("p", 1))
		done <- err
	}()
	<-f.Held()
	if got := m.Census("p")[alloc.StateClaimed]; got != 0 {
		t.Errorf("claimed IDs while the call is held: got %d, want 0", got)
	}
	if _, err := f.Claim(t.Context(), order("p", 2)); err != nil {
		t.Errorf("Claim beside the held one: got %v, want no error", err)
	}
	f.Release()
	if err := <-done; err != nil {
		t.Errorf("the held call: got %v, want no error", err)
	}
	if got := m.Census("p")[alloc.StateClaimed]; got != 3 {
		t.Errorf("claimed IDs: got %d, want 3", got)
	}
}

func TestDelayedCallEndsWithItsContext(t *testing.T) {
	f, m := faultyPool(t, Script("Claim", Delayed))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-f.Held()
		cancel()
	}()
	_, err := f.Claim(ctx, order("p", 1))
	if e := asError(err); e == nil || e.Code != alloc.CodeUnavailable || !e.Unknown {
		t.Errorf("the held call: got %v, want unavailable with an unknown outcome", err)
	}
	f.Release()
	if got := m.Census("p")[alloc.StateClaimed]; got != 0 {
		t.Errorf("claimed IDs: got %d, want 0", got)
	}
}

func TestEveryMethodHasItsFault(t *testing.T) {
	f, m := faultyPool(t, func(Call) Fault { return Refused })
	if _, _, err := m.CreateSequence(t.Context(), "s", alloc.SequenceConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	for what, call := range callsOf(f) {
		if err := call(t.Context()); !Injected(err) {
			t.Errorf("%s: got %v, want the injected fault", what, err)
		}
	}
	f.SetPlan(nil)
	for what, call := range callsOf(f) {
		if err := call(t.Context()); Injected(err) {
			t.Errorf("%s without a plan: got %v, want no injected fault", what, err)
		}
	}
}

func TestSometimesFails(t *testing.T) {
	draws := []int{1, 0, 1, 0, 0} // pass; fail with the second fault; fail with the first
	plan := Sometimes(func(int) int {
		d := draws[0]
		draws = draws[1:]
		return d
	}, 2, Refused, Throttled)
	for i, want := range []Fault{Pass, Throttled, Refused} {
		if got := plan(Call{}); got != want {
			t.Errorf("fault of call %d: got %d, want %d", i, got, want)
		}
	}
}

func TestInjectedKnowsItsOwn(t *testing.T) {
	if Injected(errors.New("injected fault")) || Injected(nil) {
		t.Error("Injected: got true for another error, want false")
	}
}
