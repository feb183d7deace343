package alloc

import (
	"context"
	"sync"
	"time"
)

// Stop is that a sequence was met stopped: its counter is lost or wrong, and it hands out nothing until it is rebuilt. Or it is paused, and
// would stop when it is resumed.
type Stop struct {
	Sequence SequenceName
	Paused   bool
	Reason   string // in words
	Known    bool   // the counter can be read
	Next     Number // where it stands; with Known
}

// reasonTimeout bounds what is read in order to tell why a sequence has stopped, after a request that was refused anyway.
const reasonTimeout = time.Second

// watched is a Store that tells of sequences that it meets stopped: of each once, until it meets that open again.
type watched struct {
	Store
	tell func(context.Context, Stop)

	mu   sync.Mutex
	told map[SequenceName]bool
}

// Lease implements Sequences.
func (w *watched) Lease(ctx context.Context, o LeaseOrder) (Range, error) {
	r, err := w.Store.Lease(ctx, o)
	switch {
	case Is(err, CodeSequenceStopped):
		w.stopped(ctx, Stop{Sequence: o.Sequence})
	case err == nil && !r.Replayed:
		w.open(o.Sequence)
	}
	return r, err
}

// Watch implements Sequences.
func (w *watched) Watch(ctx context.Context, name SequenceName) (Sequence, error) {
	q, err := w.Store.Watch(ctx, name)
	switch {
	case err == nil && (q.State == SequenceStopped || q.Behind):
		w.stopped(ctx, Stop{Sequence: name, Paused: q.Behind})
	case err == nil:
		w.open(name)
	}
	return q, err
}

func (w *watched) open(name SequenceName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.told, name)
}

func (w *watched) stopped(ctx context.Context, s Stop) {
	w.mu.Lock()
	told := w.told[s.Sequence]
	w.told[s.Sequence] = true
	w.mu.Unlock()
	if told {
		return
	}
	reading, cancel := context.WithTimeout(context.WithoutCancel(ctx), reasonTimeout)
	defer cancel()
	s.Reason = "its counter is lost or wrong, and what there is of it cannot be read at present"
	if e, err := w.Evidence(reading, s.Sequence); err == nil {
		s.Reason, s.Known, s.Next = e.fault(), e.Counter, e.Sequence.Next
	}
	w.tell(ctx, s)
}

// fault says what is wrong with the counter of a sequence that has stopped.
func (e Evidence) fault() string {
	next := e.Sequence.Next
	switch {
	case !e.Counter:
		return "its counter is lost or damaged"
	case e.Epoch > e.Sequence.Epoch:
		return inWords("its counter is of the epoch %d, and there was one of the epoch %d", e.Sequence.Epoch, e.Epoch)
	case e.Marked && next <= e.Mark:
		return inWords("its counter would give %d next, and the high-water mark says that %d is used", next, e.Mark)
	case next < e.Sequence.Config.Start:
		return inWords("its counter would give %d next, and the sequence begins at %d", next, e.Sequence.Config.Start)
	}
	return inWords("its counter would give %d next, and its ledger has a lease there, or above", next)
}
