package generator

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// Bounds of a configuration.
const (
	MaxAlphabet    = 64
	MaxLength      = 64
	MaxPrefixBytes = 32
	MaxBlockWords  = 200
	MaxBlockBytes  = 2000
	MaxFormatBytes = 100
	MaxPlaces      = 19  // of a number
	MaxBytes       = 128 // of a whole ID
)

const utc = "UTC"

// Check refuses a configuration that cannot work, in words for whoever wrote it. It knows nothing of a target; see
// CheckTarget.
func (c Config) Check() error {
	c = c.WithDefaults()
	if err := c.checkFields(); err != nil || c.Kind != Random {
		return err
	}
	_, err := c.counter()
	return err
}

// counter is that of a configuration of Random whose fields were checked, of which at least one ID can be made.
func (c Config) counter() (*counter, error) {
	k, ok := newCounter(c)
	if !ok {
		return nil, fmt.Errorf("block has more words than can be kept out of IDs of %d characters with this check: give fewer words, or a smaller length", c.Length)
	}
	if k.total().Sign() == 0 {
		return nil, errors.New("no ID can be made: block and without_ambiguous leave none; give fewer words, a greater length or another check")
	}
	return k, nil
}

// checkFields is Check without counting.
func (c Config) checkFields() error {
	switch c.Kind {
	case Random:
		return c.checkRandom()
	case Sequence:
		_, _, err := c.numbering()
		return err
	case UUIDv7, ULID:
		if c != (Config{Kind: c.Kind}) {
			return fmt.Errorf("a generator of kind %s takes no other fields; leave them out", c.Kind)
		}
		return nil
	}
	return fmt.Errorf("kind must be %q, %q, %q or %q", Random, Sequence, UUIDv7, ULID)
}

func (c Config) checkRandom() error {
	if c.Sequence != "" || c.Format != "" || c.Overflow != "" || c.TimeZone != "" {
		return fmt.Errorf("sequence, format, overflow and time_zone are not for the kind %s; leave them out, or make it the kind %s", Random, Sequence)
	}
	checks := []func() error{c.checkAlphabet, c.checkLength, c.checkPrefix, c.checkGroups, c.checkScheme, c.checkBlock}
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	if n := c.bytes(); n > MaxBytes {
		return fmt.Errorf("an ID would have %d bytes with its prefix, separators and check character, more than %d: make length or prefix shorter, or group larger", n, MaxBytes)
	}
	return nil
}

func (c Config) checkAlphabet() error {
	for i := range len(c.Alphabet) {
		b := c.Alphabet[i]
		switch {
		case !printableASCII(b):
			return errors.New("alphabet must have printable ASCII characters only, and no space")
		case strings.IndexByte(c.Alphabet, b) < i:
			return fmt.Errorf("alphabet has the character %q twice; write each once", b)
		}
	}
	if n := len(c.Alphabet); n < 2 || n > MaxAlphabet {
		return fmt.Errorf("alphabet must have 2 to %d characters; it has %d", MaxAlphabet, n)
	}
	if n := len(c.drawnFrom()); n < 2 {
		return fmt.Errorf("without_ambiguous leaves %d of the %d characters of alphabet; at least 2 are needed", n, len(c.Alphabet))
	}
	return nil
}

func (c Config) checkLength() error {
	if c.Length < 1 || c.Length > MaxLength {
		return fmt.Errorf("length must be 1 to %d", MaxLength)
	}
	return nil
}

func (c Config) checkPrefix() error {
	if len(c.Prefix) > MaxPrefixBytes {
		return fmt.Errorf("prefix must be at most %d bytes; it has %d", MaxPrefixBytes, len(c.Prefix))
	}
	if !trimmed(c.Prefix) {
		return errors.New("prefix must not begin or end with a space")
	}
	return checkText("prefix", c.Prefix)
}

func (c Config) checkGroups() error {
	switch {
	case c.Group < 0:
		return errors.New("group must be 0, for no groups, or more")
	case c.Group == 0 && c.Separator != "":
		return errors.New("separator is of no use without group; give both or neither")
	case c.Group == 0:
		return nil
	case c.Group >= c.Length:
		return fmt.Errorf("group must be less than length, which is %d: with %d there would be no groups", c.Length, c.Group)
	case len(c.Separator) != 1 || !printableASCII(c.Separator[0]) && c.Separator != " ":
		return errors.New("separator must be one printable ASCII character")
	case strings.Contains(c.Alphabet, c.Separator):
		return fmt.Errorf("separator %q is in alphabet; use another", c.Separator)
	case unicode.IsLetter(rune(c.Separator[0])), unicode.IsDigit(rune(c.Separator[0])):
		return fmt.Errorf("separator %q must be no letter or digit: it would be read as part of the ID", c.Separator)
	}
	return nil
}

func (c Config) checkScheme() error {
	switch c.CheckChar {
	case CheckNone:
		return nil
	case CheckLuhn, CheckDamm:
		if strings.Trim(c.Alphabet, digits) != "" {
			return fmt.Errorf("check %q needs an alphabet of decimal digits only; use %q for digits and letters", c.CheckChar, CheckMod3736)
		}
		return nil
	case CheckMod3736:
		if strings.Trim(c.Alphabet, digits+letters) != "" && strings.Trim(c.Alphabet, digits+strings.ToLower(letters)) != "" {
			return fmt.Errorf("check %q needs an alphabet of decimal digits and letters A to Z, all upper or all lower case", CheckMod3736)
		}
		return nil
	}
	return fmt.Errorf("check must be %q, %q, %q or left out", CheckLuhn, CheckDamm, CheckMod3736)
}

func (c Config) checkBlock() error {
	if len(c.Block) > MaxBlockBytes {
		return fmt.Errorf("block must be at most %d bytes; it has %d", MaxBlockBytes, len(c.Block))
	}
	words := c.words()
	if len(words) > MaxBlockWords {
		return fmt.Errorf("block must have at most %d words; it has %d", MaxBlockWords, len(words))
	}
	if c.Block != "" && len(words) == 0 {
		return errors.New("block has no word; leave it out")
	}
	for _, w := range words {
		switch n := len([]rune(w)); {
		case readable(w) != w:
			return fmt.Errorf("block must have words of letters and digits, separated by spaces; %q is none. A word is found over separators, so write it without", short(w))
		case n < 2:
			return fmt.Errorf("block has the word %q; a word needs 2 characters or more. Take a single character out of alphabet instead", w)
		}
	}
	if w := c.blocked(c.Prefix); w != "" {
		return fmt.Errorf("prefix has the blocked word %q; take it out of block, or change prefix", short(w))
	}
	return nil
}

// short cuts what is told back to a bearable length.
func short(s string) string {
	const limit = 40
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return s
}
