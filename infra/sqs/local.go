package sqs

import (
	"context"
	"errors"
	"sync"
	"time"

	"idpool/alloc"
)

// The in-process queue delivers as SQS does here: a step that fails comes again after a while, and so often.
const (
	localReceives = 5
	localPause    = time.Second // before the second delivery; twice as long before each further one
)

// Work carries a job on from a step; see alloc.Service.Work.
type Work func(ctx context.Context, s alloc.Step) error

// Local is a queue in this process. What it holds ends with the process: at the next start alloc.Service.ResumeJobs sends
// again. Of several words about one job only the latest is kept, so it is never longer than there are open jobs.
type Local struct {
	mu      sync.Mutex
	waiting map[alloc.JobID]delivery
	order   []alloc.JobID
	ready   chan struct{} // has a value while something waits
}

// delivery is a step on its way, and how often it was delivered before.
type delivery struct {
	step  alloc.Step
	times int
}

var _ alloc.Queue = (*Local)(nil)

// NewLocal returns an empty queue.
func NewLocal() *Local {
	return &Local{waiting: map[alloc.JobID]delivery{}, ready: make(chan struct{}, 1)}
}

// Send implements alloc.Queue. It never waits.
func (q *Local) Send(_ context.Context, s alloc.Step) error {
	q.put(delivery{step: s})
	return nil
}

// Len is how many jobs wait for their turn.
func (q *Local) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.order)
}

func (q *Local) put(d delivery) {
	q.mu.Lock()
	defer q.mu.Unlock()
	before, waits := q.waiting[d.step.Job]
	switch {
	case !waits:
		q.order = append(q.order, d.step.Job)
	case before.step.Version >= d.step.Version:
		return
	}
	q.waiting[d.step.Job] = d
	q.signal()
}

func (q *Local) signal() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// take returns the step that has waited longest.
func (q *Local) take() (d delivery, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.order) == 0 {
		return delivery{}, false
	}
	job := q.order[0]
	q.order = q.order[1:]
	d = q.waiting[job]
	delete(q.waiting, job)
	if len(q.order) > 0 {
		q.signal() // for another worker
	}
	return d, true
}

// Run is one worker: it carries steps on, one after the other, each within the time given, until the context ends. Any number
// of workers may run. failed is told of each step that failed.
func (q *Local) Run(ctx context.Context, work Work, within time.Duration, failed func(alloc.Step, error)) {
	for ctx.Err() == nil {
		d, ok := q.take()
		if !ok {
			select {
			case <-q.ready:
			case <-ctx.Done():
			}
			continue
		}
		if err := carryOn(ctx, work, d.step, within); err != nil && ctx.Err() == nil {
			failed(d.step, err)
			q.again(d)
		}
	}
}

func carryOn(ctx context.Context, work Work, s alloc.Step, within time.Duration) (err error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("the step ended in a panic")
		}
	}()
	return work(ctx, s)
}

// again delivers once more, after a while; after localReceives times it is left to the schedule.
func (q *Local) again(d delivery) {
	if d.times++; d.times < localReceives {
		time.AfterFunc(localPause<<(d.times-1), func() { q.put(d) })
	}
}
