package sql

import (
	"context"
	dbsql "database/sql"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"idpool/alloc"
)

// Bounds of a group: how many steps share a commit, and for how long a group that is still running takes in more.
const (
	groupSteps       = 256
	defaultGroupTime = 10 * time.Millisecond
	queueSteps       = 1024 // steps that wait beyond it wait in their callers
)

// A process that writes without a pause would keep others out for ever, because SQLite's lock has no queue. So the
// writer rests after so long of unbroken work; others ask for the lock more often than that.
const (
	workTime = 50 * time.Millisecond
	restTime = 2 * time.Millisecond
	pollTime = time.Millisecond
)

// writer runs the steps that write, one after the other, as SQLite demands. Steps that wait at the same time share one
// transaction and so one sync of the disk, each inside a savepoint of its own: a step that refuses is undone alone.
//
// Steps run on the writer's own context. A caller leaves when its context ends; its step, if it has begun, does not
// stop half-way.
type writer struct {
	db        *dbsql.DB // of one connection
	lockWait  time.Duration
	groupTime time.Duration

	queue   chan *job
	closing chan struct{} // closed by stop
	stopped chan struct{} // closed when run has ended
	close   sync.Once

	session *session // nil until needed and after a fault; run's alone
}

// job is one step in the queue.
type job struct {
	step  func(*tx) error
	since time.Time
	state atomic.Int32
	err   error // the refusal of a step that was undone alone; run's alone
	done  chan error
}

// The states of a job: whoever moves it away from waiting owns the decision whether it runs.
const (
	jobWaiting int32 = iota
	jobRunning
	jobWithdrawn
)

func newWriter(db *dbsql.DB, lockWait time.Duration) *writer {
	w := &writer{
		db: db, lockWait: lockWait, groupTime: defaultGroupTime,
		queue:   make(chan *job, queueSteps),
		closing: make(chan struct{}),
		stopped: make(chan struct{}),
	}
	go w.run()
	return w
}

// write runs a step in a transaction and returns its result when that is on disk. An *alloc.Error of the step undoes
// it; any other error is the engine's. A step may be run more than once, only the last time counts: it must not change
// anything but the database, nor keep what its caller may change.
func write[T any](ctx context.Context, w *writer, step func(*tx) (T, error)) (T, error) {
	var result, none T
	err := w.do(ctx, func(t *tx) (err error) {
		result, err = step(t)
		return err
	})
	if err != nil {
		return none, err // result may still be written: the caller may have left before its step
	}
	return result, nil
}

// do queues the step and waits for its outcome, or for the end of the context.
func (w *writer) do(ctx context.Context, step func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return outOfTime(err)
	}
	j := &job{step: step, since: elapsedFrom(), done: make(chan error, 1)}
	select {
	case w.queue <- j:
	case <-ctx.Done():
		return outOfTime(ctx.Err())
	case <-w.closing:
		return errClosed()
	}
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
		if j.state.CompareAndSwap(jobWaiting, jobWithdrawn) {
			return outOfTime(ctx.Err())
		}
		return j.outcomeNow(unknown(outOfTime(ctx.Err())))
	case <-w.stopped:
		return j.outcomeNow(errClosed()) // run ended without it
	}
}

// outcomeNow returns the outcome if there is one already, else the error given.
func (j *job) outcomeNow(otherwise error) error {
	select {
	case err := <-j.done:
		return err
	default:
		return otherwise
	}
}

func errClosed() error {
	return unavailable("the program is being stopped; try again").After(time.Second)
}

// begin reports whether the job is to run: not if its caller has left.
func (j *job) begin() bool {
	return j.state.CompareAndSwap(jobWaiting, jobRunning) || j.state.Load() == jobRunning
}

// stop ends run when the group in work is done. Jobs that wait are refused.
func (w *writer) stop() {
	w.close.Do(func() { close(w.closing) })
	<-w.stopped
}

func (w *writer) run() {
	defer close(w.stopped)
	defer w.drop()
	busySince := elapsedFrom()
	for {
		var first *job
		select {
		case <-w.closing:
			return
		case first = <-w.queue:
		default:
			select {
			case <-w.closing:
				return
			case first = <-w.queue:
				busySince = elapsedFrom()
			}
		}
		if time.Since(busySince) > workTime {
			time.Sleep(restTime)
			busySince = elapsedFrom()
		}
		w.group(first, groupSteps)
	}
}

// group runs first, and what else waits, in one transaction of at most limit steps, and answers them.
func (w *writer) group(first *job, limit int) {
	if err := w.lock(first); err != nil {
		first.done <- fault(err)
		return
	}
	started := elapsedFrom()
	var ran []*job
	for j := first; j != nil; j = w.another(started, limit-len(ran)) {
		if !j.begin() {
			continue
		}
		ran = append(ran, j)
		if err := w.session.run(j); err != nil {
			w.drop()
			w.apart(ran, err)
			return
		}
	}
	if err := w.session.end("COMMIT"); err != nil {
		w.drop()
		w.answer(ran, err)
		return
	}
	for _, j := range ran {
		j.done <- j.err
	}
}

// another returns a job that shares the running transaction, nil if it is to be committed now.
func (w *writer) another(started time.Time, room int) *job {
	if room <= 0 || time.Since(started) > w.groupTime {
		return nil
	}
	select {
	case j := <-w.queue:
		return j
	default:
		return nil
	}
}

// apart deals with the jobs of a transaction that a fault has voided. The fault is the last job's, or whatever runs
// next meets it again: a job alone gets it for an answer, several are run again one by one.
func (w *writer) apart(ran []*job, err error) {
	if len(ran) == 1 {
		ran[0].done <- fault(err)
		return
	}
	for _, j := range ran {
		w.group(j, 1)
	}
}

// answer tells all that their commit failed. It may be in the log all the same, to be found when the file is opened
// again, unless the commit was refused for a lock.
func (w *writer) answer(ran []*job, err error) {
	for _, j := range ran {
		e, _ := errors.AsType[*alloc.Error](fault(err))
		switch {
		case j.err != nil:
			j.done <- j.err // it changed nothing
		case locked(err):
			j.done <- e
		default:
			j.done <- unknown(e)
		}
	}
}

// lock begins a transaction that holds the write lock. It asks again while others hold it, for as long as the job's
// caller is there and lockWait since the job came has not passed.
func (w *writer) lock(j *job) error {
	for pause := pollTime / 8; ; pause = min(2*pause, pollTime) {
		err := w.open()
		if err == nil {
			err = w.session.end("BEGIN IMMEDIATE")
		}
		if err == nil {
			return nil
		}
		if !locked(err) {
			w.drop()
			return err
		}
		if time.Since(j.since) > w.lockWait || j.state.Load() == jobWithdrawn {
			return err
		}
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-w.closing:
			return errClosed()
		}
	}
}

func (w *writer) open() error {
	if w.session != nil {
		return nil
	}
	conn, err := w.db.Conn(context.Background())
	if err != nil {
		return err
	}
	w.session = &session{conn: conn}
	return nil
}

// drop gives up the connection, and with it the transaction: what follows a fault begins afresh.
func (w *writer) drop() {
	if w.session != nil {
		w.session.discard()
		w.session = nil
	}
}

// elapsedFrom starts a measurement of waiting. It is not a time of day: that comes from Config.Now.
func elapsedFrom() time.Time {
	return time.Now() //nolint:forbidigo // monotonic, used with time.Since only
}
