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
// use the context that it is given. intent is the same in every attempt of one request, "" if it came without a key.
type Work func(ctx context.Context, intent Token) (answer []byte, err error)

// Keyed does the work of a request once for each key: the intent is kept first, then the work is done by whoever comes,
// then its answer is kept for KeyRetention and given to every repeat. Claim, Lease and Next have their keys themselves.
//
// replayed says that an earlier request with the key was there before, whoever of the two did the work. Where several do
// it at once, all get the answer that was kept first.
//
// An error of the work is given and not kept: after a refusal the key is free for a repaired request; after an unknown
// outcome, or a failure that passes by itself, it stays with its request, and a repeat of that finds out or tries again.
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
		answer, err = work(ctx, "")
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
	earlier := kept.Token != ours
	if answer, err = work(ctx, kept.Token); err != nil {
		return s.refused(ctx, *key, kept.Token, err)
	}
	stands, err := s.closeKey(ctx, *key, kept.Token, answer)
	if err != nil {
		return nil, false, err
	}
	return stands, earlier || !bytes.Equal(stands, answer), nil
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
		work(WithCaller(ctx, caller), "") //nolint:errcheck // err is the refusal
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

// refused answers for work that ended with the error. Somebody else with the same intent may have done it before: then
// that answer stands. Otherwise a refusal sets the key free. The key of work that may be done, or whose repeat may
// succeed just so, is left as it is: somebody may be at it, under the same token, which must stay the only one.
func (s *Service) refused(ctx context.Context, key Key, token Token, refusal error) (answer []byte, replayed bool, err error) {
	if e := asError(refusal); e.Unknown || passes(e.Code) {
		return nil, false, refusal
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	kept, there, err := s.store.FindKey(ctx, key)
	switch {
	case err == nil && there && kept.Done:
		return kept.Answer, true, nil
	case err == nil:
		err = s.store.DropKey(ctx, key, token)
	case Is(err, CodeKeyMismatch): // the record has expired, and the key is another request's now
		err = nil
	}
	if err != nil {
		// The refusal is not given: it would be taken for the last word, and the key could not be used for anything else.
		return nil, false, Errorf(CodeUnavailable, "the request was refused, but its Idempotency-Key could not be set free; repeat it to be told why").
			Because(err).After(retrySoon)
	}
	return nil, false, refusal
}

// passes reports whether an error with the code says nothing of the request: it may succeed when it is just repeated.
func passes(c Code) bool {
	switch c {
	case CodeBusy, CodeKeyBusy, CodeThrottled, CodeUnavailable, CodeInternal, CodePoolRebuilding:
		return true
	}
	return false
}
