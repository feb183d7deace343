package generator

import "strings"

// The defaults of Random.
const (
	DefaultAlphabet  = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	DefaultLength    = 12
	DefaultSeparator = "-"
)

// ambiguous are the characters that a reader takes for another one, on paper or on the telephone.
const ambiguous = "0Oo1IlL2Zz5Ss8BUuVv"

// RemoveAmbiguous takes the characters out of an alphabet that are easily taken for one another: 0 O o, 1 I l L, 2 Z z,
// 5 S s, 8 B, U u V v. Of each of these groups none is left.
func RemoveAmbiguous(alphabet string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(ambiguous, r) {
			return -1
		}
		return r
	}, alphabet)
}

// IsZero reports whether there is no generator.
func (c Config) IsZero() bool { return c == Config{} }

// WithDefaults fills in the defaults of the configuration's kind. Every method does so itself; it is for those who show or
// keep a configuration.
func (c Config) WithDefaults() Config {
	switch c.Kind {
	case Random:
		if c.Alphabet == "" {
			c.Alphabet = DefaultAlphabet
			if c.CheckChar == CheckLuhn || c.CheckChar == CheckDamm {
				c.Alphabet = digits
			}
		}
		if c.Length == 0 {
			c.Length = DefaultLength
		}
		if c.Separator == "" && c.Group > 0 {
			c.Separator = DefaultSeparator
		}
	case Sequence:
		if c.Overflow == "" {
			c.Overflow = OverflowRefuse
		}
		if c.TimeZone == "" {
			c.TimeZone = utc
		}
	}
	return c
}
