package alloc

import (
	"bytes"
	"context"
	"time"
)

// retrySoon is the hint for what most likely succeeds when it is just repeated.
const retrySoon = time.Second

// KeyedRequest is a request that may come again with the same Idempotency-Key.
type KeyedRequest struct {
	Need      Action // with Name: what the caller must be permitted, for a replay too
	Name      string // of the pool or sequence, or "*"
	Operation string // what the key is for, beside the client
	Resource  string
	Key       string // "" for none: then the work is just done
	Print     string // canonical form of the request
}

// Work is what a keyed request asks for. It must be repeatable, in its effect and, as far as it can, in its answer, and
// use the context that it is given.
type Work func(ctx context.Context, a Attempt) (answer []byte, err error)

// Attempt is one of those that carry out a request.
type Attempt struct {
	Intent Token // the same in every attempt of one request; "" if it came without a key

	// Others says that other attempts have, or had, the intent too, and may have done the work. Work that cannot be done
	// twice then takes what it finds done for its own success.
	Others bool

	// Begun is when the intent was kept: what was made since may be the work of any attempt. Zero without a key.
	Begun time.Time
}

// Keyed does the work of a request once for each key: the intent is kept first, then the work is done by whoever comes,
// then its answer is kept for KeyRetention and given to every repeat. Claim, Lease and Next have their keys themselves.
//
// replayed says that an earlier request with the key was there before, whoever of the two did the work. Where several do
// it at once, all get the answer that was kept first.
//
// An error of the work is given and not kept. After the refusal of the one attempt that there was, the key is free for a
// repaired request. After an unknown outcome, or a failure that passes by itself, it stays with its request, and a repeat of
// that finds out or tries again; all these have one intent. A refusal of one attempt of several says nothing of the others:
// it has Unknown set, and the key stays as well, as the work may have been done with this intent and must not be with
// another.
//
// CodeKeyMismatch for another Print. With Unknown set: the work may have been done, and a repeat with the key gets to know.
func (s *Service) Keyed(ctx context.Context, r KeyedRequest, work Work) (answer []byte, replayed bool, err error) {
	caller, err := s.admitKeyed(ctx, r)
	if err != nil {
		return nil, false, s.forbidden(ctx, caller, err, work)
	}
	key, err := keyFor(caller, r.Operation, r.Resource, r.Key, r.Print)
	if err != nil {
		return nil, false, err
	}
	if key == nil {
		answer, err = work(ctx, Attempt{})
		return answer, false, err
	}
	ours := newIntent(s.now())
	kept, err := s.store.OpenKey(ctx, *key, ours, nil)
	if err != nil {
		return nil, false, err
	}
	if kept.Done {
		return kept.Answer, true, nil
	}
	a := Attempt{Intent: kept.Token, Others: kept.Shared || kept.Token != ours, Begun: kept.At}
	answer, stands, err := s.carryOut(ctx, *key, &a, work)
	if err != nil {
		return nil, false, err
	}
	if stands {
		return answer, true, nil
	}
	first, err := s.closeKey(ctx, *key, a.Intent, answer)
	if err != nil {
		return nil, false, err
	}
	return first, a.Others || !bytes.Equal(first, answer), nil
}

// admitKeyed is admit, or permit where the request is about all names.
func (s *Service) admitKeyed(ctx context.Context, r KeyedRequest) (Caller, error) {
	if r.Name == everything {
		return s.permit(ctx, r.Need, everything)
	}
	return s.admit(ctx, r.Need, r.Name)
}

// forbidden returns the error of a request that its caller may not make. The operation leaves the record of that in the
// trail, so the work is asked all the same, but by a caller who may do nothing: whatever it is, it refuses.
func (s *Service) forbidden(ctx context.Context, caller Caller, err error, work Work) error {
	if Is(err, CodeForbidden) {
		caller.Scopes = nil
		work(WithCaller(ctx, caller), Attempt{}) //nolint:errcheck // err is the refusal
	}
	return err
}

// closeKey keeps the answer and returns the one that stands. It goes on when the caller's context has ended: what was
// done is done, also when nobody waits for the answer any more.
func (s *Service) closeKey(ctx context.Context, key Key, token Token, answer []byte) ([]byte, error) {
	if answer == nil {
		answer = []byte{} // to a Store, nil is no answer
	}
	if len(answer) > MaxAnswerBytes {
		e := Errorf(CodeInternal, "the work was done, but its answer is too long to be kept")
		e.Unknown = true
		return nil, e
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	kept, err := s.store.CloseKey(ctx, key, token, answer)
	if err != nil {
		cause := asError(err)
		e := Errorf(cause.Code, "the work was done, but its answer could not be kept; repeat the request with the same Idempotency-Key").
			Because(err).After(max(cause.RetryAfter, retrySoon))
		e.Unknown = true
		return nil, e
	}
	return kept.Answer, nil
}

// carryOut does the work, once more where it was refused and turns out not to have been the only attempt. Where the work was
// refused and another's answer is kept, that stands. Of the one attempt that there was, a refusal sets the key free. In all
// other cases the record is left as it is: somebody may have done the work under its token, which must stay the only one.
func (s *Service) carryOut(ctx context.Context, key Key, a *Attempt, work Work) (answer []byte, stands bool, err error) {
	for {
		answer, err = work(ctx, *a)
		if err == nil {
			return answer, false, nil
		}
		if e := asError(err); e.Unknown || passes(e.Code) {
			return nil, false, a.failed(err)
		}
		kept, there, derr := s.dropKey(ctx, key, a.Intent)
		switch {
		case derr != nil:
			return nil, false, derr
		case there && kept.Done:
			return kept.Answer, true, nil
		case a.Others || !there:
			return nil, false, a.failed(err)
		}
		a.Others = true
	}
}

// dropKey sets the key free, unless others have its intent too. It goes on when the caller's context has ended. The refusal
// is not given with a key that is not free: it would be taken for the last word, and the key could not be used for anything
// else.
func (s *Service) dropKey(ctx context.Context, key Key, token Token) (kept Kept, there bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	kept, there, err = s.store.DropKey(ctx, key, token)
	if err != nil {
		e := Errorf(CodeUnavailable, "the request was refused, but what became of its Idempotency-Key is not known; repeat it with the same key to be told why").
			Because(err).After(retrySoon)
		e.Unknown = true // by another attempt
		return Kept{}, false, e
	}
	return kept, there, nil
}

// failed is the error of an attempt. That of one among several says that the work may have been done all the same.
func (a Attempt) failed(err error) error {
	if !a.Others {
		return err
	}
	e := *asError(err)
	e.Message = "another attempt with this Idempotency-Key may have been carried out, see what is there before you use another key; this one was not: " + e.Message
	e.Unknown, e.Cause = true, err
	return &e
}

// passes reports whether an error with the code says nothing of the request: it may succeed when it is just repeated.
func passes(c Code) bool {
	switch c {
	case CodeBusy, CodeKeyBusy, CodeThrottled, CodeUnavailable, CodeInternal, CodePoolRebuilding:
		return true
	}
	return false
}
