package alloc

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"strings"
	"sync"
	"time"
)

// MaxVerifyFor is the longest time for which a process may trust what it has verified.
const MaxVerifyFor = time.Minute

// Verify says whose secret it is: CodeUnauthenticated for one that is not known, has expired or was revoked. What the
// caller is good for ends at its Expires, which for a secret that has been rotated is the end of the overlap. A Store
// that does not answer is no refusal: its error is returned. It needs no caller. That the credential was used is kept, at most once in UsedEvery; see
// Credential.LastUsed.
func (s *Service) Verify(ctx context.Context, secret string) (Caller, error) {
	id, ok := Secret(secret).Credential()
	if !ok {
		return Caller{}, unknownSecret()
	}
	hash := Secret(secret).hash()
	if c, ok := s.verified.find(hash, s.now()); ok {
		return c, nil
	}
	turn := s.verified.turn()
	stored, err := s.store.Credential(ctx, id)
	if err != nil && !Is(err, CodeCredentialNotFound) {
		return Caller{}, err
	}
	now := s.now()
	c, err := stored.caller(hash, now)
	if err != nil {
		return Caller{}, err
	}
	s.verified.keep(hash, c, now, turn)
	s.used(ctx, id, now)
	return c, nil
}

// caller returns who has the secret of the hash, at the time now. A credential that is not there, the zero one, takes the
// same two comparisons as any other, so that the time of the answer does not tell which there are.
func (c Credential) caller(hash string, now time.Time) (Caller, error) {
	current, previous := sameHash(c.Hash, hash), sameHash(c.PreviousHash, hash)
	switch {
	case current|previous == 0:
		return Caller{}, unknownSecret()
	case !c.Revoked.IsZero():
		return Caller{}, Errorf(CodeUnauthenticated, "this credential was revoked; use another")
	case current == 0 && !now.Before(c.PreviousUntil):
		return Caller{}, Errorf(CodeUnauthenticated, "this secret was replaced by another, and the time for which both worked is over; use the new one")
	case current == 0:
		c.Expires = earlier(c.Expires, c.PreviousUntil)
	}
	if !c.Expires.IsZero() && !now.Before(c.Expires) {
		return Caller{}, expired()
	}
	return Caller{Client: c.Client, Scopes: c.Scopes, Credential: c.ID, Quota: c.Quota, Expires: c.Expires}, nil
}

// noHash is as long as a hash, and none.
var noHash = strings.Repeat("-", 2*sha256.Size)

// sameHash compares in constant time: 1 if they are the same. stored may be none.
func sameHash(stored, hash string) int {
	if len(stored) != len(noHash) {
		stored = noHash
	}
	return subtle.ConstantTimeCompare([]byte(stored), []byte(hash))
}

// earlier returns the earlier of two ends, of which end may be never.
func earlier(end, other time.Time) time.Time {
	if end.IsZero() || other.Before(end) {
		return other
	}
	return end
}

func unknownSecret() error {
	return Errorf(CodeUnauthenticated, "this credential is not known; check that it was copied whole, and send it as Authorization: Bearer …")
}

func expired() error {
	return Errorf(CodeUnauthenticated, "this credential has expired; use another")
}

// maxVerified is how many secrets a process remembers.
const maxVerified = 1000

// verified remembers whose secrets have been verified, for a time; nil remembers nothing. A change in this process holds
// at once. No secret is in it, only hashes are.
type verified struct {
	keeps time.Duration

	mu      sync.Mutex
	turns   int                       // counts the changes
	callers map[string]verifiedCaller // by the hash of the secret
}

type verifiedCaller struct {
	Caller
	until time.Time
}

func newVerified(keeps time.Duration) *verified {
	if keeps == 0 {
		return nil
	}
	return &verified{keeps: keeps, callers: map[string]verifiedCaller{}}
}

// find returns who was verified by the secret of the hash, if that still holds.
func (v *verified) find(hash string, now time.Time) (Caller, bool) {
	if v == nil {
		return Caller{}, false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	c, ok := v.callers[hash]
	return c.Caller, ok && now.Before(c.until)
}

// turn is to be had before the Store is read, and given to keep.
func (v *verified) turn() int {
	if v == nil {
		return 0
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.turns
}

// keep remembers who was verified, unless a credential was changed since the turn: the change may be newer than what was
// read.
func (v *verified) keep(hash string, c Caller, now time.Time, turn int) {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.turns != turn {
		return
	}
	if len(v.callers) >= maxVerified {
		clear(v.callers) // they cost a read each to be had again
	}
	v.callers[hash] = verifiedCaller{c, earlier(c.Expires, now.Add(v.keeps))}
}

// forget is called after a change of the credential.
func (v *verified) forget(id CredentialID) {
	if v == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.turns++
	for hash, c := range v.callers {
		if c.Credential == id {
			delete(v.callers, hash)
		}
	}
}
