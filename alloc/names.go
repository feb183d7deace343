package alloc

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// PoolName names a pool, by the rule of [CheckName].
type PoolName string

// SequenceName names a sequence, by the rule of [CheckName].
type SequenceName string

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

// CheckID refuses an ID that is not 1 to 256 bytes of printable UTF-8 in normal form C, without surrounding space.
// Printable is what [unicode.IsPrint] says (so no control characters, no directional marks, no zero-width or no-break
// spaces, of all spaces U+0020 alone) without the letters and selectors that show nothing, by which two IDs could look the same,
// and without U+FFFD, which may stand for any character that a conversion lost. It changes nothing: a caller that wants to repair input uses [CleanID].
func CheckID(id string) error {
	if why := idFault(id); why != "" {
		return Errorf(CodeInvalidID, "the ID %s is not allowed: %s", quoteShort(id), why)
	}
	return nil
}

// idFault says what is wrong with an ID, "" for nothing.
func idFault(id string) string {
	switch {
	case id == "":
		return "it is empty"
	case len(id) > MaxIDBytes:
		return fmt.Sprintf("it is longer than %d bytes", MaxIDBytes)
	}
	return textFault(id)
}

// textFault says what is wrong with a text that people are to see as it is; "" if nothing is.
func textFault(text string) string {
	switch {
	case !utf8.ValidString(text):
		return "it is not valid UTF-8"
	case strings.TrimSpace(text) != text:
		return "it begins or ends with white space"
	}
	for _, r := range text {
		switch {
		case r == utf8.RuneError:
			return "it has U+FFFD, which stands for a character that was lost when the text was converted"
		case !unicode.IsPrint(r), unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
			return fmt.Sprintf("it has a character that cannot be seen, %U", r)
		}
	}
	if !norm.NFC.IsNormalString(text) {
		return "it is not in Unicode normal form C"
	}
	return ""
}

// CleanID brings a piece of input to the form that CheckID demands where that loses nothing: surrounding space is cut,
// the text is brought to normal form C and, with fold, to lower case. What cannot be repaired is an error.
func CleanID(raw string, fold bool) (ID, error) {
	s := clean(raw, fold)
	if err := CheckID(s); err != nil {
		return "", err
	}
	return ID(s), nil
}

// clean repairs what CleanID repairs and checks nothing.
func clean(raw string, fold bool) string {
	s := strings.TrimSpace(raw)
	if !utf8.ValidString(s) || len(s) > 4*MaxIDBytes { // longer than the normal form could make up for
		return s
	}
	s = norm.NFC.String(s)
	if fold {
		s = norm.NFC.String(strings.ToLower(s))
	}
	return s
}

// foldCase brings text to a form in which two texts are equal if they differ only in case, by Unicode's simple folding.
func foldCase(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, s)
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
