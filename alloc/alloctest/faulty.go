package alloctest

import (
	"context"
	"errors"
	"sync"
	"time"

	"idpool/alloc"
)

// Fault is what goes wrong with one call of a Store.
type Fault int

// The faults. They come in pairs: a call that was refused, and one that was carried out and reported as failed.
const (
	Pass             Fault = iota // nothing goes wrong
	Refused                       // not carried out, and known not to be: CodeUnavailable
	RefusedUnknown                // not carried out, but the caller cannot know: CodeUnavailable with Unknown
	AppliedButFailed              // carried out, but the answer is lost: CodeUnavailable with Unknown
	Throttled                     // not carried out: CodeThrottled with a RetryAfter
	Delayed                       // held until Release or the context's end; then as Pass or as RefusedUnknown
)

// ThrottleHint is the RetryAfter of a Throttled call.
const ThrottleHint = 2 * time.Second

// errInjected is the hidden cause of every injected fault, so that a test can tell it from a real one.
var errInjected = errors.New("injected fault")

// Injected reports whether err comes from a Faulty Store's plan and not from the Store below.
func Injected(err error) bool { return errors.Is(err, errInjected) }

// Call is one call of a Store's method.
type Call struct {
	Method string // "Claim", "Seed" …
	Number int    // counts the calls of all methods, from 0
	Nth    int    // counts the calls of this method, from 0
	Fault  Fault  // what the plan made of it
}

// Plan decides what goes wrong with a call; its Fault is not set yet. It is called by one goroutine at a time.
type Plan func(c Call) Fault

// Script plans the faults for the calls of one method, one after the other; every other call passes.
func Script(method string, faults ...Fault) Plan {
	return func(c Call) Fault {
		if c.Method == method && c.Nth < len(faults) {
			return faults[c.Nth]
		}
		return Pass
	}
}

// Sometimes plans one of the faults, each equally often, for a share of all calls: intn(n) draws a number from 0 to n-1.
// In n calls, on average one fails.
func Sometimes(intn func(n int) int, n int, faults ...Fault) Plan {
	return func(Call) Fault {
		if intn(n) != 0 {
			return Pass
		}
		return faults[intn(len(faults))]
	}
}

// Faulty is a Store around another, whose calls go wrong by plan, each as one whole step.
type Faulty struct {
	store alloc.Store

	mu       sync.Mutex
	plan     Plan
	calls    []Call
	nth      map[string]int
	released chan struct{}
	held     chan struct{} // gets a value for each call that is being held
}

var _ alloc.Store = (*Faulty)(nil)

// NewFaulty wraps store. A nil plan lets everything pass.
func NewFaulty(store alloc.Store, plan Plan) *Faulty {
	return &Faulty{
		store: store, plan: plan, nth: map[string]int{},
		released: make(chan struct{}), held: make(chan struct{}, 1024),
	}
}

// SetPlan changes the plan for the calls to come and counts Nth from 0 again. A nil plan lets everything pass.
func (f *Faulty) SetPlan(plan Plan) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.plan, f.nth = plan, map[string]int{}
}

// Calls returns the calls until now, in the order in which they came.
func (f *Faulty) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Call(nil), f.calls...)
}

// Held has a value for each call that a Delayed fault has begun to hold, so that a test can wait for it.
func (f *Faulty) Held() <-chan struct{} { return f.held }

// Release lets all calls go that are held now.
func (f *Faulty) Release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.released)
	f.released = make(chan struct{})
}

// enter counts a call and decides its fault.
func (f *Faulty) enter(method string) (fault Fault, released <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := Call{Method: method, Number: len(f.calls), Nth: f.nth[method]}
	f.nth[method]++
	if f.plan != nil {
		c.Fault = f.plan(c)
	}
	f.calls = append(f.calls, c)
	return c.Fault, f.released
}

// call runs one step as planned. What a faulted step would have answered is lost.
func call[A any](ctx context.Context, f *Faulty, method string, step func() (A, error)) (A, error) {
	var none A
	switch fault, released := f.enter(method); fault {
	case Refused:
		return none, injected(alloc.CodeUnavailable, false)
	case RefusedUnknown:
		return none, injected(alloc.CodeUnavailable, true)
	case AppliedButFailed:
		_, _ = step() // the answer is lost, whatever it was
		return none, injected(alloc.CodeUnavailable, true)
	case Throttled:
		e := injected(alloc.CodeThrottled, false)
		e.RetryAfter = ThrottleHint
		return none, e
	case Delayed:
		select {
		case f.held <- struct{}{}:
		default: // nobody waits for that many
		}
		select {
		case <-released:
			return step()
		case <-ctx.Done():
			return none, injected(alloc.CodeUnavailable, true)
		}
	default:
		return step()
	}
}

func injected(code alloc.Code, unknown bool) *alloc.Error {
	e := alloc.Errorf(code, "the store did not answer; repeat the request").Because(errInjected)
	e.Unknown = unknown
	return e
}
