package alloc

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"time"
	"unicode"
)

// Bounds of sessions, and how long one lasts where a Config does not say.
const (
	MaxSessionLifetime     = 7 * 24 * time.Hour
	DefaultSessionIdle     = 30 * time.Minute
	DefaultSessionLifetime = 12 * time.Hour
	MaxSessionName         = 100 // bytes of a Name
	MaxSessionAgent        = 200 // bytes of an Agent
	MaxPersonText          = 512 // bytes of an Issuer, and of a Subject
)

// sessionTouch is how far Seen may lag behind: so often at most a session in use is written.
const sessionTouch = time.Minute

// SessionID names a session: the SHA-256 of its secret, as 52 characters of a-z and 2-7. It is no secret, and no way leads from
// it to one.
type SessionID string

const sessionIDLen = 52

// check refuses what cannot be the ID of a session.
func (id SessionID) check() error {
	if len(id) != sessionIDLen || !lettered(string(id)) {
		return Errorf(CodeInvalidRequest, "%s is no ID of a session", quoteShort(string(id)))
	}
	return nil
}

// SessionSecret is what a browser sends to show whose session it is: 256 random bits in base64url. It is not stored. Printed,
// logged or encoded it shows nothing of itself; string(s) is what the browser is given.
type SessionSecret string

const sessionSecretLen = 43

func newSessionSecret() SessionSecret {
	var b [32]byte
	rand.Read(b[:]) // never returns an error
	return SessionSecret(base64.RawURLEncoding.EncodeToString(b[:]))
}

// session is the ID of the session whose secret it is; ok is false for what is no secret.
func (s SessionSecret) session() (id SessionID, ok bool) {
	if len(s) != sessionSecretLen {
		return "", false
	}
	if _, err := base64.RawURLEncoding.Strict().DecodeString(string(s)); err != nil || strings.ContainsAny(string(s), "\r\n") {
		return "", false
	}
	sum := sha256.Sum256([]byte(s))
	return SessionID(letters.EncodeToString(sum[:])), true
}

// String shows that it is a secret.
func (s SessionSecret) String() string { return "session …" }

// GoString is String, for %#v.
func (s SessionSecret) GoString() string { return s.String() }

// MarshalText gives String, so that neither log/slog nor encoding/json shows more.
func (s SessionSecret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Session is that somebody is signed in to the dashboard. Its role is that of the sign-in, whatever becomes of the person's
// groups since. Its times are whole seconds.
type Session struct {
	ID      SessionID
	Client  ClientID // whom the trail names, see Person.Client
	Name    string   // for people to read
	Role    Role
	Issuer  string // who says that it is the Subject; "" for this program itself
	Subject string // who it is, to the issuer
	Created time.Time
	Seen    time.Time // when it was last in use, to a minute
	Expires time.Time // when it ends if it is not used again, Ends at the latest
	Ends    time.Time // when it ends in any case
	Address string    // from which it was begun
	Agent   string    // the browser's own words, cut
}

// Person is who signs in, as the issuer says it.
type Person struct {
	Issuer  string // "" for whoever has the terminal of the local program
	Subject string // the same for good, and of nobody else at the issuer
	Login   string // by which people know the person, such as a mail address; the Subject where there is none
	Name    string // for people to read; the Login where there is none
}

// Client is how the trail names the person: "user:", the login and 12 characters that are of issuer and subject. So no
// credential's client is the same, as a name has no ':', and no two people are, whatever they call themselves. A person whose
// login is changed at the issuer is another client from then on.
func (p Person) Client() ClientID {
	if p.Issuer == "" {
		return LocalClient
	}
	sum := hash([]string{"person", p.Issuer, p.Subject})
	return ClientID(signedInMark + plain(p.Login) + "-" + letters.EncodeToString(sum)[:secretIDLen])
}

const (
	signedInMark   = "user:"
	maxPlain       = 64
	maxSignedInLen = len(signedInMark) + maxPlain + 1 + secretIDLen
)

// plain keeps of a text what is harmless wherever a client is written.
func plain(text string) string {
	kept := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', strings.ContainsRune("._-@+", r):
			return r
		case r >= 'A' && r <= 'Z':
			return unicode.ToLower(r)
		}
		return '_'
	}, text)
	return kept[:min(len(kept), maxPlain)]
}

// checkSignedIn refuses what is no client of somebody who signs in.
func checkSignedIn(c ClientID) error {
	if c == LocalClient || strings.HasPrefix(string(c), signedInMark) && len(c) <= maxSignedInLen && CheckID(string(c)) == nil {
		return nil
	}
	return Errorf(CodeInvalidRequest, "%s is no client that signs in", quoteShort(string(c)))
}

// check refuses what no issuer should say of anybody.
func (p Person) check() error {
	if p.Subject == "" || len(p.Subject) > MaxPersonText || len(p.Issuer) > MaxPersonText {
		return Errorf(CodeInvalidRequest, "the issuer must name the person in 1 to %d bytes", MaxPersonText)
	}
	return nil
}

// SignInRequest is what a session begins with.
type SignInRequest struct {
	Person
	Origin
	Role Role
}

// Origin is where a request came from.
type Origin struct {
	Address string
	Agent   string // the browser's own words
	Request string // its ID, for the trail
}

// session is the one that begins now.
func (r SignInRequest) session(id SessionID, now time.Time, idle, lifetime time.Duration) Session {
	s := Session{
		ID: id, Client: r.Client(), Name: shown(r.Name, MaxSessionName), Role: r.Role, Issuer: r.Issuer, Subject: r.Subject,
		Created: now, Seen: now, Ends: now.Add(lifetime), Address: shown(r.Address, MaxSessionAgent), Agent: shown(r.Agent, MaxSessionAgent),
	}
	s.Expires = earlier(s.Ends, now.Add(idle))
	return s
}

// words says in words what begins, for the trail.
func (r SignInRequest) words() string {
	return fmt.Sprintf("%q, subject %q at %q, role %q", shown(r.Name, MaxSessionName), r.Subject, r.Issuer, r.Role)
}

// shown is a text of somebody else's without what cannot be shown, cut to a number of bytes.
func shown(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most-len("…")], "") + "…"
	}
	return text
}

// caller is who the session says asks.
func (s Session) caller() Caller {
	return Caller{Client: s.Client, Role: s.Role, Scopes: s.Role.Scopes()}
}

// over reports whether the session has ended by itself.
func (s Session) over(now time.Time) bool { return !now.Before(s.Expires) || !now.Before(s.Ends) }
