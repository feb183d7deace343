package dynamotest

import (
	"context"
	"errors"
	"sync"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// Fault is what happens to one call on its way.
type Fault int

// The faults. Each but Repeated and Delayed makes the call fail for its caller.
const (
	None             Fault = iota
	Refused                // not applied, and known not to be
	LostRequest            // not applied; the caller cannot tell
	AppliedButFailed       // applied; the caller cannot tell
	Throttled              // not applied; the caller is told when to come again
	Repeated               // applied, and repeated by the SDK after a lost answer: the caller gets the second answer
	Delayed                // applied after a wait
)

// String names the fault.
func (f Fault) String() string {
	return [...]string{"none", "refused", "lost request", "applied but failed", "throttled", "repeated", "delayed"}[f]
}

// How long a throttled caller is asked to wait, and a delayed call takes.
const (
	ThrottleHint = 50 * time.Millisecond
	Delay        = 30 * time.Millisecond
)

// ErrFault is the cause of every error that a fault makes.
var ErrFault = errors.New("dynamotest: injected fault")

// Apply makes the call on the table with the fault.
func (f Fault) Apply(ctx context.Context, c Call, t dynamo.Table) Answer {
	switch f {
	case Refused:
		return Answer{Err: unavailable(ErrFault)}
	case LostRequest:
		return Answer{Err: lost(c)}
	case AppliedButFailed:
		c.Do(ctx, t)
		return Answer{Err: lost(c)}
	case Throttled:
		return Answer{Err: alloc.Errorf(alloc.CodeThrottled, "too many requests; try again later").After(ThrottleHint).Because(ErrFault)}
	case Repeated:
		c.Do(ctx, t)
	case Delayed:
		select {
		case <-time.After(Delay):
		case <-ctx.Done():
			return Answer{Err: lost(c)}
		}
	}
	return c.Do(ctx, t)
}

// lost is the error of a call whose answer never came: of a write the outcome is unknown.
func lost(c Call) error {
	e := alloc.Errorf(alloc.CodeUnavailable, "the table did not answer; try again").After(time.Second).Because(ErrFault)
	e.Unknown = c.Write()
	return e
}

// Faults is a dynamo.Table that lets a plan decide what happens to each call.
type Faults struct {
	dynamo.Table

	mu   sync.Mutex
	plan func(Call) Fault
	seen []Call
}

// NewFaults wraps the table; a nil plan is no fault. The plan is called for one call at a time, in their order.
func NewFaults(t dynamo.Table, plan func(Call) Fault) *Faults {
	f := &Faults{plan: plan}
	f.Table = Through(func(ctx context.Context, c Call) Answer { return f.decide(c).Apply(ctx, c, t) })
	return f
}

func (f *Faults) decide(c Call) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, c)
	if f.plan == nil {
		return None
	}
	return f.plan(c)
}

// Plan replaces the plan.
func (f *Faults) Plan(plan func(Call) Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plan = plan
}

// Seen returns the calls made since the last Seen.
func (f *Faults) Seen() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := f.seen
	f.seen = nil
	return seen
}

// Nth is a plan with one fault: that of the n-th call, from 0, that matches.
func Nth(n int, match func(Call) bool, fault Fault) func(Call) Fault {
	return func(c Call) Fault {
		if !match(c) {
			return None
		}
		n--
		if n == -1 {
			return fault
		}
		return None
	}
}
