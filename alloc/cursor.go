package alloc

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"sync"
)

// Cursor says where a list goes on: what the page before gave, "" for the beginning. It is signed, and good for the list
// that it came from only, in every process and for good.
type Cursor string

// MaxCursorBytes is the greatest length of a Cursor.
const MaxCursorBytes = 300

// A cursor is base64url of a version, a code and the position. The code is an HMAC-SHA256 over what is listed and the
// position, so that nobody can make up a position, or take the cursor of one list to another.
const (
	cursorVersion = 1
	cursorHead    = 1 + sha256.Size
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
)

func listLeases(name SequenceName) list { return list{kind: "leases", of: string(name)} }

// cursors signs cursors with the secret that all processes share, which is read once.
type cursors struct {
	store Credentials

	mu     sync.Mutex
	secret []byte
}

// code signs a position in a list.
func (cs *cursors) code(ctx context.Context, l list, position string) ([]byte, error) {
	secret, err := cs.shared(ctx)
	if err != nil {
		return nil, err
	}
	h := hmac.New(sha256.New, secret)
	h.Write(hash([]string{"cursor", l.kind, l.of, position}))
	return h.Sum(nil), nil
}

func (cs *cursors) shared(ctx context.Context) ([]byte, error) {
	cs.mu.Lock()
	secret := cs.secret
	cs.mu.Unlock()
	if secret != nil {
		return secret, nil
	}
	secret, err := cs.store.SharedSecret(ctx) // by several at once in the beginning: they get the same
	if err != nil {
		return nil, err
	}
	if len(secret) != sha256.Size {
		return nil, Errorf(CodeInternal, "the store's shared secret has %d bytes", len(secret))
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.secret = secret
	return secret, nil
}

// at makes the cursor for the position in the list; "" for "", the end.
func (cs *cursors) at(ctx context.Context, l list, position string) (Cursor, error) {
	if position == "" {
		return "", nil
	}
	code, err := cs.code(ctx, l, position)
	if err != nil {
		return "", err
	}
	text := append([]byte{cursorVersion}, code...)
	return Cursor(base64.RawURLEncoding.EncodeToString(append(text, position...))), nil
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
	if err != nil || len(text) <= cursorHead || text[0] != cursorVersion {
		return "", bad
	}
	position := string(text[cursorHead:])
	code, err := cs.code(ctx, l, position)
	if err != nil {
		return "", err
	}
	if !hmac.Equal(code, text[1:cursorHead]) {
		return "", bad
	}
	return position, nil
}
