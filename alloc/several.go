package alloc

import (
	"fmt"
	"io"
	"reflect"
	"strings"
)

// several is so many of a thing in words: 1 part, 2 parts, 1,000 parts.
func several[N ~int | ~int64](n N, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return Grouped(n) + " " + more
}

// Grouped writes a whole number as people read it, with thousands separators.
func Grouped[N ~int | ~int64 | ~uint64](n N) string {
	digits := fmt.Sprintf("%d", n)
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return sign + b.String()
}

// inWords is fmt.Sprintf for who reads it: whole numbers have thousands separators.
func inWords(format string, args ...any) string {
	all := make([]any, len(args))
	for i, arg := range args {
		all[i] = arg
		switch v := reflect.ValueOf(arg); {
		case !v.IsValid():
		case v.CanInt():
			if _, named := arg.(fmt.Stringer); !named {
				all[i] = grouped(Grouped(v.Int()))
			}
		case v.CanUint():
			all[i] = grouped(Grouped(v.Uint()))
		}
	}
	return fmt.Sprintf(format, all...)
}

// grouped is a number that is written already, whatever the verb.
type grouped string

// Format implements fmt.Formatter.
func (g grouped) Format(s fmt.State, _ rune) {
	io.WriteString(s, string(g)) //nolint:errcheck // fmt keeps what is written
}
