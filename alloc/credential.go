package alloc

import (
	"crypto/rand"
	"fmt"
	"strings"
	"time"
)

// CredentialID names a credential: 12 characters of a-z and 2-7. It is no secret.
type CredentialID string

// Bounds of a credential.
const (
	MaxScopes            = 50
	MaxQuota       Count = 1_000_000_000
	MaxOverlap           = 7 * 24 * time.Hour
	DefaultOverlap       = 24 * time.Hour
	MaxExpiry            = 100 * 365 * 24 * time.Hour // how far ahead it may expire; never is another thing
)

// The clients of which no stored credential may be: it would share their idempotency keys and exports, and the trail could not
// tell them apart.
const (
	ReservedClient ClientID = "default"  // of the credential that comes with the configuration
	ScheduleClient ClientID = "schedule" // of the schedule's runs
	LocalClient    ClientID = "local"    // of whoever looks at the pages of the local program
)

// Credential is what is stored of a bearer credential. Its secret is not: only hashes of it are. Its times are whole
// seconds.
type Credential struct {
	ID          CredentialID
	Client      ClientID // by the rule of CheckName; several credentials may be of one client
	Description string
	Scopes      []Scope
	Quota       Count // IDs and numbers that it may take in an hour, 1 to MaxQuota; 0 for no bound
	Version     Version
	Created     time.Time
	Expires     time.Time // zero for never
	Revoked     time.Time // zero if it is not

	// LastUsed is when it was last used, as far as is known: up to two times UsedEvery before, and earlier where that could not be kept. Zero for
	// never, or not since it is kept. It is the Service's to set where one is read, and no Store's.
	LastUsed time.Time

	Hash          string    // of the secret: SHA-256 in hexadecimal
	Rotated       time.Time // when Hash was made
	RotatedFor    Token     // the intent of the request that made Hash, so that a repeat of it is known; "" for none
	PreviousHash  string    // of the secret before the last rotation; "" for none
	PreviousUntil time.Time // when that ends
}

// newCredentialID makes the ID after the intent, so that every attempt makes the same; at random without one.
func newCredentialID(intent Token) CredentialID {
	seed := make([]byte, 8)
	if intent == "" {
		rand.Read(seed) // never returns an error
	} else {
		copy(seed, hash([]string{"credential", string(intent)}))
	}
	return CredentialID(letters.EncodeToString(seed)[:secretIDLen])
}

// check refuses what is no ID of a credential: there is none.
func (id CredentialID) check() error {
	if len(id) != secretIDLen || !lettered(string(id)) {
		return CredentialNotFound(id)
	}
	return nil
}

// public is the credential as it is shown: without its hashes, and what only a repeat has to do with.
func (c Credential) public() Credential {
	c.Hash, c.PreviousHash, c.RotatedFor = "", "", ""
	return c
}

// checkRevoked refuses to change a credential that was revoked.
func (c Credential) checkRevoked() error {
	if c.Revoked.IsZero() {
		return nil
	}
	return Errorf(CodeCredentialRevoked, "the credential %q was revoked and stays so; make another", c.ID)
}

// within refuses to let a caller give, or take over, a credential that can do more than the caller can, or for longer. A
// caller with a quota gives nothing: each credential has a quota of its own, so that together they could take any number.
func (c Credential) within(caller Caller) error {
	if caller.Quota > 0 {
		return Errorf(CodeForbidden, "this credential has a quota itself, so it can neither make nor change nor rotate credentials: "+
			"their quotas would add up; ask an administrator whose credential has none")
	}
	for _, scope := range c.Scopes {
		if !caller.covers(scope) {
			return Errorf(CodeForbidden, "this credential has not the scope %s itself, so it can neither give it nor take it over; "+
				"leave it out, or ask an administrator who has it", quoteShort(scope.String()))
		}
	}
	if !caller.Expires.IsZero() && (c.Expires.IsZero() || c.Expires.After(caller.Expires)) {
		end := caller.Expires.UTC().Format(time.RFC3339)
		return Errorf(CodeForbidden, "this credential, or the secret that it was used with, ends at %s itself, so it can neither give nor take over one that "+
			"ends later, or never; set an end of %s or before", end, end)
	}
	return nil
}

// covers reports whether one of the caller's scopes permits all that the scope does.
func (c Caller) covers(scope Scope) bool {
	for _, own := range c.Scopes {
		if own.covers(scope) {
			return true
		}
	}
	return false
}

func (s Scope) covers(other Scope) bool {
	if !s.Action.includes(other.Action) {
		return false
	}
	if prefix, ok := strings.CutSuffix(s.Pattern, "*"); ok {
		return strings.HasPrefix(strings.TrimSuffix(other.Pattern, "*"), prefix)
	}
	return s.Pattern == other.Pattern
}

// CredentialRequest is what an administrator decides about a credential.
type CredentialRequest struct {
	Client      ClientID // fixed when it is made
	Description string
	Scopes      []Scope   // 1 to MaxScopes
	Quota       Count     // 0 for no bound
	Expires     time.Time // zero for never
	Intent      Token     // of Keyed, so that a repeat makes the same one; "" for none
}

// Check refuses what no credential can be, at the time now.
func (r CredentialRequest) Check(now time.Time) error {
	if err := CheckName(string(r.Client)); err != nil {
		return Errorf(CodeInvalidRequest, "the client %s is not allowed: a client's name is as that of a pool, of a-z, 0-9, '.', '_' and '-'",
			quoteShort(string(r.Client)))
	}
	switch r.Client {
	case ReservedClient, ScheduleClient, LocalClient:
		return Errorf(CodeInvalidRequest, "the client %q is one of idpool's own; choose another name", r.Client)
	}
	if err := checkDescription(r.Description); err != nil {
		return Errorf(CodeInvalidRequest, "%s", asError(err).Message)
	}
	if len(r.Scopes) < 1 || len(r.Scopes) > MaxScopes {
		return Errorf(CodeInvalidRequest, "scopes must be 1 to %d", MaxScopes)
	}
	for _, scope := range r.Scopes {
		if err := scope.Check(); err != nil {
			return err
		}
	}
	if r.Quota < 0 || r.Quota > MaxQuota {
		return Errorf(CodeInvalidRequest, "quota must be 0 to %d; 0, or left out, is no bound", MaxQuota)
	}
	if !r.Expires.IsZero() && (!r.Expires.After(now) || r.Expires.After(now.Add(MaxExpiry))) {
		return Errorf(CodeInvalidRequest, "expires_at must be in the future and within 100 years, or left out for never")
	}
	return nil
}

// words says in words what was decided, for the trail.
func (r CredentialRequest) words() string {
	scopes := make([]string, len(r.Scopes))
	for i, s := range r.Scopes {
		scopes[i] = quoteShort(s.String())
	}
	expires := "never"
	if !r.Expires.IsZero() {
		expires = r.Expires.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("client %s, scopes %s, quota %d, expires %s, description %q",
		quoteShort(string(r.Client)), strings.Join(scopes, " "), r.Quota, expires, r.Description)
}
