package alloctest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"idpool/alloc"
)

// sequence makes a sequence.
func (w *world) sequence(name alloc.SequenceName, config alloc.SequenceConfig) alloc.SequenceName {
	w.Helper()
	_, created, err := w.elsewhere().CreateSequence(w.Context(), name, config.WithDefaults())
	w.ok(err, "CreateSequence")
	equal(w, created, true, "CreateSequence of a new sequence: created")
	return name
}

// readSequence reads a sequence from another process.
func (w *world) readSequence(name alloc.SequenceName) alloc.Sequence {
	w.Helper()
	q, err := w.elsewhere().Sequence(w.Context(), name)
	w.ok(err, "Sequence")
	return q
}

// setSequence changes a sequence's state and waits until every process knows.
func (w *world) setSequence(name alloc.SequenceName, to alloc.SequenceState) {
	w.Helper()
	if to == alloc.SequenceDeleted && w.readSequence(name).State == alloc.SequenceActive { // it is paused before it is deleted
		w.setSequence(name, alloc.SequencePaused)
	}
	q, err := w.elsewhere().SetSequenceState(w.Context(), name, 0, to)
	w.ok(err, "SetSequenceState")
	equal(w, q.State, to, "state that SetSequenceState answers")
	w.clock.Advance(stateDelay)
}

// leaseOrder asks for n numbers without a key.
func leaseOrder(name alloc.SequenceName, n alloc.Count) alloc.LeaseOrder {
	return alloc.LeaseOrder{Sequence: name, Count: n, By: "client"}
}

// keyedLease asks for n numbers with a key.
func keyedLease(name alloc.SequenceName, n alloc.Count, key string) alloc.LeaseOrder {
	o := leaseOrder(name, n)
	o.Key = alloc.NewKey("client", "lease", "sequence/"+string(name), key, "body of "+key)
	return o
}

// otherLease is the order with the same key and something else asked for.
func otherLease(o alloc.LeaseOrder) alloc.LeaseOrder {
	o.Key = &alloc.Key{Hash: o.Key.Hash, Fingerprint: alloc.NewKey("", "", "", "", "another body").Fingerprint}
	return o
}

// lease leases and checks the answer's shape; an error stops the test.
func (w *world) lease(s alloc.Store, o alloc.LeaseOrder) alloc.Range {
	w.Helper()
	r, err := s.Lease(w.Context(), o)
	w.ok(err, "Lease")
	if wrong := wellFormedRange(o, r); wrong != nil {
		w.Fatalf("Lease: %v", wrong)
	}
	return r
}

// refuseLease leases and stops the test unless it is refused with the code.
func (w *world) refuseLease(s alloc.Store, o alloc.LeaseOrder, code alloc.Code, what string) {
	w.Helper()
	_ = w.refusedLease(s, o, code, what)
}

// refusedLease is refuseLease for a test that looks at what else the error says.
func (w *world) refusedLease(s alloc.Store, o alloc.LeaseOrder, code alloc.Code, what string) *alloc.Error {
	w.Helper()
	_, err := s.Lease(w.Context(), o)
	return w.wantError(err, code, what)
}

// leasePatiently leases and repeats as long as the answer allows it. It may be called by many goroutines.
func (w *world) leasePatiently(s alloc.Store, o alloc.LeaseOrder) (r alloc.Range, err error) {
	for range patience {
		if r, err = s.Lease(w.Context(), o); !repeatable(err) {
			break
		}
	}
	if err == nil {
		if wrong := wellFormedRange(o, r); wrong != nil {
			w.Errorf("Lease: %v", wrong)
		}
	} else if asError(err) == nil {
		w.Errorf("Lease: got the bare error %v, want an *alloc.Error", err)
	}
	return r, err
}

func wellFormedRange(o alloc.LeaseOrder, r alloc.Range) error {
	switch {
	case r.Start > r.End || r.End > alloc.MaxNumber || r.Len() != o.Count:
		return fmt.Errorf("got the range %d to %d, want exactly %d numbers", r.Start, r.End, o.Count)
	case r.Sequence != o.Sequence || r.Epoch < 1 || len(r.Token) != len(alloc.NewToken()) || r.At.IsZero():
		return fmt.Errorf("got %+v, want it with its sequence, an epoch, a token and a time", r)
	case o.Key == nil && r.Replayed:
		return errors.New("a lease without a key was answered as replayed")
	}
	return nil
}

// ranges collects answers from many goroutines.
type ranges struct {
	mu  sync.Mutex
	all []alloc.Range
}

func (rs *ranges) add(r alloc.Range) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.all = append(rs.all, r)
}

// disjoint stops the test if two of the ranges overlap.
func (w *world) disjoint(all []alloc.Range) {
	w.Helper()
	sorted := slices.SortedFunc(slices.Values(all), func(a, b alloc.Range) int { return cmp.Compare(a.Start, b.Start) })
	for i := 1; i < len(sorted); i++ {
		if sorted[i].Start <= sorted[i-1].End {
			w.Fatalf("the ranges %d to %d and %d to %d overlap", sorted[i-1].Start, sorted[i-1].End, sorted[i].Start, sorted[i].End)
		}
	}
}

// asError returns the *alloc.Error in err, or nil.
func asError(err error) *alloc.Error {
	e, _ := errors.AsType[*alloc.Error](err)
	return e
}
