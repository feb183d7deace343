package dynamotest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"idpool/infra/dynamo"
)

// script is a stage under the hand of a test that writes down one schedule, call by call.
type script struct {
	*stage
	t     *testing.T
	world *poolWorld // what its pool promises
}

// failure is how a schedule ends that found a broken promise.
type failure string

// fatalf ends the schedule.
func (s *script) fatalf(format string, args ...any) { panic(failure(fmt.Sprintf(format, args...))) }

// play plays a schedule in a bubble over a fresh table, with Stores that are mutated if mutate is not nil, and returns
// how it failed: "" if it did not. Whatever is under way when it ends is cut off.
func play(t *testing.T, mutate func(dynamo.Table) dynamo.Table, schedule func(*script)) (failed failure, trace string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		mem := NewMemory()
		world := newPoolWorld(mem)
		world.fail = func(format string, args ...any) {
			if failed == "" {
				failed = failure(fmt.Sprintf(format, args...))
			}
		}
		s := &script{stage: newStage(mem, world.table()), t: t, world: world}
		s.mutate, s.traced = mutate, true
		defer func() {
			r := recover()
			s.stop()
			if f, ok := r.(failure); ok && failed == "" {
				failed = f
			} else if r != nil && !ok {
				panic(r)
			}
			trace = strings.Join(s.trace, "\n")
		}()
		schedule(s)
	})
	return failed, trace
}

// replay plays a schedule that the Store must survive.
func replay(t *testing.T, schedule func(*script)) {
	t.Helper()
	if failed, trace := play(t, nil, schedule); failed != "" {
		t.Errorf("%s; the schedule was:\n%s", failed, trace)
	}
}

// on starts a process whose clock is ahead by skew.
func (s *script) on(name string, skew time.Duration) *process {
	return s.process(s.t, name, skew, scriptConfig)
}

// step is an operation under way in a script.
type step[T any] struct {
	*act
	s      *script
	result T
	err    error
}

// begin starts an operation; its first call waits.
func begin[T any](s *script, p *process, name string, f func(context.Context, *dynamo.Store) (T, error)) *step[T] {
	st := &step[T]{s: s}
	st.act = s.start(p, name, func(ctx context.Context, store *dynamo.Store) { st.result, st.err = f(ctx, store) })
	return st
}

// next returns the operation's first waiting call; nil when it has ended.
func (st *step[T]) next() *held {
	for waited := time.Duration(0); waited < time.Hour; waited += 10 * time.Millisecond {
		for _, h := range st.s.calls() {
			if h.act == st.act {
				return h
			}
		}
		if st.over() {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	st.s.fatalf("%s neither calls nor ends", st.name)
	return nil
}

// reach lets the operation's calls through up to the first that matches, which waits on, and returns it; nil where the
// operation ends before.
func (st *step[T]) reach(match func(Call) bool) *held {
	for h := st.next(); h != nil; h = st.next() {
		for _, h := range st.s.calls() {
			if h.act == st.act && match(h.call) {
				return h
			}
		}
		st.s.decide(h, None)
	}
	return nil
}

// until is reach of a call that the operation must come to.
func (st *step[T]) until(match func(Call) bool) *held {
	h := st.reach(match)
	if h == nil {
		st.s.fatalf("%s ended (%v, %v) without the call that the schedule waits for", st.name, st.result, st.err)
	}
	return h
}

// past lets the operation's calls through, the first that matches included, and returns the answer to that.
func (st *step[T]) past(match func(Call) bool) Answer { return st.s.decide(st.until(match), None) }

// end lets all of the operation's calls through and returns what came of it.
func (st *step[T]) end() (T, error) {
	for h := st.next(); h != nil; h = st.next() {
		st.s.decide(h, None)
	}
	return st.result, st.err
}

// must ends the operation, which succeeds.
func (st *step[T]) must() T {
	result, err := st.end()
	if err != nil {
		st.s.fatalf("%s: %v", st.name, err)
	}
	return result
}
