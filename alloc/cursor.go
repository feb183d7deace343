package alloc

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
)

// Cursor says where a list goes on: what the page before gave, "" for the beginning. It is encrypted, as a list may go on after
// an entry that its reader may not see, and good for the list that it came from only, in every process and for good.
type Cursor string

// MaxCursorBytes is the greatest length of a Cursor.
const MaxCursorBytes = 300

// A cursor is base64url of a version and the position, which is sealed by AES-256-GCM with a nonce at random; what is listed is
// its additional data. So nobody can read or make up a position, or take the cursor of one list to another. Zeros fill
// the position up to a multiple of cursorBlock: how long a hidden name is shows in steps of that at most. After 2^32
// cursors two nonces are the same with a chance of 2^-32.
const (
	cursorVersion  = 2
	cursorBlock    = 32
	cursorOverhead = 12 + 16 // nonce and tag
)

// list is what a cursor is bound to: the kind of a list, and whose it is where there is one for each of something.
type list struct{ kind, of string }

// The lists. There is a ledger for each sequence.
var (
	listPools       = list{kind: "pools"}
	listSequences   = list{kind: "sequences"}
	listTrail       = list{kind: "trail"}
	listCredentials = list{kind: "credentials"}
	listJobs        = list{kind: "jobs"}
	listSessions    = list{kind: "sessions"}
)

func listLeases(name SequenceName) list { return list{kind: "leases", of: string(name)} }

// bound is what binds a cursor to the list.
func (l list) bound() []byte { return hash([]string{"cursor", l.kind, l.of}) }

// cursors seals and opens cursors by the secret that all processes share, which is read once.
type cursors struct {
	store Credentials

	mu   sync.Mutex
	aead cipher.AEAD
}

// cipher is made of the secret.
func (cs *cursors) cipher(ctx context.Context) (cipher.AEAD, error) {
	cs.mu.Lock()
	aead := cs.aead
	cs.mu.Unlock()
	if aead != nil {
		return aead, nil
	}
	secret, err := cs.store.SharedSecret(ctx) // by several at once in the beginning: they get the same
	if err != nil {
		return nil, err
	}
	if aead, err = newCursorCipher(secret); err != nil {
		return nil, Errorf(CodeInternal, "no cursors can be made with the store's shared secret").Because(err)
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.aead = aead
	return aead, nil
}

// newCursorCipher derives a key of its own from the secret, which may serve other things too.
func newCursorCipher(secret []byte) (cipher.AEAD, error) {
	if len(secret) != sha256.Size {
		return nil, fmt.Errorf("it has %d bytes, not %d", len(secret), sha256.Size)
	}
	key, err := hkdf.Key(sha256.New, secret, nil, "idpool cursor", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// at makes the cursor for the position in the list; "" for "", the end.
func (cs *cursors) at(ctx context.Context, l list, position string) (Cursor, error) {
	if position == "" {
		return "", nil
	}
	aead, err := cs.cipher(ctx)
	if err != nil {
		return "", err
	}
	padded := make([]byte, (len(position)+cursorBlock-1)/cursorBlock*cursorBlock)
	copy(padded, position)
	c := Cursor(base64.RawURLEncoding.EncodeToString(aead.Seal([]byte{cursorVersion}, nil, padded, l.bound())))
	if len(c) > MaxCursorBytes {
		return "", Errorf(CodeInternal, "a position of %d bytes is too long for a cursor", len(position))
	}
	return c, nil
}

// position returns where in the list the cursor is; "" for "", the beginning. CodeInvalidCursor for what this list has
// not given.
func (cs *cursors) position(ctx context.Context, l list, c Cursor) (string, error) {
	if c == "" {
		return "", nil
	}
	bad := Errorf(CodeInvalidCursor, "this is no cursor of this list; leave it out to begin anew, and send each page's next_cursor as it was given")
	if len(c) > MaxCursorBytes || strings.ContainsAny(string(c), "\r\n") {
		return "", bad
	}
	text, err := base64.RawURLEncoding.Strict().DecodeString(string(c))
	if err != nil || len(text) < 1+cursorOverhead+cursorBlock || text[0] != cursorVersion {
		return "", bad
	}
	aead, err := cs.cipher(ctx)
	if err != nil {
		return "", err
	}
	padded, err := aead.Open(nil, nil, text[1:], l.bound())
	if err != nil {
		return "", bad
	}
	return string(bytes.TrimRight(padded, "\x00")), nil
}
