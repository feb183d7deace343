package alloc

import (
	"context"
	"slices"
	"sync"
	"time"
)

// The times that segments keeps.
const (
	segmentAge  = 10 * time.Minute // older stock is dropped
	stateAge    = 30 * time.Second // a sequence is read again after this time, so that a pause or a deletion holds by then
	callTimeout = 5 * time.Second  // bounds a call of the Store, which serves many callers and ends with none of them
)

// segments answers Next from ranges that this process has leased: its callers stand in line, one line for each sequence,
// and are served in the order in which they came, so numbers rise within a process, but for those that were put back
// (taken.go). At most one call of the Store per
// sequence is in flight; it takes what the whole line asks for, and a segment at least. It runs in a goroutine of its own
// under a bound of its own, so that a caller who leaves takes nobody else's numbers along; what nobody waits for any
// more is stock for the next. A failure is the answer to those who stood in line when the call began, and to nobody
// after them.
type segments struct {
	store Store
	now   func() time.Time

	mu    sync.Mutex // never held across a call of the store
	lines map[SequenceName]*line
}

// line is the callers that wait for numbers of one sequence, and the stock that they are served from.
type line struct {
	name    SequenceName
	waiting []*waiter
	serving bool // a goroutine is at work
	round   int  // counts the calls of the Store

	sequence Sequence
	readAt   time.Time // before the call that read it; zero if it is to be read first
	changes  int       // counts what this process itself changed of the sequence: a reading that began before does not hold
	stock    stock
	drops    int   // counts how often the whole stock was dropped
	out      Count // numbers that were taken out and may come back
	ceiling  Count // most numbers to ask for where that is enough for the first in line; 0 for no such bound
}

// ask is what a caller wants.
type ask struct {
	n     Count
	by    ClientID
	keyed bool // with an Idempotency-Key: the numbers may come back
}

type waiter struct {
	ask
	round  int // when it came
	answer chan answer
}

type answer struct {
	taken taken
	err   error
}

func newSegments(store Store, now func() time.Time) *segments {
	return &segments{store: store, now: now, lines: map[SequenceName]*line{}}
}

// take takes numbers of the sequence. When ctx ends first, nothing was taken.
func (s *segments) take(ctx context.Context, name SequenceName, a ask) (taken, error) {
	if ctx.Err() != nil {
		return taken{}, leftTheLine(ctx)
	}
	s.mu.Lock()
	l := s.lines[name]
	if l == nil {
		l = &line{name: name}
		s.lines[name] = l
	}
	if l.isWarm(a, s.now()) {
		t := l.pop(a)
		s.mu.Unlock()
		return t, nil
	}
	w := &waiter{ask: a, round: l.round, answer: make(chan answer, 1)}
	l.waiting = append(l.waiting, w)
	if !l.serving {
		l.serving = true
		go s.serve(context.WithoutCancel(ctx), l)
	}
	s.mu.Unlock()
	return s.await(ctx, l, w)
}

// await waits until the waiter is answered or ctx ends.
func (s *segments) await(ctx context.Context, l *line, w *waiter) (taken, error) {
	select {
	case a := <-w.answer:
		return a.taken, a.err
	case <-ctx.Done():
	}
	s.mu.Lock()
	i := slices.Index(l.waiting, w)
	if i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
	s.mu.Unlock()
	if i < 0 { // it was being answered at the same moment
		a := <-w.answer
		return a.taken, a.err
	}
	return taken{}, leftTheLine(ctx)
}

func leftTheLine(ctx context.Context) error {
	return Errorf(CodeUnavailable, "the time ran out while waiting for numbers; nothing was taken; repeat the request").
		Because(context.Cause(ctx)).After(retrySoon)
}

// changed makes a line read its sequence again before it gives out anything more, since this process has just changed
// it. The stock stays: what was leased under another configuration is good.
func (s *segments) changed(name SequenceName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.lines[name]; l != nil {
		s.readFirst(l)
	}
}

// forget is changed for a sequence that is to hand out nothing more: its stock goes as well.
func (s *segments) forget(name SequenceName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.lines[name]; l != nil {
		l.dropStock()
		s.readFirst(l)
	}
}

func (s *segments) readFirst(l *line) {
	l.changes++
	l.readAt = time.Time{}
	s.tidy(l)
}

// dropStock drops all that there is; what is out does not come back either.
func (l *line) dropStock() {
	l.stock = nil
	l.drops++
}

// tidy drops a line that has nothing and serves nobody: names that do not exist take no memory.
func (s *segments) tidy(l *line) {
	if !l.serving && l.readAt.IsZero() && len(l.stock) == 0 && l.out == 0 {
		delete(s.lines, l.name)
	}
}

// serve works until nobody waits.
func (s *segments) serve(ctx context.Context, l *line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch now := s.now(); {
		case len(l.waiting) == 0:
			l.serving = false
			s.tidy(l)
			return
		case !l.isCurrent(now):
			s.read(ctx, l, now)
		case l.serveFirst():
		default:
			s.lease(ctx, l, now)
		}
	}
}

// read reads the sequence again. It is called, and returns, with mu held.
func (s *segments) read(ctx context.Context, l *line, now time.Time) {
	changes := l.changes
	q, err := outside(ctx, s, l, func(ctx context.Context) (Sequence, error) { return s.store.Sequence(ctx, l.name) })
	if err == nil && changes != l.changes {
		return // it may be from before the change: serve reads again
	}
	if err == nil {
		err = q.checkState()
	}
	if err != nil {
		l.readAt = time.Time{} // a refusal is not remembered: a resumed sequence answers at once
		l.refuse(err)
		return
	}
	l.sequence, l.readAt = q, now
	l.stock.drop(func(p piece) bool { return p.epoch < q.Epoch }) // a rebuild has settled what those numbers are
}

// lease takes a range for the line. It is called, and returns, with mu held.
func (s *segments) lease(ctx context.Context, l *line, now time.Time) {
	n, need := l.demand()
	first := l.waiting[0]
	o := LeaseOrder{Sequence: l.name, Count: n, By: first.by, Segment: true}
	r, err := outside(ctx, s, l, func(ctx context.Context) (Range, error) { return s.store.Lease(ctx, o) })
	if err == nil && (r.Start > r.End || r.End > MaxNumber || r.Len() != n) {
		err = Errorf(CodeInternal, "the range %d to %d was leased for %d numbers", r.Start, r.End, n)
	}
	l.ceiling = 0
	if err == nil {
		l.stock = append(l.stock, piece{next: r.Start, end: r.End, epoch: r.Epoch, at: now})
		return
	}
	switch e := asError(err); {
	case e.Code == CodeSequenceExhausted && e.Remaining < n:
		l.ceiling = e.Remaining
		l.share(l.stock.count()+e.Remaining, l.exhausted)
	case e.Code == CodeInvalidCount && n > need: // the configuration has changed since it was read
		l.ceiling, l.readAt = need, time.Time{}
	case e.Code == CodeSequenceResuming: // it was rebuilt since it was read, and may serve others in line
		l.readAt = time.Time{}
		if i := slices.Index(l.waiting, first); i >= 0 { // he has not left
			l.waiting = slices.Delete(l.waiting, i, i+1)
			first.answer <- answer{err: err}
		}
	default:
		l.refuse(err)
	}
}

// outside makes a call of the Store without mu.
func outside[A any](ctx context.Context, s *segments, l *line, call func(context.Context) (A, error)) (A, error) {
	l.round++
	s.mu.Unlock()
	defer s.mu.Lock()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return withoutPanic(func() (A, error) { return call(ctx) })
}

// isCurrent drops stock that is too old and reports whether the sequence was read lately.
func (l *line) isCurrent(now time.Time) bool {
	l.stock.drop(func(p piece) bool { return !isWithin(p.at, now, segmentAge) })
	return !l.readAt.IsZero() && isWithin(l.readAt, now, stateAge)
}

func isWithin(at, now time.Time, age time.Duration) bool {
	d := now.Sub(at)
	return d >= 0 && d < age
}

// demand is what to lease: all that the line asks for beyond the stock, a segment at least, not more than the sequence
// gives at once. The first in line needs only need of it.
func (l *line) demand() (n, need Count) {
	have := l.stock.count()
	need = l.waiting[0].n - have
	for _, w := range l.waiting {
		n += w.n
	}
	n = min(max(n-have, l.sequence.Config.Segment), l.sequence.Config.MaxLease)
	if l.ceiling >= need {
		n = min(n, l.ceiling)
	}
	return n, need
}

// serveFirst answers the first in line if that takes no call of the Store.
func (l *line) serveFirst() bool {
	w := l.waiting[0]
	a := answer{err: l.check(w.ask)}
	if a.err == nil {
		if w.n > l.stock.count() {
			return false
		}
		a.taken = l.pop(w.ask)
	}
	w.answer <- a
	l.waiting = slices.Delete(l.waiting, 0, 1)
	return true
}

// refuse answers a call that failed. A sequence that hands out nothing at present loses its stock and is read before
// anything else; beside any other failure the stock serves whom it can.
func (l *line) refuse(err error) {
	switch CodeOf(err) {
	case CodeSequencePaused, CodeSequenceStopped, CodeSequenceDeleted, CodeSequenceNotFound, CodeSequenceRebuilding:
		l.dropStock()
		l.readAt = time.Time{}
	}
	have := l.stock.count()
	if l.readAt.IsZero() {
		have = 0
	}
	l.share(have, func(Count, *waiter) error { return err })
}

// share goes through those who stood in line when the last call began. For whom something is left of have, in the order
// of the line, they stay in it; the others get the refusal. It never leaves a first in line who needs more than have.
func (l *line) share(have Count, refusal func(left Count, w *waiter) error) {
	l.waiting = slices.DeleteFunc(l.waiting, func(w *waiter) bool {
		switch {
		case w.round == l.round:
			return false
		case w.n <= have:
			have -= w.n
			return false
		}
		w.answer <- answer{err: refusal(have, w)}
		return true
	})
}
