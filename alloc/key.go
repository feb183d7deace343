package alloc

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"io"
	"strconv"
	"time"
)

// KeyRetention is how long a repeat with the same Idempotency-Key gets the first answer.
const KeyRetention = 24 * time.Hour

// MaxKeyBytes is the greatest length of an Idempotency-Key.
const MaxKeyBytes = 255

// Key identifies a keyed request in a Store. Both are hashes: the key itself is never stored.
type Key struct {
	Hash        string // over client, operation, resource and key: 43 characters
	Fingerprint string // over what was asked for: 43 characters
}

// Kept is the record of a keyed request other than a claim or a lease: the intent first, then the answer, kept as it was
// given.
type Kept struct {
	Token  Token     // of the attempt that put it
	At     time.Time // when; it counts until KeyRetention later
	Done   bool
	Answer []byte // with Done
	Shared bool   // it is open, and more attempts than the one that put it have found it: any of them may have done the work
}

// MaxAnswerBytes is the longest answer that a Store keeps.
const MaxAnswerBytes = 256 << 10

// CheckKey refuses an Idempotency-Key that is not 1 to 255 printable ASCII characters.
func CheckKey(key string) error {
	ok := len(key) >= 1 && len(key) <= MaxKeyBytes
	for i := 0; ok && i < len(key); i++ {
		ok = key[i] >= 0x20 && key[i] <= 0x7e
	}
	if !ok {
		return Errorf(CodeInvalidKey, "an Idempotency-Key must be 1 to %d printable ASCII characters", MaxKeyBytes)
	}
	return nil
}

// NewKey derives the stored form. Scope is client + operation + resource; fingerprint lists what must be the same in a
// repeat.
func NewKey(client ClientID, operation, resource, key string, fingerprint ...string) *Key {
	return &Key{
		Hash:        digest(string(client), operation, resource, key),
		Fingerprint: digest(fingerprint...),
	}
}

func digest(parts ...string) string { return base64.RawURLEncoding.EncodeToString(hash(parts)) }

// hash hashes the parts with their lengths, so that no two lists of parts run into each other.
func hash(parts []string) []byte {
	h := sha256.New()
	for _, p := range parts {
		io.WriteString(h, strconv.Itoa(len(p))+":"+p) //nolint:errcheck // a hash never fails
	}
	return h.Sum(nil)
}

// NewToken makes a fresh token from 128 random bits.
func NewToken() Token {
	var b [16]byte
	rand.Read(b[:]) // never returns an error
	return Token(encodeBits(b))
}

// tokenLength is the length of every token.
const tokenLength = 26

// isToken reports whether NewToken could have made it, as far as length and characters show.
func isToken(t Token) bool {
	for i := range len(t) {
		if c := t[i]; !(c >= '0' && c <= '9' || c >= 'A' && c <= 'V') {
			return false
		}
	}
	return len(t) == tokenLength
}

// encodeBits writes 128 bits as 26 characters of 0-9 and A-V.
func encodeBits(b [16]byte) string {
	return base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:])
}

// keyFor makes the stored form of a client's Idempotency-Key; nil for none.
func keyFor(c Caller, operation, resource, key, print string) (*Key, error) {
	if key == "" {
		return nil, nil
	}
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	return NewKey(c.Client, operation, resource, key, operation, resource, print), nil
}
