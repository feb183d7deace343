package alloc

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// PoolName and SequenceName follow one rule, that of [CheckName].
type (
	PoolName     string
	SequenceName string
)

// ID is one identifier of a pool, in the normal form that [CheckID] demands.
type ID string

// Limits of names and IDs, in bytes.
const (
	MaxNameBytes = 128
	MaxIDBytes   = 256
)

// CheckName refuses a pool or sequence name that is not [a-z0-9][a-z0-9._-]{0,127}.
func CheckName(name string) error {
	ok := len(name) >= 1 && len(name) <= MaxNameBytes
	for i := 0; ok && i < len(name); i++ {
		c := name[i]
		alnum := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		ok = alnum || i > 0 && (c == '.' || c == '_' || c == '-')
	}
	if !ok {
		return Errorf(CodeInvalidName, "the name %s is not allowed: use 1 to %d of a-z, 0-9, '.', '_' and '-', beginning with a letter or digit",
			quoteShort(name), MaxNameBytes)
	}
	return nil
}

// CheckID refuses an ID that is not 1 to 256 bytes of printable UTF-8 in normal form C, without control characters and
// without surrounding space. It changes nothing: a caller that wants to repair input uses [CleanID].
func CheckID(id string) error {
	bad := func(why string) error {
		return Errorf(CodeInvalidID, "the ID %s is not allowed: %s", quoteShort(id), why)
	}
	switch {
	case id == "":
		return Errorf(CodeInvalidID, "an ID must not be empty")
	case len(id) > MaxIDBytes:
		return bad("it is longer than 256 bytes")
	case !utf8.ValidString(id):
		return bad("it is not valid UTF-8")
	case strings.TrimSpace(id) != id:
		return bad("it begins or ends with white space")
	case !norm.NFC.IsNormalString(id):
		return bad("it is not in Unicode normal form C")
	}
	for _, r := range id {
		if !unicode.IsPrint(r) {
			return bad("it has a character that cannot be printed")
		}
	}
	return nil
}

// CleanID brings a piece of input to the form that CheckID demands where that loses nothing: surrounding space is cut,
// the text is brought to normal form C and, with fold, to lower case. What cannot be repaired is an error.
func CleanID(raw string, fold bool) (ID, error) {
	s := strings.TrimSpace(raw)
	if utf8.ValidString(s) && len(s) <= 4*MaxIDBytes {
		s = norm.NFC.String(s)
		if fold {
			s = norm.NFC.String(strings.ToLower(s))
		}
	}
	if err := CheckID(s); err != nil {
		return "", err
	}
	return ID(s), nil
}

// quoteShort quotes input for a message: printable, and cut to a bearable length.
func quoteShort(s string) string {
	const limit = 40
	cut := ""
	if utf8.RuneCountInString(s) > limit {
		r := []rune(s)
		s, cut = string(r[:limit]), "…"
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\' || !unicode.IsPrint(r):
			b.WriteRune('\uFFFD')
		default:
			b.WriteRune(r)
		}
	}
	b.WriteString(cut + `"`)
	return b.String()
}
