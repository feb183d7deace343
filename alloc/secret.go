package alloc

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
)

// Secret is a credential as its client sends it: "idpool_", the ID of the credential, "_", 32 random characters (160
// bits) and 7 of a CRC-32 of all before; all but the marks are of a-z and 2-7. By the beginning a scanner finds one
// that leaked, and by the end it knows it for one; what was mistyped is refused without asking a store.
//
// Printed, logged or encoded it shows its ID alone. string(s) is what a client is given, once.
type Secret string

const (
	secretMark   = "idpool_"
	secretIDLen  = 12
	secretRandom = 32
	secretCheck  = 7
	secretBody   = len(secretMark) + secretIDLen + len("_") + secretRandom
	secretLen    = secretBody + secretCheck
)

// letters writes 5 bits as one of a-z and 2-7.
var letters = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// newSecret makes a fresh secret of the credential.
func newSecret(id CredentialID) Secret {
	var b [secretRandom * 5 / 8]byte
	rand.Read(b[:]) // never returns an error
	body := secretMark + string(id) + "_" + letters.EncodeToString(b[:])
	return Secret(body + checksum(body))
}

// checksum writes the CRC-32 (IEEE) of the text as 7 letters, the high bits first.
func checksum(text string) string {
	var b [8]byte // of the 40 bits of 8 letters, the CRC has the last 32: the first letter is always the same
	binary.BigEndian.PutUint64(b[:], uint64(crc32.ChecksumIEEE([]byte(text))))
	return letters.EncodeToString(b[3:])[1:]
}

// Credential returns the ID of the credential whose secret it says to be; ok is false for what cannot be a secret.
func (s Secret) Credential() (id CredentialID, ok bool) {
	text := string(s)
	if len(text) != secretLen || !strings.HasPrefix(text, secretMark) {
		return "", false
	}
	body, check := text[:secretBody], text[secretBody:]
	id = CredentialID(text[len(secretMark):][:secretIDLen])
	random, marked := strings.CutPrefix(body[len(secretMark)+secretIDLen:], "_")
	if !marked || !lettered(string(id)) || !lettered(random) || check != checksum(body) {
		return "", false
	}
	return id, true
}

// lettered reports whether the text is of a-z and 2-7 alone.
func lettered(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return false
		}
	}
	return true
}

// hash is what is stored of the secret.
func (s Secret) hash() string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// String shows whose secret it is, and nothing of what is secret.
func (s Secret) String() string {
	id, ok := s.Credential()
	if !ok {
		return secretMark + "…" // it may be a secret all the same, mistyped
	}
	return secretMark + string(id) + "_…"
}

// GoString is String, for %#v.
func (s Secret) GoString() string { return s.String() }

// Format writes String whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) {
	io.WriteString(f, s.String()) //nolint:errcheck // fmt has nowhere to tell it
}

// MarshalText gives String, so that neither log/slog nor encoding/json shows more.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
