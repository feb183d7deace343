package generator

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// plainText are the characters that a prefix or a format may have: those of common scripts that can be seen and that no
// Unicode normal form changes or joins with a neighbour. So an ID made of them is in the form that pools demand, without
// anybody having to normalise it.
var plainText = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x0020, 0x007E, 1},                      // ASCII
		{0x00A1, 0x00AC, 1}, {0x00AE, 0x02FF, 1}, // Latin, without the soft hyphen
		{0x0391, 0x03A1, 1}, {0x03A3, 0x03CE, 1}, // Greek
		{0x0400, 0x0482, 1}, {0x048A, 0x052F, 1}, // Cyrillic
		{0x2010, 0x2027, 1}, {0x20A0, 0x20BF, 1}, {0x2116, 0x2116, 1}, // dashes and quotes, currencies, №
		{0x3001, 0x3029, 1}, {0x3041, 0x3096, 1}, {0x30A1, 0x30FE, 1}, // Japanese
		{0x4E00, 0x9FFF, 1}, {0xAC00, 0xD7A3, 1}, // Han, Hangul
	},
	LatinOffset: 2,
}

// checkText refuses a text of a configuration that could not be part of an ID.
func checkText(field, text string) error {
	for _, r := range text {
		if !unicode.Is(plainText, r) || !unicode.IsPrint(r) {
			return fmt.Errorf("%s must not have the character %U: use characters that can be seen, of ASCII or of a common script, without combining marks", field, r)
		}
	}
	return nil
}

// trimmed reports whether no space is at either end.
func trimmed(text string) bool { return strings.TrimSpace(text) == text }

// printableASCII reports whether the byte is a character of ASCII that can be seen; space is none.
func printableASCII(b byte) bool { return b > ' ' && b <= '~' }

// FoldedOK refuses a generator whose IDs have upper-case letters: a pool that brings IDs to lower case would hand out
// others than were made.
func (c Config) FoldedOK() error {
	c = c.WithDefaults()
	if err := c.Check(); err != nil {
		return err
	}
	const foldAdvice = "the pool brings IDs to lower case, and "
	switch c.Kind {
	case ULID:
		return fmt.Errorf(foldAdvice+"a ULID has upper-case letters; use %s, or a pool with fold_case false", UUIDv7)
	case Sequence:
		if upper(c.Format) {
			return errors.New(foldAdvice + "format has upper-case letters; write it in lower case, or use a pool with fold_case false")
		}
	case Random:
		switch {
		case upper(c.Prefix):
			return errors.New(foldAdvice + "prefix has upper-case letters; write it in lower case, or use a pool with fold_case false")
		case upper(c.drawnFrom()):
			return errors.New(foldAdvice + "alphabet has upper-case letters (as has the default); give one in lower case, or use a pool with fold_case false")
		case upper(c.scheme().symbols):
			return fmt.Errorf(foldAdvice+"the check character of %s may be an upper-case letter; put a lower-case letter into alphabet, or use a pool with fold_case false", c.CheckChar)
		}
	}
	return nil
}

func upper(s string) bool { return strings.ToLower(s) != s }
