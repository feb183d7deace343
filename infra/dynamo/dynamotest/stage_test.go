package dynamotest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"idpool/infra/dynamo"
)

// stage runs several Stores over one table, each as a process of its own with its own clock, and holds back every call
// of theirs until its driver says what becomes of it. It lives in a synctest bubble: the driver acts only while every
// other goroutine waits, so one seed or script gives one schedule.
type stage struct {
	mem   *Memory
	table dynamo.Table // what calls are made on: mem, or what watches it

	// mutate, if it is not nil, stands between each Store and the stage: the Store's protocol with something left out.
	mutate func(dynamo.Table) dynamo.Table

	mu        sync.Mutex
	waiting   []*held
	processes []*process
	acts      []*act
	traced    bool // keep the trace: it costs more than the calls
	trace     []string
}

// process is one Store with nothing in memory at first. Its clock is ahead by skew.
type process struct {
	name   string
	skew   time.Duration
	store  *dynamo.Store
	dead   bool // its calls fail for ever
	frozen bool // a driver's mark: its calls are left waiting
}

// act is one operation that a process carries out.
type act struct {
	n     int
	name  string
	proc  *process
	ended chan struct{}
}

// held is one call that waits for its fate.
type held struct {
	act    *act // whose; nil for a call outside of any
	proc   *process
	call   Call
	answer chan Answer
	done   <-chan struct{} // the caller's context has ended: it waits no longer
}

type actKey struct{}

func newStage(mem *Memory, table dynamo.Table) *stage { return &stage{mem: mem, table: table} }

// process starts a process whose clock is ahead by skew.
func (s *stage) process(t testing.TB, name string, skew time.Duration, config dynamo.Config) *process {
	t.Helper()
	p := &process{name: name, skew: skew}
	config.Table = Through(func(ctx context.Context, c Call) Answer { return s.hold(ctx, p, c) })
	if s.mutate != nil {
		config.Table = s.mutate(config.Table)
	}
	config.Now = func() time.Time {
		s.mu.Lock()
		defer s.mu.Unlock()
		return time.Now().Add(p.skew)
	}
	store, err := dynamo.New(config)
	if err != nil {
		t.Fatal(err)
	}
	p.store = store
	s.processes = append(s.processes, p)
	return p
}

// hold makes the call wait until it is decided, or until the caller's context ends: then the call may still be let
// through later, as a request on its way would be.
func (s *stage) hold(ctx context.Context, p *process, c Call) Answer {
	h := &held{proc: p, call: c, answer: make(chan Answer, 1), done: ctx.Done()}
	h.act, _ = ctx.Value(actKey{}).(*act)
	s.mu.Lock()
	if p.dead {
		s.mu.Unlock()
		return Answer{Err: lost(c)}
	}
	s.waiting = append(s.waiting, h)
	s.mu.Unlock()
	select {
	case a := <-h.answer:
		return a
	case <-ctx.Done():
		return Answer{Err: lost(c)}
	}
}

// start begins an operation on a process.
func (s *stage) start(p *process, name string, f func(ctx context.Context, store *dynamo.Store)) *act {
	a := &act{n: len(s.acts), name: name, proc: p, ended: make(chan struct{})}
	s.acts = append(s.acts, a)
	ctx := context.WithValue(context.Background(), actKey{}, a)
	go func() {
		defer close(a.ended)
		f(ctx, p.store)
	}()
	return a
}

func (a *act) over() bool {
	select {
	case <-a.ended:
		return true
	default:
		return false
	}
}

// calls waits until nothing moves and returns what waits, in an order that does not depend on the Go scheduler.
func (s *stage) calls() []*held {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortStableFunc(s.waiting, func(a, b *held) int { return strings.Compare(a.order(), b.order()) })
	return slices.Clone(s.waiting)
}

// order sorts calls by act and by what does not change from run to run.
func (h *held) order() string {
	n := -1
	if h.act != nil {
		n = h.act.n
	}
	return fmt.Sprintf("%06d %s %s %q %q", n, h.proc.name, h.call.Op, h.call.Key().PK, h.call.Key().SK)
}

// decide takes the call off the list, makes it with the fault and gives the caller its answer.
func (s *stage) decide(h *held, fault Fault) Answer {
	s.take(h)
	a := fault.Apply(h.ctx(), h.call, s.table)
	s.note("%s: %s: %s -> %s", h.who(), fault, h.call, a)
	h.answer <- a
	return a
}

// ctx is what the call is made with: it names the act and never ends, as a request that was sent is out of reach.
func (h *held) ctx() context.Context { return context.WithValue(context.Background(), actKey{}, h.act) }

// later takes the call off the list and tells the caller that it was lost; the driver makes it when it likes.
func (s *stage) later(h *held) {
	s.take(h)
	s.note("%s: late: %s", h.who(), h.call)
	h.answer <- Answer{Err: lost(h.call)}
}

// arrive makes a call whose caller waits no longer.
func (s *stage) arrive(h *held) Answer {
	a := h.call.Do(h.ctx(), s.table)
	s.note("%s: arrives late: %s -> %s", h.who(), h.call, a)
	return a
}

func (s *stage) take(h *held) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = slices.DeleteFunc(s.waiting, func(w *held) bool { return w == h })
}

// kill ends a process: what it has under way is lost, and so is all that it does from now on.
func (s *stage) kill(p *process) {
	s.mu.Lock()
	p.dead = true
	s.mu.Unlock()
	s.note("%s: killed", p.name)
	for _, h := range s.calls() {
		if h.proc == p {
			s.decide(h, LostRequest)
		}
	}
}

// stop cuts off all that is under way, so that the bubble can end.
func (s *stage) stop() {
	for _, p := range s.processes {
		if !p.dead {
			s.kill(p)
		}
	}
	for _, a := range s.acts {
		for !a.over() {
			s.calls()
			time.Sleep(time.Second)
		}
	}
}

func (h *held) who() string {
	if h.act == nil {
		return h.proc.name
	}
	return h.proc.name + " " + h.act.name
}

func (s *stage) note(format string, args ...any) {
	if !s.traced {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trace = append(s.trace, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}
