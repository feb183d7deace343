package generator

import (
	"errors"
	"fmt"
	"strings"
)

// An ID of Random is its prefix, the characters drawn, and their check character. A separator stands behind each group of characters
// drawn that something follows.

// drawnFrom is the alphabet that is left when the ambiguous ones are out.
func (c Config) drawnFrom() string {
	if c.WithoutAmbiguous {
		return RemoveAmbiguous(c.Alphabet)
	}
	return c.Alphabet
}

// characters is how many an ID has without its prefix and separators.
func (c Config) characters() int {
	if c.CheckChar != CheckNone {
		return c.Length + 1
	}
	return c.Length
}

// bytes is how many a whole ID has.
func (c Config) bytes() int {
	n := len(c.Prefix) + c.characters()
	if c.Group > 0 {
		n += (c.characters() - 1) / c.Group
	}
	return n
}

// write makes an ID of the characters drawn.
func (c Config) write(drawn string) string {
	body := drawn + c.scheme().checkCharacter(drawn)
	var b strings.Builder
	b.WriteString(c.Prefix)
	for i := range len(body) {
		if c.Group > 0 && i > 0 && i%c.Group == 0 {
			b.WriteString(c.Separator)
		}
		b.WriteByte(body[i])
	}
	return b.String()
}

// verifyRandom takes the ID apart, and tests each part by itself.
func (c Config) verifyRandom(id string) error {
	rest, ok := strings.CutPrefix(id, c.Prefix)
	if !ok {
		return fmt.Errorf("it does not begin with %q", c.Prefix)
	}
	if len(id) != c.bytes() {
		return fmt.Errorf("it has %d bytes, and should have %d", len(id), c.bytes())
	}
	var body []byte
	for i := range len(rest) {
		if c.Group > 0 && i%(c.Group+1) == c.Group {
			if rest[i] != c.Separator[0] {
				return fmt.Errorf("it lacks a separator %q", c.Separator)
			}
			continue
		}
		body = append(body, rest[i])
	}
	drawn, check := string(body[:c.Length]), string(body[c.Length:])
	if strings.Trim(drawn, c.drawnFrom()) != "" {
		return errors.New("it has a character that is not in the alphabet")
	}
	if check != c.scheme().checkCharacter(drawn) {
		return errors.New("its check character is wrong")
	}
	if c.WithoutAmbiguous && RemoveAmbiguous(check) != check {
		return errors.New("its check character is ambiguous")
	}
	if w := c.blocked(id); w != "" {
		return fmt.Errorf("it has the blocked word %q", short(w))
	}
	return nil
}
