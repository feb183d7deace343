package alloctest

import (
	"runtime"
	"strings"

	"idpool/alloc"
)

// order asks for n IDs without a key.
func order(pool alloc.PoolName, n alloc.Count) alloc.ClaimOrder {
	return alloc.ClaimOrder{Pool: pool, Count: n, Owner: "somebody", By: "client"}
}

// keyedOrder asks for n IDs with a key.
func keyedOrder(pool alloc.PoolName, n alloc.Count, key string) alloc.ClaimOrder {
	o := order(pool, n)
	o.Key = alloc.NewKey("client", "claim", "pool/"+string(pool), key, "body of "+key)
	return o
}

// otherBody is the order with the same key and something else asked for.
func otherBody(o alloc.ClaimOrder) alloc.ClaimOrder {
	o.Key = &alloc.Key{Hash: o.Key.Hash, Fingerprint: alloc.NewKey("", "", "", "", "another body").Fingerprint}
	return o
}

// tryClaim claims and books the outcome. It may be called by many goroutines.
func (w *world) tryClaim(s alloc.Store, o alloc.ClaimOrder) (alloc.Claim, error) {
	c, err := s.Claim(w.Context(), o)
	return c, w.bookClaim(o, c, err)
}

// bookClaim books the outcome of a claim, and returns its error.
func (w *world) bookClaim(o alloc.ClaimOrder, c alloc.Claim, err error) error {
	w.Helper()
	switch e := asError(err); {
	case err == nil:
		if wrong := w.book.claimed(o, c); wrong != nil {
			w.Errorf("Claim: %v", wrong)
		}
	case e == nil:
		w.Errorf("Claim: got the bare error %v, want an *alloc.Error", err)
	case e.Unknown:
		w.book.failed(o)
	}
	return err
}

// claim claims; an error stops the test.
func (w *world) claim(s alloc.Store, o alloc.ClaimOrder) alloc.Claim {
	w.Helper()
	c, err := w.tryClaim(s, o)
	w.ok(err, "Claim")
	return c
}

// refuse claims and stops the test unless it is refused with the code.
func (w *world) refuse(s alloc.Store, o alloc.ClaimOrder, code alloc.Code, what string) {
	w.Helper()
	_, err := w.tryClaim(s, o)
	w.want(err, code, what)
}

// patience is how often a client repeats what may be repeated.
const patience = 200

// patiently claims as a client does that repeats: at once, with nothing changed, as long as the answer allows it. A key
// that is being settled is given the sweep that it waits for.
func (w *world) patiently(s alloc.Store, o alloc.ClaimOrder) (c alloc.Claim, err error) {
	for range patience {
		c, err = w.tryClaim(s, o)
		if !repeatable(err) {
			return c, err
		}
		if alloc.Is(err, alloc.CodeKeyBusy) {
			if _, err := s.Sweep(w.Context(), o.Pool); err != nil && !repeatable(err) {
				return c, err
			}
		}
		runtime.Gosched()
	}
	return c, err
}

// repeatable reports whether a client may hope that the same call succeeds soon.
func repeatable(err error) bool {
	switch alloc.CodeOf(err) {
	case alloc.CodeBusy, alloc.CodeKeyBusy, alloc.CodeThrottled, alloc.CodeUnavailable:
		return true
	}
	return false
}

// drain claims one ID at a time until the pool is exhausted, and returns how many there were.
func (w *world) drain(s alloc.Store, pool alloc.PoolName) alloc.Count {
	w.Helper()
	for n := alloc.Count(0); ; n++ {
		_, err := w.tryClaim(s, order(pool, 1))
		if err != nil {
			w.want(err, alloc.CodePoolExhausted, "Claim of a pool that is being emptied")
			return n
		}
	}
}

// long makes an ID of the greatest length.
func long(id string) alloc.ID {
	return alloc.ID(id + strings.Repeat("x", alloc.MaxIDBytes-len(id)))
}
